// The names that a body sees, and where it was called from.
#pragma once
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontend/values/Values.h"

namespace tenc::frontend {

class Key;

/// A name in a scope.
struct Binding {
  Val value;
  Span span;  ///< of the declaration, for notes
  bool isVar = false;
  int regionDepth = 0;                 ///< run-time loops and branches around the declaration
  std::shared_ptr<const Ty> declared;  ///< of a `let`/`var` with a written type
  Span start;                          ///< of a `var`: what it starts with, as written
  Span keyword{};                      ///< the `let` or `var` that binds this name alone, in this entry of a session
};

struct Scope {
  Scope() = default;
  Scope(const Scope&) = delete;
  std::list<std::pair<std::string, Binding>> names;  ///< later ones shadow earlier ones; addresses are stable
  Binding& add(std::string name, Binding binding) {
    auto& [own, kept] = names.emplace_back(std::move(name), std::move(binding));
    latest_[own] = &kept;
    return kept;
  }
  /// The last of that name, or null.
  Binding* find(std::string_view name) {
    auto it = latest_.find(name);
    return it == latest_.end() ? nullptr : it->second;
  }

 private:
  std::unordered_map<std::string_view, Binding*> latest_;  ///< names are those of the list
};
/// A body being lowered: the script, a function instance, or an inlined lambda.
struct Frame {
  explicit Frame(const Unit* unit) : unit(unit) { scopes.emplace_back(); }

  const Unit* unit;
  const FnDecl* fn = nullptr;
  const Key* key = nullptr;  ///< of the instance, where `fn` is given
  std::string signature;
  Span call;
  bool higherOrder = false;    ///< has a function among its arguments
  size_t trees = 0;            ///< that its arguments are made of
  const Ty* result = nullptr;  ///< declared type of the result, as far as it is known
  std::list<Scope> scopes;
  std::map<std::string, Span> ended;              ///< names of blocks that ended, for notes
  std::set<std::string, std::less<>> undeclared;  ///< names that were assigned and are none: reported once
};

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
