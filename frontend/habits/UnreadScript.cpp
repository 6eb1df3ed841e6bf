#include "frontend/habits/UnreadScript.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/habits/Aliases.h"
#include "frontend/habits/Libraries.h"
#include "frontend/habits/ListKinds.h"
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
  const Span whole = PythonFlow(ahead.file(), ofPython).wholeOperation();
  if (whole.valid()) wholeLists_ = ahead.inOriginal(whole, file.source);
  isPython_ = isPython_ || ofPython || whole.valid();
}

void UnreadScript::withhold(Context& context, Diagnostics& diags) const {
  if (!isPython_ || diags.ok()) return;
  const Span whole = wholeLists_.valid() ? wholeLists_ : isUnread_ ? Span{} : wholeListOperation(context, file_);
  const size_t from = whole.valid() ? 0 : isUnread_ ? syntaxErrors_ : diags.all().size();
  size_t withheld = 0;
  bool noted = std::ranges::any_of(diags.all(), [](const Diagnostic& d) {
    return std::ranges::any_of(d.notes, [](const Note& n) { return n.text == kWholeLists; });
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
    if (whole.valid() && !noted) diags.addNote(i, {whole, std::string(kWholeLists)});
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
