#include "runtime/call/Workspace.h"

#include <cstring>

#include "runtime/Machine.h"

namespace tenc::rt {

Workspace::Workspace(const LoadedProgram& program, Machine& machine)
    : program_(program), machine_(machine), scratch_(machine.threads(), program.scratchBytes()) {}

std::unique_ptr<Workspace> Workspace::open(const LoadedProgram& program, Machine& machine, std::string& error) {
  const abi::Program& p = program.program();
  const auto fail = [&](std::string why) {
    error = std::move(why);
    return nullptr;
  };
  if (p.devices.empty() || p.devices.size() > abi::kMostDevices) return fail("it has too many devices");
  std::unique_ptr<Workspace> w(new Workspace(program, machine));
  w->host_ = machine.takeArena(p.devices[0].arenaBytes);
  if (!w->host_) return fail("cpu cannot give " + std::to_string(p.devices[0].arenaBytes) + " bytes");
  w->streams_.emplace_back();
  for (uint32_t i = 1; i < p.devices.size(); ++i) {
    Device* device = machine.device(p.devices[i].name);
    if (!device) return fail(p.devices[i].name + " is not available");
    auto stream = device->open({&program, i}, error);
    if (!stream) return nullptr;
    w->streams_.push_back(std::move(stream));
  }
  for (abi::BufferId b = 0; b < p.buffers.size(); ++b) {
    const abi::Buffer& buffer = p.buffers[b];
    w->addresses_.push_back(buffer.device == 0 ? w->host_->base() + buffer.offset
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
