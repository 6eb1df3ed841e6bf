// Functions of IR that are in no module: what transforms take and give. They are spliced in where they are called.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ir/Ir.h"

namespace tenc::transforms {

/// The type of a value that is not placed yet.
ir::Type withoutPlace(ir::Type t);

/// An empty function without parameters that may call those of the module.
std::unique_ptr<ir::Func> freeFunc(ir::Module& module, std::string name);

/// Adds a parameter for each value outside of `f` that it reads, in the order of their first use; gives these values.
std::vector<ir::Value*> closeOver(ir::Func& f);

/// Moves the ops of `f`, which is empty afterwards, to where `at` makes ops, with `operands` for its parameters; gives
/// what it returned.
std::vector<ir::Value*> splice(ir::Func& f, const std::vector<ir::Value*>& operands, ir::Builder& at);

}  // namespace tenc::transforms
