// Functions of IR that are in no module: what transforms take and give. They are spliced in where they are called.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ir/CallAttributes.h"
#include "ir/Ir.h"

namespace tenc::transforms {

/// The type of a value that is not placed yet.
ir::Type withoutPlace(ir::Type t);

/// The number that a tensor of equal elements is made of; any other value as it is.
ir::Value* scalarBehind(ir::Value* v);

/// The place of a parameter or result in a signature that says nothing of it (`ir::Func::paramPlaces`).
inline constexpr const char* kAnywhere = "$";
/// The same of a mask or a tangent, by which a function is nowhere: it runs where it would without.
inline constexpr const char* kBeside = "$beside";

using ir::kRecomputed;
using ir::kResiduals;
using ir::kRuleArguments;
using ir::kRuleBackward;
using ir::kRuleForward;
using ir::kRuleGradient;

/// Gives another call the rule of a call.
void copyRule(const ir::Op& from, ir::Op& to);

/// Says of all ops of a region that they are a part of that half of a gradient.
void setHalf(ir::Region& region, ir::Half half);

/// The function that a call names; null where it has errors.
const ir::Func* calleeOf(const ir::Op& call);

/// Whether `holds` of every op of a region, of the regions in it and of the functions that it calls, each looked at
/// once.
bool everyOp(const ir::Region& region, const std::function<bool(const ir::Op&)>& holds);

/// Whether nobody sees it when the function runs twice: no effects, no draws.
bool canRepeat(const ir::Func& f);

/// Makes a function that is in no module take the state of the random numbers, the seed and the count of draws (u64),
/// as its last two parameters, and give the count after it as its last result, so that it draws the same numbers when
/// it is called again. False, and the function is as it was, where it has other effects or a loop's condition draws.
bool takeDraws(ir::Func& f);

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
