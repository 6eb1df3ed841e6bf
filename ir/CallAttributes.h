// Attributes of calls that say how they are differentiated, for who makes them and who reads them.
#pragma once

namespace tenc::ir {

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
/// Of a `to` that a cotangent comes back by: it is what a rule gives, and must be where its argument is already.
inline constexpr const char* kRuleGradient = "derivative.of_rule";

// The part of a gradient that belongs to an op with the trait `WholeGradient`. Who does not know better calls.
/// The op's mnemonic, and its attributes, under names that begin with kGradientAttributes. The call takes the op's
/// operands, the cotangent of its result, and sums to which some of its results are added.
inline constexpr const char* kGradientPrefix = "gradient.";  ///< of all their names
inline constexpr const char* kGradientOf = "gradient.of";
inline constexpr const char* kGradientAttributes = "gradient.op.";
/// Which operands of the op the results are cotangents of; and which results are added to sums.
inline constexpr const char* kGradientOperands = "gradient.operands";
inline constexpr const char* kGradientSums = "gradient.sums";

// With --engine=oracle derivatives are calls that the interpreter differentiates by itself. Their function says what
// they take and give alone.
/// The function that is differentiated. The call takes its arguments and then directions, and gives its results and
/// then derivatives.
inline constexpr const char* kOracle = "oracle.function";
/// Forward mode: the directions are tangents of the arguments, the derivatives those of the results. Else the
/// directions are cotangents of the results, or where there are none 1, and the derivatives those of the arguments.
inline constexpr const char* kOracleForward = "oracle.jvp";
/// The arguments and results, by position, that have tangents and cotangents.
inline constexpr const char* kOracleArguments = "oracle.arguments";
inline constexpr const char* kOracleResults = "oracle.results";

}  // namespace tenc::ir
