// Functions of the script as functions of IR.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "frontend/Trial.h"
#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Structs;
class Instances;

/// What a function of the script gives for these arguments.
using TracedFn = std::function<Val(std::vector<Val>)>;
/// The type that a function is traced with for a tensor of argument `i`; nothing where it gets the value itself.
/// `state`: it is in a `state` field.
using ParameterType = std::function<std::optional<ir::Type>(size_t i, const ir::Value& leaf, bool state)>;

/// Layers of a network that is trained which change in a function: what they become is kept, or forgotten, as of a
/// function that is traced for the type of its result alone, or they may not (E0405), as in the functions of a
/// `custom_vjp`, of which some calls run one and some another.
enum class StateIn : uint8_t { Kept, Forgotten, Refused };

/// A function of the script for arguments of some types.
struct Traced {
  std::unique_ptr<ir::Func> func;    ///< in no module
  std::vector<ir::Value*> operands;  ///< for its parameters: tensors of the arguments, then what it captures
  size_t arguments = 0;              ///< how many of them are tensors of the arguments
  Val result;                        ///< unit, or a value whose tensors `func` returns
  /// Of a network that is trained: leaves of layers that change, which become the last results of `func`.
  std::vector<ir::Value*> changed;
};

/// Lowers functions into functions of their own.
class Tracer {
 public:
  Tracer(Context& context, Structs& structs, Instances& instances)
      : context_(context), structs_(structs), instances_(instances) {}

  /// `f` for arguments like these, or nothing after an error; then it has left no mark but, if they shall stay,
  /// diagnostics. Code is lowered as if it stood here: under the same annotations, with the same names in sight.
  std::optional<Traced> trace(const TracedFn& f, const std::vector<Val>& args, const ParameterType& type, Span span,
                              StateIn state);

 private:
  Context& context_;
  Structs& structs_;
  Instances& instances_;
};

}  // namespace tenc::frontend
