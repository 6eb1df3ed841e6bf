#include "frontend/habits/Translation.h"

#include <algorithm>

#include "frontend/Context.h"
#include "frontend/StdModules.h"
#include "frontend/habits/Declare.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Unit.h"
#include "ir/DeviceTable.h"
#include "syntax/Familiar.h"

namespace tenc::frontend {

namespace {
using ExprKind = ast::Expr::Kind;
using syntax::ForeignArgument;
using syntax::ForeignCall;

const ast::Expr& rootOfMember(const ast::Expr& member) {
  const ast::Expr* root = &member;
  while (root->kind == ExprKind::Member) root = root->args[0].get();
  return *root;
}

/// The parts of an expression that are expressions themselves, in the order of the text; none of blocks and lambdas.
std::vector<const ast::Expr*> partsOf(const ast::Expr& e) {
  std::vector<const ast::Expr*> parts;
  if (e.kind == ExprKind::If || e.kind == ExprKind::Block || e.kind == ExprKind::Lambda) return parts;
  const auto add = [&](const ast::ExprPtr& p) {
    if (p) parts.push_back(p.get());
  };
  for (const ast::ExprPtr& p : e.args) add(p);
  for (const ast::Argument& a : e.arguments) {
    add(a.value);
    add(a.rangeEnd);
  }
  for (const ast::Subscript& s : e.subscripts)
    for (const auto* p : {&s.index, &s.lo, &s.hi, &s.step, &s.size}) add(*p);
  for (const ast::FieldInit& f : e.fields) add(f.value);
  std::sort(parts.begin(), parts.end(), [](auto* a, auto* b) { return a->span.begin < b->span.begin; });
  return parts;
}
}  // namespace

bool hasForeignPrefix(const ast::Expr& member, Scopes& scopes) {
  const ast::Expr& root = rootOfMember(member);
  if (member.kind != ExprKind::Member || root.kind != ExprKind::Name) return false;
  bool functional = false;  // nn.functional.relu
  for (const ast::Expr* m = member.args[0].get(); m->kind == ExprKind::Member; m = m->args[0].get())
    functional |= m->text == "functional";
  const syntax::Familiar* head = syntax::familiarName(root.text);
  if (head == nullptr) return false;
  return (functional && head->layer) || (head->prefix && !scopes.nameExists(root.text));
}

std::string Translation::nameOf(std::string_view foreign) const {
  if (scopes_.nameExists(foreign)) return std::string(foreign);
  const syntax::Familiar* known = syntax::familiarName(foreign);
  if (known == nullptr || known->replacement.empty()) return "";
  return known->keyword || scopes_.nameExists(known->replacement) ? std::string(known->replacement) : "";
}

std::optional<Translation::Callee> Translation::calleeOf(const ast::Expr& callee) const {
  if (callee.kind == ExprKind::Name) {
    if (scopes_.nameExists(callee.text)) return std::nullopt;
    return Callee{callee.text, Form::Prefixed};
  }
  if (callee.kind != ExprKind::Member) return std::nullopt;
  const std::string_view name = callee.text;
  const ast::Expr& root = rootOfMember(callee);
  const syntax::Familiar* head = root.kind == ExprKind::Name ? syntax::familiarName(root.text) : nullptr;
  const bool layers = head != nullptr && head->layer && head->replacement.empty();
  if (hasForeignPrefix(callee, scopes_)) {
    const std::vector<const ForeignCall*> rows = syntax::foreignCalls(name);
    const bool layer = std::any_of(rows.begin(), rows.end(), [](auto* r) { return r->form == Form::Layer; });
    return Callee{name, layer ? Form::Layer : Form::Prefixed};
  }
  const Unit& unit = *context_.frame().unit;
  const auto module = root.kind == ExprKind::Name ? unit.modules.find(root.text) : unit.modules.end();
  if (module != unit.modules.end()) {
    const Unit& in = *module->second;
    if (in.functions.contains(std::string(name)) || in.declared.contains(std::string(name))) return std::nullopt;
    const bool layer = layers || !syntax::foreignCalls(name).empty();
    // A struct of the module has the name of the layer that its function makes.
    return layer ? std::optional(Callee{name, Form::Layer}) : std::nullopt;
  }
  if (layers && !scopes_.nameExists(root.text)) return Callee{name, Form::Layer};
  if (scopes_.nameExists(name)) return std::nullopt;
  return Callee{name, Form::Method, true};
}

ForeignArgument Translation::argument(const ast::Expr& value) {
  const WrittenOperand written = operandOf(value, "");
  ForeignArgument a{"", text(value), written.compound};
  const bool negative = value.kind == ExprKind::Unary && value.args[0]->kind == ExprKind::Int;
  a.number = value.kind == ExprKind::Int || negative;
  if (value.kind == ExprKind::Tuple || value.kind == ExprKind::Array)
    for (const ast::ExprPtr& p : value.args) a.parts.push_back(text(*p));
  return a;
}

std::vector<ForeignArgument> Translation::argumentsOf(const ast::Expr& e, bool method) {
  std::vector<ForeignArgument> list;
  if (method) list.push_back(argument(*e.args[0]->args[0]));
  for (const ast::Argument& a : e.arguments) {
    list.push_back(argument(*a.value));
    if (a.name) list.back().name = a.name->text;
  }
  return list;
}

std::optional<TranslatedCall> Translation::call(const ast::Expr& e) {
  const bool plain = std::all_of(e.arguments.begin(), e.arguments.end(),
                                 [](const ast::Argument& a) { return a.value && !a.rangeEnd; });
  const std::optional<Callee> callee = plain ? calleeOf(*e.args[0]) : std::nullopt;
  if (!callee) return std::nullopt;
  const ast::File* file = context_.frame().unit->file;
  const Beside beside = file != nullptr ? besideOf(*file, e) : Beside::Operator;
  const std::vector<ForeignArgument> given = argumentsOf(e, callee->method);
  const syntax::Familiar* known = syntax::familiarName(callee->name);
  const std::string said = known && !known->help.empty() ? std::string(known->help) : "this is how TL writes it";
  const std::string device = ir::DeviceTable::accelerator();
  for (const ForeignCall* row : syntax::foreignCalls(callee->name)) {
    if (row->form != Form::Any && row->form != callee->form) continue;
    if (row->statement && beside != Beside::Statement) continue;
    auto text = syntax::rewritten(*row, given, ir::DeviceTable::kindOf(device));
    if (!text) continue;
    const bool open = text->front() == '|' || row->text.find("} ") != std::string_view::npos;
    if (open && !row->statement && beside == Beside::Operator) text = "(" + *text + ")";
    return TranslatedCall{*text, row->help.empty() ? said : std::string(row->help)};
  }
  const bool named = std::any_of(given.begin(), given.end(), [](const auto& a) { return !a.name.empty(); });
  if (!named) {
    WrittenCall written{callee->name, callee->method, {}, beside};
    for (const ForeignArgument& a : given) written.operands.push_back({a.text, a.compound});
    if (auto text = rewritten(written)) return TranslatedCall{*text, said};
  }
  if (e.args[0]->kind == ExprKind::Name) return std::nullopt;  // a name alone is suggested by its spelling
  const std::string name = nameOf(callee->name);
  if (name.empty() || callee->method) return std::nullopt;
  if (callee->form == Form::Layer && !hasForeignPrefix(*e.args[0], scopes_)) return std::nullopt;
  std::string text = name + "(";
  for (const ForeignArgument& a : given)
    text += (text.back() == '(' ? "" : ", ") + (a.name.empty() ? "" : a.name + ": ") + a.text;
  return TranslatedCall{text + ")", "operations have no prefix"};
}

std::string Translation::text(const ast::Expr& e) {
  if (e.kind == ExprKind::Call) {
    if (const auto known = call(e)) return known->text;
  }
  if (e.kind == ExprKind::Member && hasForeignPrefix(e, scopes_)) {
    if (const std::string name = nameOf(e.text); !name.empty()) return name;
  }
  if (e.kind == ExprKind::Name && !scopes_.nameExists(e.text)) {
    if (const std::string name = nameOf(e.text); !name.empty()) return name;
  }
  const std::string_view source = context_.sources.text(e.span);
  std::string out;
  uint32_t at = e.span.begin;
  for (const ast::Expr* part : partsOf(e)) {
    if (part->span.begin < at || part->span.end > e.span.end) continue;
    out += source.substr(at - e.span.begin, part->span.begin - at);
    out += text(*part);
    at = part->span.end;
  }
  return out + std::string(source.substr(at - e.span.begin));
}

std::vector<Edit> Translation::edits(Span whole, const std::string& text) const {
  std::vector<Edit> edits;
  const Unit& unit = *context_.frame().unit;
  for (const std::string_view module : stdModuleNames()) {
    const size_t at = text.find(std::string(module) + ".");
    const bool apart = at == 0 || (at != std::string::npos && !std::isalnum(static_cast<unsigned char>(text[at - 1])) &&
                                   text[at - 1] != '_' && text[at - 1] != '.');
    if (apart && unit.file && !scopes_.nameExists(module))
      edits.push_back(imported(*unit.file, context_.sources.file(unit.source), module));
  }
  edits.push_back({whole, text});
  return edits;
}

}  // namespace tenc::frontend
