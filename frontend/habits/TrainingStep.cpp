#include "frontend/habits/TrainingStep.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "frontend/Context.h"
#include "frontend/habits/Aliases.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/habits/TiedParts.h"
#include "frontend/habits/TrainingStatements.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "syntax/StatementEdits.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

/// Whether the file names layers that do something else while a network is trained.
bool trainsOtherwise(const ast::File& file) {
  static constexpr std::string_view kLayers[] = {"BatchNorm", "batch_norm", "Dropout", "dropout"};
  bool found = false;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    const bool names = e.kind == ExprKind::Name || e.kind == ExprKind::Member;
    const auto isOne = [](std::string_view layerName) {
      return std::ranges::any_of(kLayers,
                                 [&](std::string_view part) { return layerName.find(part) != layerName.npos; });
    };
    found = found || (names && isOne(e.text));
    for (const ast::Argument& a : e.arguments) found = found || (a.name && isOne(a.name->text));
    return !found;
  };
  visitor.visit(file);
  return found;
}

/// What stands before a part of a line, if that is nothing but blanks.
std::optional<std::string> blanksBefore(const SourceManager& sources, Span part) {
  const SourceFile& source = sources.file(part.file);
  const auto line = static_cast<uint32_t>(source.lineStart(source.position(part.begin).line));
  std::string before(sources.text({part.file, line, part.begin}));
  return before.find_first_not_of(" \t") == std::string::npos ? std::optional(std::move(before)) : std::nullopt;
}

/// Writes what takes the place of a step's statements.
class Writer {
 public:
  Writer(const SourceManager& sources, const ast::File& file, const Step& step, std::vector<size_t> moved)
      : sources_(sources), file_(file), step_(step), moved_(std::move(moved)) {}

  std::optional<Help> help() {
    const bool trains = trainsOtherwise(file_);
    if (trains && !callInTraining())
      return Help{
          "a gradient is a value, and layers that differ in training are called by `nn.train`: "
          "`let ((loss, trained), g) = value_and_grad(f, aux: true)(m)`, with `nn.train(m, x)` in `f`",
          {}};
    const ast::Stmt& loss = *step_.among[step_.loss];
    const std::string g = free("g", "gradient"), m = step_.model.text(), &s = step_.optimiser;
    const std::string value = valueText(sources_, loss, lossText());
    for (const size_t i : moved_) place(i);
    if (!isKnown_)
      return Help{
          "a gradient is a value, and the loss is computed in a function: what the network gives in training is read "
          "before "
          "it here, and can be read behind it",
          {}};
    if (trains) given_.push_back(trained_);
    const std::string all = tuple(given_);
    const std::string body = all.empty() ? value : "(" + value + ", " + all + ")";
    inside_ += last_;
    const std::string function =
        inside_.empty() ? body : "{\n" + inside_ + margin() + "    " + body + "\n" + margin() + "}";
    std::string name = step_.name, kept;
    const bool isOwn =
        std::ranges::any_of(moved_, [&](size_t i) { return boundBy(*step_.among[i]).contains(step_.name); });
    const bool isVariable = loss.kind == StmtKind::Assign && !isOwn;
    if (isVariable || isReadBehind()) {  // the last one
      name = free("now", "value");
      kept = "\n" + margin() + step_.name + " = " + name;
    }
    if (!isVariable && !kept.empty()) {
      edits_.push_back(syntax::lineBefore(sources_, step_.block->span, "var " + step_.name + " = 0.0"));
    }
    std::vector<std::string> outside = given_;
    for (std::string& n : outside) {
      if (!variables_.contains(n)) continue;
      if (timesNamed(file_, n + "_") > 0) return std::nullopt;
      kept += "\n" + margin() + n + " = " + n + "_";
      n += '_';
    }
    const std::string names = all.empty() ? name : "(" + name + ", " + tuple(outside) + ")";
    const std::string parameters = step_.model.parameters();
    edits_.push_back({loss.span, "let (" + names + ", " + g + ") = value_and_grad(|" + parameters + "| " + function +
                                     step_.model.wrt() + (all.empty() ? "" : ", aux: true") + ")(" + parameters + ")" +
                                     kept});
    if (step_.model.list.valid()) edits_.push_back({step_.model.list, m});
    edits_.push_back(syntax::removed(sources_, step_.among[step_.backward]->span));
    if (step_.clears) edits_.push_back(syntax::removed(sources_, step_.clears->span));
    if (step_.clips)
      edits_.push_back({step_.clips->span, "let clipped = optim.clip_norm(" + g + ", " +
                                               text(mostNorm(*step_.clips, step_.model)->span) + ")"});
    std::string options;
    for (const ast::Argument& a : step_.call->arguments) options += ", " + text(a.span);
    edits_.push_back({step_.among[step_.update]->span, "(" + m + ", " + s + ") = optim.step(" + s + ", " +
                                                           (trains ? trained_ : m) + ", " +
                                                           (step_.clips ? "clipped" : g) + options + ")"});
    return Help{"a gradient is a value, which `value_and_grad` gives and `optim.step` takes", std::move(edits_)};
  }

 private:
  std::string text(Span s) const { return std::string(sources_.text(s)); }
  static std::string tuple(const std::vector<std::string>& names) {
    std::string all = names.empty() ? "" : names[0];
    for (size_t i = 1; i < names.size(); ++i) all += ", " + names[i];
    return names.size() > 1 ? "(" + all + ")" : all;
  }
  std::string free(const char* name, const char* other) const { return timesNamed(file_, name) == 0 ? name : other; }
  /// A text with a part of it written otherwise.
  std::string replaced(Span whole, Span part, const std::string& by) const {
    return text({whole.file, whole.begin, part.begin}) + by + text({whole.file, part.end, whole.end});
  }
  /// The blanks before the loss.
  std::string margin() const { return blanksBefore(sources_, step_.among[step_.loss]->span).value_or(""); }

  /// Whether the loss is read behind the loop, where its name has ended.
  bool isReadBehind() const {
    bool found = false;
    TreeVisitor visitor;
    visitor.onExpression = [&](const ast::Expr& e) {
      found = found || (e.kind == ExprKind::Name && e.text == step_.name && e.span.begin >= step_.block->span.end);
      return true;
    };
    const ast::Stmt* around = step_.block ? placeIn(file_, step_.block->span).outer : nullptr;
    if (around) visitor.visit(*around);
    for (const ast::StmtPtr& s : file_.statements)
      if (s && step_.block && !around && s->kind != StmtKind::Fn) visitor.visit(*s);
    return found;
  }

  /// The one call of the model in what makes the loss; false where there are several, or other arguments than one.
  bool callInTraining() {
    if (step_.model.names.size() > 1) return false;
    const std::string& model = step_.model.names[0];
    std::vector<const ast::Expr*> calls;
    TreeVisitor visitor;
    visitor.onExpression = [&](const ast::Expr& e) {
      const bool isModel = e.kind == ExprKind::Name && e.text == model;
      if (isModel) calls.push_back(nullptr);  // whatever is done with it
      if (e.kind == ExprKind::Call && e.args[0]->kind == ExprKind::Name && e.args[0]->text == model &&
          e.arguments.size() == 1 && !e.arguments[0].name && e.arguments[0].value)
        calls.push_back(&e);
      return true;
    };
    for (const size_t i : moved_) visitor.visit(*step_.among[i]);
    visitor.visit(*step_.among[step_.loss]);
    trained_ = free("trained", "changed");
    if (calls.size() == 2) inTraining_ = calls[0] ? calls[0] : calls[1];
    return inTraining_ != nullptr;
  }
  std::string trainingCall() const {
    return "nn.train(" + step_.model.names[0] + ", " + text(inTraining_->arguments[0].value->span) + ")";
  }
  bool holds(Span whole) const {
    return inTraining_ && whole.begin <= inTraining_->span.begin && inTraining_->span.end <= whole.end;
  }

  /// What the loss is, with the call in training before it where it stands in it.
  std::string lossText() {
    const ast::Stmt& loss = *step_.among[step_.loss];
    const Span value = loss.value->span;
    if (!holds(value)) return text(value);
    const std::string output = free("output", "predicted");
    last_ = margin() + "    " + marksOf(sources_, loss) + "let (" + output + ", " + trained_ + ") = " + trainingCall() +
            "\n";
    return replaced(value, inTraining_->span, output);
  }

  /// Whether a loop that is moved assigns to the name.
  bool isSummed(const std::string& name) const {
    return std::ranges::any_of(
        moved_, [&](size_t i) { return isSum(*step_.among[i]) && assignedBy(*step_.among[i]).contains(name); });
  }

  /// Moves one of the statements into the function, and sees to it that its names are there behind it.
  void place(size_t i) {
    const ast::Stmt& s = *step_.among[i];
    const bool sets = setsVariable(s);
    if (isSum(s) && holds(s.span)) isKnown_ = false;  // several calls in training
    const bool declares = s.kind == StmtKind::Var && !isSummed(s.pattern.name.text);
    std::string own = (sets ? "let " : "") + (declares ? replaced(s.span, s.keyword, "let") : text(s.span));
    if (holds(s.span) && s.value.get() == inTraining_) {
      own = marksOf(sources_, s) + "let (" + text(sets ? s.target->span : s.pattern.span) + ", " + trained_ +
            ") = " + trainingCall();
    } else if (holds(s.span)) {
      const std::string output = free("output", "predicted");
      inside_ += margin() + "    " + marksOf(sources_, s) + "let (" + output + ", " + trained_ +
                 ") = " + trainingCall() + "\n";
      own = (sets ? "let " : "") + replaced(s.span, inTraining_->span, output);
    }
    for (size_t line = own.find('\n'); line != std::string::npos; line = own.find('\n', line + 1))
      own.insert(line + 1, "    ");
    inside_ += margin() + "    " + own + "\n";
    const NameSet bound = given(s);
    const auto isReadBefore = [&](const std::string& n) { return step_.isRead(n, i + 1, step_.loss, moved_); };
    if (std::any_of(bound.begin(), bound.end(), isReadBefore)) {  // it stays there too, which is no call in training
      isKnown_ = isKnown_ && !holds(s.span);
      return;
    }
    edits_.push_back(syntax::removed(sources_, s.span));
    if (sets) variables_.insert(bound.begin(), bound.end());
    for (const std::string& n : bound)
      if (n != step_.name && (sets || step_.isRead(n, step_.loss, step_.among.size(), moved_)) &&
          std::find(given_.begin(), given_.end(), n) == given_.end())
        given_.push_back(n);
  }

  const SourceManager& sources_;
  const ast::File& file_;
  const Step& step_;
  const std::vector<size_t> moved_;
  const ast::Expr* inTraining_ = nullptr;
  std::string trained_, inside_, last_;
  bool isKnown_ = true;
  NameSet variables_;               ///< of the names that are given, those that were declared before
  std::vector<std::string> given_;  ///< names that the function gives beside the loss
  std::vector<Edit> edits_;
};
}  // namespace

namespace {
/// `loss += penalty`, which is to be part of what the loss is.
std::optional<Help> addedTo(const SourceManager& sources, const ast::File& file, const ast::Expr& backward) {
  const StatementPlace at = placeIn(file, backward.span);
  if (!at.among || backward.args[0]->args.empty()) return std::nullopt;
  const std::string& loss = backward.args[0]->args[0]->text;
  Help help{"a gradient is a value, and the loss is one that a function computes: a part of it is added in what it is",
            {}};
  for (const ast::StmtPtr& s : *at.among) {
    const bool adds = s && s->kind == StmtKind::Assign && s->op != "=" && s->target->kind == ExprKind::Name;
    if (!adds || s->target->text != loss || s->span.end > backward.span.begin) continue;
    const std::string op = s->op.substr(0, s->op.size() - 1);
    help.edits.push_back({s->span, loss + " = " + loss + " " + op + " " + asOperand(sources, *s->value)});
  }
  return help.edits.empty() ? std::nullopt : std::optional(help);
}
/// Whether a condition decides what the loss is: `if c: loss = loss + penalty`.
bool isChosen(const ast::File& file, const ast::Expr& backward) {
  const StatementPlace at = placeIn(file, backward.span);
  if (!at.among || backward.args[0]->args.empty()) return false;
  const std::string& loss = backward.args[0]->args[0]->text;
  return std::any_of(at.among->begin(), at.among->end(), [&](const ast::StmtPtr& s) {
    const bool isIf = s && ((s->kind == StmtKind::Expr && s->value && s->value->kind == ExprKind::If) ||
                            s->kind == StmtKind::For || s->kind == StmtKind::While);
    bool sets = false;
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& inner) { sets = sets || assignedBy(inner).contains(loss); };
    if (isIf && s->span.end <= backward.span.begin) visitor.visit(*s);
    return sets;
  });
}
}  // namespace

namespace {
/// `loss = 0`, and a loop that adds to it: what is summed gets a name of its own, and the loss is what it ends in.
std::optional<Help> summedLoss(const SourceManager& sources, const ast::File& file, const ast::Expr& backward) {
  const StatementPlace at = placeIn(file, backward.span);
  if (!at.among || backward.args[0]->args.empty()) return std::nullopt;
  const std::string& loss = backward.args[0]->args[0]->text;
  static constexpr std::string_view kNames[] = {"total", "summed", "accumulated"};
  const auto* const name = std::ranges::find_if(kNames, [&](std::string_view n) { return timesNamed(file, n) == 0; });
  if (name == std::end(kNames)) return std::nullopt;
  const std::string total(*name);
  std::vector<Edit> edits;
  bool hides = false;  // whether something else has the name there
  const auto rename = [&](const auto& part) {
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) { hides = hides || boundBy(s).contains(loss); };
    visitor.onExpression = [&](const ast::Expr& e) {
      for (const ast::LambdaParam& p : e.params) hides = hides || namesOf(p.pattern).contains(loss);
      if (e.kind == ExprKind::Name && e.text == loss) edits.push_back({e.span, total});
      return true;
    };
    visitor.visit(part);
  };
  const ast::Stmt *loop = nullptr, *ends = nullptr;
  bool declared = false;
  for (const ast::StmtPtr& s : *at.among) {
    if (!s) return std::nullopt;
    if (s->span.begin >= at.statement->span.begin) break;
    if (loop && !ends && !setsVariable(*s)) ends = s.get();
    if (s->kind == StmtKind::Var && !s->pattern.isTuple && s->pattern.name.text == loss && !declared) {
      declared = true;
      edits.push_back({s->pattern.name.span, total});
      continue;
    }
    if (!declared || (!namesRead(*s).contains(loss) && !assignedBy(*s).contains(loss))) {
      if (!declared && assignedBy(*s).contains(loss)) return std::nullopt;
      continue;
    }
    const bool scales = loop && setsVariable(*s) && s->target->text == loss && (!ends || ends == s.get());
    if (isSum(*s) && assignedBy(*s).contains(loss) && !ends) {
      loop = s.get();
      rename(*s);
    } else if (scales) {  // `loss = loss / n`
      rename(*s->value);
      edits.push_back({Span{s->span.file, s->span.begin, s->span.begin}, "let "});
      if (hides) return std::nullopt;
      return Help{"a loss that a loop adds up is what the sum ends in", std::move(edits)};
    } else {
      return std::nullopt;
    }
  }
  if (!loop || hides) return std::nullopt;
  edits.push_back(syntax::lineBefore(sources, (ends ? ends : at.statement)->span, "let " + loss + " = " + total));
  return Help{"a loss that a loop adds up is what the sum ends in", std::move(edits)};
}
}  // namespace

std::optional<Help> trainingStep(Context& context, const ast::Expr& backward) {
  const ast::File* file = fileOf(context);
  if (auto summed = file ? summedLoss(context.sources, *file, backward) : std::nullopt) return summed;
  if (file && isChosen(*file, backward))
    return Help{
        "a gradient is a value: `let (loss, g) = value_and_grad(f)(m)`, where `f` computes the loss; a part of it that "
        "a "
        "condition decides is a value, too: `loss + (if c { penalty } else { 0.0 })`",
        {}};
  if (auto added = file ? addedTo(context.sources, *file, backward) : std::nullopt) return added;
  const std::optional<Step> step = file ? stepAt(*file, backward) : std::nullopt;
  if (step && step->block && !step->clears)
    return Help{"without `zero_grad` in the loop the gradients of all trips add up: keep their sum in a `var`", {}};
  for (const std::string& model : step ? step->model.names : std::vector<std::string>())
    if (const auto other = aliasRead(*file, model, step->call->span, true)) return Help{aliasHelp(model, *other), {}};
  if (step)
    if (const auto part = heldTwice(*file, step->model.names, step->call->span)) return Help{heldTwiceHelp(*part), {}};
  const auto moved = step ? step->dependent() : std::nullopt;
  if (moved)
    if (const std::string part = step->readInBranch(*file, *moved); !part.empty())
      return Help{"where no loss depends on `" + part +
                      "` PyTorch's optimisers leave it as it is; here its gradient is zero, and momentum goes on: "
                      "write a step for each of the branches",
                  {}};
  if (step && !moved)
    return Help{
        "a gradient is a value: `let (loss, g) = value_and_grad(f)(m)`, where `f` computes the loss; what it needs is "
        "changed "
        "before it here, so write that into `f`, with names of its own",
        {}};
  return moved ? Writer(context.sources, *file, *step, *moved).help() : std::nullopt;
}

std::optional<Help> namedLoss(Context& context, const ast::Expr& backward) {
  const ast::File* file = fileOf(context);
  const ast::Stmt* s = file ? placeIn(*file, backward.span).statement : nullptr;
  const ast::Expr& of = *backward.args[0]->args[0];
  const bool alone = s && s->kind == StmtKind::Expr && s->value.get() == &backward && s->annotations.empty();
  if (!alone || of.kind == ExprKind::Name || of.kind == ExprKind::Member || !backward.arguments.empty())
    return std::nullopt;
  const auto isFree = [&](std::string_view n) { return timesNamed(*file, n) == 0; };
  static constexpr std::string_view kNames[] = {"loss", "total_loss", "objective"};
  const auto* const name = std::ranges::find_if(kNames, isFree);
  const std::optional<std::string> margin = blanksBefore(context.sources, s->span);
  if (name == std::end(kNames) || !margin) return std::nullopt;
  return Help{"a gradient is a value, which `value_and_grad` gives: what it is taken of needs a name",
              {{Span{s->span.file, s->span.begin, s->span.begin},
                "let " + std::string(*name) + " = " + std::string(context.sources.text(of.span)) + "\n" + *margin},
               {of.span, std::string(*name)}}};
}

}  // namespace tenc::frontend
