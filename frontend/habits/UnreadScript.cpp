#include "frontend/habits/UnreadScript.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/habits/Aliases.h"
#include "frontend/habits/Libraries.h"
#include "frontend/habits/ListKinds.h"
#include "frontend/habits/NoneValues.h"
#include "frontend/habits/OtherMeanings.h"
#include "frontend/names/Scan.h"
#include "support/MendedText.h"
#include "syntax/ForeignImports.h"
#include "syntax/Parse.h"

namespace tenc::frontend {

namespace {

constexpr int kMostRounds = 12;

bool importsForeign(const ast::File& file) {
  return std::ranges::any_of(file.statements, [](const ast::StmtPtr& s) {
    std::string path;
    for (const ast::Name& part : s ? s->path : std::vector<ast::Name>()) path += (path.empty() ? "" : ".") + part.text;
    return s && s->kind == ast::Stmt::Kind::Import && syntax::importedInstead(path, {}).has_value();
  });
}

/// Whether a name stands for a library of Python, which the script need not import: that may be gone.
bool namesLibrary(const ast::File& file) {
  bool found = false;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    found = found || (isLibrary(e) && !imports(file, e.text));
    return !found;
  };
  visitor.visit(file);
  return found;
}

/// What a text becomes by the edits that its syntax errors propose.
class AheadOfSyntax {
 public:
  explicit AheadOfSyntax(std::string_view text) : mended_(text) {}

  /// Makes the edits, round by round, until nothing is wrong; whether that was so.
  bool read(const Diagnostics& errors, uint32_t source) {
    std::vector<OwnedEdit> edits = editsOf(errors, source);
    for (int round = 0; round < kMostRounds && !edits.empty(); ++round) {
      mended_.apply(std::move(edits));
      SourceManager sources;
      Diagnostics diags;
      const uint32_t now = sources.add("", mended_.now());
      file_ = syntax::parse(sources, now, diags);
      if (!file_) return false;
      if (diags.ok()) return true;
      edits = editsOf(diags, now);
    }
    return false;
  }
  const ast::File& file() const { return *file_; }
  std::string_view now() const { return mended_.now(); }
  Span inOriginal(Span s, uint32_t source) const {
    Span at = mended_.inOriginal(s);
    at.file = source;
    return at;
  }

 private:
  static std::vector<OwnedEdit> editsOf(const Diagnostics& errors, uint32_t source) {
    std::vector<OwnedEdit> edits;
    for (const Diagnostic* d : inSourceOrder(errors)) {
      const Help* h = mendOf(*d, source);
      const auto isApart = [&](const Edit& e) {
        return std::ranges::all_of(edits, [&](const OwnedEdit& o) { return areApart(o.edit, e); });
      };
      if (!h || !std::ranges::all_of(h->edits, isApart)) continue;
      const auto finding = static_cast<size_t>(d - errors.all().data());
      for (const Edit& e : h->edits) edits.push_back({e, finding});
    }
    return edits;
  }

  MendedText mended_;
  std::unique_ptr<ast::File> file_;
};

constexpr std::string_view kInverted =
    "`~` of a bool of Python computes with the number that it is: `~True` is -2; a bool is inverted by `not`";

std::string withoutSpaces(std::string_view text) {
  std::string out(text);
  std::erase_if(out, [](unsigned char c) { return std::isspace(c) != 0; });
  return out;
}

/// Whether `not x` or `bitwise_invert(x)` is what edits have made of `~x`.
bool isTilde(const ast::Expr& e, std::string_view original, std::string_view now) {
  const bool call = e.kind == ast::Expr::Kind::Call;
  const ast::Expr* operand = !call ? e.args[0].get() : e.arguments.empty() ? nullptr : e.arguments[0].value.get();
  if (!operand || original.find('~') == original.npos) return false;
  const std::string own = withoutSpaces(now.substr(operand->span.begin, operand->span.end - operand->span.begin));
  const std::string text = withoutSpaces(original);
  return text.find("~" + own) != text.npos || text.find("~(" + own) != text.npos ||
         (original.find("not ") == original.npos && original.find("bitwise_invert") == original.npos);
}

/// Whether a text begins with a function of Python, which marks may stand before: `def f(x):`.
bool isDef(std::string_view text) {
  while (text.starts_with('@')) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  if (!text.starts_with("def")) return false;
  size_t at = text.find('(');
  for (int depth = 0; at < text.size(); ++at) {
    depth += text[at] == '(' || text[at] == '[' ? 1 : text[at] == ')' || text[at] == ']' ? -1 : 0;
    if (depth == 0) break;
  }
  const size_t end = text.find_first_of(":{=\n", at);
  return end != text.npos && text[end] == ':';
}

/// Whether a method of a class is written so that it gives nothing: what an edit makes of one that returns or changes
/// something ends in an expression.
bool givesNothing(std::string_view klass, const std::string& method) {
  std::string name = "def " + method + "(";
  if (method == "call") name = klass.find("def forward(") != klass.npos ? "def forward(" : "def __call__(";
  const size_t begin = klass.find(name);
  if (begin == klass.npos) return false;
  const std::string_view body = klass.substr(begin, klass.find("def ", begin + 4) - begin);
  if (body.find("return") != body.npos) return false;
  for (size_t at = body.find("self."); at != body.npos; at = body.find("self.", at + 1)) {
    size_t end = at;  // `self.w[i] -= ...` begins a line
    while (end < body.size() && body[end] != '\n' && body[end] != '=') ++end;
    const size_t line = body.rfind('\n', at) + 1;
    const bool begins = body.find_first_not_of(" \t", line) == at;
    if (begins && end < body.size() && body[end] == '=' && !body.substr(end).starts_with("==")) return false;
  }
  return true;
}

/// The first `~` of a script that is given a bool of Python.
Span invertedBool(const PythonFlow& flow, const AheadOfSyntax& ahead, std::string_view original, uint32_t source) {
  Span found{};
  for (const auto& [e, kinds] : flow.negated()) {
    if (!kinds.any(PythonKinds::Bool)) continue;
    const Span at = ahead.inOriginal(e->span, source);
    const bool isFirst = !found.valid() || at.begin < found.begin;
    if (isFirst && isTilde(*e, original.substr(at.begin, at.end - at.begin), ahead.now())) found = at;
  }
  return found;
}

}  // namespace

UnreadScript::UnreadScript(const ast::File& file, const SourceManager& sources, const Diagnostics& syntaxErrors)
    : file_(file),
      syntaxErrors_(syntaxErrors.all().size()),
      isUnread_(!syntaxErrors.ok() && hasUnread(file)),
      isPython_(file.foreign || importsForeign(file) || namesLibrary(file) || bindsWithoutLet(file)) {
  if (syntaxErrors.ok()) return;
  AheadOfSyntax ahead(sources.file(file.source).text());
  if (!ahead.read(syntaxErrors, file.source)) return;
  const bool ofPython = file.foreign || bindsWithoutLet(ahead.file());
  const PythonFlow flow(ahead.file(), ofPython);
  const std::string_view text = sources.file(file.source).text();
  if (const Span whole = flow.wholeOperation(); whole.valid())
    ahead_ = {ahead.inOriginal(whole, file.source), kWholeLists};
  else if (const Span bits = invertedBool(flow, ahead, text, file.source); bits.valid())
    ahead_ = {bits, kInverted};
  const auto isOfPython = [&](const ast::Stmt& s) {
    const std::string_view written = text.substr(ahead.inOriginal(s.span, file.source).begin);
    if (written.starts_with("class")) {
      const Span at = ahead.inOriginal(s.span, file.source);
      return givesNothing(written.substr(0, at.end - at.begin), s.name.text);
    }
    return isDef(written);
  };
  const auto none = ofPython && !ahead_.span.valid() ? noneUsed(ahead.file(), isOfPython) : std::nullopt;
  if (none) ahead_ = {ahead.inOriginal(none->span, file.source), none->text};
  isPython_ = isPython_ || ofPython || ahead_.span.valid();
}

UnreadScript::Meaning UnreadScript::otherMeaning(Context& context) const {
  if (ahead_.span.valid()) return ahead_;
  if (isUnread_) return {};
  if (const Span whole = wholeListOperation(context, file_); whole.valid()) return {whole, kWholeLists};
  if (!bindsWithoutLet(file_) && !importsForeign(file_)) return {};
  const auto none = noneUsed(file_, [](const ast::Stmt&) { return false; });
  return none ? Meaning{none->span, none->text} : Meaning{};
}

void UnreadScript::withhold(Context& context, Diagnostics& diags) const {
  if (!isPython_ || diags.ok()) return;
  const auto [whole, said] = otherMeaning(context);
  const size_t from = whole.valid() ? 0 : isUnread_ ? syntaxErrors_ : diags.all().size();
  size_t withheld = 0;
  bool noted = std::ranges::any_of(diags.all(), [said](const Diagnostic& d) {
    return std::ranges::any_of(d.notes, [said](const Note& n) { return n.text == said; });
  });
  for (size_t i = from; i < diags.all().size(); ++i) {
    const Diagnostic& d = diags.all()[i];
    const auto changes = [&](const Help& h) {
      return std::ranges::any_of(h.edits, [&](const Edit& e) { return e.span.file == file_.source; });
    };
    if (d.severity() != Severity::Error || std::ranges::none_of(d.helps, changes)) continue;
    std::vector<Help> helps = d.helps;
    for (Help& h : helps)
      if (changes(h)) h.edits.clear();
    diags.setHelps(i, std::move(helps));
    ++withheld;
    if (whole.valid() && !noted) diags.addNote(i, {whole, std::string(said)});
    noted = noted || whole.valid();
  }
  // What no edit mends is said to be what the others wait for.
  const auto isFinal = [](const Diagnostic& d) {
    return d.severity() == Severity::Error &&
           std::ranges::all_of(d.helps, [](const Help& h) { return h.edits.empty(); });
  };
  for (size_t i = 0; i < syntaxErrors_ && withheld > 0 && !whole.valid(); ++i) {
    if (!isFinal(diags.all()[i])) continue;
    diags.addNote(i, {Span{}, "the edits of " + std::to_string(withheld) + " other error" +
                                  (withheld > 1 ? "s wait" : " waits") + " until this statement can be read"});
    break;
  }
}

}  // namespace tenc::frontend
