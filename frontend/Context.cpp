// What every part of lowering shares: diagnostics with the call chain, the place of the ops made next, the budget.
#include "frontend/Context.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/Scoped.h"
#include "frontend/expressions/SourceText.h"
#include "frontend/names/Frame.h"
#include "ir/DeviceTable.h"
#include "support/Stack.h"

namespace tenc::frontend {

Context::Context(SourceManager& sourceManager, Diagnostics& diagnostics, const Options& opts, Lowered& lowered)
    : sources(sourceManager), diags(diagnostics), options(opts), out(lowered), module(*lowered.module) {
  module.defaultDevice = ir::DeviceTable::normal(opts.defaultDevice);
}

void Context::inRegion(ir::Region* region, const std::function<void()>& f) {
  ir::Builder inner(region);
  inner.setLoc(b().loc());
  const ir::RoundingScope rounding(inner, b().rounds());
  const Scoped inside(body.builder, &inner);
  f();
}

bool Context::tooDeep(Span span) {
  if (!stackIsLow()) return false;
  if (!std::exchange(tooDeep_, true))
    error(Code::E0105, span, "expressions, calls and branches nest too deeply")
        .help("bind parts with `let`, or move them into functions");
  return true;
}

bool Context::spent(Span span, size_t evaluations) {
  constexpr uint64_t kMostFailures = 4096;
  if (diags.full()) return true;                              // nobody reads more errors than that
  if (failures_ > kMostFailures && !diags.ok()) return true;  // the same few, in one unrolled trip after the other
  if (stopped_) return true;
  if (tooDeep(span)) return true;
  if (steps_ > kMostSteps) return true;  // said once
  steps_ = std::min(steps_ + static_cast<int64_t>(evaluations), kMostSteps + 1);
  if (steps_ <= kMostSteps) return false;
  error(Code::E0105, span, "the script evaluates more than 1,000,000 expressions at compile time")
      .help(evaluations > 1
                ? "what is done to a tree is done to each of its leaves; tensors with one more dim are one leaf each"
                : "loops that are not `static` run at run time; functions are compiled once, lambdas at every call");
  return true;
}

void Context::at(Span s) {
  if (body.builder) body.builder->setLoc(spotAt(s).loc);
}

Context::Spot& Context::spotAt(Span s) {
  const auto [spot, fresh] = spots_.add(s);
  if (fresh) spot->loc = module.addLoc(s);
  return *spot;
}

void Context::at(const ast::Expr& e) {
  if (!body.builder) return;
  Spot& spot = spotAt(e.span);
  body.builder->setLoc(spot.loc);
  if (spot.text != Spot::kNoText) return;
  spot.text = module.texts->add(sourceText(e));
  // What is called may be evaluated as a part of the call alone.
  if (e.kind == ast::Expr::Kind::Call) note(sourceText(*e.args[0]));
  if (e.kind == ast::Expr::Kind::Binary && e.text == "|>") note(sourceText(*e.args[1]));
  if (e.kind != ast::Expr::Kind::Binary) return;
  ir::SourceText sign{e.opSpan, ir::SourceText::Kind::Operator, false, {}};
  sign.whole = e.span;
  note(std::move(sign));
}

ir::SourceText& Context::note(ir::SourceText text) {
  Spot& spot = spotAt(text.span);
  if (spot.text == Spot::kNoText) spot.text = module.texts->add(std::move(text));
  return (*module.texts)[spot.text];
}

void Context::noteAssignment(const ast::Stmt& s) {
  note({s.span, ir::SourceText::Kind::Assignment, false, {}});
  if (s.op != "=") note({s.opSpan, ir::SourceText::Kind::Update, false, {}}).whole = s.span;
  for (const ast::Expr* e = s.target.get(); e; e = e->args.empty() ? nullptr : e->args[0].get()) note(sourceText(*e));
}

void Context::at(Span s, std::vector<ir::OperandText> operands) {
  at(s);
  if (!body.builder) return;
  // What is made there later, without operands of its own, shares the place; another op at the same text does not.
  std::vector<ir::OperandText>& known = module.locs[body.builder->loc().index].operands;
  if (known.empty()) known = operands;
  if (known != operands) body.builder->setLoc(module.addLoc({s, {}, {}, std::move(operands)}));
}

namespace {

std::string withoutDigits(std::string_view s) {
  std::string r;
  std::copy_if(s.begin(), s.end(), std::back_inserter(r), [](char c) { return c < '0' || c > '9'; });
  return r;
}
}  // namespace

Diagnostics::Builder Context::error(Code code, Span span, std::string message) {
  ++failures_;
  // The same error in a later trip of an unrolled loop, where only the numbers in it differ, is said once.
  const std::string text = withoutDigits(message);
  // What goes wrong inside the standard library is shown where the script calls it.
  const Span written = span;
  std::vector<Note> chain;
  for (auto it = frames.rbegin(); it != frames.rend(); ++it) {
    const Frame& f = **it;
    if (!f.call.valid()) continue;
    const bool leaves = sources.inLibrary(span) && !sources.inLibrary(f.call);
    if (leaves) chain.insert(chain.begin(), {written, "in the standard library, here"});
    if (leaves) span = f.call;
    if (!f.signature.empty()) chain.push_back({f.call, "in `" + f.signature + "`, called here", /*isCall=*/true});
  }
  const auto isSame = [&](const Diagnostic& d) {
    if (d.code != code || d.span != span || withoutDigits(d.message) != text) return false;
    const size_t notes = chain.size();
    const bool calls =
        notes <= d.notes.size() && std::equal(chain.begin(), chain.end(), d.notes.begin(),
                                              [](const Note& a, const Note& b) { return a.span == b.span; });
    return calls && (notes == d.notes.size() || !d.notes[notes].isCall);
  };
  const auto& all = diags.all();
  const auto before = std::find_if(all.begin(), all.end(), isSame);
  if (before != all.end()) message = before->message;
  auto d = diags.report(code, span, std::move(message));
  for (const Note& n : chain) d.note(n);
  for (auto it = frames.rbegin(); it != frames.rend(); ++it) {
    const Frame& f = **it;
    if (f.fn && !f.call.valid() && f.hasSizes)
      d.note("no call of `" + f.fn->stmt->name.text + "` was checked: it was checked by itself, as `" + f.signature +
             "`");
  }
  return d;
}

std::string Context::calledAs(Span at, std::string_view op) const {
  for (const Frame* f : frames) {
    const bool entered = f->fn && f->call.valid() && !sources.inLibrary(f->call);
    if (entered && sources.inLibrary(at) && sources.inLibrary(f->fn->stmt->name.span)) return f->fn->stmt->name.text;
  }
  return std::string(op);
}

Diagnostics::Builder Context::warning(Code code, Span span, std::string message) {
  auto d = error(code, span, std::move(message));
  --failures_;
  return d;
}

Val Context::fail(Code code, Span span, std::string message) { return error(code, span, std::move(message)); }

Val Context::lost() {
  ++losses_;
  if (!diags.ok() || body.builder == nullptr) return diags.given("a value came to nothing");
  const Span at = module.span(body.builder->loc());
  if (!at.valid()) return diags.given("a value came to nothing");
  const LineColumn place = sources.file(at.file).position(at.begin);
  return diags.given("what is at " + sources.file(at.file).name() + ":" + std::to_string(place.line) + ":" +
                     std::to_string(place.column) + " came to nothing");
}

void Context::restate(std::vector<Diagnostic> reports) {
  failures_ += reports.size();
  if (steps_ == kMostSteps) ++steps_;  // the reports say that there are no more
  diags.add(std::move(reports));
}

bool Context::reportTooLarge(Span span) {
  if (module.tooLarge.what.empty()) return false;
  fail(Code::E0208, span, std::exchange(module.tooLarge.what, {}));
  return true;
}

Val Context::notYet(Span span, std::string_view what) {
  const bool isName = what.find_first_of("` ") == std::string_view::npos;
  const std::string subject = isName ? "`" + std::string(what) + "`" : std::string(what);
  return fail(Code::E0190, span, subject + " is not supported yet");
}

}  // namespace tenc::frontend
