// Functions of IR that are in no module: what transforms take and give. They are spliced in where they are called.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ir/Ir.h"

namespace tenc::transforms {

/// The type of a value that is not placed yet.
ir::Type withoutPlace(ir::Type t);

/// The place of a parameter or result in a signature that says nothing of it (`ir::Func::paramPlaces`).
inline constexpr const char* kAnywhere = "$";

/// An empty function without parameters that may call those of the module.
std::unique_ptr<ir::Func> freeFunc(ir::Module& module, std::string name);

/// Takes a function out of its module again.
void removeFunc(const ir::Func& f);

/// Adds a parameter for each value outside of `f` that it reads, in the order of their first use; gives these values.
std::vector<ir::Value*> closeOver(ir::Func& f);

/// Moves the ops of `f`, which is empty afterwards, to where `at` makes ops, with `operands` for its parameters; gives
/// what it returned.
std::vector<ir::Value*> splice(ir::Func& f, const std::vector<ir::Value*>& operands, ir::Builder& at);

}  // namespace tenc::transforms
