// Values that a session keeps between its entries: parameters of `main` on the way in, results on the way out.
#include "frontend/names/SessionValues.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/calls/Arguments.h"
#include "frontend/calls/Calls.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Units.h"
#include "frontend/types/Structs.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"

namespace tenc::frontend {

namespace {

using ValKind = Val::Kind;
using Kind = KeptValue::Kind;
using StmtKind = ast::Stmt::Kind;

/// Describes values as data; their tensors become results of `main`.
class Keeper {
 public:
  explicit Keeper(std::vector<ir::Value*>& results) : results_(results) {}

  /// Nothing for what is kept as its statement: functions, types, sequences, and trees that hold one.
  std::optional<KeptValue> keep(const Val& v) {
    const size_t before = results_.size();
    KeptValue kept;
    if (describe(v, kept)) return kept;
    results_.resize(before);
    return std::nullopt;
  }
  /// What a tree holds besides functions.
  std::optional<KeptValue> keepTree(const Val& v) {
    if (!v.isTree()) return std::nullopt;
    withFunctions_ = true;
    return keep(v);
  }

 private:
  bool describe(const Val& v, KeptValue& kept) {
    kept.dtype = v.dtype;
    kept.adopts = v.adopts;
    kept.dim = v.dim;
    switch (v.kind) {
      case ValKind::Tensor:
        kept.kind = Kind::Tensor;
        kept.tensor = results_.size();
        results_.push_back(v.tensor);
        return true;
      case ValKind::Int: kept.kind = Kind::Int, kept.integer = v.integer; return true;
      case ValKind::Float: kept.kind = Kind::Float, kept.real = v.real; return true;
      case ValKind::Bool: kept.kind = Kind::Bool, kept.boolean = v.boolean; return true;
      case ValKind::String: kept.kind = Kind::String, kept.text = v.text; return true;
      case ValKind::Format: kept.kind = Kind::Choice, kept.text = v.text; return v.isChoice() && elements(v, kept);
      case ValKind::DType: kept.kind = Kind::DType; return true;
      case ValKind::Device:
        kept.kind = Kind::Device;
        kept.text = v.device.name;
        return !v.device.of && !v.device.name.starts_with("$");
      case ValKind::Pack: kept.kind = Kind::Shape; return elements(v, kept);
      case ValKind::Tuple: kept.kind = Kind::Tuple; return elements(v, kept);
      case ValKind::List: kept.kind = Kind::List; return elements(v, kept);
      case ValKind::Struct: kept.kind = Kind::Struct; return elements(v, kept) && declaration(*v.info, kept);
      case ValKind::Function: kept.kind = Kind::Function; return withFunctions_;
      default: return false;
    }
  }

  bool elements(const Val& v, KeptValue& kept) {
    kept.elems.resize(v.elems.size());
    for (size_t i = 0; i < v.elems.size(); ++i)
      if (!describe(v.elems[i], kept.elems[i])) return false;
    return true;
  }

  bool declaration(const StructInfo& info, KeptValue& kept) {
    kept.text = info.decl->stmt->name.text;
    kept.module = info.decl->unit->isScript ? "" : info.decl->unit->key;
    for (const ast::Field& f : info.decl->stmt->fields) kept.fields.push_back(f.name.text);
    for (const auto& [name, value] : info.args) {
      KeptValue arg;
      if (value.is(ValKind::Type) || value.is(ValKind::Function) || !describe(value, arg)) continue;
      kept.argNames.push_back(name);
      kept.args.push_back(std::move(arg));
    }
    return true;
  }

  std::vector<ir::Value*>& results_;
  bool withFunctions_ = false;
};

bool bindsAt(const ast::Pattern& pattern, Span declared) {
  if (!pattern.isTuple) return pattern.name.span == declared;
  return std::ranges::any_of(pattern.elements, [&](const ast::Pattern& element) { return bindsAt(element, declared); });
}

/// Whether the value of a last expression is printed; of functions and types the tool says what they are.
bool printable(const Val& v) {
  return !v.is(ValKind::Function) && !v.is(ValKind::Type) && !v.is(ValKind::Module) && !v.is(ValKind::Range);
}

}  // namespace

std::vector<size_t> KeptValue::tensors() const {
  if (kind == Kind::Tensor) return {tensor};
  std::vector<size_t> all;
  for (const KeptValue& e : elems) {
    const std::vector<size_t> inner = e.tensors();
    all.insert(all.end(), inner.begin(), inner.end());
  }
  return all;
}

std::vector<ir::Value*> SessionValues::declareInputs(ir::Func& main) {
  std::vector<ir::Value*> inputs;
  const auto declare = [&](const SessionValue& v) {
    for (const SessionInput& in : v.tensors) {
      inputs.push_back(main.body->addArg(ir::Type{in.dtype, in.shape, {}}, v.name));
      main.paramPlaces.push_back(in.place);
      if (!in.place.empty()) context_.derived.notePlaces();
      places_[inputs.back()] = ir::DeviceTable::normal(in.place);
    }
  };
  std::ranges::for_each(context_.options.values, declare);
  for (const SessionValue& tree : context_.options.kept.trees) {
    declare(tree);
    trees_.emplace_back(inputs.end() - static_cast<std::ptrdiff_t>(tree.tensors.size()), inputs.end());
  }
  return inputs;
}

void SessionValues::bindInputs(const std::vector<ir::Value*>& inputs) {
  size_t first = 0;
  for (const SessionValue& v : context_.options.values) {
    const size_t errors = context_.diags.all().size();
    context_.at(v.span);
    Val value = keptValue(v.value, {inputs.begin() + static_cast<std::ptrdiff_t>(first), v.tensors.size()}, v.span);
    first += v.tensors.size();
    if (value.poison()) {
      context_.diags.take(errors);
      context_.out.unfit.push_back(v.name);
    }
    Binding& binding = scopes_.declare({v.name, v.span}, std::move(value), v.isVar);
    binding.start = v.start;
    bound_.emplace_back(v.span, binding.value);
  }
}

void SessionValues::bindTrees(const ast::Stmt& statement) {
  const auto& trees = context_.options.kept.trees;
  for (size_t i = 0; i < trees.size(); ++i) {
    Binding* binding = bindsAt(statement.pattern, trees[i].span) ? context_.frame().bound(trees[i].span) : nullptr;
    if (!binding || binding->value.poison()) continue;
    context_.at(trees[i].span);
    if (const std::optional<Val> tree = treeOver(binding->value, trees[i].value, trees_[i], trees[i].span))
      binding->value = structs_.refit(*tree);
    bound_.emplace_back(trees[i].span, binding->value);
  }
}

/// `made`, which the statement of a tree gives, with all that was kept in the place of what is no function; nothing
/// when the statement gives another tree now.
std::optional<Val> SessionValues::treeOver(const Val& made, const KeptValue& kept, std::span<ir::Value* const> tensors,
                                           Span span) {
  if (kept.kind == Kind::Function) return made.is(ValKind::Function) ? std::optional(made) : std::nullopt;
  if (!made.isTree()) {
    Val value = keptValue(kept, tensors, span);
    return value.poison() ? std::nullopt : std::optional(std::move(value));
  }
  const bool isSame = made.elems.size() == kept.elems.size() &&
                      made.is(kept.kind == Kind::Struct ? ValKind::Struct
                              : kept.kind == Kind::List ? ValKind::List
                                                        : ValKind::Tuple) &&
                      (kept.kind != Kind::Struct || made.info->decl->stmt->name.text == kept.text);
  if (!isSame) return std::nullopt;
  Val tree = made;
  for (size_t i = 0; i < kept.elems.size(); ++i) {
    std::optional<Val> part = treeOver(made.elems[i], kept.elems[i], tensors, span);
    if (!part) return std::nullopt;
    tree.elems.edit()[i] = std::move(*part);
  }
  return tree;
}

namespace {
/// Whether the functions in two trees are the very same.
bool holdSameFunctions(const Val& a, const Val& b) {
  if (a.is(ValKind::Function) || b.is(ValKind::Function)) return a.kind == b.kind && a.fn == b.fn;
  if (!holdsFunction(a) && !holdsFunction(b)) return true;
  if (a.kind != b.kind || a.elems.size() != b.elems.size()) return false;
  for (size_t i = 0; i < a.elems.size(); ++i)
    if (!holdSameFunctions(a.elems[i], b.elems[i])) return false;
  return true;
}
}  // namespace

Val SessionValues::keptValue(const KeptValue& kept, std::span<ir::Value* const> tensors, Span span) {
  std::vector<Val> elems;
  for (const KeptValue& e : kept.elems) {
    elems.push_back(keptValue(e, tensors, span));
    if (elems.back().poison()) return elems.back();
  }
  Val v;
  switch (kept.kind) {
    case Kind::Tensor: return Val::ofTensor(tensors[kept.tensor], span);
    case Kind::Int: v = Val::ofInt(kept.integer, span, kept.adopts); break;
    case Kind::Float: v = Val::ofFloat(kept.real, span, kept.adopts); break;
    case Kind::Bool: return Val::ofBool(kept.boolean, span);
    case Kind::String: return Val::ofString(kept.text, span);
    case Kind::Choice: return Val::ofChoice(elems[0].tensor, kept.text, span);
    case Kind::DType: return Val::ofDType(kept.dtype, span);
    case Kind::Device: return Val::ofDevice({kept.text, nullptr}, span);
    case Kind::Shape:
      v.kind = ValKind::Pack;
      v.span = span;
      v.elems = std::move(elems);
      return v;
    case Kind::Tuple: return Val::ofTuple(std::move(elems), span);
    case Kind::List: return Val::ofList(std::move(elems), span);
    case Kind::Struct: return keptStruct(kept, std::move(elems), span);
    case Kind::Function: return {};  // its statement says it
  }
  v.dtype = kept.dtype;
  v.dim = kept.dim;
  return v;
}

Val SessionValues::keptStruct(const KeptValue& kept, std::vector<Val> fields, Span span) {
  const Unit* unit = kept.module.empty() ? &units_.script() : units_.module(kept.module);
  if (unit == nullptr || !unit->structs.contains(kept.text)) return {};
  // It may have been declared anew since.
  StructInfo type;
  type.decl = &unit->structs.find(kept.text)->second;
  const auto& declared = type.decl->stmt->fields;
  const bool same = std::equal(declared.begin(), declared.end(), kept.fields.begin(), kept.fields.end(),
                               [](const ast::Field& f, const std::string& name) { return f.name.text == name; });
  if (!same) return {};
  const auto& generics = type.decl->stmt->generics;
  for (size_t i = 0; i < kept.args.size(); ++i) {
    const std::string& name = kept.argNames[i];
    const auto isNamed = [&](const ast::Generic& g) { return g.name.text == name; };
    if (std::any_of(generics.begin(), generics.end(), isNamed))
      type.given.emplace_back(name, keptValue(kept.args[i], {}, span));
  }
  // Where the leaves lie is known, and a check of placement would be about no statement.
  const Val made = structs_.structOf(type, std::move(fields), span);
  return made.poison() || isPlaced(made) ? made : Val();
}

bool SessionValues::isPlaced(const Val& made) const {
  std::vector<ir::Value*> leaves;
  if (!leavesOf(made, leaves)) return false;
  const std::vector<std::string> pinned = pinnedLeaves(made);
  std::string common;  // of what is not pinned
  for (size_t i = 0; i < leaves.size(); ++i) {
    const ir::Value* leaf = leaves[i];
    while (leaf->op && leaf->op->kind == ir::OpKind::CheckPlace) leaf = leaf->op->operand(0);
    const auto input = places_.find(leaf);
    if (input == places_.end() || pinned[i].starts_with('$')) continue;
    const std::string& place = input->second;
    if (!pinned[i].empty()) {
      if (ir::DeviceTable::normal(pinned[i]) != place) return false;
    } else if (!leaf->type.shape.empty() || place != ir::DeviceTable::kHost) {
      if (!common.empty() && common != place) return false;
      common = place;
    }
  }
  return true;
}

std::vector<ir::Value*> SessionValues::keepValues(const ast::File& file, const Val& last) {
  std::vector<ir::Value*> results;
  const auto keep = [&](const std::string& name, const Val& value, bool isVar, Span span) -> Lowered::Kept& {
    const std::string type = value.is(ValKind::List) ? toString(typeOf(value)) : describe(value);
    return context_.out.kept.emplace_back(
        Lowered::Kept{name, isVar, span, Keeper(results).keep(value), std::nullopt, type, {}});
  };
  std::map<std::string, const Binding*> latest;
  std::vector<std::string> order;
  for (const auto& [name, binding] : context_.frame().scopes.front().names) {
    if (latest.emplace(name, &binding).second) order.push_back(name);
    latest[name] = &binding;
  }
  for (const std::string& name : order) {
    const Binding& b = *latest[name];
    if (b.value.poison()) continue;
    const ast::Stmt* writing = lastWriting(file, b.declaration);
    if (b.declaration.file != file.source) {  // what the entry leaves as it was is kept already
      const Val* before = cameIn(b.declaration);
      if (before ? before->isIdentical(b.value) : !writing) continue;
    }
    Lowered::Kept& kept = keep(name, b.value, b.isVar, b.declaration);
    if (kept.value) continue;
    kept.tree = Keeper(results).keepTree(b.value);
    // The functions are those that the statement of an earlier entry gives.
    const Val* before = kept.tree ? cameIn(b.declaration) : nullptr;
    if (before && holdSameFunctions(*before, b.value)) continue;
    kept.span = writing && decides(file, *writing) ? nameIn(*writing, b.declaration) : Span();
    if (!kept.span.valid()) continue;
    for (const Declaration* d : seenBy(*writing)) kept.uses.push_back(d->name);
  }
  // A statement sees the values of its entry.
  const auto statements =
      std::ranges::stable_partition(context_.out.kept, [](const auto& k) { return k.value.has_value(); });
  std::ranges::stable_sort(statements, {},
                           [&](const auto& k) { return std::pair(k.span.file == file.source, k.span.begin); });
  if (!last.poison() && !last.is(ValKind::Unit)) {
    const Val value = tensors_.settle(last);
    if (printable(value)) {
      FnValue print;
      print.name = "print";
      CallArgs call;
      call.span = call.callee = last.span;
      call.args.push_back({"", value, last.span});
      calls_.call(Val::ofFunction(std::make_shared<FnValue>(std::move(print)), last.span), std::move(call));
    }
    Lowered::Kept& shown = keep("", value, false, last.span);
    if (printable(value) && !shown.value) shown.type.clear();  // nothing more to say
  }
  return results;
}

const Val* SessionValues::cameIn(Span declared) const {
  const auto found = std::ranges::find(bound_, declared, [](const auto& bound) { return bound.first; });
  return found == bound_.end() ? nullptr : &found->second;
}

const ast::Stmt* SessionValues::lastWriting(const ast::File& file, Span declared) const {
  const Resolution& names = *units_.script().resolution;
  const auto writes = [&](const ast::StmtPtr& s) {
    if (!s || s->span.file != file.source) return false;
    const bool binds = s->kind == StmtKind::Let || s->kind == StmtKind::Var;
    if (binds && bindsAt(s->pattern, declared)) return true;
    return std::ranges::any_of(names.within(s->span), [&](const Use& u) {
      return u.assigned && u.declaration && u.declaration->span == declared;
    });
  };
  const auto found = std::find_if(file.statements.rbegin(), file.statements.rend(), writes);
  return found == file.statements.rend() ? nullptr : found->get();
}

bool SessionValues::decides(const ast::File& file, const ast::Stmt& statement) const {
  switch (statement.kind) {
    case StmtKind::Let:
    case StmtKind::Var: break;
    case StmtKind::Assign:
      if (statement.op == "=" && statement.target->kind == ast::Expr::Kind::Name) break;
      return false;
    default: return false;
  }
  // What it sees is kept as it is at the end of the entry, or as it was before.
  const auto& names = context_.frame().scopes.front().names;
  return std::ranges::none_of(seenBy(statement), [&](const Declaration* d) {
    const bool isOfEntry = d->span.file == file.source;
    if (isOfEntry && std::ranges::any_of(names, [&](const auto& other) {
          return other.first == d->name && other.second.declaration.file == file.source &&
                 other.second.declaration.begin > d->span.begin;
        }))
      return true;
    const ast::Stmt* last = lastWriting(file, d->span);
    return last && last->span.begin > statement.span.begin;
  });
}

/// The name that the statement gives its value: that of the variable, or where it is assigned.
Span SessionValues::nameIn(const ast::Stmt& statement, Span declared) {
  return statement.kind == StmtKind::Assign ? statement.target->span : declared;
}

/// The session's names that the statement sees.
Declarations SessionValues::seenBy(const ast::Stmt& statement) const {
  return units_.script().resolution->captured(statement.value->span);
}

/// Whether the last statement is an expression whose value is to be shown.
bool SessionValues::givesValue(const ast::File& file) {
  if (file.statements.empty() || file.statements.back()->kind != ast::Stmt::Kind::Expr) return false;
  const ast::Expr& e = *file.statements.back()->value;
  return e.kind != ast::Expr::Kind::If || e.blocks.size() > e.args.size();
}

}  // namespace tenc::frontend
