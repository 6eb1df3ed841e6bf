// A script in Python's way, carried out with sets of kinds in place of values: which operations work on a whole list or
// tuple there, where TL computes with the elements.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/habits/PythonValues.h"
#include "support/SourceFile.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

class PythonFlow {
 public:
  /// `ofPython`: what `let` and `var` bind holds values of Python; else the lists among them are tensors.
  PythonFlow(const ast::File& file, bool ofPython);

  /// The first operation that Python does with a list or a tuple as a whole; invalid for none.
  Span wholeOperation() const { return found_; }
  /// What `not` and `bitwise_invert` are given, which edits write for `~`.
  const std::map<const ast::Expr*, PythonKinds>& negated() const { return negated_; }
  /// What a name of the script, or of one of its functions, may hold at any time.
  const PythonValue& everything(const std::string& name) const;

 private:
  using Env = std::map<std::string, PythonValue, std::less<>>;
  /// A function or a lambda.
  struct Callable {
    std::vector<std::string> names;  ///< empty for a parameter that is taken apart
    std::vector<PythonValue> params;
    PythonValue result;
  };
  /// Statements whose changes are joined with those of others, or with what was before.
  struct Branch {
    Env before;  ///< what the names held that it assigned
    bool leaves = false;
  };

  void addFunctions();
  void runScript();
  void run(const ast::Block& block, PythonValue* value = nullptr);
  void run(const ast::Stmt& s);
  void runFunction(const ast::Stmt& fn);
  void runFor(const ast::Stmt& s);
  void runLoop(const ast::Stmt& s, const std::function<void()>& trip);
  void runAssignment(const ast::Stmt& s);
  void changeInPlace(const ast::Stmt& s);

  void assign(const std::string& name, const PythonValue& value);
  void bind(const ast::Pattern& pattern, const PythonValue& value);
  void bindTarget(const ast::Expr& target, const PythonValue& value);
  /// Adds what an element of the value at a place may be: `xs.append(v)`, `self.xs[0] = v`.
  void addElement(const ast::Expr& place, const PythonValue& element);
  PythonValue lookUp(const std::string& name) const;
  /// Carries out one of several ways to go on, and takes its changes back; gives what it assigned.
  Env changesOf(const std::function<void()>& way);
  void grow(PythonValue& known, const PythonValue& value) { grew_ = known.join(value) || grew_; }

  PythonValue eval(const ast::Expr& e);
  PythonValue evalBinary(const ast::Expr& e);
  static PythonValue compared(const PythonValue& a, const PythonValue& b);
  PythonValue evalMember(const ast::Expr& e);
  PythonValue evalIndex(const ast::Expr& e);
  PythonValue evalIf(const ast::Expr& e);
  PythonValue evalLambda(const ast::Expr& e);
  PythonValue arithmetic(std::string_view op, const PythonValue& a, const PythonValue& b) const;
  /// Notes an operation on whole lists. `sought`: the result of `==` is asked for one element alone, as `in` does.
  void note(std::string_view op, const PythonValue& a, const PythonValue& b, Span at, bool sought);

  // PythonCalls.cpp
  struct Given {
    std::vector<PythonValue> values;  ///< in the order of the arguments
    const std::vector<ast::Argument>* arguments;
    size_t from = 0;  ///< the parameter that the first of them is for
    /// Of those without a name.
    size_t inOrder() const;
    PythonValue first() const { return values.empty() ? PythonValue() : values[0]; }
  };
  PythonValue evalCall(const ast::Expr& e);
  PythonValue callOwn(const PythonValue& callee, const Given& given, const PythonValue* receiver = nullptr);
  PythonValue callPython(const ast::Expr& e, const Given& given, bool& known);
  PythonValue callLibrary(const ast::Expr& e, const Given& given);
  PythonValue callMethod(const ast::Expr& e, const PythonValue& receiver, const Given& given);
  PythonValue each(const PythonValue& function, const PythonValue& element);
  void escape(const PythonValue& value);

  const ast::File& file_;
  const bool ofPython_;
  std::unordered_map<const void*, size_t> ids_;
  std::vector<Callable> callables_;
  std::map<std::string, std::set<size_t>, std::less<>> functions_, methods_;
  Env fields_;      ///< of all structs, by name
  Env everything_;  ///< what names ever hold
  Env env_;         ///< what those of the function at hand hold
  std::vector<Branch*> branches_;
  std::vector<Env*> exits_;     ///< of the loops around that may be left: all that their bodies assign
  std::vector<size_t> around_;  ///< the functions that a `return` may stand in
  bool grew_ = false;
  bool written_ = false;  ///< in a value that an edit writes with `full` and `concat`
  Span found_{};
  std::map<const ast::Expr*, PythonKinds> negated_;
};

}  // namespace tenc::frontend
