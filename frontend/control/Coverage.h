// Proof that no statement was dropped.
#pragma once
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "syntax/Ast.h"

namespace tenc::frontend {

class Context;

/// What lowering has come to. When a list of statements is done, each of them has been lowered, or stands behind one
/// that leaves in every way the run can take, or in a branch that is known not to be taken; blocks within statements
/// likewise. What statements contain is read off the tree here, apart from the code that lowers them.
class Coverage {
 public:
  using List = std::span<const ast::StmtPtr>;

  /// One pass over a list of statements, the whole of a block or its last ones, or some in between.
  class [[nodiscard]] Visit {
   public:
    Visit(Coverage& coverage, List list);
    /// To be called when nothing more of the list will be lowered; an InternalError for a statement that was dropped
    /// and no error says why.
    void end(Context& context) const;

   private:
    Coverage& coverage_;
    const List list_;
    const uint64_t start_;
  };

  void comesTo(const ast::Stmt& s) { last_[&s] = ++now_; }
  /// Of an `if`, whose condition at `which` is known.
  void decided(const ast::Expr& branches, size_t which, bool taken) {
    decisions_[&branches].push_back({++now_, which, taken});
  }
  /// Of a loop that is known to have no trips.
  void hasNoTrips(const ast::Stmt& loop) { noTrips_[&loop] = ++now_; }
  /// Of a loop whose trips are lowered one by one.
  void isUnrolled(const ast::Stmt& loop) { unrolled_[&loop] = ++now_; }

 private:
  struct Decision {
    uint64_t at;
    size_t which;
    bool taken;
  };
  /// What of a statement is lowered with it.
  struct Parts {
    std::vector<const ast::Expr*> branches;
    std::vector<List> blocks;
  };
  using Times = std::unordered_map<const void*, uint64_t>;

  static bool since(const Times& times, const void* what, uint64_t start) {
    const auto found = times.find(what);
    return found != times.end() && found->second > start;
  }
  const Parts& partsOf(const ast::Stmt& s);
  /// Of the blocks of an `if`, those that no decision since then leaves out.
  std::vector<bool> needed(const ast::Expr& branches, uint64_t start) const;
  /// The span of a part of the statement that was dropped, or an invalid one.
  Span droppedOf(const ast::Stmt& s, uint64_t start);
  bool leaves(List list, uint64_t start) const;
  bool leaves(const ast::Stmt& s, uint64_t start) const;
  bool leaves(const ast::Expr& e, uint64_t start) const;

  uint64_t now_ = 0;  ///< counts all that happens
  Times last_;        ///< of statements, and of lists by where they begin
  Times noTrips_, unrolled_;
  std::unordered_map<const ast::Expr*, std::vector<Decision>> decisions_;
  std::unordered_map<const ast::Stmt*, Parts> parts_;
};

}  // namespace tenc::frontend
