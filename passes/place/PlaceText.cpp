// Where the source writes the operands of an op, by what the frontend has noted (`LocData::operands`, `Module::texts`).
// Of IR that was read as text nothing is known unless it says so.
#include <algorithm>

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

Reporter::Use Reporter::useOf(const ir::Op& op, const ir::Value* v, size_t number) const {
  using ir::OpKind;
  if (op.kind == OpKind::CheckPlace && spanOf(op).valid()) return useAt(spanOf(op), "");  // the field as it is given
  const std::vector<ir::OperandText>& written = shared_.module.loc(op.loc).operands;
  const bool perOperand = op.kind == OpKind::Call || op.kind == OpKind::Print || op.kind == OpKind::Assert ||
                          op.kind == OpKind::If || op.kind == OpKind::Return || op.kind == OpKind::SamePlace ||
                          op.kind == OpKind::OnePlace || op.kind == OpKind::To;
  if (perOperand) {
    if (number >= written.size() || !written[number].span.valid()) return {};
    return useAt(written[number].span, written[number].leaf);
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
  const ir::SourceText* element = v->name.empty() ? nullptr : shared_.module.texts->named(v->name, found->span);
  return element ? useAt(element->span, "") : useAt(found->span, found->leaf);
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
  const auto isName = [&](const ir::OperandText& o) {
    const ir::SourceText* t = textAt(o.span);
    return t && !t->name.empty() && (t->kind == Kind::Name || t->kind == Kind::Member) && t->name == v.name;
  };
  const auto holdsName = [&](const ir::OperandText& o) {
    const ir::SourceText* t = textAt(o.span);
    const bool several = t && (t->kind == Kind::List || t->kind == Kind::Tuple);
    return several && !v.name.empty() && shared_.module.texts->named(v.name, o.span);
  };
  if (const ir::OperandText* o = first(isName)) return o;
  if (const ir::OperandText* o = first([&](const ir::OperandText& o) { return covers(o.span, own); })) return o;
  if (const ir::OperandText* o = first(holdsName)) return o;
  const bool oneEach = written.size() == op.operandCount() && written[number].span.valid();
  return oneEach ? &written[number] : nullptr;
}

}  // namespace tenc::passes::placing
