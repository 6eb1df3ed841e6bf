// Where the source writes the operands of an op, by what the frontend has noted (`LocData::operands`, `Module::texts`).
// Of IR that was read as text nothing is known unless it says so.
#include <algorithm>
#include <functional>
#include <limits>
#include <unordered_set>

#include "passes/place/Place.h"
#include "support/Quote.h"

namespace tenc::passes::placing {
using Kind = ir::SourceText::Kind;

std::string sourceName(const ir::Op& op) {
  using ir::OpKind;
  switch (op.kind) {
    case OpKind::Add: return "+";
    case OpKind::Sub: return "-";
    case OpKind::Mul: return "*";
    case OpKind::Div: return "/";
    case OpKind::FloorDiv: return "//";
    case OpKind::Mod: return "%";
    case OpKind::Pow: return "**";
    case OpKind::Matmul: return "@";
    case OpKind::Eq: return "==";
    case OpKind::Ne: return "!=";
    case OpKind::Lt: return "<";
    case OpKind::Le: return "<=";
    case OpKind::Gt: return ">";
    case OpKind::Ge: return ">=";
    case OpKind::Call: {
      const ir::Func* callee = op.func()->module->find(op.stringAttr("callee"));
      return callee ? callee->source : op.stringAttr("callee");
    }
    default: return std::string(op.info().mnemonic);
  }
}

const ir::Value* behindBroadcast(const ir::Value* v) {
  while (v->op && v->op->kind == ir::OpKind::Broadcast && v->name.empty()) v = v->op->operand(0);
  return v;
}

/// The value behind what one built-in made of its operand on the way to `op`, as `stack` does.
const ir::Value* writtenOperand(const ir::Op& op, const ir::Value* v) {
  v = behindBroadcast(v);
  while (v->op && v->op->has(ir::Trait::Structural) && v->op->operandCount() == 1 && v->name.empty() &&
         op.loc.index != 0 && v->op->loc.index == op.loc.index)
    v = behindBroadcast(v->op->operand(0));
  return v;
}

Reporter::Called Reporter::called(const ir::Value* v, std::string_view otherwise) {
  v = behindBroadcast(v);
  return {hasOwnName(*v) ? "`" + v->name + "`" : "", otherwise};
}

Reporter::Called Reporter::called(const ir::Value* v, const Use& use, std::string_view otherwise) {
  return use.name.empty() ? called(v, otherwise) : Called{use.name, otherwise};
}

Reporter::Called Reporter::calledVariable(const ir::Op& op, const ir::Value* old) {
  const bool assigns = op.kind == ir::OpKind::SamePlace;
  const std::string& name = assigns ? op.stringAttr("variable") : old->name;
  return {name.empty() ? "" : "`" + name + "`", assigns ? "the carried value" : "the variable"};
}

const ir::SourceText* Reporter::textAt(Span span) const { return shared_.module.texts->find(span); }

bool Reporter::isA(const ir::Op& op, ir::SourceText::Kind kind) const {
  const ir::SourceText* t = textAt(spanOf(op));
  return t && t->kind == kind;
}

bool Reporter::isAssignment(const ir::Op& op) const { return isA(op, Kind::Assignment); }

bool Reporter::returns(const ir::Op& op) const { return isA(op, Kind::Return); }

bool Reporter::isOperator(const ir::Op& op) const { return isA(op, Kind::Operator) || isA(op, Kind::Update); }

bool Reporter::isCompound(const ir::Op& op) const { return isA(op, Kind::Update); }

std::string Reporter::subjectOf(const ir::Op& op) const {
  if (op.has(ir::Trait::Scatters) && isAssignment(op)) return "a variable and what is assigned to its elements";
  if (op.has(ir::Trait::Gathers) && isA(op, Kind::Index)) return "a tensor and its index";
  if (isA(op, Kind::List)) return "the values of `[...]`";
  const bool isCall = isA(op, Kind::Call) && !textAt(spanOf(op))->name.empty();
  return "operands of `" + (isCall ? textAt(spanOf(op))->name : sourceName(op)) + "`";
}

Span Reporter::spanOf(const ir::Op& op) const { return shared_.module.span(op.loc); }
Span Reporter::spanOf(const ir::Value* v) const {
  const ir::Op* op = v->op ? v->op : v->region->parentOp;  // what a loop carries is known by the loop
  return op ? spanOf(*op) : Span{};
}

Span Reporter::extentOf(const ir::Value* v) const {
  if (!v->op) return {};
  const ir::LocData& loc = shared_.module.loc(v->op->loc);
  Span s = loc.span;
  if (const ir::SourceText* t = textAt(s)) return t->whole.valid() ? t->whole : s;
  for (const ir::OperandText& o : loc.operands)
    if (s.valid() && o.span.valid() && o.span.file == s.file) s = Span::cover(s, o.span);
  return s;
}

Reporter::Use Reporter::useAt(Span span, const std::string& leaf) const {
  Use use;
  use.span = span;
  const ir::SourceText* known = textAt(span);
  use.postfix = known && known->postfix;
  if (known) use.move = known->move;
  if (!shared_.context.sources) return use;
  if (shared_.context.sources->inLibrary(span)) return {};  // no line of the program
  if (!isQuotable(*shared_.context.sources, span) || !(leaf.empty() || use.postfix)) return use;
  use.name = quote(*shared_.context.sources, span);
  if (!leaf.empty()) use.name.insert(use.name.size() - 1, "." + leaf);
  return use;
}

Span Reporter::textOf(const ir::Op& op, const ir::Value* v, size_t number) const {
  using ir::OpKind;
  const bool control = op.kind == OpKind::If || op.kind == OpKind::Condition || op.kind == OpKind::For;
  return control ? extentOf(behindBroadcast(v)) : useOf(op, v, number).span;
}

const ir::SourceText* Reporter::elementOf(const ir::Value& v, Span list) const {
  for (std::string name = v.name; !name.empty();) {
    if (const ir::SourceText* element = shared_.module.texts->named(name, list)) return element;
    const size_t tree = name.rfind('.');
    name.resize(tree == std::string::npos ? 0 : tree);
  }
  return nullptr;
}

const ir::SourceText* Reporter::assignedAt(Span statement) const {
  const ir::SourceText* found = nullptr;
  for (const ir::SourceText& t : shared_.module.texts->all()) {
    const bool named = t.kind == Kind::Name || t.kind == Kind::Member;
    if (!named || t.span.file != statement.file || t.span.begin != statement.begin) continue;
    if (t.span.end < statement.end && (!found || t.span.end > found->span.end)) found = &t;
  }
  return found;
}

bool Reporter::isUneven(const ir::Op& op, const ir::Value& v, size_t number) const {
  if (v.name.empty() || hasOwnName(v)) return false;
  const Span tree = treeOf(op, &v, number).span;
  const auto isElsewhere = [&](const ir::Op& at, const ir::Value* leaf, size_t i) {
    const bool other = !mixes(leaf->type) && leaf->type.place.device != v.type.place.device;
    return other && !leaf->name.empty() && !hasOwnName(*leaf) && treeOf(at, leaf, i).span == tree;
  };
  if (op.kind == ir::OpKind::If) {
    const ir::Op& yield = *op.regions[number % 2]->terminator();
    for (size_t k = 0; k < yield.operandCount(); ++k)
      if (isElsewhere(op, yield.operand(k), 2 * k + number % 2)) return true;
    return false;
  }
  return std::any_of(op.parent->ops.begin(), op.parent->ops.end(), [&](const auto& o) {
    const bool beside = o->kind == op.kind && o->loc.index == op.loc.index && number < o->operandCount();
    return beside && isElsewhere(*o, writtenOperand(*o, o->operand(number)), number);
  });
}

Reporter::Use Reporter::useOf(const ir::Op& op, const ir::Value* v, size_t number) const {
  Use use = treeOf(op, v, number);
  const ir::Value& leaf = *writtenOperand(op, v);
  if (!use.span.valid() || !isUneven(op, leaf, number)) return use;
  use.part = true;
  use.name = "`" + leaf.name + "`";
  return use;
}

Reporter::Use Reporter::treeOf(const ir::Op& op, const ir::Value* v, size_t number) const {
  using ir::OpKind;
  if (op.kind == OpKind::CheckPlace && spanOf(op).valid()) return useAt(spanOf(op), "");  // the field as it is given
  if (number == 0 && op.has(ir::Trait::Scatters) && isAssignment(op))
    if (const ir::SourceText* variable = assignedAt(spanOf(op))) return useAt(variable->span, "");
  const std::vector<ir::OperandText>& written = shared_.module.loc(op.loc).operands;
  const bool perOperand = op.kind == OpKind::Call || op.kind == OpKind::Print || op.kind == OpKind::Assert ||
                          op.kind == OpKind::If || op.kind == OpKind::Return || op.kind == OpKind::SamePlace ||
                          op.kind == OpKind::OnePlace || op.kind == OpKind::To;
  if (perOperand) {
    if (number >= written.size() || !written[number].span.valid()) return {};
    const ir::SourceText* known = textAt(written[number].span);
    const ir::SourceText* element =
        known && known->kind == Kind::Tuple && written[number].leaf.empty() ? elementOf(*v, known->span) : nullptr;
    return useAt(element ? element->span : written[number].span, written[number].leaf);
  }
  v = writtenOperand(op, v);
  const ir::OperandText* found = operandOf(op, *v, number);
  if (!found) return {};
  const ir::SourceText* known = textAt(found->span);
  const bool several = known && (known->kind == Kind::List || known->kind == Kind::Tuple);
  if (!several) return useAt(found->span, found->leaf);
  // One element of a tuple or list.
  const Span extent = extentOf(v);
  if (covers(found->span, extent) && extent != found->span) return useAt(extent, "");
  const ir::SourceText* element = elementOf(*v, found->span);
  return element ? useAt(element->span, "") : useAt(found->span, found->leaf);
}

std::vector<Reporter::Operand> Reporter::writtenOperands(const ir::Op& op, const std::vector<Operand>& operands) const {
  constexpr size_t kNoNumber = std::numeric_limits<size_t>::max();
  std::vector<Operand> found;
  std::unordered_set<const ir::Value*> seen;
  const std::function<void(const Operand&)> add = [&](const Operand& o) {
    if (!seen.insert(o.value).second) return;
    const ir::Op* from = behindBroadcast(o.value)->op;
    const bool made = from && from->loc.index != 0 && from->loc.index == op.loc.index && from->regions.empty() &&
                      from->operandCount() > 0 && !from->has(ir::Trait::Placing) && !isOperator(op);
    if (!made || useOf(op, o.value, o.number).span.valid()) return found.push_back(o);
    for (const ir::Value* v : from->operands())
      if (!mixes(v->type)) add({v, o.device, kNoNumber});
  };
  for (const Operand& o : operands) add(o);
  const bool known = std::all_of(found.begin(), found.end(),
                                 [&](const Operand& o) { return useOf(op, o.value, o.number).span.valid(); });
  return known ? found : operands;
}

/// Which of the texts noted at `op` is that of its operand `number`, the value `v`: the frontend notes what the source
/// writes, and an op of a composed operation has other operands.
const ir::OperandText* Reporter::operandOf(const ir::Op& op, const ir::Value& v, size_t number) const {
  const std::vector<ir::OperandText>& written = shared_.module.loc(op.loc).operands;
  const Span own = spanOf(&v);
  const auto first = [&](const auto& fits) -> const ir::OperandText* {
    const auto it = std::find_if(written.begin(), written.end(),
                                 [&](const ir::OperandText& o) { return o.span.valid() && fits(o); });
    return it == written.end() ? nullptr : &*it;
  };
  const bool oneEach = written.size() == op.operandCount() && number < written.size() && written[number].span.valid();
  const auto isName = [&](const ir::OperandText& o) {
    const ir::SourceText* t = textAt(o.span);
    if (!t || t->name.empty() || (t->kind != Kind::Name && t->kind != Kind::Member) || t->name != v.name) return false;
    // Two values may have one name: what a lambda captured, and what it is called with.
    const auto at = static_cast<size_t>(&o - written.data());
    return !oneEach || at == number || writtenOperand(op, op.operand(at))->name != v.name;
  };
  const auto holdsName = [&](const ir::OperandText& o) {
    const ir::SourceText* t = textAt(o.span);
    const bool several = t && (t->kind == Kind::List || t->kind == Kind::Tuple);
    return several && !v.name.empty() && shared_.module.texts->named(v.name, o.span);
  };
  if (const ir::OperandText* o = first(isName)) return o;
  if (const ir::OperandText* o = first([&](const ir::OperandText& o) { return covers(o.span, own); })) return o;
  if (const ir::OperandText* o = first(holdsName)) return o;
  return oneEach ? &written[number] : nullptr;
}

}  // namespace tenc::passes::placing
