#include "runtime/call/Workspace.h"

#include <algorithm>
#include <cstring>

#include "runtime/Machine.h"
#include "runtime/library/Library.h"

namespace tenc::rt {

Workspace::Workspace(const LoadedProgram& program, Machine& machine)
    : program_(program),
      machine_(machine),
      scratch_(machine.threads(), program.scratchBytes(), program.sharedBytes()) {}

namespace {

/// Why the machine cannot run the program's kernels; empty when it can.
std::string problemOf(const LoadedProgram& program, const Machine& machine) {
  const abi::Program& p = program.program();
  if (p.devices.empty() || p.devices.size() > abi::kMostDevices) return "it has too many devices";
  for (uint32_t i = 1; i < p.devices.size(); ++i)
    if (!machine.device(p.devices[i].name)) return p.devices[i].name + " is not available";
  for (const auto& [device, kernel] : program.launches())
    if (!machine.device(p.devices[device].name)->canRun(p.kernels[kernel]))
      return p.devices[device].name + " cannot run the code of kernel " + p.kernels[kernel].name;
  return {};
}

}  // namespace

std::unique_ptr<Workspace> Workspace::open(const LoadedProgram& program, Machine& machine, CallResult& ended) {
  const abi::Program& p = program.program();
  const auto fail = [&](CallResult::End end, std::string why) {
    ended.end = end;
    ended.text = std::move(why);
    return nullptr;
  };
  if (std::string why = problemOf(program, machine); !why.empty())
    return fail(CallResult::End::Refused, std::move(why));
  std::unique_ptr<Workspace> w(new Workspace(program, machine));
  w->host_ = machine.takeArena(p.devices[0].arenaBytes);
  if (!w->host_)
    return fail(CallResult::End::OutOfMemory, "cpu cannot give " + std::to_string(p.devices[0].arenaBytes) + " bytes");
  if (!w->files_.reserve(p.fileBytes))
    return fail(CallResult::End::OutOfMemory,
                "cpu has no addresses for files of " + std::to_string(p.fileBytes) + " bytes");
  const bool matrices = std::any_of(program.kernels().begin(), program.kernels().end(), [](const LoadedKernel& k) {
    return k.call != nullptr && library::isOnMatrices(*k.call);
  });
  if (matrices && !library::reserveMatrices(machine.threads()))
    return fail(CallResult::End::OutOfMemory, "cpu has no memory for linear algebra to work in");
  w->streams_.emplace_back();
  for (uint32_t i = 1; i < p.devices.size(); ++i) {
    OpenFailure failure;
    auto stream = machine.device(p.devices[i].name)->open({&program, i}, failure);
    if (!stream && failure.outOfMemory) ended.lacking = {p.devices[i].name, failure.available};
    if (!stream)
      return fail(failure.outOfMemory ? CallResult::End::OutOfMemory : CallResult::End::NoDevice,
                  std::move(failure.text));
    w->streams_.push_back(std::move(stream));
  }
  for (abi::BufferId b = 0; b < p.buffers.size(); ++b) {
    const abi::Buffer& buffer = p.buffers[b];
    w->addresses_.push_back(buffer.inFile        ? w->files_.base() + buffer.offset
                            : buffer.device == 0 ? w->host_->base() + buffer.offset
                                                 : w->streams_[buffer.device]->address(b));
  }
  w->begin({&w->setup_});
  w->putConstants(false);
  w->end();
  for (const auto& s : w->streams_)
    if (s) s->keepContents();
  return w;
}

Workspace::~Workspace() {
  streams_.clear();
  if (host_) machine_.giveBack(std::move(host_));
}

void Workspace::putConstants(bool onHostOnly) {
  const abi::Program& p = program_.program();
  for (const abi::Constant& c : p.constants) {
    if (c.bytes.empty()) continue;
    Stream* s = streams_[p.buffers[c.buffer].device].get();
    if (!s)
      std::memcpy(addresses_[c.buffer], c.bytes.data(), c.bytes.size());
    else if (!onHostOnly)
      s->wait(s->copyIn(addresses_[c.buffer], c.bytes.data(), c.bytes.size(), 0));
  }
}

void Workspace::begin(StreamCall call) {
  call.host = host_.get();
  for (const auto& s : streams_)
    if (s) s->begin(call);
}

void Workspace::end() {
  for (const auto& s : streams_)
    if (s) s->wait(s->last());
}

void Workspace::fill() {
  host_->fill();
  putConstants(true);
}

std::vector<uint64_t> Workspace::touched() const {
  std::vector<uint64_t> list;
  for (const auto& s : streams_) list.push_back(s ? s->touched() : host_->touched());
  return list;
}

}  // namespace tenc::rt
