// In which mode the networks of a script are, as far as its text tells.
#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/habits/StatementNames.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

/// What sets modes, what binds networks, and whether a network is in evaluation mode for certain: something has put it
/// there on every way to a place, and nothing behind that may have changed it. In doubt it is in training mode.
class NetworkModes {
 public:
  explicit NetworkModes(const ast::File& file);

  /// Whether no layer of the value may be in training mode at a place.
  bool isEvaluated(const ast::Expr& value, Span place) { return isEvaluated(value, place, 0); }

  const std::vector<const ast::Expr*>& calls() const { return calls_; }
  /// The functions of that name.
  std::vector<const ast::Stmt*> functionsNamed(std::string_view name) const;
  /// The functions that make a struct.
  std::vector<const ast::Stmt*> makersOf(std::string_view name) const;
  /// Where a function is called, but for its own body.
  std::vector<const ast::Expr*> callsOf(const ast::Stmt& fn) const;
  /// Whether a statement binds the name, or a loop.
  bool isBound(std::string_view name) const;
  /// Whether a lambda around the place has a parameter of that name.
  bool isLambdaParameter(std::string_view name, Span place) const;
  /// What a call gives to a parameter of the function; null where it is not written there.
  static const ast::Expr* argumentOf(const ast::Expr& call, const ast::Stmt& fn, size_t parameter);

 private:
  struct Event {
    std::string path;  ///< `net`, `net.features`; empty where it is neither
    std::string name;  ///< at its root
    Span span;
    const ast::Stmt* function;
    bool trains;
    bool certain = true;  ///< wherever the statement is run
  };
  struct Binding {
    std::string name;
    const ast::Expr* value;
    Span span;
    const ast::Stmt* function;
  };

  void collect(const ast::Stmt& s);
  void collect(const ast::Expr& e);
  void addMode(const ast::Expr& call);
  void addEventsOfCalls();
  bool isEvaluated(const ast::Expr& value, Span place, int depth);
  bool isNameEvaluated(const ast::Expr& value, const ast::Expr& root, Span place, int depth);
  bool isParameterEvaluated(const ast::Stmt& fn, size_t parameter, int depth);
  bool isTensorOf(const ast::Expr& callee, Span place, int depth);
  bool isResultEvaluated(const ast::Stmt& fn, int depth);
  /// The last event that has put the path into evaluation mode for certain; null for none.
  const Event* lastEvaluation(const std::string& path, Span place, const ast::Stmt* function) const;
  /// Whether something may have put the name, or one that it shares a network with, into training mode since.
  bool isTrainedSince(const std::string& name, const Event* since, Span place, const ast::Stmt* function) const;
  /// Whether what stands at one place has been run wherever the other is reached.
  bool isSure(Span before, Span place) const;
  /// Whether it is run before the place, behind `since` where there is such an event: before it in the text, or in a
  /// loop around both.
  bool mayRunBetween(Span part, const Event* since, Span place) const;
  NameSet sharing(const std::string& name, const ast::Stmt* function) const;

  const ast::File& file_;
  std::vector<const ast::Stmt*> functions_;
  std::vector<const ast::Expr*> calls_;
  std::vector<Event> events_;
  std::vector<Binding> bindings_;
  std::vector<Span> maybe_;  ///< what may not run where it stands: branches, lambdas
  std::vector<const ast::Stmt*> loops_;
  std::vector<const ast::Expr*> lambdas_;
  std::multimap<std::string, const ast::Stmt*, std::less<>> makers_;
  std::set<std::string> open_;  ///< names that are being looked through
  size_t steps_ = 0;
};

}  // namespace tenc::frontend
