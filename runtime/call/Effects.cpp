#include "runtime/call/Effects.h"

#include <algorithm>
#include <cstdio>

#include "runtime/call/Format.h"
#include "runtime/call/Watch.h"
#include "runtime/io/NonFinite.h"

namespace tenc::rt {

std::string Effects::text(const abi::Text& text) {
  for (const auto& v : text.values) buffers_.read(v.tensor);
  return formatText(text, buffers_.addresses());
}

bool Effects::run(const abi::Print& s) {
  if (!ending_.devicesAreWell()) return false;
  const std::string written = text(s.text);
  if (!filesAreWhole()) return false;
  if (options_.print)
    options_.print(written);
  else
    std::fwrite(written.data(), 1, written.size(), stdout);
  return true;
}

bool Effects::run(const abi::Assert& s) {
  if (!ending_.devicesAreWell()) return false;
  if (*reinterpret_cast<const uint8_t*>(buffers_.read(s.condition))) return true;
  return ending_.stop(s.site, text(s.message));
}

bool Effects::run(const abi::Trap& s) {
  if (!ending_.devicesAreWell()) return false;
  std::vector<std::vector<std::byte>> copies;  // of what is on devices
  const auto view = [&](const abi::TensorRef& t) {
    return TensorView{t.dtype, t.shape, buffers_.onHost(t, copies.emplace_back())};
  };
  const TensorView result = view(s.result);
  if (isFinite(result)) return true;
  std::vector<TensorView> operands;
  for (const abi::TensorRef& t : s.operands) operands.push_back(view(t));
  std::optional<TensorView> mask;
  if (s.mask) mask = view(*s.mask);
  const std::string found = findNonFinite({s.origins, s.axes, result, operands, mask, s.selects});
  return found.empty() || ending_.stop(s.site, s.what + " " + found);
}

/// Into the tensor's memory, or by a map that takes its place.
bool Effects::loadOnHost(const FileSource& source, const abi::TensorRef& t, uint32_t site, std::string& error) {
  if (buffers_.isWhole(t)) {
    const bool stays = buffers_.staysInFile(t.buffer);
    if (auto mapped = reader_.map(source, t.dtype, t.shape, !stays)) {
      const bool isRead = stays && buffers_.isMemoryLimited();
      buffers_.moveTo(t.buffer, std::move(*mapped), site, isRead ? reader_.opened() : nullptr);
      return true;
    }
    buffers_.moveBack(t.buffer);
  }
  return reader_.load(source, t.dtype, t.shape, buffers_.at(t), error);
}

/// Whether the file has been read into the tensor before.
bool Effects::takeAhead(const FileSource& source, const abi::TensorRef& t, uint32_t site) {
  ReadAhead::Found found = ahead_.take({source, t.dtype, t.shape}, buffers_.at(t));
  if (found.mapped) buffers_.moveTo(t.buffer, std::move(*found.mapped), site);
  return found.mapped || found.inMemory;
}

bool Effects::filesAreWhole() {
  const auto lost = buffers_.cutShort();
  return !lost || ending_.stop(lost->site, "`" + lost->path + "` was cut short while it was in use");
}

bool Effects::run(const abi::Load& s) {
  const abi::TensorRef& t = s.result;
  std::string error;
  const FileSource source{text(s.path), s.format, s.name};
  Stream* const stream = buffers_.streamOf(t.buffer);
  if (!stream || s.ahead) {
    const abi::TensorRef& onHost = stream ? *s.ahead : t;
    buffers_.settle(buffers_.at(onHost), bytesOf(onHost), true);
    const bool read = (s.ahead && takeAhead(source, onHost, s.site)) || loadOnHost(source, onHost, s.site, error);
    if (!read) return ending_.stop(s.site, error);
    if (stream) buffers_.copyIn(t, onHost);
    return true;
  }
  std::vector<std::byte> staging(bytesOf(t));
  if (!reader_.load(source, t.dtype, t.shape, staging.data(), error)) return ending_.stop(s.site, error);
  buffers_.put(t, staging.data());
  return true;
}

bool Effects::run(const abi::ReadAhead& s) {
  if (!*reinterpret_cast<const uint8_t*>(buffers_.read(s.wanted))) return true;
  const abi::TensorRef& t = s.result;
  buffers_.settle(buffers_.at(t), bytesOf(t), true);
  buffers_.moveBack(t.buffer);
  ahead_.begin({{text(s.path), s.format, s.name}, t.dtype, t.shape}, buffers_.at(t));
  return true;
}

bool Effects::run(const abi::EndReadAhead& s) {
  ahead_.end(buffers_.at(s.ahead));
  buffers_.settle(buffers_.at(s.ahead), bytesOf(s.ahead), true);
  buffers_.moveBack(s.ahead.buffer);
  return true;
}

bool Effects::run(const abi::Save& s) {
  if (!ending_.devicesAreWell()) return false;
  std::string error;
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < s.tensors.size(); ++i) {
    const abi::TensorRef& t = s.tensors[i];
    tensors.push_back({i < s.names.size() ? s.names[i] : "", {t.dtype, t.shape, buffers_.read(t)}});
  }
  return saveTensors(text(s.path), s.format, tensors, files_, error) || ending_.stop(s.site, error);
}

uint64_t Effects::number(const abi::TensorRef& t) {
  uint64_t n = 0;
  std::memcpy(&n, buffers_.read(t), std::min<uint64_t>(sizeof n, bytesOf(t)));
  return n;
}

bool Effects::run(const abi::Seed& s) {
  random_.seed(number(s.seed), s.draws ? number(*s.draws) : 0);
  return true;
}

bool Effects::run(const abi::RngNext& s) {
  const auto [seed, draw] = random_.next(s.counts);
  buffers_.set(buffers_.at(s.seed), seed);
  buffers_.set(buffers_.at(s.draw), draw);
  return true;
}

bool Effects::run(const abi::Time& s) {
  if (!ending_.devicesAreWell()) return false;
  buffers_.set(buffers_.at(s.result), seconds(Clock::now()));
  return true;
}

}  // namespace tenc::rt
