#include "frontend/habits/OwnNames.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/builtins/BuiltinNames.h"
#include "frontend/habits/Aliases.h"
#include "frontend/habits/Libraries.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/names/Scan.h"
#include "syntax/Familiar.h"
#include "syntax/ForeignCalls.h"
#include "syntax/Tokens.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

bool isOfTL(std::string_view name) { return isBuiltin(name) || isTransform(name); }
bool isMethodElsewhere(std::string_view name) {
  return isOfTL(name) || syntax::familiarName(name) || !syntax::foreignCalls(name).empty();
}

/// Whether a value may be called, as its text tells: not a number, an array, or what a function of a library gives.
bool mayBeCalled(const ast::Expr& value) {
  switch (value.kind) {
    case ExprKind::Lambda:
    case ExprKind::Name:
    case ExprKind::Member:
    case ExprKind::If: return true;
    case ExprKind::Call: {
      const ast::Expr& callee = *value.args[0];
      if (callee.text.empty()) return true;
      const bool makesObject = std::isupper(static_cast<unsigned char>(callee.text[0])) != 0;
      return makesObject || (callee.kind == ExprKind::Name && !isOfTL(callee.text));
    }
    default: return false;
  }
}

/// A name of the script that may be called.
struct OwnName {
  std::string name;
  Span scope;  ///< invalid: the whole script
};

/// What the script binds, its functions and the variables that may be called.
class OwnNames {
 public:
  explicit OwnNames(const ast::File& file) : file_(file) {
    for (const std::string& name : file.declared) functions_.insert(name);
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) { add(s); };
    visitor.onExpression = [&](const ast::Expr& e) {
      if (e.kind == ExprKind::Call && e.args[0]->kind == ExprKind::Name) called_.insert(e.args[0]->text);
      if (e.kind != ExprKind::Lambda) return true;
      for (const ast::LambdaParam& p : e.params)
        for (const std::string& name : namesOf(p.pattern)) scoped_.push_back({name, e.span});
      return true;
    };
    visitor.visit(file);
    std::erase_if(scoped_, [&](const OwnName& n) { return !called_.contains(n.name); });
  }

  /// Those that are functions of TL, too.
  std::vector<OwnName> ofTL() const {
    std::vector<OwnName> found;
    for (const auto* names : {&functions_, &variables_})
      for (const std::string& name : *names)
        if (isOfTL(name)) found.push_back({name, {}});
    std::ranges::copy_if(scoped_, std::back_inserter(found), [](const OwnName& n) { return isOfTL(n.name); });
    return found;
  }
  bool isFunction(const std::string& name) const { return functions_.contains(name); }
  /// Whether it is a variable of the script itself, which functions do not see here.
  bool isVariable(const std::string& name) const { return variables_.contains(name); }

 private:
  void add(const ast::Stmt& s) {
    // One whose first parameter has a type is a method of that.
    const bool isMethod = s.kind == StmtKind::Fn && !s.params.empty() && s.params[0].type;
    if ((s.kind == StmtKind::Fn && !isMethod) || s.kind == StmtKind::Struct) functions_.insert(s.name.text);
    if (s.kind == StmtKind::Fn)
      for (const ast::FnParam& p : s.params) scoped_.push_back({p.name.text, s.span});
    const std::string name = nameBound(s);
    if (name.empty() || !s.value || !mayBeCalled(*s.value)) return;
    if (const ast::Stmt* fn = functionAround(file_, s.span))
      scoped_.push_back({name, fn->span});
    else
      variables_.insert(name);
  }

  const ast::File& file_;
  NameSet functions_, variables_, called_;
  std::vector<OwnName> scoped_;
};

/// How often a name stands in a text as the name of a value: not as a member, an option or in a string.
size_t timesIn(std::string_view text, std::string_view name) {
  size_t times = 0;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\') ++i;
      if (c == quote || c == '\n') quote = 0;
      continue;
    }
    if (c == '"' || c == '\'') quote = c;
    if (c == '#')
      while (i + 1 < text.size() && text[i + 1] != '\n') ++i;
    if (!syntax::isWordPart(c) || (i > 0 && syntax::isWordPart(text[i - 1]))) continue;
    size_t end = i;
    while (end < text.size() && syntax::isWordPart(text[end])) ++end;
    const size_t before = text.find_last_not_of(' ', i == 0 ? 0 : i - 1);
    const bool member = i > 0 && before != text.npos && before < i && text[before] == '.';
    const bool option = end < text.size() && text[end] == ':' && i > 0 && (text[before] == '(' || text[before] == ',');
    if (text.substr(i, end - i) == name && !member && !option) ++times;
    i = end - 1;
  }
  return times;
}

/// The first of the names that the edits bring to where it means the script's own.
const OwnName* broughtBy(const std::vector<Edit>& edits, std::string_view text, std::string_view after,
                         const std::vector<OwnName>& own) {
  const auto isBrought = [&](const OwnName& n) {
    const bool meets =
        !n.scope.valid() || std::ranges::any_of(edits, [&](const Edit& e) { return holds(n.scope, e.span); });
    return meets && timesIn(after, n.name) > timesIn(text, n.name);
  };
  const auto found = std::ranges::find_if(own, isBrought);
  return found == own.end() ? nullptr : &*found;
}

/// Whether a function reads a variable of the script, which means TL's function of that name there.
bool isReadInFunction(const ast::File& file, std::string_view text, const std::string& name) {
  bool found = false;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    found = found || (e.kind == ExprKind::Name && e.text == name && functionAround(file, e.span));
    return true;
  };
  visitor.visit(file);
  if (!hasUnread(file)) return found;
  for (size_t at = text.find('\n'); at != text.npos && at + 1 < text.size() && !found; at = text.find('\n', at + 1))
    found = (text[at + 1] == ' ' || text[at + 1] == '\t') &&
            timesIn(text.substr(at + 1, text.find('\n', at + 1) - at - 1), name) > 0;
  return found;
}

/// How often a text binds a name.
size_t timesBound(std::string_view text, const std::string& name) {
  size_t times = 0;
  for (const std::string& binding : {"let " + name + " ", "var " + name + " "})
    for (size_t at = text.find(binding); at != text.npos; at = text.find(binding, at + 1)) ++times;
  return times;
}

}  // namespace

std::string ownNameHelp(const std::string& name) {
  return "`" + name + "` is a name of this script, which hides that of TL: call yours something else";
}

namespace {
/// All that is read of the file, and all places of its edits.
Span spanOf(const ast::File& file, const Diagnostics& diags) {
  std::optional<Span> whole;
  const auto add = [&](Span part) {
    if (!part.valid() || part.file != file.source) return;
    if (!whole) whole = part;
    whole->begin = std::min(whole->begin, part.begin);
    whole->end = std::max(whole->end, part.end);
  };
  for (const ast::StmtPtr& s : file.statements)
    if (s) add(s->span);
  for (const Diagnostic& d : diags.all())
    for (const Help& h : d.helps)
      for (const Edit& e : h.edits) add(e.span);
  return whole.value_or(Span{file.source, 0, 0});
}

std::string unseenHelp(const std::string& name) {
  return "functions do not see the script's variables, and mean TL's `" + name + "`: make yours a function";
}
}  // namespace

void withholdHidden(const ast::File& file, const SourceManager& sources, Diagnostics& diags) {
  const auto changes = [&](const Help& h) {
    return !h.edits.empty() && std::ranges::all_of(h.edits, [&](const Edit& e) { return e.span.file == file.source; });
  };
  const auto isMended = [&](const Diagnostic& d) { return std::ranges::any_of(d.helps, changes); };
  if (std::ranges::none_of(diags.all(), isMended)) return;
  const OwnNames names(file);
  const std::vector<OwnName> own = names.ofTL();
  if (own.empty()) return;
  const Span whole = spanOf(file, diags);
  const std::string_view text = sources.text(whole);
  std::vector<std::string> unseen;  // variables that functions read
  for (const OwnName& n : own)
    if (names.isVariable(n.name) && !names.isFunction(n.name) && isReadInFunction(file, text, n.name))
      unseen.push_back(n.name);
  for (size_t i = 0; i < diags.all().size(); ++i) {
    std::vector<Help> helps = diags.all()[i].helps;
    bool withheld = false;
    for (Help& h : helps) {
      if (!changes(h)) continue;
      std::vector<Edit> edits = h.edits;
      for (Edit& e : edits) e.span = {e.span.file, e.span.begin - whole.begin, e.span.end - whole.begin};
      const std::string after = applyEdits(text, std::move(edits));
      const OwnName* name = broughtBy(h.edits, text, after, own);
      const auto hidden =
          std::ranges::find_if(unseen, [&](auto& n) { return timesBound(after, n) > timesBound(text, n); });
      if (!name && hidden == unseen.end()) continue;
      withheld = true;
      h = Help{name ? ownNameHelp(name->name) : unseenHelp(*hidden), {}};
    }
    if (withheld) diags.setHelps(i, std::move(helps));
  }
}

std::optional<HiddenMethod> hiddenMethod(const ast::File& file) {
  const OwnNames own(file);
  std::optional<HiddenMethod> found;
  const auto report = [&](Span call, const std::string& help) {
    if (!found) found = HiddenMethod{call, help};
  };
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    if (e.kind != ExprKind::Call) return true;
    const ast::Expr& callee = *e.args[0];
    const std::string& name = callee.text;
    const bool method = callee.kind == ExprKind::Member && !isLibrary(rootOfMember(callee)) && isMethodElsewhere(name);
    if (method && (own.isFunction(name) || own.isVariable(name)))
      report(e.span, "`" + name +
                         "` is a method of arrays in Python, and here a function of this script: call yours "
                         "something else");
    const bool plain = callee.kind == ExprKind::Name && own.isVariable(name) && !own.isFunction(name) && isOfTL(name);
    if (plain && functionAround(file, e.span)) report(e.span, unseenHelp(name));
    return true;
  };
  visitor.visit(file);
  return found;
}

}  // namespace tenc::frontend
