#include "runtime/call/Watch.h"

namespace tenc::rt {

std::string nameOf(const abi::Step& step, const abi::Program& p) {
  return std::visit(
      abi::Overloaded{
          [&](const abi::Launch& s) { return p.kernels[s.kernel].name; },
          [](const abi::Transfer& s) { return "transfer of " + std::to_string(s.bytes) + " bytes"; },
          [](const abi::Copy&) { return std::string("copy"); }, [](const abi::For&) { return std::string("for"); },
          [](const abi::While&) { return std::string("while"); }, [](const abi::If&) { return std::string("if"); },
          [](const abi::Print&) { return std::string("print"); },
          [](const abi::Assert&) { return std::string("assert"); },
          [](const abi::Trap&) { return std::string("trap"); }, [](const abi::Load&) { return std::string("load"); },
          [](const abi::ReadAhead&) { return std::string("read ahead"); },
          [](const abi::EndReadAhead&) { return std::string("end read ahead"); },
          [](const abi::BringIn&) { return std::string("bring in"); },
          [](const abi::ReadRows&) { return std::string("read rows"); },
          [](const abi::Save&) { return std::string("save"); }, [](const abi::Seed&) { return std::string("seed"); },
          [](const abi::RngNext&) { return std::string("draw"); }, [](const abi::Time&) { return std::string("time"); },
          [](const abi::Bench&) { return std::string("bench"); }},
      step.what);
}

uint32_t deviceOf(const abi::Step& step, const abi::Program& p) {
  uint32_t device = 0;
  if (const auto* launch = std::get_if<abi::Launch>(&step.what)) device = launch->device;
  if (const auto* transfer = std::get_if<abi::Transfer>(&step.what)) device = p.buffers[transfer->to.buffer].device;
  if (const auto* copy = std::get_if<abi::Copy>(&step.what)) device = p.buffers[copy->to.buffer].device;
  return device;
}

}  // namespace tenc::rt
