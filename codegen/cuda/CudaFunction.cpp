#include "codegen/cuda/CudaFunction.h"

#include <algorithm>

#include "codegen/cuda/CudaPrelude.h"
#include "codegen/cuda/ImageParts.h"
#include "codegen/cuda/KernelWriters.h"
#include "codegen/cuda/Routines.h"
#include "codegen/cuda/Scatter.h"

namespace tenc::codegen::cuda {
namespace {

/// Left alone, ptxas spills some registers where more blocks run side by side for that. What takes many registers is
/// told how many blocks have to: one, or as many of what streams through memory as keep that busy.
std::string bounds(const Kernel& k, const Schedule& plan) {
  constexpr int64_t kHeavy = 170, kStreaming = 1024;
  const bool loops = k.kind == Kernel::Kind::Loop;
  const bool holds = plan.scan || (plan.family == Schedule::Family::Rows && (plan.unrolled || !plan.inWarps()));
  if (loops && unrolledCode(k, plan) <= kHeavy && !holds) return decimal(plan.threads);
  const bool streams = loops && (plan.family == Schedule::Family::Points || plan.family == Schedule::Family::Flat);
  return decimal(plan.threads) + ", " +
         decimal(streams ? std::max<int64_t>(1, kStreaming / plan.threads) : plan.resident);
}

/// Adds a function; gives what of it has no CUDA form.
std::string write(const Function& f, const Features& features, const std::string& symbol, Module& module) {
  const Kernel& k = *f.kernel;
  const Schedule plan = f.schedule(features);
  KernelNames names;
  std::string parameters;
  auto add = [&](const std::string& parameter) { parameters += (parameters.empty() ? "" : ", ") + parameter; };
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    names.buffers.push_back("b" + decimal(i));
    if (k.buffers[i].role == Buffer::Role::Scratch) continue;
    add((k.buffers[i].role == Buffer::Role::Input ? "const " : "") + std::string(memoryType(k.buffers[i].dtype)) +
        "* const b" + decimal(i));
  }
  if (f.hasWorkspace(features)) add("unsigned char* const work");
  if (!k.scalars.empty()) add("const unsigned long long* const scalars");
  add("tenc_faults* const faults");
  add("const unsigned long long order");
  CudaText& out = module.text;
  out.line("");
  out.line("// " + k.name + (f.source.empty() ? "" : ": " + f.source));
  out.open("extern \"C\" __global__ void __launch_bounds__(" + bounds(k, plan) + ") " + symbol + "(" + parameters +
           ")");
  for (size_t i = 0; i < k.scalars.size(); ++i) {
    const std::string from = "scalars[" + decimal(i) + "]", type(memoryType(k.scalars[i]));
    names.scalars.push_back("k" + decimal(i));
    std::string value = "(" + type + ")" + from;
    if (k.scalars[i] == ir::DType::F32) value = "__uint_as_float((unsigned)" + from + ")";
    if (k.scalars[i] == ir::DType::F64) value = "__longlong_as_double((long long)" + from + ")";
    out.line("const " + type + " k" + decimal(i) + " = " + value + ";");
  }
  if (k.kind == Kernel::Kind::Routine) {
    if (f.solver != nullptr)
      writeSolver(k, *f.solver, f.part, module, names, "work");
    else
      writeRoutine(k, module, names, "work", f.step);
    out.close();
    return "";
  }
  const std::optional<ScatterPlan> scatter = planScatter(k);
  const std::string missing = scatter ? writeScatter(k, *scatter, module, names, "work", f.step)
                              : k.kind == Kernel::Kind::Native    ? writeNativeLoop(k, module, names)
                              : k.kind == Kernel::Kind::Product   ? writeProduct(k, plan, module, names)
                              : k.kind == Kernel::Kind::Attention ? writeAttention(k, features, module, names)
                              : k.kind == Kernel::Kind::AttentionGradient
                                  ? writeAttentionGradient(k, features, module, names)
                              : plan.scan                               ? writeScan(k, plan, module, names)
                              : plan.family == Schedule::Family::Turned ? writeTurned(k, plan, module, names)
                              : plan.family == Schedule::Family::Flat   ? writeFlat(k, plan, module, names)
                                                                        : writeLoopKernel(k, plan, module, names);
  out.close();
  return missing;
}

}  // namespace

LaunchPlan planLaunches(const Kernel& kernel, const Features& features) {
  if (kernel.kind == Kernel::Kind::Routine) return planRoutine(kernel);
  if (const std::optional<ScatterPlan> scatter = planScatter(kernel)) return scatter->launches;
  return {schedule(kernel, features)};
}

Schedule Function::schedule(const Features& features) const {
  if (solver != nullptr) return scheduleOf(*solver);
  const LaunchPlan plan = planLaunches(*kernel, features);
  return plan.functions.empty() ? plan.schedule : plan.functions[step];
}

bool Function::hasWorkspace(const Features& features) const {
  return solver != nullptr || planLaunches(*kernel, features).workspaceBytes > 0;
}

std::string symbolOf(size_t i) { return "kernel" + decimal(i); }

Source sourceOf(std::span<const Function> functions, const Features& features, const Part& part) {
  Module module;
  Source source;
  for (const size_t i : part) {
    const std::string missing = write(functions[i], features, symbolOf(i), module);
    if (!missing.empty() && source.error.empty())
      source.error = "no CUDA form of " + missing + " (kernel " + functions[i].kernel->name + ")";
  }
  source.text = kPrelude;
  for (const std::string_view called : module.functions) source.text += called;
  source.text += module.tables + module.text.text();
  return source;
}

}  // namespace tenc::codegen::cuda
