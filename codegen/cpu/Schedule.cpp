#include "codegen/cpu/Schedule.h"

#include "codegen/cpu/Cost.h"

namespace tenc::codegen::cpu {

Schedule schedule(const Kernel& kernel, const Workers& workers, Level level) {
  Schedule s;
  switch (kernel.kind) {
    case Kernel::Kind::Loop: s = scheduleLoops(kernel, workers, level); break;
    case Kernel::Kind::Product: s = scheduleProduct(kernel, workers, level); break;
    case Kernel::Kind::Native:
      s.form = NativeLoop{};
      s.work = nativeWork(*kernel.native);
      break;
    case Kernel::Kind::Routine:  // the runtime's on this target
    case Kernel::Kind::Attention:
    case Kernel::Kind::AttentionGradient: break;  // decomposed for it
  }
  s.level = level;
  s.work += kRunOverhead;
  return s;
}

std::string describe(const Schedule& schedule) {
  return std::visit([](const auto& form) { return describe(form); }, schedule.form);
}

}  // namespace tenc::codegen::cpu
