// The largest values of a script's constants and parameters at which it fits: the script is compiled again with others,
// as far as the memory plan.
#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "syntax/Ast.h"
#include "tools/tenc/Memory.h"

namespace tenc::tool {
namespace {

constexpr int kMostTrials = 96;
constexpr size_t kMostNames = 8;
constexpr double kMostSeconds = 3;

class Trials {
 public:
  Trials(const SessionOptions& options, const SourceFile& script, std::string device, uint64_t limit)
      : options_(options), script_(script), device_(std::move(device)), limit_(limit) {
    options_.solveMemory = false;
    options_.transfers = "allow";
    options_.debugPass.clear();
  }

  std::vector<FittingValue> run() {
    std::vector<FittingValue> found;
    for (FittingValue v : names()) {
      const std::optional<uint64_t> half = peak(v, v.now / 2), now = peak(v, v.now);
      if (!now || (half && *half >= *now)) continue;
      int64_t fits = 0, fails = v.now;
      while (fails - fits > 1 && mayGoOn()) {
        const int64_t middle = fits + (fails - fits) / 2;
        const std::optional<uint64_t> p = peak(v, middle);
        (p && *p <= limit_ ? fits : fails) = middle;
      }
      if (fits == 0) continue;
      v.fits = fits;
      found.push_back(v);
    }
    return found;
  }

 private:
  using Clock = std::chrono::steady_clock;
  bool mayGoOn() const {
    return trials_ < kMostTrials && std::chrono::duration<double>(Clock::now() - start_).count() < kMostSeconds;
  }

  static bool isNumber(const ast::Stmt& s) {
    return s.value && s.value->kind == ast::Expr::Kind::Int && !s.value->overflow && s.value->integer > 1;
  }

  /// Constants and i64 parameters that are whole numbers above 1.
  std::vector<FittingValue> names() {
    std::vector<FittingValue> list;
    Session session(options_);
    const auto tree = parse(session);
    if (!tree) return list;
    for (const ast::StmtPtr& s : tree->statements) {
      const bool isParam = s->kind == ast::Stmt::Kind::Param;
      if ((!isParam && s->kind != ast::Stmt::Kind::Const) || list.size() >= kMostNames) continue;
      const auto given = isParam ? options_.params.find(s->name.text) : options_.params.end();
      int64_t now = isNumber(*s) ? s->value->integer : 0;
      if (given != options_.params.end() && given->second) now = std::atoll(given->second->c_str());
      if (now > 1) list.push_back({s->name.text, isParam, now, 0});
    }
    return list;
  }

  std::unique_ptr<ast::File> parse(Session& session) {
    const auto file = session.addText(std::string(script_.name()), std::string(script_.text()));
    return file ? session.parse(*file) : nullptr;
  }

  /// The peak of the device with another value; nothing when the script does not compile with it.
  std::optional<uint64_t> peak(const FittingValue& v, int64_t value) {
    ++trials_;
    Session session(options_);
    if (v.isParam) session.options().params[v.name] = std::to_string(value);
    const auto tree = parse(session);
    if (!tree) return std::nullopt;
    for (const ast::StmtPtr& s : tree->statements)
      if (!v.isParam && s->kind == ast::Stmt::Kind::Const && s->name.text == v.name) s->value->integer = value;
    const frontend::Lowered lowered = session.lower(*tree);
    if (!lowered.module || !lowered.module->main() || !session.diags().ok()) return std::nullopt;
    ir::Module& m = *lowered.module;
    if (!session.place(m) || !session.settleMoves(m) || !session.optimise(m)) return std::nullopt;
    const auto plan = session.planMemory(m);
    if (!plan) return std::nullopt;
    uint64_t most = 0;
    for (const auto& d : plan->devices)
      if (d.name == device_) most = d.peak;
    return most;
  }

  SessionOptions options_;
  const SourceFile& script_;
  const std::string device_;
  const uint64_t limit_;
  int trials_ = 0;
  const Clock::time_point start_ = Clock::now();
};

}  // namespace

std::vector<FittingValue> fittingValues(const SessionOptions& options, const SourceFile& script,
                                        const std::string& device, uint64_t limit) {
  return Trials(options, script, device, limit).run();
}

}  // namespace tenc::tool
