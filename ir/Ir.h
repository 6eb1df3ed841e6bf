// What every user of the IR calls: inference, verification, text in and out.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "ir/Module.h"
#include "support/Diagnostics.h"

namespace tenc::ir {

/// Result types of an op from operand types and attributes, or the reason why there are none (a sentence for people,
/// without span or code). `attr` looks attributes up.
struct Inferred {
  std::vector<Type> types;  ///< also given when only the size is wrong
  std::string error;
  bool tooLarge = false;  ///< a rank or size that no tensor can have
  bool ok() const { return error.empty(); }
};
using AttrLookup = std::function<const Attr*(std::string_view)>;
Inferred infer(OpKind kind, std::span<const Type* const> operands, const AttrLookup& attr);
/// The types of values, for `infer`.
std::vector<const Type*> typesOf(std::span<Value* const> values);

/// Whether the op computes on this dtype, by the traits of its row; for ops whose operands are of one dtype.
bool acceptsDType(OpKind kind, DType t);
/// "floats", "integers", "bools", "integers and bools", "numbers": what the row accepts, for messages and docs.
std::string_view acceptedDTypes(OpKind kind);

/// NumPy broadcasting of two shapes; nullopt when they do not fit.
std::optional<Dims> broadcastShapes(std::span<const int64_t> a, std::span<const int64_t> b);

/// The whole module or nothing: "" when well-formed, else what is wrong and where.
std::string verify(const Module& m);

std::string print(const Module& m, bool withSpans = false);
/// Parses the printed form. Errors are reported as E0101 with spans in file `file` of `sources`.
std::unique_ptr<Module> parse(const SourceManager& sources, uint32_t file, Diagnostics& diags);

/// Deep copies. `map` gives, and gets, the copies of values.
using ValueMap = std::unordered_map<const Value*, Value*>;
Op* clone(const Op& op, Builder& at, ValueMap& map);
void cloneInto(const Region& from, Region& to, ValueMap& map);  ///< args are mapped by the caller or added
std::unique_ptr<Module> clone(const Module& m, const std::function<bool(const Func&)>& wanted = {});

}  // namespace tenc::ir
