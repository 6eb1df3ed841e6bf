// Names: scopes of a body, declarations of a unit, and the diagnostics that name what is near.
#include <algorithm>
#include <utility>

#include "frontend/Lowering.h"
#include "frontend/names/Scan.h"
#include "support/Text.h"

namespace tenc::frontend {

void Lowering::at(Span s) {
  if (!builder_) return;
  auto [it, fresh] = locs_.try_emplace({s.file, s.begin, s.end});
  if (fresh) it->second = module.addLoc(s);
  builder_->setLoc(it->second);
}

void Lowering::at(Span s, std::vector<ir::OperandText> operands) {
  at(s);
  if (!builder_) return;
  // What is made there later, without operands of its own, shares the place; another op at the same text does not.
  std::vector<ir::OperandText>& known = module.locs[builder_->loc().index].operands;
  if (known.empty()) known = operands;
  if (known != operands) builder_->setLoc(module.addLoc({s, {}, {}, std::move(operands)}));
}

namespace {
std::string withoutDigits(std::string_view s) {
  std::string r;
  std::copy_if(s.begin(), s.end(), std::back_inserter(r), [](char c) { return c < '0' || c > '9'; });
  return r;
}
}  // namespace

Diagnostics::Builder Lowering::error(Code code, Span span, std::string message) {
  ++failures_;
  // The same error in a later trip of an unrolled loop, where only the numbers in it differ, is said once.
  const std::string text = withoutDigits(message);
  // What goes wrong inside the standard library is shown where the script calls it.
  const Span written = span;
  std::vector<Note> chain;
  for (auto it = frames_.rbegin(); it != frames_.rend(); ++it) {
    const Frame& f = **it;
    if (f.signature.empty() || !f.call.valid()) continue;
    const bool leaves = sources.inLibrary(span) && !sources.inLibrary(f.call);
    if (leaves) chain.insert(chain.begin(), {written, "in the standard library, here"});
    if (leaves) span = f.call;
    chain.push_back({f.call, "in `" + f.signature + "`, called here"});
  }
  const auto isSame = [&](const Diagnostic& d) {
    if (d.code != code || d.span != span || withoutDigits(d.message) != text) return false;
    size_t notes = 0;
    const bool calls = std::all_of(chain.begin(), chain.end(), [&](const Note& n) {
      return notes < d.notes.size() && d.notes[notes++].span == n.span;
    });
    return calls && (notes == d.notes.size() || !d.notes[notes].text.starts_with("in `"));
  };
  const auto& all = diags.all();
  const auto before = std::find_if(all.begin(), all.end(), isSame);
  if (before != all.end()) message = before->message;
  auto d = diags.report(code, span, std::move(message));
  for (const Note& n : chain) d.note(n.span, n.text);
  for (auto it = frames_.rbegin(); it != frames_.rend(); ++it) {
    const Frame& f = **it;
    if (f.fn && !f.call.valid() && f.signature.ends_with(']'))
      d.note("nothing calls `" + f.fn->stmt->name.text + "`: it was checked as `" + f.signature + "`");
  }
  return d;
}

Diagnostics::Builder Lowering::warning(Code code, Span span, std::string message) {
  auto d = error(code, span, std::move(message));
  --failures_;
  return d;
}

Val Lowering::fail(Code code, Span span, std::string message) {
  error(code, span, std::move(message));
  return Val::none();
}

bool Lowering::reportTooLarge(Span span) {
  if (module.tooLarge.what.empty()) return false;
  fail(Code::E0208, span, std::exchange(module.tooLarge.what, {}));
  return true;
}

Val Lowering::notYet(Span span, std::string_view what) {
  const bool isName = what.find_first_of("` ") == std::string_view::npos;
  const std::string subject = isName ? "`" + std::string(what) + "`" : std::string(what);
  return fail(Code::E0190, span, subject + " is not supported yet");
}

Binding* Lowering::findLocal(std::string_view name) {
  if (frames_.empty()) return nullptr;
  for (auto scope = frame().scopes.rbegin(); scope != frame().scopes.rend(); ++scope) {
    if (Binding* found = scope->find(name)) return found;
  }
  return nullptr;
}

Binding& Lowering::declare(const ast::Name& name, Val value, bool isVar, std::shared_ptr<const Ty> declared) {
  if (isVar) value = enterAnnotation(value);
  if (value.is(Val::Kind::Tensor) && value.tensor->name.empty()) value.tensor->name = name.text;
  if (value.isTree()) {
    mapLeaves(value, [&](const Val& leaf, const std::string& path, bool) {
      if (leaf.is(Val::Kind::Tensor) && leaf.tensor->name.empty()) leaf.tensor->name = name.text + "." + path;
      return leaf;
    });
  }
  Binding binding;
  binding.value = std::move(value);
  binding.span = name.span;
  binding.isVar = isVar;
  binding.regionDepth = regionDepth_;
  binding.declared = std::move(declared);
  return frame().scopes.back().add(name.text, std::move(binding));
}

std::optional<Val> Lowering::lookupGlobal(const Unit& unit, std::string_view name, Span span) {
  if (auto it = unit.constants.find(name); it != unit.constants.end()) {
    Val v = constantOf(unit, *it->second);
    v.span = span;
    return v;
  }
  if (auto it = unit.params.find(name); it != unit.params.end()) {
    Val v = paramOf(*it->second);
    v.span = span;
    return v;
  }
  if (auto it = unit.devices.find(name); it != unit.devices.end()) {
    Val v = deviceOf(unit, *it->second);
    v.span = span;
    return v;
  }
  if (auto it = unit.functions.find(name); it != unit.functions.end()) {
    auto f = std::make_shared<FnValue>();
    f->kind = FnValue::Kind::Overloads;
    f->name = std::string(name);
    for (const FnDecl& d : it->second) f->overloads.push_back(&d);
    return Val::ofFunction(std::move(f), span);
  }
  if (auto it = unit.structs.find(name); it != unit.structs.end()) {
    Val v;
    v.kind = Val::Kind::Type;
    v.span = span;
    v.type = structType(it->second);
    return v;
  }
  if (auto it = unit.aliases.find(name); it != unit.aliases.end()) {
    Val v;
    v.kind = Val::Kind::Type;
    v.span = span;
    Generics g;
    g.unit = &unit;
    g.listed = &it->second->generics;
    v.type = std::make_shared<Ty>(resolve(*it->second->type, g));
    return v;
  }
  if (auto it = unit.modules.find(name); it != unit.modules.end()) {
    Val v;
    v.kind = Val::Kind::Module;
    v.span = span;
    v.module = it->second;
    return v;
  }
  if (auto it = unit.names.find(name); it != unit.names.end()) {
    return lookupGlobal(*it->second.first, it->second.second, span);
  }
  // What a failed import would have brought.
  if (auto it = unit.evaluated.find(name); it != unit.evaluated.end() && it->second.poison()) return Val::none();
  return std::nullopt;
}

namespace {
Val deviceValue(std::string name, Span span) {
  DeviceRef d;
  d.name = std::move(name);
  return Val::ofDevice(std::move(d), span);
}
}  // namespace

std::optional<Val> Lowering::lookup(std::string_view name, Span span) {
  if (Binding* local = findLocal(name)) {
    Val v = local->value;
    v.span = span;
    return v;
  }
  if (auto v = lookupGlobal(*frame().unit, name, span)) return v;
  if (auto v = builtinConstant(name, span)) return v;
  if (auto t = ir::dtypeNamed(name)) return Val::ofDType(*t, span);
  if (ir::DeviceTable::isKind(name)) return deviceValue(ir::DeviceTable::normal(name), span);
  if (isBuiltin(name)) {
    auto f = std::make_shared<FnValue>();
    f->kind = FnValue::Kind::Builtin;
    f->name = std::string(name);
    return Val::ofFunction(std::move(f), span);
  }
  return std::nullopt;
}

bool Lowering::nameExists(std::string_view name) {
  if (findLocal(name)) return true;
  const Unit& u = *frame().unit;
  return u.declared.count(name) || u.functions.count(name) || u.modules.count(name) || u.names.count(name) ||
         u.evaluated.count(name) || builtinConstant(name, {}) || ir::dtypeNamed(name) ||
         ir::DeviceTable::isKind(name) || isBuiltin(name) || isTransform(name);
}

std::vector<std::string> Lowering::visibleNames() {
  std::vector<std::string> names;
  for (const Scope& scope : frame().scopes) {
    for (const auto& [name, binding] : scope.names) names.push_back(name);
  }
  const Unit& u = *frame().unit;
  for (const auto& [name, span] : u.declared) names.push_back(name);
  for (const auto& [name, list] : u.functions) names.push_back(name);
  for (const auto& [name, unit] : u.modules) names.push_back(name);
  for (const auto& [name, from] : u.names) names.push_back(name);
  for (std::string_view name : builtinNames()) names.emplace_back(name);
  return names;
}

std::string Lowering::nearest(std::string_view name, const std::vector<std::string>& names) {
  std::string best;
  size_t least = name.size() <= 3 ? 2 : 3;
  for (const std::string& n : names) {
    if (n.size() >= name.size() + least || name.size() >= n.size() + least) continue;
    const size_t d = editDistance(name, n);
    if (d > 0 && d < least && d < name.size()) {
      least = d;
      best = n;
    }
  }
  return best;
}

void Lowering::suggest(Diagnostics::Builder& d, std::string_view name, Span at, const std::vector<std::string>& names,
                       const syntax::Familiar* known) {
  std::string meant;
  if (known) {
    const bool there = std::find(names.begin(), names.end(), known->replacement) != names.end();
    if (there || known->keyword) meant = known->replacement;
    if (meant.empty() && !known->help.empty()) {
      d.help(std::string(known->help));
      return;
    }
  }
  if (meant.empty()) meant = nearest(name, names);
  if (!meant.empty()) d.help("did you mean `" + meant + "`?", {{at, meant}});
}

namespace {
/// Whether the text stands alone between brackets or commas.
bool isSubscript(const SourceManager& sources, Span span) {
  const std::string_view text = sources.file(span.file).text();
  const size_t before = text.substr(0, span.begin).find_last_not_of(" \n"),
               after = text.find_first_not_of(" \n", span.end);
  const auto is = [&](size_t i, std::string_view set) {
    return i != std::string_view::npos && set.find(text[i]) != std::string_view::npos;
  };
  return is(before, "[,") && is(after, ",]");
}

/// Whether the file assigns a variable of this name, or a part of it, behind `at`.
bool isAssignedBehind(const ast::File& file, Span at, const std::string& name) {
  std::set<std::string> names;
  TreeVisitor behind;
  behind.onStatement = [&](const ast::Stmt& s) {
    if (s.kind == ast::Stmt::Kind::Assign && s.target && s.target->span.begin >= at.end) assignedNames(s, names);
  };
  for (const ast::StmtPtr& s : file.statements)
    if (s) behind.visit(*s);
  return names.contains(name);
}
}  // namespace

Val Lowering::unknownName(std::string_view name, Span span, bool assigned, const ast::Expr* call) {
  if (lostName(name) || frame().undeclared.contains(name)) return Val::none();
  if (const FnDecl* fn = frame().fn) {
    for (const ast::Generic& g : fn->stmt->generics) {
      if (g.name.text != name) continue;
      error(Code::E0204, span,
            "`" + g.name.text + "` of `" + fn->stmt->name.text + "` does not follow from the arguments");
      return Val::none();
    }
  }
  if (assigned) frame().undeclared.emplace(name);
  auto d = error(Code::E0102, span, "unknown name `" + std::string(name) + "`");
  auto ended = frame().ended.find(std::string(name));
  if (ended != frame().ended.end()) d.note(ended->second, "`" + std::string(name) + "` is bound in a block that ended");
  const syntax::Familiar* known = syntax::familiarName(name);
  const std::string near = assigned ? nearest(name, visibleNames()) : "";
  const Binding* local = near.empty() ? nullptr : findLocal(near);
  if (assigned && !(local && local->isVar)) {
    const ast::File* file = frame().unit != nullptr ? frame().unit->file : nullptr;
    const bool again = file != nullptr && isAssignedBehind(*file, span, std::string(name));
    const std::string_view text = sources.file(span.file).text();
    const size_t before = text.substr(0, span.begin).find_last_not_of(' ');
    if (before != std::string_view::npos && (text[before] == '(' || text[before] == ',')) {
      d.help("a variable among several is bound before, with `var`");
    } else {
      d.help("a new name is bound with `let`, or with `var` to be assigned again",
             {{Span{span.file, span.begin, span.begin}, again ? "var " : "let "}});
    }
  } else if (known && !known->inSubscript.empty() && isSubscript(sources, span)) {
    d.help("a new dim is written `new`", {{span, std::string(known->inSubscript)}});
  } else if (const ast::Stmt* variable = scriptVariable(frame().unit->file, name)) {
    if (!frame().fn && variable->pattern.span.begin > span.begin) {
      d.note(variable->pattern.span, "it is bound only here, further down");
      return Val::none();
    }
    d.note(variable->pattern.span, "bound by the script here; functions, tests and benches do not see its variables");
    const bool fixed =
        variable->kind == ast::Stmt::Kind::Let && variable->value &&
        (variable->value->kind == ast::Expr::Kind::Int || variable->value->kind == ast::Expr::Kind::Float);
    d.help(fixed ? "make it a `const`, or pass it as an argument" : "pass it as an argument");
  } else if (!call || !offerRewrite(d, *call)) {
    suggest(d, name, span, visibleNames(), known);
  }
  return Val::none();
}

void Lowering::pop() {
  for (const auto& [name, binding] : frame().scopes.back().names) {
    if (binding.span.valid()) frame().ended[name] = binding.span;
  }
  frame().scopes.pop_back();
}

namespace {
/// The names that code binds: of patterns, of lambdas' parameters, of dims and types in annotations.
struct BoundNames {
  std::set<std::string> names;

  void add(const ast::Pattern& p) {
    if (!p.isTuple) names.insert(p.name.text);
    for (const ast::Pattern& e : p.elements) add(e);
  }
  void add(const ast::TypeExpr& t) {
    if (t.path.size() == 1) names.insert(t.path[0].text);
    for (const auto& a : t.args) add(*a);
  }
  template <class Tree>
  void addOf(const Tree& tree) {
    TreeVisitor declared;
    declared.onStatement = [&](const ast::Stmt& s) {
      add(s.pattern);
      if (s.type) add(*s.type);
    };
    declared.onExpression = [&](const ast::Expr& e) {
      for (const auto& p : e.params) add(p.pattern);
      return true;
    };
    declared.visit(tree);
  }
};
}  // namespace

void Lowering::checkNames(const ast::Block& block) {
  BoundNames bound;
  bound.addOf(block);
  usedNames(bound.names).visit(block);
}

void Lowering::checkNames(const ast::Stmt& fn) {
  BoundNames bound;
  for (const ast::Generic& g : fn.generics) bound.names.insert(g.name.text);
  for (const ast::FnParam& p : fn.params) {
    bound.names.insert(p.name.text);
    if (p.type) bound.add(*p.type);
  }
  bound.addOf(fn);
  usedNames(bound.names).visit(fn);
}

TreeVisitor Lowering::usedNames(const std::set<std::string>& bound) {
  TreeVisitor used;
  used.onExpression = [&](const ast::Expr& e) {
    if (e.kind == ast::Expr::Kind::Name && e.text != "_" && !bound.count(e.text) && !nameExists(e.text)) {
      unknownName(e.text, e.span);
    }
    return true;
  };
  return used;
}

Val Lowering::constantOf(const Unit& unit, const ast::Stmt& decl) {
  const std::string& name = decl.name.text;
  if (auto it = unit.evaluated.find(name); it != unit.evaluated.end()) return it->second;
  if (!unit.evaluating.insert(name).second) {
    unit.evaluated[name] = Val::none();
    return fail(Code::E0109, decl.name.span, "the constant `" + name + "` is defined by itself");
  }
  auto own = std::make_unique<Frame>();
  own->unit = &unit;
  own->scopes.emplace_back();
  frames_.push_back(std::move(own));
  Ty expected;
  Generics g;
  g.unit = &unit;
  if (decl.type) expected = resolve(*decl.type, g);
  Val v = decl.value ? eval(*decl.value, decl.type ? &expected : nullptr) : Val::none();
  if (v.isNumber() && decl.type && expected.isTensor() && expected.dtype) {
    const bool real = ir::isFloat(*expected.dtype);
    if (v.is(Val::Kind::Float) && !real) {
      v = fail(Code::E0207, decl.value->span,
               "`" + name + "` is declared " + toString(expected) + ", but this is a float");
    } else {
      if (real && v.is(Val::Kind::Int)) v = Val::ofFloat(static_cast<double>(v.integer), v.span);
      v.dtype = *expected.dtype;
    }
  }
  frames_.pop_back();
  std::function<bool(const Val&)> known = [&](const Val& x) {
    if (x.is(Val::Kind::Array) || x.is(Val::Kind::Tuple)) return std::all_of(x.elems.begin(), x.elems.end(), known);
    return x.poison() || x.isStatic() || x.is(Val::Kind::Function) || x.is(Val::Kind::Type) ||
           (x.is(Val::Kind::Device) && !x.device.of);
  };
  if (!known(v)) {
    v = fail(Code::E0111, decl.value->span, "a `const` is known while compiling; this is " + describe(v));
  }
  if (v.isNumber()) v.adopts = true;
  unit.evaluating.erase(name);
  unit.evaluated[name] = v;
  return v;
}

namespace {
std::optional<Val> parseParam(const std::string& text, const std::string& type, Span span) {
  char* end = nullptr;
  if (type == "str") return Val::ofString(text, span);
  if (type == "bool") {
    if (text == "true" || text == "false") return Val::ofBool(text == "true", span);
    return std::nullopt;
  }
  std::string digits = text;
  digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
  if (digits.empty()) return std::nullopt;
  errno = 0;
  if (type == "i64") {
    const long long v = std::strtoll(digits.c_str(), &end, 0);
    if (*end || errno) return std::nullopt;
    return Val::ofInt(v, span);
  }
  const double v = std::strtod(digits.c_str(), &end);
  if (*end) return std::nullopt;
  return Val::ofFloat(v, span);
}
}  // namespace

Val Lowering::paramOf(const ast::Stmt& decl) {
  const std::string& name = decl.name.text;
  auto& cache = params_;
  if (auto it = cache.find(name); it != cache.end()) return it->second;
  cache[name] = Val::none();  // a default that names its own param: see below
  const bool plain = decl.type && decl.type->path.size() == 1 && !decl.type->hasArgs;
  const std::string type = plain ? decl.type->path[0].text : "";
  Val v;
  if (!decl.type && decl.value) {
    v = eval(*decl.value);
    auto d = error(Code::E0504, decl.name.span, "the param `" + name + "` has no type");
    const char* known = v.is(Val::Kind::Int)      ? "i64"
                        : v.is(Val::Kind::Float)  ? "f32"
                        : v.is(Val::Kind::Bool)   ? "bool"
                        : v.is(Val::Kind::String) ? "str"
                                                  : nullptr;
    const uint32_t end = decl.name.span.end;
    if (known) d.help("say what it takes", {{Span{decl.name.span.file, end, end}, std::string(": ") + known}});
  } else if (type != "i64" && type != "f32" && type != "f64" && type != "bool" && type != "str") {
    v = fail(Code::E0504, decl.type ? decl.type->span : decl.span,
             std::string("a param is i64, f32, f64, bool or str") +
                 (decl.type ? ", not " + std::string(sources.text(decl.type->span)) : ""));
  } else if (auto given = options.params.find(name); given != options.params.end()) {
    const std::optional<std::string>& text = given->second;
    auto parsed = text             ? parseParam(*text, type, decl.name.span)
                  : type == "bool" ? std::optional(Val::ofBool(true, decl.name.span))
                                   : std::nullopt;
    v = parsed ? *parsed : Val::none();
    if (!parsed) {
      const std::string message = text ? "`" + *text + "` is no " + type + " for the param `" + name + "`"
                                       : "`--" + name + "` needs a value: it is " + type;
      const std::string option = "`--" + name;
      error(Code::E0504, decl.name.span, message)
          .note("it is given as " + (type == "bool"
                                         ? option + " true`, or " + option + "` alone, or " + option + " false`"
                                     : type == "i64" ? option + " 3` or " + option + "=-3`: an integer of 64 bits"
                                     : type == "str" ? option + " text`"
                                                     : option + " 0.3` or " + option + "=-1e-3`"));
    }
  } else if (decl.value) {
    const size_t known = diags.errors();
    v = eval(*decl.value);
    if (v.poison() && diags.errors() == known) {
      fail(Code::E0109, decl.value->span, "the default of the param `" + name + "` depends on itself");
    }
    const bool real = type == "f32" || type == "f64";
    if (real && v.is(Val::Kind::Int)) v = Val::ofFloat(static_cast<double>(v.integer), v.span);
    const bool fits = type == "i64"    ? v.is(Val::Kind::Int)
                      : real           ? v.is(Val::Kind::Float)
                      : type == "bool" ? v.is(Val::Kind::Bool)
                                       : v.is(Val::Kind::String);
    if (!fits && !v.poison()) {
      v = fail(Code::E0504, decl.value->span,
               "the param `" + name + "` is " + type + ", but its value is " + describe(v));
    }
  }
  v.adopts = v.isNumber();
  if (type == "f64") v.dtype = ir::DType::F64;
  cache[name] = v;
  return v;
}

}  // namespace tenc::frontend
