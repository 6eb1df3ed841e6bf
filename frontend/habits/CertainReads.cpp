#include "frontend/habits/CertainReads.h"

#include <algorithm>
#include <map>

#include "frontend/names/Scan.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;
using Statements = std::vector<ast::StmtPtr>;

class Reader {
 public:
  explicit Reader(const ast::File& file) : file_(file) {}

  Reads of(const ast::Expr& e) {
    Reads reads;
    visitor(reads).visit(e);
    return reads;
  }
  Reads of(const ast::Stmt& s) {
    Reads reads;
    visitor(reads).visit(s);
    return reads;
  }

 private:
  static void add(Reads& reads, Reads part, bool certain = true) {
    if (certain) reads.always.merge(part.always);
    reads.ever.merge(part.ever);
    reads.ever.merge(part.always);
  }
  static Reads either(const Reads& a, const Reads& b) {
    Reads reads{{}, a.ever};
    std::ranges::set_intersection(a.always, b.always, std::inserter(reads.always, reads.always.end()));
    reads.ever.insert(b.ever.begin(), b.ever.end());
    return reads;
  }

  TreeVisitor visitor(Reads& reads) {
    TreeVisitor v;
    v.onExpression = [this, &reads](const ast::Expr& e) {
      switch (e.kind) {
        case ExprKind::Name:
          reads.always.insert(e.text);
          reads.ever.insert(e.text);
          return true;
        case ExprKind::If: add(reads, ofChoice(e, nullptr, 0)); return false;
        case ExprKind::Binary:
          if (e.text != "and" && e.text != "or") return true;
          add(reads, of(*e.args[0]));
          add(reads, of(*e.args[1]), false);
          return false;
        case ExprKind::Call: return !addCall(reads, e);
        default: return true;
      }
    };
    return v;
  }

  /// Of an `if`; `rest`: the statements from `next` on that follow it, and which a block that returns leaves out.
  Reads ofChoice(const ast::Expr& e, const Statements* rest, size_t next) {
    Reads reads = of(*e.args[0]);
    for (size_t i = 1; i < e.args.size(); ++i) add(reads, of(*e.args[i]), false);
    Reads blocks;
    const Reads behind = rest ? of(*rest, next) : Reads{};
    for (size_t i = 0; i < e.blocks.size(); ++i) {
      Reads block = of(e.blocks[i].statements, 0);
      if (!exitsOf(e.blocks[i]).returns) add(block, behind);
      blocks = i == 0 ? std::move(block) : either(blocks, block);
    }
    if (e.blocks.size() == e.args.size()) blocks = either(blocks, behind);  // without an `else`
    add(reads, std::move(blocks));
    return reads;
  }

  Reads of(const Statements& statements, size_t from) {
    Reads reads;
    for (size_t i = from; i < statements.size(); ++i) {
      if (!statements[i]) continue;
      const ast::Stmt& s = *statements[i];
      const bool chooses = s.kind == StmtKind::Expr && s.value && s.value->kind == ExprKind::If;
      if (chooses && exitsOf(s).returns) {
        add(reads, ofChoice(*s.value, &statements, i + 1));
        break;
      }
      add(reads, of(s));
    }
    return reads;
  }

  const ast::Stmt* function(const std::string& name) const {
    const auto found = std::ranges::find_if(
        file_.statements, [&](auto& s) { return s && s->kind == StmtKind::Fn && s->name.text == name; });
    return found == file_.statements.end() ? nullptr : found->get();
  }

  const Reads& ofBody(const ast::Stmt& fn) {
    if (const auto known = bodies_.find(&fn); known != bodies_.end()) return known->second;
    bodies_[&fn];  // of a call of itself: nothing
    Reads body = fn.bodyIsExpr && fn.value ? of(*fn.value) : of(fn.body.statements, 0);
    return bodies_[&fn] = std::move(body);
  }

  bool addCall(Reads& reads, const ast::Expr& call) {
    const ast::Stmt* fn = call.args[0]->kind == ExprKind::Name ? function(call.args[0]->text) : nullptr;
    if (!fn) return false;
    const Reads body = ofBody(*fn);
    for (size_t i = 0; i < call.arguments.size(); ++i) {
      const ast::Argument& a = call.arguments[i];
      const auto named = std::ranges::find_if(
          fn->params, [&](const ast::FnParam& p) { return a.name && p.name.text == a.name->text; });
      const auto param =
          a.name ? named : fn->params.begin() + static_cast<std::ptrdiff_t>(std::min(i, fn->params.size()));
      if (a.value) add(reads, of(*a.value), param == fn->params.end() || body.always.contains(param->name.text));
    }
    const auto isParameter = [&](const std::string& n) {
      return std::ranges::any_of(fn->params, [&](const ast::FnParam& p) { return p.name.text == n; });
    };
    Reads global = body;
    std::erase_if(global.always, isParameter);
    std::erase_if(global.ever, isParameter);
    add(reads, std::move(global));
    return true;
  }

  const ast::File& file_;
  std::map<const ast::Stmt*, Reads> bodies_;
};

}  // namespace

Reads readsOf(const ast::File& file, const ast::Stmt& s) { return Reader(file).of(s); }

}  // namespace tenc::frontend
