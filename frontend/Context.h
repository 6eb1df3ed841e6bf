// What every part of lowering shares.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/Body.h"
#include "frontend/Frontend.h"
#include "frontend/control/Coverage.h"
#include "frontend/values/Values.h"
#include "support/SpanMap.h"
#include "transforms/Batch.h"
#include "transforms/Derivatives.h"

namespace tenc::frontend {

struct Frame;
class PythonFlow;

/// One run of lowering: what it reads, what it makes, where it stands, and how it reports. Poison never causes a second
/// error.
class Context {
 public:
  Context(SourceManager& sources, Diagnostics& diags, const Options& options, Lowered& out);

  SourceManager& sources;
  Diagnostics& diags;
  const Options& options;
  Lowered& out;
  ir::Module& module;

  Body body;                         ///< what is lowered now
  std::vector<Frame*> frames;        ///< the bodies on the way there, innermost last
  Coverage coverage;                 ///< of the statements that were lowered
  int deviceConditions = 0;          ///< of `if`s around whose condition placement will know
  transforms::BatchedFuncs batched;  ///< what `vmap` has made, for all equal calls
  transforms::DerivedFuncs derived;  ///< the same of derivatives
  // Of sources, what edits have asked for once.
  std::map<uint32_t, bool> heldBack;                                  ///< whether edits of calls wait
  std::map<uint32_t, std::shared_ptr<const PythonFlow>> pythonFlows;  ///< of files, as Python would carry them out

  ir::Builder& b() { return *body.builder; }
  Frame& frame() { return *frames.back(); }
  /// Sets the location of the ops that are made next.
  void at(Span s);
  /// The same, and notes what is written there.
  void at(const ast::Expr& e);
  /// What is written somewhere, for those who report errors and mend lines after lowering. Each span is noted once.
  ir::SourceText& note(ir::SourceText text);
  /// The same of an assignment, its sign and its target.
  void noteAssignment(const ast::Stmt& s);
  /// As `at`, and notes where the operands of what is made there are written.
  void at(Span s, std::vector<ir::OperandText> operands);
  /// `f` with its ops at the end of `region`.
  void inRegion(ir::Region* region, const std::function<void()>& f);

  /// Reports with the call chain as notes. Returns the builder for labels, notes and helps.
  Diagnostics::Builder error(Code code, Span span, std::string message);
  /// What the script has called where something is wrong in the library: that function, not what it is made of.
  std::string calledAs(Span at, std::string_view op) const;
  Diagnostics::Builder warning(Code code, Span span, std::string message);
  /// Reports and gives poison: `return fail(Code::E0203, span, "...")`.
  Val fail(Code code, Span span, std::string message);
  /// What came to nothing for an error that was reported elsewhere. There must have been one: an InternalError.
  Val lost();
  /// How often that was so: whether what is made of a function is whole.
  uint64_t losses() const { return losses_; }
  Val notYet(Span span, std::string_view what);  ///< E0190
  /// Reports a size that overflowed since the last call (E0208); false when there was none.
  bool reportTooLarge(Span span);
  /// Counts one evaluation, or more; true when the script has had as many as it may (E0105, said once).
  bool spent(Span span, size_t evaluations = 1);
  /// Whether little of the stack is left; reported once, at `span`.
  bool tooDeep(Span span);
  /// Nothing more is evaluated: what was reported would be again in other words.
  void stop() { stopped_ = true; }
  /// Reports again what a trial has taken back.
  void restate(std::vector<Diagnostic> reports);
  /// A number that no other lambda or instance has.
  uint64_t freshId() { return nextId_++; }

 private:
  friend class Trial;  // takes back what was said
  uint64_t nextId_ = 1;
  uint64_t losses_ = 0;
  uint64_t failures_ = 0;  ///< errors so far, those too that are said once only
  bool stopped_ = false;
  static constexpr int64_t kMostSteps = 1'000'000;
  int64_t steps_ = 0;     ///< expressions evaluated
  bool tooDeep_ = false;  ///< reported that little of the stack is left
  struct Spot {
    static constexpr size_t kNoText = ~size_t{0};
    ir::Loc loc;
    size_t text = kNoText;  ///< in `module.texts`
  };
  Spot& spotAt(Span s);
  SpanMap<Spot> spots_;  ///< of the module
};

}  // namespace tenc::frontend
