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

// Attributes of calls that say how they are differentiated.
/// Reverse mode keeps the operands alone and computes the rest again.
inline constexpr const char* kRecomputed = "derivative.recomputed";
/// Of a call of a linear function: how many of its first operands are residuals.
inline constexpr const char* kResiduals = "linear.residuals";
/// Reverse mode calls `kRuleForward` instead, which gives the results and what is saved, and later `kRuleBackward`,
/// which takes what is saved and the cotangents of the results and gives those of the first `kRuleArguments` operands.
/// Both take the operands behind these, too, at their end.
inline constexpr const char* kRuleForward = "derivative.forward";
inline constexpr const char* kRuleBackward = "derivative.backward";
inline constexpr const char* kRuleArguments = "derivative.arguments";
/// Such a call over all rows, which has lost its rule.
inline constexpr const char* kBatchedRule = "derivative.batched";

/// Whether nobody sees it when the function runs twice: no effects, no draws.
bool canRepeat(const ir::Func& f);

/// An empty function without parameters that may call those of the module.
std::unique_ptr<ir::Func> freeFunc(ir::Module& module, std::string name);

/// Puts a function into its module, with its parameters in another order if one is given. Its signature says nothing of
/// places.
ir::Func& addToModule(std::unique_ptr<ir::Func> f, std::string name, std::vector<size_t> order = {});
/// Makes the function return these values instead.
void setResults(ir::Func& f, const std::vector<ir::Value*>& results);
/// Takes a function out of its module again.
void removeFunc(const ir::Func& f);

/// Adds a parameter for each value outside of `f` that it reads, in the order of their first use; gives these values.
std::vector<ir::Value*> closeOver(ir::Func& f);

/// Moves the ops of `f`, which is empty afterwards, to where `at` makes ops, with `operands` for its parameters; gives
/// what it returned.
std::vector<ir::Value*> splice(ir::Func& f, const std::vector<ir::Value*>& operands, ir::Builder& at);

}  // namespace tenc::transforms
