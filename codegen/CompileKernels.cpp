// Code of a program's kernels, from the targets of their devices.
#include <algorithm>

#include "codegen/Codegen.h"
#include "codegen/SourceLines.h"

namespace tenc::codegen {
namespace {

/// What one target is asked for.
struct TargetRequests {
  Target* target;
  std::vector<CodeRequest> requests;
  std::vector<size_t> codes;  ///< by request: an index into KernelSet::codes
};

std::vector<TargetRequests> requestsByTarget(const KernelSet& set) {
  std::vector<TargetRequests> all;
  for (size_t i = 0; i < set.codes.size(); ++i) {
    const KernelCode& code = set.codes[i];
    auto of = std::find_if(all.begin(), all.end(), [&](const TargetRequests& r) { return r.target == code.target; });
    if (of == all.end()) of = all.insert(all.end(), {code.target, {}, {}});
    of->requests.push_back(code.request);
    of->codes.push_back(i);
  }
  return all;
}

}  // namespace

void compileKernels(Compiled& c) {
  std::vector<Code> codes(c.kernels.codes.size());
  for (const TargetRequests& of : requestsByTarget(c.kernels)) {
    std::vector<Code> made = of.target->compile(of.requests, c.program.images, c.error);
    if (!c.error.empty()) return;
    for (size_t i = 0; i < made.size(); ++i) codes[of.codes[i]] = std::move(made[i]);
  }
  for (size_t i = 0; i < c.kernels.kernels.size(); ++i) c.program.kernels[i].code = codes[c.kernels.codeOf[i]];
}

std::string emit(const Compiled& c, std::string_view form, const ir::Module& m, const SourceManager& sources) {
  std::string text;
  if (form == "kernels") {
    for (size_t i = 0; i < c.kernels.kernels.size(); ++i) {
      const KernelCode& code = c.kernels.codes[c.kernels.codeOf[i]];
      text += print(c.kernels.kernels[i]) + code.target->describe(code.request);
    }
    return text;
  }
  std::vector<std::vector<const ir::Op*>> ops(c.kernels.codes.size());
  for (const auto& [op, kernel] : c.kernels.ofOp) ops[c.kernels.codeOf[kernel]].push_back(op);
  for (TargetRequests& of : requestsByTarget(c.kernels)) {
    for (size_t i = 0; i < of.codes.size(); ++i) of.requests[i].source = sourceLines(m, sources, ops[of.codes[i]]);
    const auto forms = of.target->forms();
    if (std::find(forms.begin(), forms.end(), form) != forms.end()) text += of.target->emit(of.requests, form);
  }
  return text;
}

}  // namespace tenc::codegen
