// What every pass has to keep, held against what it has made: for debug builds and tests.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "passes/Passes.h"

namespace tenc::passes {

/// What a run of a module does that can be seen, in order: prints, assertions, files, draws.
class Effects {
 public:
  explicit Effects(const ir::Module& m);
  /// What of it `now` lacks, has in addition or has in another order; empty if nothing. Some passes
  /// may leave out branches that are known not to be taken, or count draws in another way.
  std::string lostIn(const Effects& now, std::string_view pass) const;

 private:
  struct Effect {
    ir::OpKind kind;
    Span span;
    bool always;  ///< in no branch and no loop
    bool operator==(const Effect& other) const { return kind == other.kind && span == other.span; }
  };
  using List = std::vector<Effect>;
  const List& of(const ir::Module& m, const ir::Func& f);
  void add(const ir::Module& m, const ir::Region& r, bool always, List& list);

  std::map<const ir::Func*, List> funcs_;
  std::map<std::string, List> entries_;  ///< main, tests and benches
};

/// Of a pass that is about to run.
class PassCheck {
 public:
  explicit PassCheck(const ir::Module& m) : before_(m) {}
  /// Throws an InternalError if the module is not well-formed, if an effect was lost, or if a value is not where its
  /// type says or a tensor nowhere; this is of no interest before placement (`placed` false).
  void check(const ir::Module& m, std::string_view pass, Context& c, bool placed) const;

 private:
  Effects before_;
};

}  // namespace tenc::passes
