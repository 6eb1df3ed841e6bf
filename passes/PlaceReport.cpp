// Diagnostics of placement: each operand labelled with its device, notes that follow a value back to the annotation,
// creation, move or argument that put it there, and the mended line with its cost.
#include <algorithm>
#include <cctype>

#include "passes/Place.h"

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

/// Whether `.to(d)` may follow the text directly: names, fields, and anything in brackets.
bool onlyPostfix(std::string_view text) {
  int depth = 0;
  for (char c : text) {
    if (c == '(' || c == '[')
      ++depth;
    else if (c == ')' || c == ']')
      --depth;
    else if (depth == 0 && !isWord(c) && c != '.' && c != ':')
      return false;
    if (depth < 0) return false;
  }
  return depth == 0 && !text.empty();
}

bool hasWord(std::string_view text) { return std::any_of(text.begin(), text.end(), isWord); }

/// `v += x` stands for v = v + x; the span of its addition is the sign.
bool isCompoundAssignment(std::string_view sign) {
  return sign.size() == 2 && sign[1] == '=' && std::string_view("+-*/").find(sign[0]) != std::string_view::npos;
}

std::string typeText(const ir::Value* v) {
  ir::Type t = v->type;
  t.place = {};
  return ir::toString(t);
}

/// The device to move to: prefer away from the host, then away from the smaller value's.
const Reporter::Operand& toMove(const Reporter::Operand& a, const Reporter::Operand& b) {
  if (a.device == kHost) return a;
  if (b.device == kHost) return b;
  return a.value->type.bytes() <= b.value->type.bytes() ? a : b;
}

}  // namespace

std::string bytesText(int64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  double n = static_cast<double>(bytes);
  while (n >= 1024 && unit < 4) n /= 1024, ++unit;
  char text[32];
  bool whole = n == static_cast<double>(static_cast<int64_t>(n));
  std::snprintf(text, sizeof text, whole ? "%.0f %s" : "%.1f %s", n, kUnits[unit]);
  return text;
}

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
      size_t end = name.find_first_of("[.#(");
      return end == std::string::npos || end == 0 ? name : name.substr(0, end);
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
  return v->name.empty() ? std::string(otherwise) : "`" + v->name + "`";
}

std::string Reporter::writtenName(const ir::Op& op) const {
  std::string name = sourceName(op);
  const SourceManager* sources = shared_.context.sources;
  Span span = spanOf(op);
  bool isSymbol = !name.empty() && !isWord(name[0]);
  if (isSymbol || !sources || !span.valid()) return name;
  std::string_view text = sources->text(span);
  size_t end = 0;
  while (end < text.size() && isWord(text[end])) ++end;
  return end > 0 && end < text.size() && text[end] == '(' ? std::string(text.substr(0, end)) : name;
}

Span Reporter::spanOf(const ir::Op& op) const { return shared_.module.span(op.loc); }
Span Reporter::spanOf(const ir::Value* v) const { return v->op ? spanOf(*v->op) : Span{}; }

Reporter::Use Reporter::useOf(const ir::Op& op, const ir::Value* v, size_t number) const {
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
    return {part(begin, text.size()), onlyPostfix(text.substr(begin))};
  }
  // The condition of an `if` is not one of its values.
  size_t from = 0;
  if (op.kind == ir::OpKind::If) {
    from = text.find('{');
    if (number == 1) from = text.find("else", from == std::string_view::npos ? 0 : from);
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
  if (inside) return {own, onlyPostfix(sources->text(own)), hasWord(sources->text(own))};
  if (operatorOnly && own.valid() && own.file == whole.file && (own.end <= whole.begin || own.begin >= whole.end)) {
    size_t gapBegin = own.end <= whole.begin ? own.end : whole.end;
    size_t gapEnd = own.end <= whole.begin ? whole.begin : own.begin;
    std::string_view gap = file.substr(gapBegin, gapEnd - gapBegin);
    if (std::all_of(gap.begin(), gap.end(), [](char c) { return c == ' ' || c == '(' || c == ')'; }))
      return {own, onlyPostfix(sources->text(own)), hasWord(sources->text(own))};
  }
  if (!v->name.empty()) {
    size_t at = findWord(text.substr(from), v->name);
    if (at != std::string_view::npos) return {part(from + at, from + at + v->name.size()), true};
  }
  return {};
}

void Reporter::provenance(Diagnostic& d, const ir::Value* v, const std::string& device) const {
  const Instance* in = &instance_;
  const ir::Value* subject = behindBroadcast(v);
  std::string who = display(subject, "this value");
  for (int steps = 0; v && in && steps < 64; ++steps) {
    auto it = in->info.find(v);
    if (it == in->info.end()) return;
    const ValueInfo& info = it->second;
    std::string place = " is on " + device;
    switch (info.why) {
      case Why::Free: return;
      case Why::Default: d.notes.push_back({spanOf(v), who + place + ", the default device"}); return;
      case Why::OwnDevice:
        d.notes.push_back({spanOf(v), who + place + ", the device that this function runs on"});
        return;
      case Why::Annotation:
        d.notes.push_back({info.cause ? spanOf(*info.cause) : spanOf(v), who + place + " because of this annotation"});
        return;
      case Why::Entered:
        d.notes.push_back(
            {info.cause ? spanOf(*info.cause) : spanOf(v), who + place + ": what it is made of enters this block"});
        return;
      case Why::Moved:
        d.notes.push_back({info.cause ? spanOf(*info.cause) : spanOf(v), who + place + " because it was moved there"});
        return;
      case Why::CallResult:
        if (!info.from) {
          d.notes.push_back({spanOf(v), who + place + ", the result of this call"});
          return;
        }
        d.notes.push_back({spanOf(v), who + place + ", as the arguments of this call are"});
        v = info.from;
        who = display(v, "the argument");
        break;
      case Why::Argument:
        if (!in->caller || !info.from) {
          d.notes.push_back({in->func->span, who + place + ", as the signature says"});
          return;
        }
        d.notes.push_back({info.cause ? shared_.module.span(info.cause->loc) : Span{},
                           who + place + ", as the argument of this call is"});
        v = info.from;
        in = in->caller;
        who = display(v, "the argument");
        break;
      case Why::Operand:
      case Why::Variable: {
        const ir::Value* next = info.from;
        if (!next || next == v) return;
        const ir::Value* named = behindBroadcast(next);
        // The value of a block is known by the name outside.
        bool sameValue = v->op && v->op->kind == ir::OpKind::On && who.starts_with("`");
        if (!sameValue && !named->name.empty() && "`" + named->name + "`" != who) {
          if (who.starts_with("`")) d.notes.push_back({spanOf(v), who + " is computed from `" + named->name + "`"});
          who = "`" + named->name + "`";
        }
        v = next;
        break;
      }
    }
  }
}

void Reporter::callChain(Diagnostic& d) const {
  for (const Instance* in = &instance_; in && in->call; in = in->caller) {
    const std::string& signature = in->func->signature.empty() ? in->func->name : in->func->signature;
    d.notes.push_back({shared_.module.span(in->call->loc), "in this call of `" + signature + "`"});
  }
}

void Reporter::moveHelp(Diagnostic& d, const ir::Value* v, const Use& use, const std::string& device) const {
  v = behindBroadcast(v);
  Help help;
  help.text =
      "copy " + display(v, "this value") + " (" + typeText(v) + ", " + bytesText(v->type.bytes()) + ") to " + device;
  if (use.span.valid() && use.whole) {
    std::string move = ".to(" + device + ")";
    Span end{use.span.file, use.span.end, use.span.end}, begin{use.span.file, use.span.begin, use.span.begin};
    if (use.postfix) {
      help.edits.push_back({end, move});
    } else {
      help.edits.push_back({begin, "("});
      help.edits.push_back({end, ")" + move});
    }
  } else {
    help.text += " with `.to(" + device + ")`";
  }
  d.helps.push_back(std::move(help));
}

Diagnostic Reporter::mixed(const ir::Op& op, const std::string& what, const std::vector<Operand>& operands) const {
  Diagnostic d{};
  d.code = Code::E0301;
  d.message =
      what + (what.starts_with("the branches") ? " give values on different devices" : " are on different devices");
  d.span = spanOf(op);
  // One operand of each device is enough: a call may have many.
  std::vector<Operand> firsts;
  for (const Operand& o : operands) {
    bool seen = std::any_of(firsts.begin(), firsts.end(), [&](const Operand& f) { return f.device == o.device; });
    if (!seen) firsts.push_back(o);
  }
  std::vector<Use> uses;
  for (const Operand& o : firsts) uses.push_back(useOf(op, o.value, o.number));
  bool all = std::all_of(uses.begin(), uses.end(), [](const Use& u) { return u.span.valid(); });
  if (all) {
    for (size_t i = 0; i < firsts.size(); ++i) d.labels.push_back({uses[i].span, "on " + firsts[i].device});
  } else {
    for (const Operand& o : firsts) {
      std::string otherwise = "operand " + std::to_string(o.number + 1);
      d.label += (d.label.empty() ? "" : ", ") + display(o.value, otherwise) + " on " + o.device;
    }
  }
  for (const Operand& o : firsts) provenance(d, o.value, o.device);
  // The variable of `v += x` keeps its device.
  const SourceManager* sources = shared_.context.sources;
  bool compound = sources && d.span.valid() && isCompoundAssignment(sources->text(d.span));
  bool second = compound || &toMove(firsts[0], firsts[1]) == &firsts[1];
  moveHelp(d, writtenOperand(op, firsts[second].value), uses[second], firsts[!second].device);
  callChain(d);
  return d;
}

Diagnostic Reporter::assignment(const ir::Op& op, const ir::Value* value, const std::string& actual,
                                const std::string& variable, const ir::Value* old, const std::string& expected) const {
  Diagnostic d{};
  d.code = Code::E0302;
  std::string name = variable.empty() ? std::string("the variable") : "`" + variable + "`";
  d.message = name + " is on " + expected + " and keeps its device, but the value assigned to it is on " + actual;
  d.span = spanOf(op).valid() ? spanOf(op) : spanOf(value);
  Use use = useOf(op, value, 1);
  d.label = "on " + actual;
  provenance(d, value, actual);
  if (old) provenance(d, old, expected);
  moveHelp(d, value, use, expected);
  callChain(d);
  return d;
}

Diagnostic Reporter::wrongPlace(const ir::Op& op, std::string message, const Operand& operand,
                                const std::string& expected) const {
  Diagnostic d{};
  d.code = Code::E0303;
  d.message = std::move(message);
  d.span = spanOf(op).valid() ? spanOf(op) : spanOf(operand.value);
  Use use = useOf(op, operand.value, operand.number);
  if (use.span.valid()) {
    d.labels.push_back({use.span, "on " + operand.device});
  } else {
    d.label = display(operand.value, "this value") + " is on " + operand.device;
  }
  provenance(d, operand.value, operand.device);
  moveHelp(d, operand.value, use, expected);
  callChain(d);
  return d;
}

Diagnostic Reporter::unavailable(const ir::Op& op, const std::string& device, const std::string& reason) const {
  Diagnostic d{};
  d.code = Code::E0304;
  d.message = "there is no device " + device + " here";
  d.span = spanOf(op);
  d.notes.push_back({Span{}, reason});
  d.helps.push_back({"name it with a fallback: `device d = " + device + " or cpu`", {}});
  callChain(d);
  return d;
}

}  // namespace tenc::passes::placing
