// The arguments of a call: as they were evaluated, and as they were matched to the parameters of a built-in.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Signature;

/// One argument of a call as it was evaluated. Numbers and `[...]` are not made into tensors yet.
struct CallArg {
  std::string name;  ///< "" when positional
  Val value;
  Span span;  ///< with the name
  /// What a `.to(d)` may follow: the value, behind a name.
  Span written() const {
    const bool inside = value.span.file == span.file && span.begin <= value.span.begin && value.span.end <= span.end;
    return !name.empty() && value.span.valid() && inside ? value.span : span;
  }
};
struct CallArgs {
  Span span;    ///< of the whole call
  Span callee;  ///< of the function's name
  std::vector<CallArg> args;
  const Ty* expected = nullptr;  ///< declared type that the result should have: decides the dtype of creation ops
};

/// Arguments matched to a built-in's parameters by `bindArguments`.
class BoundArgs {
 public:
  bool ok = false;
  std::vector<std::pair<std::string, const Val*>> named;
  std::vector<const Val*> rest;  ///< of a variadic signature
  /// Null when an optional argument was left out.
  const Val* find(std::string_view name) const;
  const Val& operator[](std::string_view name) const;  ///< must be present
  bool has(std::string_view name) const { return find(name) != nullptr; }
};

/// Matches arguments to parameters; reports E0204 with the signature. Poison arguments give ok = false without a
/// report.
BoundArgs bindArguments(Context& context, const CallArgs& call, const Signature& signature);
/// `tpu:0`, a device of a kind that no machine has, is parsed as a named argument; makes it the only argument again.
void readAsDevice(CallArgs& args, std::string_view parameter);

}  // namespace tenc::frontend
