#include <algorithm>
#include <unordered_map>

#include "frontend/names/Resolve.h"
#include "frontend/names/Scan.h"
#include "ir/DeviceTable.h"

namespace tenc::frontend {

using DeclarationKind = Declaration::Kind;

/// Walks the statements of one part with the scopes that are open at each place, and notes every use.
class NameWalk {
 public:
  NameWalk(const Resolution& names, Resolution::Part& part) : names_(names), part_(part) {}

  void run() {
    scopes_.emplace_back();
    const bool script = &part_ == &names_.parts_.front();
    size_t done = 0;
    const auto place = [](const Use& u) { return std::pair(u.span.file, u.span.begin); };
    for (const ast::Stmt* s : part_.statements) {
      if (script) bindSession(done++);
      const auto first = static_cast<std::ptrdiff_t>(part_.uses.size());
      statement(*s);  // reads what is assigned before the target
      const std::ranges::subrange uses(part_.uses.begin() + first, part_.uses.end());
      if (!std::ranges::is_sorted(uses, {}, place)) std::ranges::stable_sort(uses, {}, place);
    }
    // The statements of a session stand in several files.
    if (!std::ranges::is_sorted(part_.uses, {}, place)) std::ranges::stable_sort(part_.uses, {}, place);
  }

 private:
  using StmtKind = ast::Stmt::Kind;
  using ExprKind = ast::Expr::Kind;
  using TypeKind = ast::TypeExpr::Kind;
  using Scope = std::unordered_map<std::string_view, const Declaration*>;  ///< by the names of the declarations

  // ---- scopes
  /// The session's values that statement number `index` sees and the one before it did not; the first statement of the
  /// entry does not see the old ones any more.
  void bindSession(size_t index) {
    if (index > names_.kept_.count) return;
    const bool entry = index == names_.kept_.count;
    for (const auto& [d, kept, isOld] : names_.bound_) {
      if (kept == index || (entry && kept > index)) scopes_.back()[d->name] = d;
    }
    if (!entry) return;
    std::erase_if(scopes_.back(), [&](const auto& named) {
      const Declaration* d = named.second;
      const auto isOldValue = [&](const auto& b) { return b.isOld && b.declaration == d; };
      return std::ranges::any_of(names_.bound_, isOldValue) ||
             std::ranges::find(names_.kept_.old, d->span) != names_.kept_.old.end();
    });
  }
  template <class F>
  void scoped(const F& f) {
    scopes_.emplace_back();
    f();
    scopes_.pop_back();
  }
  void bind(DeclarationKind kind, const ast::Name& name, const ast::Stmt* s = nullptr) {
    if (name.text == "_") return;
    const Declaration* d =
        names_.declare({.kind = kind, .name = name.text, .span = name.span, .statement = s, .home = &names_});
    scopes_.back()[d->name] = d;
    if (kind == DeclarationKind::Dim) part_.dims.push_back(d);
  }
  void bind(DeclarationKind kind, const ast::Pattern& p, const ast::Stmt* s = nullptr) {
    if (!p.isTuple && !p.name.text.empty()) {
      if ((kind == DeclarationKind::Local || kind == DeclarationKind::Variable) && s) noteHidden(p.name, *s);
      bind(kind, p.name, s);
    }
    for (const ast::Pattern& e : p.elements) bind(kind, e, s);
  }
  void noteHidden(const ast::Name& name, const ast::Stmt& s) {
    for (size_t i = loop_; i-- > 0;) {
      const auto found = scopes_[i].find(name.text);
      if (found == scopes_[i].end()) continue;
      const Declaration* outer = found->second;
      const bool variable = outer->kind == DeclarationKind::Variable ||
                            (outer->kind == DeclarationKind::Parameter && s.kind == StmtKind::For);
      if (s.kind == StmtKind::Var ? variable && isUpdateOf(s, *outer) : variable || isMadeOf(s, *outer))
        part_.hidden.emplace_back(name.span, outer);
      return;
    }
  }
  /// `let total = total + x` in a loop, which starts from the outer `let` in each trip.
  bool isMadeOf(const ast::Stmt& s, const Declaration& outer) const {
    const ast::Stmt* made = outer.statement;
    return s.kind == StmtKind::Let && made && made->kind == StmtKind::Let && !made->pattern.isTuple && repeats_ &&
           isReadIn(s, outer);
  }
  /// `var total = total + x`; `var y = x` and `var x = x` start a variable of the block.
  bool isUpdateOf(const ast::Stmt& s, const Declaration& outer) const {
    return s.value && s.value->kind != ast::Expr::Kind::Name && isReadIn(s, outer);
  }
  bool isReadIn(const ast::Stmt& s, const Declaration& outer) const {
    return s.value && std::ranges::any_of(part_.uses, [&](const Use& u) {
             return u.declaration == &outer && u.span.file == s.value->span.file &&
                    s.value->span.begin <= u.span.begin && u.span.end <= s.value->span.end;
           });
  }
  /// What `f` walks is the body of a loop, or, where nothing repeats, of a branch.
  template <class F>
  void looped(const F& f, bool repeats = true) {
    const size_t outer = std::exchange(loop_, scopes_.size());
    const bool before = std::exchange(repeats_, repeats);
    f();
    loop_ = outer;
    repeats_ = before;
  }
  const Declaration* local(std::string_view name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (auto found = scope->find(name); found != scope->end()) return found->second;
    }
    return nullptr;
  }
  const Declaration* lookup(std::string_view name, bool called = false) const {
    if (const Declaration* d = local(name)) return d;
    if (const Declaration* d = names_.global(name)) return d;
    return names_.builtIn(name, called);
  }

  Use& use(const ast::Name& name, const Declaration* d) { return use(name.span, name.text, d); }
  Use& use(Span span, std::string_view name, const Declaration* d) {
    return part_.uses.emplace_back(Use{.span = span, .name = name, .declaration = d});
  }

  // ---- types
  /// Where in a type a name stands: as a type, as an argument of a struct or alias, as a dim of a tensor.
  enum class InType : uint8_t { Type, Argument, Dim };

  /// What a name in a type means. Functions and modules are no types, and types and devices no dims, so that a dim may
  /// have the name of one.
  const Declaration* typeNamed(std::string_view name, InType where) const {
    const Declaration* d = local(name);
    if (d && (where != InType::Type || (d->kind != DeclarationKind::Parameter && d->kind != DeclarationKind::Dim)))
      return d;
    if (const Declaration* outer = outerTypeNamed(name, where)) return outer;
    return d && d->kind == DeclarationKind::Dim ? d : nullptr;  // `n: N`
  }
  const Declaration* outerTypeNamed(std::string_view name, InType where) const {
    if (const Declaration* d = names_.global(name)) {
      const bool value = d->kind == DeclarationKind::Constant || d->kind == DeclarationKind::Param;
      const bool type = d->kind != DeclarationKind::Functions && d->kind != DeclarationKind::Module;
      if (value || d->kind == DeclarationKind::Lost || (type && where != InType::Dim)) return d;
    }
    if (where == InType::Dim) return nullptr;
    if (ir::dtypeNamed(name) || ir::DeviceTable::isKind(name)) return names_.builtIn(name, false);
    if (where == InType::Type && (name == "str" || name == "fn" || name == "device"))
      return names_.builtIn(name, false);
    return nullptr;
  }
  const Declaration* typeName(const ast::Name& name, InType where) {
    if (name.text == "_") return nullptr;
    const Declaration* d = typeNamed(name.text, where);
    const bool dim = where != InType::Type || (signatureDims_ && signatureDims_->contains(name.text));
    if (!d && dim && bindsDims_) {
      bind(DeclarationKind::Dim, name);
      d = part_.dims.back();
    }
    use(name, d).inShape = where != InType::Type;
    return d;
  }
  void type(const ast::TypePtr& t, InType where = InType::Type) {
    if (t) type(*t, where);
  }
  void type(const ast::TypeExpr& t, InType where) {
    const Declaration* head = nullptr;
    if (t.path.size() == 1) {
      const bool shape = t.kind == TypeKind::Pack || t.kind == TypeKind::ShapeOf;
      head = typeName(t.path[0], shape ? InType::Dim : where);
    } else if (t.path.size() > 1) {
      head = qualified(t.path);
    }
    const bool named = head && (head->kind == DeclarationKind::Struct || head->kind == DeclarationKind::Alias);
    for (size_t i = 0; i < t.args.size(); ++i) {
      const bool element = t.kind == TypeKind::Tuple || (t.kind == TypeKind::List && i == 0);
      const bool term = t.kind == TypeKind::Binary || t.kind == TypeKind::Negate;
      type(t.args[i], element ? where : named ? InType::Argument : term && where != InType::Type ? where : InType::Dim);
    }
    if (t.place) annotation(*t.place);
  }
  /// nn.Linear
  const Declaration* qualified(const std::vector<ast::Name>& path) {
    const Declaration* d = names_.global(path[0].text);
    use(path[0], d);
    if (!d || d->kind != DeclarationKind::Module || !d->home) return nullptr;
    const Declaration* member = d->home->global(path[1].text);
    use(path[1], member);
    return member;
  }
  void annotation(const ast::Annotation& a) {
    if (a.kind == ast::Annotation::Kind::Place && !a.path.empty() && !a.number) use(a.path[0], lookup(a.path[0].text));
    expression(a.index);
  }
  void generics(const std::vector<ast::Generic>& list, const ast::Stmt& s) {
    for (const ast::Generic& g : list) bind(DeclarationKind::Generic, g.name, &s);
    for (const ast::Generic& g : list) type(g.otherwise);
  }

  // ---- expressions
  void expression(const ast::ExprPtr& e, bool called = false) {
    if (e) expression(*e, called);
  }
  void expression(const ast::Expr& e, bool called = false) {
    switch (e.kind) {
      case ExprKind::Name:
        // It is a name only in a session, of the value that was shown last.
        if (const Declaration* d = lookup(e.text, called); d || e.text != "_") use(e.span, e.text, d);
        return;
      case ExprKind::Member: return member(e, called);
      case ExprKind::Lambda: return lambda(e);
      case ExprKind::Call:
        expression(*e.args[0], true);
        for (const ast::Argument& a : e.arguments) {
          expression(a.value);
          expression(a.rangeEnd);
        }
        return;
      case ExprKind::Binary:
        expression(e.args[0]);
        expression(e.args[1], e.text == "|>");
        return;
      default: break;
    }
    for (const ast::Annotation& a : e.annotations) annotation(a);
    for (size_t i = 0; i < std::max(e.args.size(), e.blocks.size()); ++i) {
      if (i < e.args.size()) expression(e.args[i]);
      if (i >= e.blocks.size()) continue;
      // A branch that binds a name that it shall change, as the body of a loop does; there the loop is told.
      if (e.kind == ExprKind::If && loop_ == 0)
        looped([&] { block(e.blocks[i]); }, /*repeats=*/false);
      else
        block(e.blocks[i]);
    }
    for (const ast::Subscript& s : e.subscripts) {
      for (const ast::ExprPtr* x : {&s.index, &s.lo, &s.hi, &s.step, &s.size}) expression(*x);
    }
    for (const ast::FieldInit& f : e.fields) expression(f.value);
    for (const ast::StringPiece& p : e.pieces) expression(p.hole);
  }
  void member(const ast::Expr& e, bool called) {
    const ast::Expr& base = *e.args[0];
    expression(base);
    const Declaration* d = base.kind == ExprKind::Name ? lookup(base.text) : nullptr;
    if (d && d->kind == DeclarationKind::Module) {
      if (d->home) use(e.opSpan, e.text, d->home->global(e.text));
    } else if (called) {
      use(e.opSpan, e.text, lookup(e.text)).method = true;
    }
  }
  void lambda(const ast::Expr& e) {
    const size_t outer = std::exchange(loop_, 0);
    const bool repeats = std::exchange(repeats_, false);
    scoped([&] {
      for (const ast::LambdaParam& p : e.params) {
        opened([&] { type(p.type); });
        bind(DeclarationKind::Local, p.pattern);
      }
      expression(e.body);
    });
    loop_ = outer;
    repeats_ = repeats;
  }
  /// Names in shapes that nothing declares are bound there.
  template <class F>
  void opened(const F& f) {
    const bool before = std::exchange(bindsDims_, true);
    f();
    bindsDims_ = before;
  }

  // ---- statements
  void block(const ast::Block& b) {
    scoped([&] {
      for (const ast::StmtPtr& s : b.statements)
        if (s) statement(*s);
    });
  }
  void statement(const ast::Stmt& s) {
    for (const ast::Annotation& a : s.annotations) annotation(a);
    switch (s.kind) {
      case StmtKind::Fn: return scoped([&] { function(s); });
      case StmtKind::Struct:
        return scoped([&] {
          generics(s.generics, s);
          for (const ast::Field& f : s.fields) type(f.type);
        });
      case StmtKind::TypeAlias:
        return scoped([&] {
          generics(s.generics, s);
          type(s.type);
        });
      case StmtKind::Test:
      case StmtKind::Bench: return block(s.body);
      case StmtKind::Device:
        for (const ast::DevicePlace& p : s.places) {
          // A choice may be the name of another device line.
          const Declaration* d = p.number || p.index ? nullptr : names_.global(p.name.text);
          if (d && d->kind == DeclarationKind::Device) use(p.name, d);
          expression(p.index);
          expression(p.indexEnd);
        }
        return;
      case StmtKind::Let:
      case StmtKind::Var:
      case StmtKind::Error:
        expression(s.value);
        opened([&] { type(s.type); });
        bind(s.kind == StmtKind::Let   ? DeclarationKind::Local
             : s.kind == StmtKind::Var ? DeclarationKind::Variable
                                       : DeclarationKind::Lost,
             s.pattern, &s);
        return;
      case StmtKind::Assign:
        expression(s.value);
        if (s.target) target(*s.target);
        return;
      case StmtKind::For:
        for (const ast::ExprPtr* x : {&s.lo, &s.hi, &s.by}) expression(*x);
        return scoped([&] {
          looped([&] {
            bind(DeclarationKind::Local, s.pattern, &s);
            block(s.body);
          });
        });
      case StmtKind::While: expression(s.lo); return looped([&] { block(s.body); });
      default:
        type(s.type);
        expression(s.value);
        expression(s.message);
        return;
    }
  }
  void target(const ast::Expr& e) {
    if (e.kind == ExprKind::Tuple) {
      for (const ast::ExprPtr& x : e.args) target(*x);
      return;
    }
    const ast::Expr* root = rootOf(e);
    expression(e);
    if (!root) return;
    for (auto u = part_.uses.rbegin(); u != part_.uses.rend(); ++u) {
      if (u->span != root->span) continue;
      u->assigned = true;
      return;
    }
  }
  void function(const ast::Stmt& s) {
    std::set<std::string, std::less<>> dims;
    for (const ast::FnParam& p : s.params)
      if (p.type) namesInShapes(*p.type, false, dims);
    if (s.type) namesInShapes(*s.type, false, dims);
    // In types what is listed comes before a parameter of that name, in the body after it.
    Scope parameters;
    for (const ast::FnParam& p : s.params) bind(DeclarationKind::Parameter, p.name, &s);
    parameters = scopes_.back();
    scopes_.emplace_back();
    generics(s.generics, s);
    signatureDims_ = &dims;
    opened([&] {
      for (const ast::FnParam& p : s.params) type(p.type);
      type(s.type);
    });
    signatureDims_ = nullptr;
    for (const Scope* scope : {&parameters, &scopes_.back()}) {
      const auto first = static_cast<std::ptrdiff_t>(part_.signature.size());
      for (const auto& [name, d] : *scope) part_.signature.push_back(d);
      std::ranges::sort(part_.signature.begin() + first, part_.signature.end(), {},
                        [](const Declaration* d) { return std::string_view(d->name); });
    }
    for (const ast::FnParam& p : s.params) expression(p.otherwise);
    scopes_.push_back(std::move(parameters));
    if (s.bodyIsExpr)
      expression(s.value);
    else
      block(s.body);
    scopes_.pop_back();
    scopes_.pop_back();
  }

  const Resolution& names_;
  Resolution::Part& part_;
  std::vector<Scope> scopes_;
  size_t loop_ = 0;       ///< of `scopes_`: how many stand around the innermost loop; 0 for no loop
  bool repeats_ = false;  ///< it is a loop, not a branch alone
  bool bindsDims_ = false;
  const std::set<std::string, std::less<>>* signatureDims_ = nullptr;  ///< in a signature
};

void Resolution::walk(Part& part) const { NameWalk(*this, part).run(); }

}  // namespace tenc::frontend
