// Code of a program's kernels, from the targets of their devices.
#include <algorithm>

#include "codegen/Codegen.h"

namespace tenc::codegen {
namespace {

/// What one target is asked for.
struct Order {
  Target* target;
  std::vector<CodeRequest> requests;
  std::vector<size_t> codes;  ///< by request: an index into KernelSet::codes
};

std::vector<Order> ordersOf(const KernelSet& set) {
  std::vector<Order> orders;
  for (size_t i = 0; i < set.codes.size(); ++i) {
    const KernelCode& code = set.codes[i];
    auto order = std::find_if(orders.begin(), orders.end(), [&](const Order& o) { return o.target == code.target; });
    if (order == orders.end()) order = orders.insert(orders.end(), {code.target, {}, {}});
    order->requests.push_back(code.request);
    order->codes.push_back(i);
  }
  return orders;
}

}  // namespace

void compileKernels(Compiled& c) {
  std::vector<Code> codes(c.kernels.codes.size());
  for (const Order& order : ordersOf(c.kernels)) {
    std::vector<Code> made = order.target->compile(order.requests, c.program.images, c.error);
    if (!c.error.empty()) return;
    for (size_t i = 0; i < made.size(); ++i) codes[order.codes[i]] = std::move(made[i]);
  }
  for (size_t i = 0; i < c.kernels.kernels.size(); ++i) c.program.kernels[i].code = codes[c.kernels.codeOf[i]];
}

std::string emit(const Compiled& c, std::string_view form) {
  std::string text;
  if (form == "kernels") {
    for (size_t i = 0; i < c.kernels.kernels.size(); ++i) {
      const KernelCode& code = c.kernels.codes[c.kernels.codeOf[i]];
      text += print(c.kernels.kernels[i]) + code.target->describe(code.request);
    }
    return text;
  }
  for (const Order& order : ordersOf(c.kernels)) {
    const auto forms = order.target->forms();
    if (std::find(forms.begin(), forms.end(), form) != forms.end()) text += order.target->emit(order.requests, form);
  }
  return text;
}

}  // namespace tenc::codegen
