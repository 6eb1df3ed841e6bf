// The names that a body sees, and where it was called from.
#pragma once
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/values/Values.h"
#include "support/SpanMap.h"

namespace tenc::frontend {

class Context;
class Key;

/// A name in a scope.
struct Binding {
  Val value;
  Span span;           ///< of the declaration, for notes; invalid for what a call has bound
  Span declaration{};  ///< of the declared name
  bool isVar = false;
  int regionDepth = 0;                 ///< run-time loops and branches around the declaration
  std::shared_ptr<const Ty> declared;  ///< of a `let`/`var` with a written type
  Span start;      ///< of a `var`, or of a name of an earlier entry: what it starts with, as written
  Span keyword{};  ///< the `let` or `var` that binds this name alone, in this entry of a session
};

struct Scope {
  Scope() = default;
  Scope(const Scope&) = delete;
  std::list<std::pair<std::string, Binding>> names;  ///< in order; addresses are stable
  std::vector<Binding*> before;  ///< for each of `names`: what its declaration was bound to around the block, or null
};
/// A body being lowered: the script, a function instance, or an inlined lambda.
struct Frame {
  explicit Frame(const Unit* unit) : unit(unit) { scopes.emplace_back(); }

  const Unit* unit;
  const FnDecl* fn = nullptr;
  const Key* key = nullptr;  ///< of the instance, where `fn` is given
  std::string signature;     ///< as messages write it: `f[N = 3]`
  bool hasSizes = false;     ///< and it has sizes or dtypes in brackets
  Span call;
  bool higherOrder = false;    ///< has a function among its arguments
  size_t trees = 0;            ///< that its arguments are made of
  const Ty* result = nullptr;  ///< declared type of the result, as far as it is known
  std::list<Scope> scopes;
  struct Ended {
    Span span;
    std::optional<ir::Type> type;  ///< of a tensor
  };
  std::map<std::string, Ended> ended;  ///< names of blocks that ended, for notes
  /// Variables whose assignment is in error, so that their type may become another one.
  std::set<std::string, std::less<>> unsettled;
  std::set<std::string, std::less<>> undeclared;  ///< names that were assigned and are none: reported once

  /// Binds the name declared at `declared`, in the innermost block. A declaration may be compiled again inside of what
  /// it has bound: the trips of an unrolled loop go on in the branches of the one before.
  Binding& bind(std::string name, Span declared, Binding binding);
  /// What the name declared there is bound to now; null for none.
  Binding* bound(Span declared) const {
    Binding* const* found = bindings_.find(beginOf(declared));
    return found ? *found : nullptr;
  }

 private:
  friend class BlockScope;
  static Span beginOf(Span declared) { return {declared.file, declared.begin, declared.begin}; }
  void endBlock();
  SpanMap<Binding*> bindings_;  ///< by declaration
};

/// The text that the body at hand stands in; null where it stands in none.
const ast::File* fileOf(Context& context);

/// Enters a body: its names are looked up first, and errors name it in their call chain.
class [[nodiscard]] FrameScope {
 public:
  FrameScope(std::vector<Frame*>& frames, Frame& inner) : frames_(frames) { frames_.push_back(&inner); }
  FrameScope(const FrameScope&) = delete;
  FrameScope& operator=(const FrameScope&) = delete;
  ~FrameScope() { frames_.pop_back(); }

 private:
  std::vector<Frame*>& frames_;
};

/// Opens a block of the body; its names end with it.
class [[nodiscard]] BlockScope {
 public:
  explicit BlockScope(Frame& frame) : frame_(frame) { frame_.scopes.emplace_back(); }
  BlockScope(const BlockScope&) = delete;
  BlockScope& operator=(const BlockScope&) = delete;
  ~BlockScope();

 private:
  Frame& frame_;
};

/// Hides the blocks of the body beyond the first `depth`, for code that stands outside of them.
class [[nodiscard]] HiddenScopes {
 public:
  HiddenScopes(Frame& frame, size_t depth);
  HiddenScopes(const HiddenScopes&) = delete;
  HiddenScopes& operator=(const HiddenScopes&) = delete;
  ~HiddenScopes() { frame_.scopes.splice(frame_.scopes.end(), hidden_); }

 private:
  Frame& frame_;
  std::list<Scope> hidden_;
};

}  // namespace tenc::frontend
