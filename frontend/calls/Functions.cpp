// Functions: one ir::Func per instance, that is per function and concrete argument types, dims and compile-time values.
#include <algorithm>
#include <bit>
#include <utility>

#include "frontend/Lowering.h"
#include "frontend/names/Scan.h"

namespace tenc::frontend {

namespace {
using Kind = Val::Kind;
using ir::OpKind;
}  // namespace

/// What tells two instances apart: types of tensors, values of everything known while compiling.
std::string Lowering::keyOf(const Val& v) {
  std::string s;
  auto parts = [&](const char* open) {
    s += open;
    for (const Val& e : v.elems) s += keyOf(e) + ",";
    s += ")";
  };
  switch (v.kind) {
    case Kind::Poison: return "!";
    case Kind::Unit: return "()";
    case Kind::Int: return "#" + toString(v.integer) + (v.adopts ? "" : "i");
    case Kind::Float:
      return "#" + std::to_string(std::bit_cast<uint64_t>(v.real)) + (v.adopts ? "" : std::string(ir::name(v.dtype)));
    case Kind::Bool: return v.boolean ? "true" : "false";
    case Kind::String: return "\"" + v.text + "\"";
    case Kind::DType: return std::string(ir::name(v.dtype));
    case Kind::Device: return "@" + v.device.name + (v.device.of ? "&" : "");
    case Kind::Tensor: {
      ir::Type t = v.tensor->type;
      t.place = {};
      return ir::toString(t);
    }
    case Kind::Format: parts("format("); return s + std::to_string(reinterpret_cast<uintptr_t>(v.pieces));
    case Kind::Array: parts("array("); return s;
    case Kind::Tuple: parts("("); return s;
    case Kind::List: parts("list("); return s;
    case Kind::Struct:
      s = v.info->text + std::to_string(reinterpret_cast<uintptr_t>(v.info->decl));
      parts("(");
      return s;
    case Kind::Pack: parts("pack("); return s;
    case Kind::Range: parts(v.boolean ? "rev(" : "range("); return s;
    case Kind::Sequence: parts("seq("); return s;
    case Kind::Type: return "type " + toString(*v.type);
    case Kind::Module: return "module " + v.module->name;
    case Kind::Function: {
      const FnValue& f = *v.fn;
      s = "fn " + f.name + ":" + std::to_string(f.id);
      for (const FnDecl* d : f.overloads) s += ":" + std::to_string(reinterpret_cast<uintptr_t>(d));
      for (const auto& [name, value] : f.captures) s += ";" + keyOf(value);
      if (f.receiver) s += ";" + keyOf(*f.receiver);
      for (const Val& e : f.inner) s += ";" + keyOf(e);
      for (const auto& [name, value] : f.options) s += ";" + name + "=" + keyOf(value);
      return s;
    }
  }
  return s;
}

namespace {
bool mentions(const ast::TypeExpr& t, const std::string& name, bool inShape) {
  if (inShape && t.path.size() == 1 && t.path[0].text == name) return true;
  for (const auto& a : t.args) {
    if (mentions(*a, name, inShape || t.kind == ast::TypeExpr::Kind::Path || t.kind == ast::TypeExpr::Kind::List))
      return true;
  }
  return false;
}
/// How many trees a value is made of: what tells a layer from one that it is nested in.
size_t treesIn(const Val& v) {
  size_t n = v.isTree() ? 1 : 0;
  for (const Val& e : v.elems) n += treesIn(e);
  return n;
}
bool holdsFunction(const Val& v) {
  return v.is(Kind::Function) || std::any_of(v.elems.begin(), v.elems.end(), holdsFunction);
}
}  // namespace

bool Lowering::paramIsStatic(const FnDecl& decl, const ast::FnParam& p) {
  if (p.isStatic) return true;
  return sizes_.contains(*decl.unit->resolution, *decl.stmt, p);
}

Lowering::Generics Lowering::genericsOf(const FnDecl& decl) {
  Generics g;
  g.unit = decl.unit;
  g.listed = &decl.stmt->generics;
  g.dims = &decl.dims;
  return g;
}

bool Lowering::hasSyntaxError(Span within) {
  const auto& all = diags.all();
  return std::any_of(all.begin(), all.end(), [&](const Diagnostic& d) {
    return d.code == Code::E0101 && d.span.file == within.file && d.span.begin >= within.begin &&
           d.span.begin <= within.end;
  });
}

bool Lowering::resultDimsBound(const ast::TypeExpr& written, Generics& g, bool inShape) {
  using TypeKind = ast::TypeExpr::Kind;
  const ast::TypeExpr& t = expanded(written, g);
  if ((t.kind == TypeKind::Path && t.path.size() == 1) || t.kind == TypeKind::Pack) {
    const std::string& name = t.path[0].text;
    const ast::Generic* listed = listedGeneric(g, name);
    const bool dim = inShape && !t.hasArgs && name != "_" && (!listed || listed->kind.empty());
    if (dim && typeName(t, g, true).variable) {
      if (t.kind == TypeKind::Pack)
        fail(Code::E0102, t.span, "the shape `" + name + "` of the result is not bound by any argument");
      else
        error(Code::E0102, t.span, "the dim `" + name + "` of the result is not bound by any argument")
            .help("take it as an argument, `" + name + ": i64`, or write the size that the result has");
      return false;
    }
  }
  const bool shape = inShape || t.kind == TypeKind::Path || t.kind == TypeKind::ShapeOf;
  for (size_t i = 0; i < t.args.size(); ++i) {
    if (!resultDimsBound(*t.args[i], g, shape || (t.kind == TypeKind::List && i == 1))) return false;
  }
  return true;
}

Lowering::BodyState Lowering::enterBody(ir::Builder* builder, Boundary* boundary) {
  const BodyState old{builder_, boundary_, regionDepth_, outerRegions_, staticLoops_, std::exchange(tailCopies_, 1)};
  builder_ = builder;
  boundary_ = boundary;
  outerRegions_ += regionDepth_;
  regionDepth_ = staticLoops_ = 0;
  return old;
}

void Lowering::leaveBody(const BodyState& s) {
  builder_ = s.builder;
  boundary_ = s.boundary;
  regionDepth_ = s.regionDepth;
  outerRegions_ = s.outerRegions;
  staticLoops_ = s.staticLoops;
  tailCopies_ = s.tailCopies;
}

Val Lowering::callDecl(const FnDecl& decl, CallArgs& args) {
  const ast::Stmt& s = *decl.stmt;
  named_.insert(&decl);
  std::vector<const CallArg*> matched;
  if (!matchArguments(decl, args, matched)) return Val::none();
  for (const CallArg& a : args.args) {
    if (a.value.poison()) return Val::none();
  }
  Generics g = genericsOf(decl);
  std::vector<Val> values(s.params.size());
  bool ok = true;
  auto bindParam = [&](size_t i, const Val& v, Span span) {
    const ast::FnParam& p = s.params[i];
    const Target who{"argument `" + p.name.text + "` of `" + s.name.text + "`", span, p.name.span, false};
    values[i] = p.type ? unify(*p.type, v, g, who) : v;
    if (values[i].is(Kind::Unit)) values[i] = fail(Code::E0203, span, who.what + " is no value");
    ok = ok && !values[i].poison();
    // `fn linear(i: i64) -> f32[i]`: the argument is a dim of that name.
    if (values[i].is(Kind::Int) && !g.bound.count(p.name.text) && paramIsStatic(decl, p)) {
      g.bound[p.name.text] = Val::ofInt(values[i].integer, span);
      g.origin[p.name.text] = span;
    }
  };
  // Numbers take dtypes that tensors bind, so they come last.
  for (bool literals : {false, true}) {
    for (size_t i = 0; i < matched.size(); ++i) {
      if (!matched[i]) continue;
      const Val& v = matched[i]->value;
      if ((v.isNumber() || v.is(Kind::Array)) == literals) bindParam(i, v, matched[i]->span);
    }
  }
  for (size_t i = 0; ok && i < matched.size(); ++i) {
    if (matched[i]) continue;
    // A default is read where the function is declared; it sees what the arguments have bound.
    auto own = std::make_unique<Frame>();
    own->unit = decl.unit;
    own->scopes.emplace_back();
    for (const auto& [name, v] : g.bound) {
      Binding binding;
      binding.value = v;
      own->scopes.back().add(name, std::move(binding));
    }
    frames_.push_back(std::move(own));
    Val v = eval(*s.params[i].otherwise);
    frames_.pop_back();
    ok = !v.poison();
    if (ok) bindParam(i, v, s.params[i].otherwise->span);
  }
  if (!ok) return Val::none();
  for (const ast::Generic& x : s.generics) {
    if (!x.otherwise || g.bound.count(x.name.text)) continue;
    if (auto v = typeArgument(*x.otherwise, g)) g.bound[x.name.text] = *v;
  }
  if (!finishPending(g, {"a call of `" + s.name.text + "`", args.span, s.name.span, false})) return Val::none();
  for (size_t i = 0; s.type && i < values.size(); ++i) {
    const std::string& name = s.params[i].name.text;
    if (!matched[i] || !values[i].is(Kind::Tensor) || !values[i].tensor->type.shape.empty()) continue;
    if (!ir::isInt(values[i].tensor->type.dtype) || g.bound.count(name) || !mentions(*s.type, name, false)) continue;
    return fail(Code::E0111, matched[i]->span,
                "`" + name + "` of `" + s.name.text + "` is a size of its result: it must be known while compiling");
  }
  if (s.type && !hasOpenResult(*decl.unit->resolution, s) && !resultDimsBound(*s.type, g, false)) return Val::none();
  for (size_t i = 0; i < values.size(); ++i) {
    const ast::FnParam& p = s.params[i];
    Val& v = values[i];
    if (p.isStatic) {
      if (v.is(Kind::Tensor) || v.is(Kind::Format)) {
        return fail(Code::E0111, matched[i] ? matched[i]->span : args.span,
                    "`" + p.name.text + "` of `" + s.name.text + "` is static: it must be known while compiling");
      }
      if (v.is(Kind::Int)) v.adopts = true;  // as a dim or a param
      continue;
    }
    if (v.is(Kind::Int) && (v.adopts || paramIsStatic(decl, p))) {
      const bool dim = p.type && p.type->path.size() == 1 && g.bound.count(p.type->path[0].text);
      if (dim || paramIsStatic(decl, p)) {
        v.adopts = true;
        continue;
      }
    }
    Ty hint;
    if (p.type && !v.is(Kind::Function)) hint = resolve(*p.type, g);
    v = materialise(v, &hint);
    if (v.poison()) return Val::none();
  }
  std::vector<Span> written;
  for (const CallArg* a : matched) written.push_back(a ? a->span : Span{});
  called_.insert(&decl);
  return instantiate(decl, values, g, args.span, written);
}

Val Lowering::instantiate(const FnDecl& decl, std::vector<Val>& values, Generics& g, Span call,
                          const std::vector<Span>& written) {
  const ast::Stmt& s = *decl.stmt;
  std::string key = std::to_string(reinterpret_cast<uintptr_t>(&decl));
  bool higherOrder = false;
  size_t trees = 0;
  for (const Val& v : values) {
    key += "|" + keyOf(v);
    higherOrder = higherOrder || holdsFunction(v);
    trees += treesIn(v);
  }
  for (const auto& [name, v] : g.bound) key += "|" + name + "=" + keyOf(v);
  for (const auto& f : frames_) {
    // A layer may call the one that it is made of: that ends, as a tree has finitely many parts.
    if (f->fn == &decl && (f->key == key || (!f->higherOrder && !higherOrder && trees >= f->trees))) {
      return fail(Code::E0109, call, "`" + s.name.text + "` calls itself; recursion is not possible");
    }
  }
  auto& slot = instances_[key];
  if (!slot) {
    slot = std::make_unique<Instance>();
    auto own = std::make_unique<Frame>();
    own->unit = decl.unit;
    own->fn = &decl;
    own->key = key;
    own->call = call;
    own->higherOrder = higherOrder;
    own->trees = trees;
    std::string dims;
    for (const auto& [name, v] : g.bound) {
      if (v.is(Kind::Int)) dims += (dims.empty() ? "" : ", ") + name + " = " + toString(v.integer);
      if (v.is(Kind::DType)) dims += (dims.empty() ? "" : ", ") + name + " = " + std::string(ir::name(v.dtype));
    }
    own->signature = s.name.text + (dims.empty() ? "" : "[" + dims + "]");
    lowerInstance(decl, *slot, values, g, std::move(own));
  }
  const Instance& instance = *instances_[key];
  if (instance.failed) return Val::none();
  std::vector<ir::Value*> operands;
  std::vector<ir::OperandText> texts;
  for (size_t i = 0; i < values.size(); ++i) {
    const Span span = i < written.size() ? written[i] : Span{};
    if (values[i].isTree()) {
      mapLeaves(values[i], [&](const Val& leaf, const std::string& path, bool) {
        if (leaf.tensor) texts.push_back({span, path});
        return leaf;
      });
    }
    leavesOf(values[i], operands);
    texts.resize(operands.size(), {span, ""});
  }
  at(call, std::move(texts));
  ir::Op* op = b().makeTyped(OpKind::Call, operands, instance.resultTypes, {{"callee", instance.func->name}});
  std::vector<ir::Value*> results;
  for (const auto& r : op->results) results.push_back(r.get());
  Val r = rebuild(instance.result, results);
  r.span = call;
  return r;
}

void Lowering::placesOf(const Val& v, const Ty& declared, const std::string& otherwise,
                        std::vector<std::string>& list) {
  const std::string& place = declared.place.empty() ? otherwise : declared.place;
  if (v.tensor) list.push_back(place);
  // What a lambda captured, or a device stands for, is where it is: each a device variable of its own.
  auto anywhere = [&] { list.push_back("$_" + std::to_string(unnamedPlaces_++)); };
  if (v.device.of) anywhere();
  for (size_t i = 0; i < v.elems.size(); ++i) {
    Ty inner;
    const size_t which = declared.kind == Ty::Kind::List ? 0 : i;
    if (which < declared.elems.size()) inner = declared.elems[which];
    if (v.info && i < v.info->pins.size() && !v.info->pins[i].empty()) inner.place = v.info->pins[i];
    placesOf(v.elems[i], inner, place, list);
  }
  if (v.fn) {
    Val function = Val::ofFunction(v.fn);
    std::vector<ir::Value*> leaves;
    leavesOf(function, leaves);
    for (size_t i = 0; i < leaves.size(); ++i) anywhere();
  }
}

void Lowering::lowerInstance(const FnDecl& decl, Instance& inst, const std::vector<Val>& values, Generics& g,
                             std::unique_ptr<Frame> own) {
  const ast::Stmt& s = *decl.stmt;
  const std::string base = (decl.unit->isScript ? "" : decl.unit->name + ".") + s.name.text;
  inst.func = module.addFunc(base + "." + std::to_string(nextId_++));
  ir::Func* func = inst.func;
  func->span = s.name.span;
  func->signature = own->signature;
  ir::Builder body(func->body.get());
  Boundary boundary;
  frames_.push_back(std::move(own));
  push();
  const BodyState outer = enterBody(&body, &boundary);
  for (const ast::Annotation& a : s.annotations) {
    if (a.kind == ast::Annotation::Kind::Autocast) {
      notYet(a.span, "@autocast");
    } else if (auto d = annotationDevice(a)) {
      func->ownDevice = d->name;
    }
  }
  for (const auto& [name, v] : g.bound) declare({name, Span{}}, v, false);
  for (size_t i = 0; i < values.size(); ++i) {
    const ast::FnParam& p = s.params[i];
    Val v = argumentsLike(values[i], func->body.get(), p.name.text);
    v.span = p.name.span;
    Ty declared;
    if (p.type) declared = resolve(*p.type, g);
    placesOf(v, declared, "", func->paramPlaces);
    // A device variable is known inside by the first parameter that lives there.
    std::vector<ir::Value*> leaves;
    leavesOf(v, leaves);
    for (size_t k = 0; k < leaves.size(); ++k) {
      const std::string& place = func->paramPlaces[func->paramPlaces.size() - leaves.size() + k];
      if (!place.starts_with('$')) continue;
      for (auto& [name, binding] : frame().scopes.back().names) {
        if (binding.value.is(Kind::Device) && binding.value.device.name == place && !binding.value.device.of) {
          binding.value.device.of = leaves[k];
        }
      }
    }
    declare(p.name, v, false);
  }
  Ty hint;
  if (s.type) {
    const size_t known = diags.errors();
    hint = resolve(*s.type, g);
    if (diags.errors() == known) frame().result = &hint;
  }
  Val result;
  if (s.bodyIsExpr || s.body.statements.empty()) {
    result = s.value ? eval(*s.value, frame().result) : Val::unit(s.span);
  } else {
    result = lowerBlock(s.body, nullptr, frame().result).value;
  }
  if (s.type && !result.poison()) {
    const Target who{"the result of `" + s.name.text + "`", result.span.valid() ? result.span : s.name.span,
                     s.type->span, true};
    if (result.is(Kind::Unit) && hasSyntaxError(s.span)) {
      result = Val::none();
    } else if (result.is(Kind::Unit)) {
      result =
          fail(Code::E0207, who.span,
               who.what + " is declared " + std::string(sources.text(s.type->span)) + ", but the body gives no value");
    } else {
      result = unify(*s.type, result, g, who);
      if (!result.poison() && !finishPending(g, who)) result = Val::none();
      Ty type = resolve(*s.type, g);
      if (!result.poison()) result = materialise(result, &type);
      hint = type;
    }
  } else if (!result.poison()) {
    result = settle(result);
  }
  std::vector<ir::Value*> leaves;
  inst.failed = result.poison() || !leavesOf(result, leaves);
  if (inst.failed) leaves.clear();
  at(s.name.span, std::vector<ir::OperandText>(leaves.size(), {result.span, ""}));
  b().makeTyped(OpKind::Return, leaves, {});
  for (ir::Value* v : leaves) {
    inst.resultTypes.push_back(v->type);
    inst.resultTypes.back().place = {};
  }
  func->resultTypes = inst.resultTypes;
  if (!inst.failed) placesOf(result, hint, "", func->resultPlaces);
  inst.result = std::move(result);
  leaveBody(outer);
  frames_.pop_back();
}

}  // namespace tenc::frontend
