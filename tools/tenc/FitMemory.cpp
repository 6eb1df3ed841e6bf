// The largest values of a script's constants, parameters and other sizes at which it fits: the script is compiled again
// with others, as far as the memory plan.
#include <algorithm>
#include <cstdlib>
#include <map>

#include "frontend/names/Scan.h"
#include "ir/Ir.h"
#include "syntax/Ast.h"
#include "tools/tenc/Memory.h"

namespace tenc::tool {
namespace {

using ast::Expr;
using ast::Stmt;

constexpr size_t kMostSizes = 8;
constexpr int64_t kLeastLiteral = 8;  // numbers below are axes, channels and the like

/// A number in the script that sizes may follow from.
struct Size {
  enum class Kind : uint8_t {
    Constant,  ///< `const` or `let`
    Param,
    Literal,  ///< the first dim of tensors that are made
    File,     ///< the rows of files
  } kind;
  std::string name;
  int64_t now = 0;
  std::vector<Span> places;  ///< that hold the number; of a file where the rows may be chosen

  std::vector<Edit> edits(int64_t value) const {
    const std::string text = std::to_string(value);
    std::vector<Edit> all;
    if (kind == Kind::Param) return all;
    all.reserve(places.size());
    for (const Span& s : places) all.push_back({s, kind == Kind::File ? "[:" + text + "]" : text});
    return all;
  }
  std::map<std::string, int64_t> params(int64_t value) const {
    return kind == Kind::Param ? std::map<std::string, int64_t>{{name, value}} : std::map<std::string, int64_t>{};
  }
  std::string text(int64_t value) const {
    const std::string number = std::to_string(value), is = " (it is " + std::to_string(now) + ")";
    switch (kind) {
      case Kind::Param: return "`--" + name + " " + number + "` fits" + is;
      case Kind::Constant: return "`" + name + " = " + number + "` fits" + is;
      case Kind::Literal: return "a first dim of " + number + " fits" + is;
      case Kind::File:
        return "the first " + number + " rows of " + name + " fit (there are " + std::to_string(now) + ")";
    }
    return {};
  }
};

bool isNumber(const ast::ExprPtr& e) { return e && e->kind == Expr::Kind::Int && !e->overflow && e->integer > 1; }

class Sizes {
 public:
  Sizes(const ast::File& tree, const ir::Module& m, uint32_t script, const SessionOptions& options)
      : module_(m), script_(script), options_(options) {
    for (const ast::StmtPtr& s : tree.statements) named(*s);
    frontend::TreeVisitor literals;
    literals.onExpression = [&](const Expr& e) {
      if (e.kind == Expr::Kind::Array && !e.args.empty() && isNumber(e.args[0]) && e.args[0]->integer >= kLeastLiteral)
        firstDims_[e.args[0]->integer].push_back(e.args[0]->span);
      return true;
    };
    for (const ast::StmtPtr& s : tree.statements) literals.visit(*s);
    for (auto it = firstDims_.rbegin(); it != firstDims_.rend(); ++it)
      all_.push_back({Size::Kind::Literal, {}, it->first, it->second});
    for (auto& [name, size] : files_) all_.push_back(std::move(size));
  }
  std::vector<Size> take() {
    if (all_.size() > kMostSizes) all_.resize(kMostSizes);
    for (Size& size : all_) {
      for (Span& s : size.places) s.file = script_;  // the tree has been read for itself
    }
    return std::move(all_);
  }

 private:
  void named(const Stmt& s) {
    if (s.kind == Stmt::Kind::Param) {
      const auto given = options_.params.find(s.name.text);
      int64_t now = isNumber(s.value) ? s.value->integer : 0;
      if (given != options_.params.end() && given->second) now = std::atoll(given->second->c_str());
      if (now > 1) all_.push_back({Size::Kind::Param, s.name.text, now, {}});
    } else if (s.kind == Stmt::Kind::Const && isNumber(s.value)) {
      all_.push_back({Size::Kind::Constant, "const " + s.name.text, s.value->integer, {s.value->span}});
    } else if (s.kind == Stmt::Kind::Let && !s.pattern.isTuple && isNumber(s.value)) {
      all_.push_back({Size::Kind::Constant, "let " + s.pattern.name.text, s.value->integer, {s.value->span}});
    } else if (s.kind == Stmt::Kind::Let && s.value && s.type) {
      rows(s);
    }
  }

  /// `let x: f32[N, D] = load("x.npy")`: N rows. Files of equally many have one N.
  void rows(const Stmt& s) {
    const Expr& load = *s.value;
    const bool loads = load.kind == Expr::Kind::Call && load.args[0]->kind == Expr::Kind::Name && !load.grouped;
    if (!loads || s.type->args.empty() || s.type->args[0]->kind != ast::TypeExpr::Kind::Path) return;
    const ir::Op* op = loadAt(*module_.main()->body, load.span);
    if (!op || op->result()->type.shape.empty() || op->result()->type.shape[0] < 2) return;
    const std::string& dim = s.type->args[0]->path[0].text;
    Size& size = files_.try_emplace(dim, Size{Size::Kind::File, {}, op->result()->type.shape[0], {}}).first->second;
    size.name += (size.name.empty() ? "`" : " and `") + op->stringAttr("path") + "`";
    size.places.push_back({load.span.file, load.span.end, load.span.end});
  }

  const ir::Op* loadAt(const ir::Region& r, Span span) const {
    for (const auto& op : r.ops) {
      const Span at = module_.span(op->loc);
      if (op->kind == ir::OpKind::Load && at.file == script_ && at.begin >= span.begin && at.end <= span.end)
        return op.get();
      for (const auto& inner : op->regions) {
        if (const ir::Op* found = loadAt(*inner, span)) return found;
      }
    }
    return nullptr;
  }

  const ir::Module& module_;
  const uint32_t script_;
  const SessionOptions& options_;
  std::vector<Size> all_;
  std::map<int64_t, std::vector<Span>> firstDims_;
  std::map<std::string, Size> files_;
};

/// The largest value of one size that fits.
class Search {
 public:
  Search(MemoryTrials& trials, const Size& size, uint64_t peak, uint64_t limit)
      : trials_(trials), size_(size), limit_(static_cast<double>(limit)), fails_{size.now, static_cast<double>(peak)} {}

  /// 0 where none fits, or the peak does not follow from it.
  int64_t run() {
    const int64_t step = this->step();
    if (step == 0) return 0;
    while (fails_.value - fits_.value > step && trials_.mayGoOn()) {
      const int64_t steps = (fails_.value - fits_.value) / step;
      const int64_t k = std::clamp<int64_t>(guess(steps), 1, steps - 1);
      const auto planned = at(fits_.value + k * step);
      const Point here{fits_.value + k * step, planned ? static_cast<double>(planned->peak) : -1};
      (planned && planned->fits ? fits_ : fails_) = here;
    }
    return fits_.value;
  }

 private:
  struct Point {
    int64_t value = 0;
    double peak = 0;  ///< negative: it does not compile
  };

  std::optional<MemoryTrials::Planned> at(int64_t value) {
    return trials_.plan(size_.edits(value), size_.params(value));
  }

  /// What the size may change by: 1, or a power of two where it has to be divisible. 0 where it does not matter.
  int64_t step() {
    for (int64_t step = 1; step < size_.now && size_.now % step == 0; step *= 2) {
      const auto less = at(size_.now - step);
      if (!less) continue;
      const auto half = at(size_.now / step / 2 * step);
      const double least = half ? static_cast<double>(half->peak) : static_cast<double>(less->peak);
      return least < fails_.peak ? step : 0;
    }
    return 0;
  }

  /// Peaks are nearly linear in sizes: where the line between the two ends meets the limit, and the middle every third
  /// time, in case they are not.
  int64_t guess(int64_t steps) {
    if (++guesses_ % 3 == 0 || fails_.peak <= fits_.peak || fits_.peak < 0) return steps / 2;
    const double part = (limit_ - fits_.peak) / (fails_.peak - fits_.peak) * static_cast<double>(steps);
    // The first time beyond the meeting point, then just short of it: both ends come near.
    return static_cast<int64_t>(part) + (fits_.value == 0 || guesses_ % 2 == 0 ? 0 : 1);
  }

  MemoryTrials& trials_;
  const Size& size_;
  const double limit_;
  Point fits_, fails_;
  int guesses_ = 0;
};

}  // namespace

std::vector<Help> fittingSizes(MemoryTrials& trials, const ir::Module& m, uint32_t script, uint64_t peak,
                               uint64_t limit) {
  std::vector<Help> helps;
  const auto tree = trials.parse();
  if (!tree) return helps;
  for (const Size& size : Sizes(*tree, m, script, trials.options()).take()) {
    const int64_t fits = Search(trials, size, peak, limit).run();
    if (fits > 0) helps.push_back({size.text(fits), size.edits(fits)});
  }
  return helps;
}

}  // namespace tenc::tool
