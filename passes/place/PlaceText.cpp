// Where the source writes the operands of an op: the frontend notes it for what scripts write; of IR that was read as
// text it is guessed from names and spans.
#include <algorithm>
#include <cctype>

#include "passes/place/Place.h"
#include "support/Text.h"

namespace tenc::passes::placing {
namespace {

bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Offset of the whole word `word` in `text`, or npos.
size_t findWord(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    bool left = at == 0 || !(isWord(text[at - 1]) || text[at - 1] == '.');
    size_t end = at + word.size();
    if (left && (end == text.size() || !isWord(text[end]))) return at;
  }
  return std::string_view::npos;
}

bool hasWord(std::string_view text) { return std::any_of(text.begin(), text.end(), isWord); }

/// `v += x` stands for v = v + x; the span of its addition is the sign.
bool isCompoundAssignment(std::string_view sign) {
  return sign.size() == 2 && sign[1] == '=' && std::string_view("+-*/").find(sign[0]) != std::string_view::npos;
}

/// A tuple or a list as written: commas outside of inner brackets.
bool hasElements(std::string_view text) {
  int depth = 0;
  bool bracketed = !text.empty() && (text[0] == '(' || text[0] == '[');
  for (char c : text) {
    depth += c == '(' || c == '[';
    depth -= c == ')' || c == ']';
    if (c == ',' && depth <= (bracketed ? 1 : 0)) return true;
  }
  return false;
}

}  // namespace

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
      std::string name = op.stringAttr("callee");
      size_t end = std::min(name.find_first_of("[#("), name.size());
      // The number of an instance is no part of the name: "nn.linear.3".
      size_t digits = end;
      while (digits > 0 && std::isdigit(static_cast<unsigned char>(name[digits - 1]))) --digits;
      if (digits < end && digits > 1 && name[digits - 1] == '.') end = digits - 1;
      return end == 0 ? name : name.substr(0, end);
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

std::string Reporter::display(const ir::Value* v, std::string_view otherwise) {
  v = behindBroadcast(v);
  return hasOwnName(*v) ? "`" + v->name + "`" : std::string(otherwise);
}

bool Reporter::isAssignment(const ir::Op& op) const {
  const std::vector<ir::OperandText>& written = shared_.module.loc(op.loc).operands;
  const Span whole = spanOf(op);
  if (!shared_.context.sources || written.empty() || !whole.valid()) return false;
  // The value stands last, behind a sign.
  const Span value = written.back().span;
  if (!value.valid() || value.begin <= whole.begin || value.end != whole.end) return false;
  std::string_view before = shared_.context.sources->text({whole.file, whole.begin, value.begin});
  while (!before.empty() && (before.back() == ' ' || before.back() == '(')) before.remove_suffix(1);
  return before.ends_with("=") && !before.ends_with("==");
}

bool Reporter::isOperator(const ir::Op& op) const {
  const Span span = spanOf(op);
  if (!shared_.context.sources || op.loc.index == 0 || !span.valid()) return false;
  const std::string_view text = shared_.context.sources->text(span);
  return !text.empty() &&
         std::none_of(text.begin(), text.end(), [](char c) { return isWord(c) || c == '(' || c == '['; });
}

std::string Reporter::subjectOf(const ir::Op& op) const {
  if (op.has(ir::Trait::Scatters) && isAssignment(op)) return "a variable and what is assigned to its elements";
  const std::string name = sourceName(op);
  const SourceManager* sources = shared_.context.sources;
  const Span span = spanOf(op);
  if (!sources || !span.valid()) return "operands of `" + name + "`";
  // `f(...)` and `x.f(...)`; what ends in a bracket is an index.
  const std::string_view text = sources->text(span);
  if (op.has(ir::Trait::Gathers) && text.ends_with("]")) return "a tensor and its index";
  if (text.starts_with("[")) return "the values of `[...]`";
  size_t end = 0;
  while (end < text.size() && (isWord(text[end]) || text[end] == '.')) ++end;
  if (end == 0 || end == text.size() || text[end] != '(') return "operands of `" + name + "`";
  const std::string_view path = text.substr(0, end);
  const size_t dot = path.rfind('.');
  return "operands of `" + std::string(dot == std::string_view::npos ? path : path.substr(dot + 1)) + "`";
}

Span Reporter::spanOf(const ir::Op& op) const { return shared_.module.span(op.loc); }
Span Reporter::spanOf(const ir::Value* v) const {
  const ir::Op* op = v->op ? v->op : v->region->parentOp;  // what a loop carries is known by the loop
  return op ? spanOf(*op) : Span{};
}

std::string Reporter::nameOf(const ir::Value* v, const Use& use, std::string_view otherwise) const {
  return use.name.empty() ? display(v, otherwise) : use.name;
}

bool Reporter::isCompound(const ir::Op& op) const {
  const Span span = spanOf(op);
  return shared_.context.sources && span.valid() && isCompoundAssignment(shared_.context.sources->text(span));
}

Reporter::Use Reporter::guessedUse(const ir::Op& op, const ir::Value* v, size_t number) const {
  Span whole = spanOf(op);
  const SourceManager* sources = shared_.context.sources;
  if (!sources || !whole.valid()) return {};
  v = writtenOperand(op, v);
  std::string_view file = sources->file(whole.file).text();
  std::string_view text = sources->text(whole);
  auto part = [&](size_t begin, size_t end) {
    return Span{whole.file, whole.begin + static_cast<uint32_t>(begin), whole.begin + static_cast<uint32_t>(end)};
  };

  if (op.kind == ir::OpKind::SamePlace) {
    size_t sign = text.find('=');
    size_t begin = sign == std::string_view::npos ? sign : text.find_first_not_of(' ', sign + 1);
    if (begin == std::string_view::npos || sign == 0 || isCompoundAssignment(text.substr(sign - 1, 2))) return {};
    return {part(begin, text.size()), takesPostfix(text.substr(begin))};
  }
  // The condition of an `if` is not one of its values.
  size_t from = 0;
  if (op.kind == ir::OpKind::If) {
    from = text.find('{');
    if (number % 2 == 1) from = text.find("else", from == std::string_view::npos ? 0 : from);
    if (from == std::string_view::npos) return {};
  }

  // The span is the operator alone: look beside it.
  bool operatorOnly =
      !text.empty() && std::none_of(text.begin(), text.end(), [](char c) { return isWord(c) || c == '('; });
  const bool variable = isCompoundAssignment(text) && number == 0;
  if (operatorOnly && (variable || !v->name.empty()) && number < 2) {
    size_t begin = 0, end = 0;
    if (number == 0) {
      end = whole.begin;
      while (end > 0 && file[end - 1] == ' ') --end;
      begin = end;
      while (begin > 0 && (isWord(file[begin - 1]) || file[begin - 1] == '.')) --begin;
    } else {
      begin = whole.end;
      while (begin < file.size() && file[begin] == ' ') ++begin;
      end = begin;
      while (end < file.size() && (isWord(file[end]) || file[end] == '.')) ++end;
    }
    if (variable ? begin < end : file.substr(begin, end - begin) == v->name)
      return {{whole.file, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)}, true};
  }
  // The operand is an expression of its own within the statement.
  Span own = spanOf(v);
  bool inside =
      own.valid() && own.file == whole.file && own.begin >= whole.begin && own.end <= whole.end && own != whole;
  if (inside) return {own, takesPostfix(sources->text(own)), hasWord(sources->text(own))};
  if (operatorOnly && own.valid() && own.file == whole.file && (own.end <= whole.begin || own.begin >= whole.end)) {
    size_t gapBegin = own.end <= whole.begin ? own.end : whole.end;
    size_t gapEnd = own.end <= whole.begin ? whole.begin : own.begin;
    std::string_view gap = file.substr(gapBegin, gapEnd - gapBegin);
    if (std::all_of(gap.begin(), gap.end(), [](char c) { return c == ' ' || c == '(' || c == ')'; }))
      return {own, takesPostfix(sources->text(own)), hasWord(sources->text(own))};
  }
  if (!v->name.empty()) {
    size_t at = findWord(text.substr(from), v->name);
    if (at != std::string_view::npos) return {part(from + at, from + at + v->name.size()), true};
  }
  return {};
}

Span Reporter::withBrackets(Span s) const {
  const std::string_view file = shared_.context.sources->file(s.file).text();
  while (true) {
    size_t begin = s.begin, end = s.end;
    while (begin > 0 && file[begin - 1] == ' ') --begin;
    while (end < file.size() && file[end] == ' ') ++end;
    if (begin == 0 || end == file.size() || file[begin - 1] != '(' || file[end] != ')') return s;
    const char before = begin > 1 ? file[begin - 2] : ' ';
    if (isWord(before) || before == ')' || before == ']') return s;  // the brackets of a call
    s = {s.file, static_cast<uint32_t>(begin - 1), static_cast<uint32_t>(end + 1)};
  }
}

Span Reporter::extentOf(const ir::Value* v) const {
  if (!v->op) return {};
  const ir::LocData& loc = shared_.module.loc(v->op->loc);
  Span s = loc.span;
  for (const ir::OperandText& o : loc.operands)
    if (s.valid() && o.span.valid() && o.span.file == s.file) s = Span::cover(s, o.span);
  return s;
}

Reporter::Use Reporter::useAt(Span span, std::string leaf) const {
  Use use;
  use.span = withBrackets(span);
  const std::string_view text = shared_.context.sources->text(use.span);
  use.postfix = takesPostfix(text);
  constexpr size_t kLongestName = 32;
  if (text.size() <= kLongestName && text.find('\n') == std::string_view::npos && (leaf.empty() || use.postfix))
    use.name = "`" + std::string(text) + (leaf.empty() ? "" : "." + leaf) + "`";
  return use;
}

Span Reporter::textOf(const ir::Op& op, const ir::Value* v, size_t number) const {
  using ir::OpKind;
  if (!shared_.context.sources) return {};
  const bool control = op.kind == OpKind::If || op.kind == OpKind::Condition || op.kind == OpKind::For;
  if (!control) {
    const Use use = useOf(op, v, number);
    return use.whole ? use.span : Span{};
  }
  const Span extent = extentOf(behindBroadcast(v));
  return extent.valid() ? withBrackets(extent) : extent;
}

Reporter::Use Reporter::useOf(const ir::Op& op, const ir::Value* v, size_t number) const {
  using ir::OpKind;
  const std::vector<ir::OperandText>& written = shared_.module.loc(op.loc).operands;
  const SourceManager* sources = shared_.context.sources;
  if (!sources) return {};
  if (op.kind == OpKind::CheckPlace && spanOf(op).valid()) return useAt(spanOf(op), "");  // the field as it is given
  if (written.empty()) return guessedUse(op, v, number);

  const bool perOperand = op.kind == OpKind::Call || op.kind == OpKind::Print || op.kind == OpKind::Assert ||
                          op.kind == OpKind::If || op.kind == OpKind::Return || op.kind == OpKind::SamePlace ||
                          op.kind == OpKind::OnePlace || op.kind == OpKind::To;
  if (perOperand) {
    if (number >= written.size() || !written[number].span.valid()) return guessedUse(op, v, number);
    return useAt(written[number].span, written[number].leaf);
  }
  v = writtenOperand(op, v);
  const Span own = spanOf(v), extent = extentOf(v);
  const auto inside = [](Span part, Span whole) {
    return part.valid() && part.file == whole.file && part.begin >= whole.begin && part.end <= whole.end;
  };
  const ir::OperandText* found = nullptr;
  for (const ir::OperandText& o : written)
    if (!found && o.span.valid() && !v->name.empty() && sources->text(o.span) == v->name) found = &o;
  for (const ir::OperandText& o : written)
    if (!found && o.span.valid() && inside(own, o.span)) found = &o;
  for (const ir::OperandText& o : written) {  // the name, somewhere in a tuple or list
    if (found || v->name.empty() || !o.span.valid() || !hasElements(sources->text(o.span))) continue;
    if (findWord(sources->text(o.span), v->name) != std::string_view::npos) found = &o;
  }
  if (!found && written.size() == op.operandCount()) found = &written[number];
  if (!found || !found->span.valid()) return guessedUse(op, v, number);
  const std::string_view text = sources->text(found->span);
  if (!hasElements(text)) return useAt(found->span, found->leaf);
  // One element of a tuple or list.
  if (inside(extent, found->span) && extent != found->span) return useAt(extent, "");
  const size_t at = v->name.empty() ? std::string_view::npos : findWord(text, v->name);
  if (at == std::string_view::npos) return useAt(found->span, found->leaf);
  const auto begin = static_cast<uint32_t>(found->span.begin + at);
  return useAt({found->span.file, begin, begin + static_cast<uint32_t>(v->name.size())}, "");
}

}  // namespace tenc::passes::placing
