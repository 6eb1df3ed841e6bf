#include "runtime/call/Buffers.h"

#include <algorithm>

#include "runtime/call/Strides.h"

namespace tenc::rt {

uint64_t bytesOf(const abi::TensorRef& t) {
  uint64_t n = static_cast<uint64_t>(dtypeSize(t.dtype));
  for (const int64_t d : t.shape) n *= static_cast<uint64_t>(d);
  return n;
}

/// Whether the caller's memory can stand in for the tensor's buffer.
bool Buffers::fits(const abi::TensorRef& t, const void* data, const std::vector<int64_t>& strides) const {
  const abi::Buffer& b = p_.buffers[t.buffer];
  const auto element = static_cast<uint64_t>(dtypeSize(t.dtype));
  return b.device == 0 && b.bytes != 0 && isWhole(t) &&
         reinterpret_cast<uintptr_t>(data) % abi::alignmentOf(b.bytes, element) == 0 &&
         isDense(t.shape, strides, static_cast<int>(element));
}

uint64_t Buffers::take(const std::vector<InputTensor>& inputs) {
  uint64_t inPlace = 0;
  std::vector<std::byte> dense;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const abi::TensorRef& t = p_.inputs[i];
    const auto& [data, strides] = inputs[i];
    if (fits(t, data, strides)) {
      // Nothing writes to an input.
      address_[t.buffer] = const_cast<std::byte*>(static_cast<const std::byte*>(data));
      ++inPlace;
      continue;
    }
    const int element = dtypeSize(t.dtype);
    if (isDense(t.shape, strides, element)) {
      put(t, data);
      continue;
    }
    dense.resize(bytesOf(t));
    forEachElement(t.shape, strides, element, [&](int64_t from, int64_t to) {
      std::memcpy(dense.data() + to, static_cast<const std::byte*>(data) + from, static_cast<size_t>(element));
    });
    put(t, dense.data());
  }
  return inPlace;
}

/// Whether a result has its buffer for itself, and keeps it where it is.
bool Buffers::mayAim(size_t result) const {
  const abi::BufferId b = p_.results[result].buffer;
  const auto is = [b](const auto& x) { return x.buffer == b; };
  return !loaded_.moves(b) && std::none_of(p_.inputs.begin(), p_.inputs.end(), is) &&
         std::none_of(p_.constants.begin(), p_.constants.end(), is) &&
         std::count_if(p_.results.begin(), p_.results.end(), is) == 1;
}

uint64_t Buffers::aim(const std::vector<OutputTensor>& outputs) {
  uint64_t inPlace = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const abi::TensorRef& t = p_.results[i];
    if (!fits(t, outputs[i].data, outputs[i].strides) || !mayAim(i)) continue;
    address_[t.buffer] = static_cast<std::byte*>(outputs[i].data);
    ++inPlace;
  }
  return inPlace;
}

void Buffers::give(const CallOptions& options) {
  std::vector<std::byte> copy;
  for (size_t i = 0; i < p_.results.size() && (options.result || !options.outputs.empty()); ++i) {
    const abi::TensorRef& t = p_.results[i];
    const uint64_t bytes = bytesOf(t);
    const std::byte* const from = onHost(t, copy);
    if (options.result) options.result(i, from);
    if (options.outputs.empty() || options.outputs[i].data == from || bytes == 0) continue;
    const auto& [data, strides] = options.outputs[i];
    const int element = dtypeSize(t.dtype);
    auto* to = static_cast<std::byte*>(data);
    if (isDense(t.shape, strides, element)) {
      std::memcpy(to, from, bytes);
      continue;
    }
    forEachElement(t.shape, strides, element, [&](int64_t strided, int64_t dense) {
      std::memcpy(to + strided, from + dense, static_cast<size_t>(element));
    });
  }
}

const std::byte* Buffers::onHost(const abi::TensorRef& t, std::vector<std::byte>& copy) {
  Stream* const stream = streamOf(t.buffer);
  if (stream == nullptr) return read(t);
  copy.resize(bytesOf(t));
  if (!copy.empty()) stream->wait(stream->copyOut(copy.data(), at(t), copy.size(), nextOrder()));
  return copy.data();
}

void Buffers::moveTo(abi::BufferId b, MappedTensor file, uint32_t site, std::shared_ptr<const OpenFile> open) {
  moveBack(b);
  std::byte* const elements = file.elements();
  std::byte* const before = std::exchange(address_[b], elements);
  InFile& in =
      mapped_.emplace(elements, InFile{std::make_unique<MappedTensor>(std::move(file)), before, site, std::move(open)})
          .first->second;
  if (staysInFile(b)) residency_.watch(*in.file);
}

void Buffers::moveBack(abi::BufferId b) {
  const auto found = mapped_.find(address_[b]);
  if (found == mapped_.end()) return;
  residency_.forget(*found->second.file);
  address_[b] = found->second.before;
  mapped_.erase(found);
}

std::optional<Buffers::CutShort> Buffers::cutShort() {
  const uint64_t lost = lostPagesSoFar();
  if (lost == lostPages_) return std::nullopt;
  for (const auto& [address, in] : mapped_)
    if (in.file->isCutShort()) return CutShort{in.site, in.file->path()};
  lostPages_ = lost;  // of files of others
  return std::nullopt;
}

const MappedTensor* Buffers::fileOf(const abi::TensorRef& t) const {
  const auto found = mapped_.find(address_[t.buffer]);
  return found == mapped_.end() ? nullptr : found->second.file.get();
}

std::optional<Buffers::InOpenFile> Buffers::openFileOf(const abi::TensorRef& t) const {
  const auto found = mapped_.find(address_[t.buffer]);
  if (found == mapped_.end() || !found->second.open || !staysInFile(t.buffer)) return std::nullopt;
  return InOpenFile{found->second.open, found->second.file->offsetOf(at(t))};
}

bool Buffers::flag(abi::BufferId b) {
  Stream* const stream = streamOf(b);
  if (stream == nullptr) return get<uint8_t>(b) != 0;
  uint8_t v = 0;
  stream->wait(stream->copyOut(&v, address_[b], sizeof v, nextOrder()));
  failed_ = failed_ || ending_.aDeviceStopped();
  return v != 0;
}

void Buffers::copyIn(const abi::TensorRef& onDevice, const abi::TensorRef& onHost) {
  const uint64_t bytes = bytesOf(onHost);
  Stream& stream = *streamOf(onDevice.buffer);
  pending(at(onHost), bytes, false, stream, stream.copyIn(at(onDevice), at(onHost), bytes, nextOrder()));
}

void Buffers::put(const abi::TensorRef& t, const void* from) {
  const uint64_t bytes = bytesOf(t);
  if (bytes == 0) return;
  if (Stream* s = streamOf(t.buffer)) {
    s->wait(s->copyIn(at(t), from, bytes, nextOrder()));
    return;
  }
  settle(at(t), bytes, true);
  std::memcpy(at(t), from, bytes);
}

}  // namespace tenc::rt
