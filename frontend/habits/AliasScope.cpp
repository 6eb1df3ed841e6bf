#include "frontend/habits/AliasScope.h"

#include <algorithm>
#include <array>
#include <set>

#include "frontend/builtins/Builtins.h"
#include "frontend/habits/Aliases.h"
#include "frontend/habits/InPlaceLayers.h"
#include "frontend/habits/Libraries.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/PythonSums.h"
#include "frontend/names/Scan.h"
#include "ir/DeviceTable.h"
#include "ir/Type.h"
#include "syntax/Familiar.h"
#include "syntax/ForeignCalls.h"
#include "syntax/ForeignFunctions.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

/// Functions and methods of NumPy and PyTorch whose result is the memory of an operand, at least for some: `contiguous`
/// gives the tensor itself where nothing is to be done. With TL's own in their place.
constexpr std::array kViews = std::to_array<std::string_view>({"Buffer",        "Parameter",
                                                               "adjoint",       "as_strided",
                                                               "as_tensor",     "asanyarray",
                                                               "asarray",       "ascontiguousarray",
                                                               "atleast_1d",    "atleast_2d",
                                                               "atleast_3d",    "broadcast_to",
                                                               "contiguous",    "detach",
                                                               "diag",          "diagonal",
                                                               "einsum",        "expand",
                                                               "expand_as",     "expand_dims",
                                                               "flatten",       "flip",
                                                               "fliplr",        "flipud",
                                                               "from_numpy",    "moveaxis",
                                                               "movedim",       "narrow",
                                                               "permute",       "permute_dims",
                                                               "positive",      "ravel",
                                                               "rearrange",     "reshape",
                                                               "reshape_as",    "rollaxis",
                                                               "rot90",         "squeeze",
                                                               "stop_gradient", "swapaxes",
                                                               "swapdims",      "t",
                                                               "transpose",     "unflatten",
                                                               "unfold",        "unsqueeze",
                                                               "view",          "view_as"});
/// Of those that give several, one after the other or together.
constexpr std::array kLists = std::to_array<std::string_view>(
    {"ModuleList", "Sequential", "array_split", "broadcast_arrays", "chunk", "dsplit", "enumerate", "hsplit", "items",
     "meshgrid", "reversed", "split", "tensor_split", "unbind", "unstack", "values", "vsplit", "zip"});
/// Of those that are methods only.
constexpr std::array kViewMethods =
    std::to_array<std::string_view>({"bfloat16", "conj", "double", "float", "half", "int", "long", "numpy", "real",
                                     "requires_grad_", "select", "to", "type", "type_as"});
static_assert(std::ranges::is_sorted(kViews) && std::ranges::is_sorted(kLists) &&
              std::ranges::is_sorted(kViewMethods));  // for the binary search

/// Whether an option of the call says that the operand itself may come back: `astype(t, copy=False)`, and
/// `F.dropout(x, p, False)`, which does nothing, as one whose rate is 0.
bool mayDoNothing(const ast::Expr& call) {
  const bool drops = call.args[0]->text.starts_with("dropout");
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const ast::Argument& a = call.arguments[i];
    const bool decides = a.name ? a.name->text == "copy" || (drops && a.name->text == "training") : drops && i == 2;
    if (decides && a.value && !boolWritten(*a.value).value_or(false)) return true;
    const bool rate = drops && (a.name ? a.name->text == "p" : i == 1) && a.value;
    if (rate && !(a.value->kind == ExprKind::Float && a.value->text.find_first_of("123456789") != std::string::npos))
      return true;
  }
  return false;
}

/// Whether a call gives the memory of what it is called with, at least sometimes: `f32(x)` is `x` where that is f32.
bool givesOperand(const ast::Expr& call) {
  const ast::Expr& callee = *call.args[0];
  const std::string_view called = callee.text;
  if (changedByCall(call) || std::ranges::binary_search(kViews, called) || std::ranges::binary_search(kLists, called))
    return true;
  if (mayDoNothing(call)) return true;
  if (callee.kind == ExprKind::Name) return ir::dtypeNamed(called).has_value();
  return std::ranges::binary_search(kViewMethods, called) || ir::DeviceTable::isKind(called);
}

/// Whether nothing but the script can have a function of that name.
bool isUnread(const std::string& name) {
  return !builtinRow(name) && !ir::dtypeNamed(name) && !syntax::familiarName(name) &&
         syntax::foreignCalls(name).empty();
}

}  // namespace

AliasScope::AliasScope(AliasFile& all, Span part) : all_(all) {
  fn_ = functionAround(all.file(), part);
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) { add(s); };
  visitor.onExpression = [&](const ast::Expr& e) {
    if (e.kind == ExprKind::Name) names_.push_back(&e);
    const ast::Expr* changed = changedByCall(e);
    if (const ast::Expr* root = changed ? rootOf(*changed) : nullptr)
      changes_.push_back({root->text, e.span, false, changed});
    return true;
  };
  visitAround(all.file(), part, visitor);
}

bool AliasScope::changes(const std::string& name) const {
  return std::ranges::any_of(changes_, [&](const Changed& c) { return c.name == name; });
}

NameSet AliasScope::aliasesOf(const std::string& name, Span change) const {
  NameSet found{name};
  for (size_t before = 0; before != found.size();) {
    before = found.size();
    for (const Together& a : together_)
      if (found.contains(a.name))
        for (const Together& b : together_)
          if (b.span == a.span) found.insert(b.name);
    for (const Bound& b : bound_) {
      if (!b.value || (b.span.begin >= change.end && !inOneLoop(b.span, change))) continue;
      if (b.name == name && !reaches(b, change)) continue;
      const NameSet from = sharedBy(*b.value);
      // What was bound to the array that `name` had before, or will be to that of this trip.
      if (from.contains(name) && b.name != name && from.size() == 1 && !isSince(name, b.span, change)) continue;
      if (!found.contains(b.name) && !meet(found, from)) continue;
      found.insert(b.name);
      found.insert(from.begin(), from.end());
    }
  }
  return found;
}

namespace {
/// The name that a value is, or is a part of by members and slices; empty for others.
std::string_view nameWithin(const ast::Expr& e) {
  const ast::Expr* at = &e;
  while (at->kind == ExprKind::Index || at->kind == ExprKind::Member) at = at->args[0].get();
  return at->kind == ExprKind::Name && !(at == &e && at->text == "None") ? std::string_view(at->text) : "";
}

}  // namespace

bool holdsTwice(const ast::Expr& value, bool makes) {
  std::set<std::string_view> seen;
  const auto again = [&](const ast::Expr* part) {
    const std::string_view name = part ? nameWithin(*part) : "";
    return !name.empty() && !seen.insert(name).second;
  };
  const auto isAgain = [&](const ast::ExprPtr& part) { return again(part.get()); };
  if (value.kind == ExprKind::Array || value.kind == ExprKind::Tuple) return std::ranges::any_of(value.args, isAgain);
  if (value.kind == ExprKind::Struct)
    return std::ranges::any_of(value.fields, [&](const ast::FieldInit& f) { return again(f.value.get()); });
  const auto& all = value.arguments;
  if (value.kind == ExprKind::Call && makes)
    return std::ranges::any_of(all, [&](const ast::Argument& a) { return again(a.value.get()); });
  const ast::Expr* made = value.kind == ExprKind::Call && !all.empty() ? all.back().value.get() : nullptr;
  return made && made->kind == ExprKind::Lambda && made->body && made->body->kind == ExprKind::Name &&
         std::ranges::none_of(made->params,
                              [&](const ast::LambdaParam& p) { return namesOf(p.pattern).contains(made->body->text); });
}

namespace {
/// `s.best = s.w`: another field of the same object.
bool sharesField(const ast::Expr& target, const ast::Expr& value) {
  if (target.kind != ExprKind::Member || target.args[0]->kind != ExprKind::Name) return false;
  const ast::Expr* at = &value;
  while ((at->kind == ExprKind::Index || at->kind == ExprKind::Member) && at->args[0]->kind != ExprKind::Name)
    at = at->args[0].get();
  return at->kind == ExprKind::Member && at->args[0]->text == target.args[0]->text && at->text != target.text &&
         at->text != "shape";
}
}  // namespace

bool AliasFile::makesTwice(const ast::Expr& call) const {
  return std::ranges::any_of(functions(call.args[0]->text), [](const ast::Stmt* fn) {
    if (fn->bodyIsExpr) return fn->value && holdsTwice(*fn->value, false);
    bool found = false;
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) {
      const bool gives =
          s.kind == StmtKind::Return || (s.kind == StmtKind::Expr && &s == fn->body.statements.back().get());
      found = found || (gives && s.value && holdsTwice(*s.value, false));
    };
    visitor.visit(*fn);
    return found;
  });
}

bool AliasScope::holdsTwice(const std::string& name) const {
  if (std::ranges::find(twice_, name) != twice_.end()) return true;
  return std::ranges::any_of(bound_, [&](const Bound& b) {
    if (b.name != name || b.also || !b.value) return false;
    const bool calls = b.value->kind == ExprKind::Call;
    const bool makes =
        calls && (all_.isClass(b.value->args[0]->text) || !all_.functions(b.value->args[0]->text).empty());
    return frontend::holdsTwice(*b.value, makes) || (calls && all_.makesTwice(*b.value));
  });
}

bool AliasScope::mayHold(const std::string& name, const NameSet& others, Span place) const {
  const Bound* last = boundFor(name, place);
  return others.contains(name) && (!last || (last->value && meet(sharedBy(*last->value), others)));
}

bool AliasScope::isReadAfter(const std::string& name, Span place) const {
  return std::ranges::any_of(names_, [&](const ast::Expr* e) {
    if (e->text != name || isTarget(e->span)) return false;
    // What the statement itself reads, `u[i] = un[i - 1]`, its next trip reads again.
    if (holds(place, e->span)) return !isBoundBy(name, place) && isReadNextTrip(*e, place);
    return e->span.begin >= place.end || isReadNextTrip(*e, place);
  });
}

bool AliasScope::isBoundBy(const std::string& name, Span part) const {
  return std::ranges::any_of(bound_, [&](const Bound& b) {
    return b.name == name && holds(b.span, part) && std::ranges::find(loops_, b.span) == loops_.end();
  });
}

bool AliasScope::isReadNextTrip(const ast::Expr& read, Span place) const {
  if (all_.unread()) return true;
  const Bound* last = boundFor(read.text, read.span);
  return std::ranges::any_of(loops_, [&](Span l) {
    const bool counts = std::ranges::any_of(bound_, [&](const Bound& b) { return b.name == read.text && b.span == l; });
    return holds(l, read.span) && holds(l, place) && !counts && !(last && holds(l, last->span));
  });
}

NameSet AliasScope::sharedBy(const ast::Expr& e) const {
  NameSet names;
  const auto add = [&](const ast::ExprPtr& part) {
    if (part) names.merge(sharedBy(*part));
  };
  switch (e.kind) {
    case ExprKind::Name:
      if (e.text != "None") names.insert(e.text);
      break;
    case ExprKind::Index:
      // An element that is a number is a copy.
      if (std::ranges::all_of(e.subscripts, [&](const ast::Subscript& s) { return isOfView(s); }) && !all_.isNumber(e))
        add(e.args[0]);
      break;
    case ExprKind::Member:
      if (e.text != "shape" && e.text != "dtype" && e.text != "size") add(e.args[0]);
      break;
    case ExprKind::Tuple:
    case ExprKind::Array:
      for (const ast::ExprPtr& part : e.args) add(part);
      break;
    case ExprKind::Struct:
      for (const ast::FieldInit& f : e.fields) add(f.value);
      break;
    case ExprKind::If:
      for (const ast::Block& b : e.blocks)
        if (!b.statements.empty() && b.statements.back()) add(b.statements.back()->value);
      break;
    case ExprKind::Call: {
      const ast::Expr& callee = *e.args[0];
      const bool method = callee.kind == ExprKind::Member;
      if (!method && callee.kind != ExprKind::Name) {  // a layer that is made where it is called
        const bool passes = callee.kind == ExprKind::Lambda ? !all_.given(callee, *this).empty() : all_.passes(callee);
        for (const ast::Argument& a : e.arguments)
          if (passes) add(a.value);
        break;
      }
      addGiven(e, names);
      if (all_.passes(callee))
        for (const ast::Argument& a : e.arguments) add(a.value);
      if (!givesOperand(e)) break;
      const ast::Expr* root = method ? rootOf(callee) : nullptr;
      const syntax::Familiar* library = root ? syntax::familiarName(root->text) : nullptr;
      if (method && !(library && (library->prefix || library->layer))) {
        add(callee.args[0]);
        break;
      }
      for (const ast::Argument& a : e.arguments)
        if (!a.name || a.name->text == "input" || a.name->text == "a") add(a.value);  // no option
      break;
    }
    default: break;
  }
  return names;
}

void AliasScope::add(const ast::Stmt& s) {
  if (s.kind == StmtKind::For || s.kind == StmtKind::While) loops_.push_back(s.span);
  if (s.kind == StmtKind::For && s.lo && !s.hi)
    for (const std::string& n : namesOf(s.pattern)) bound_.push_back({n, s.lo.get(), s.span});
  // Who writes `var b = a` means a copy; a new object holds what it is made of.
  const bool holdsParts = s.value && s.value->kind == ExprKind::Struct;
  const bool shares = s.kind == StmtKind::Let || (s.kind == StmtKind::Var && (all_.variablesShare() || holdsParts));
  if (shares && s.value) bind(s.pattern, *s.value, s.span);
  if (s.kind == StmtKind::Var && !shares)
    for (const std::string& n : namesOf(s.pattern)) bound_.push_back({n, nullptr, s.span});
  if (s.kind == StmtKind::Assign && s.target) assign(*s.target, s.value.get(), s);
  const bool calls = s.kind == StmtKind::Expr && s.value && s.value->kind == ExprKind::Call;
  if (calls && s.value->args[0]->kind == ExprKind::Member && s.value->args[0]->text == "append")
    if (const ast::Expr* list = rootOf(*s.value->args[0]->args[0]))
      for (const ast::Argument& a : s.value->arguments) bound_.push_back({list->text, a.value.get(), s.span, true});
}
void AliasScope::bind(const ast::Pattern& p, const ast::Expr& value, Span span) {
  if (!p.isTuple) {
    bound_.push_back({p.name.text, &value, span});
    return;
  }
  const bool apart = value.kind == ExprKind::Tuple && value.args.size() == p.elements.size();
  const bool one = value.kind == ExprKind::Call && all_.makesTwice(value);  // `(p, q) = f()` of one array
  for (size_t i = 0; i < p.elements.size(); ++i) {
    bind(p.elements[i], apart ? *value.args[i] : value, span);
    if (one && !p.elements[i].isTuple) together_.push_back({p.elements[i].name.text, span});
  }
}
namespace {
/// `x = bitwise_or(x, y)`, which is what an edit makes of `x |= y`.
bool isUpdateOfBits(const std::string& name, const ast::Expr* value) {
  if (!value || value->kind != ExprKind::Call || !value->args[0]->text.starts_with("bitwise_")) return false;
  const auto& given = value->arguments;
  return !given.empty() && given[0].value && given[0].value->kind == ExprKind::Name && given[0].value->text == name;
}
}  // namespace

void AliasScope::assign(const ast::Expr& target, const ast::Expr* value, const ast::Stmt& s) {
  if (target.kind == ExprKind::Tuple) {
    const bool apart = value && value->kind == ExprKind::Tuple && value->args.size() == target.args.size();
    const bool one = value && value->kind == ExprKind::Call && all_.makesTwice(*value);
    for (size_t i = 0; i < target.args.size(); ++i) {
      assign(*target.args[i], apart ? value->args[i].get() : value, s);
      if (one && target.args[i]->kind == ExprKind::Name) together_.push_back({target.args[i]->text, s.span});
    }
    return;
  }
  const ast::Expr* root = rootOf(target);
  const syntax::Familiar* part = target.kind == ExprKind::Member ? syntax::familiarName(target.text) : nullptr;
  if (!root || (part && part->nothing)) return;  // `x.requires_grad = False` changes no array
  if (&target == root && s.op == "=" && !isUpdateOfBits(root->text, value)) {
    targets_.push_back(root->span);
    bound_.push_back({root->text, value, s.span});
  } else {
    const bool ofPart =
        &target != root && (target.args[0].get() != root || target.subscripts.size() > 1 || s.op != "=");
    changes_.push_back({root->text, s.span, ofPart, &target == root ? nullptr : target.args[0].get()});
    // `head.weight = emb.weight`: an object holds what it is given.
    if (target.kind == ExprKind::Member && s.op == "=" && value) bound_.push_back({root->text, value, s.span, true});
    if (s.op == "=" && value && sharesField(target, *value)) twice_.push_back(root->text);
  }
}

namespace {
/// Whether an index is an array, as its text tells, which takes a copy of what it names in NumPy and PyTorch.
bool isArrayIndex(const ast::Expr& e) {
  const auto isSlice = [](const ast::Subscript& s) { return s.kind == ast::Subscript::Kind::Slice; };
  switch (e.kind) {
    case ExprKind::Array: return true;
    case ExprKind::Binary:
      return e.text.starts_with('<') || e.text.starts_with('>') || e.text == "==" || e.text == "!=" ||
             isArrayIndex(*e.args[0]) || isArrayIndex(*e.args[1]);
    case ExprKind::Unary: return isArrayIndex(*e.args[0]);
    case ExprKind::Index: return std::ranges::any_of(e.subscripts, isSlice);
    case ExprKind::Call: return syntax::givesIndices(e.args[0]->text);
    default: return false;
  }
}
}  // namespace

bool AliasScope::isOfCopy(const Changed& change) const {
  const auto isArray = [&](const ast::Subscript& s) {
    if (s.kind != ast::Subscript::Kind::Index || !s.index) return false;
    if (s.index->kind != ExprKind::Name) return isArrayIndex(*s.index);
    return std::ranges::any_of(bound_, [&](const Bound& b) {
      const bool loops = b.value && std::ranges::find(loops_, b.span) != loops_.end();
      return b.name == s.index->text && b.value && !loops && isArrayIndex(*b.value);
    });
  };
  const ast::Expr* part = change.part;
  for (; part && (part->kind == ExprKind::Index || part->kind == ExprKind::Member); part = part->args[0].get())
    if (std::ranges::any_of(part->subscripts, isArray)) return true;
  return false;
}

bool AliasScope::isTarget(Span name) const { return std::ranges::find(targets_, name) != targets_.end(); }
bool AliasScope::inOneLoop(Span a, Span b) const {
  return all_.unread() || std::ranges::any_of(loops_, [&](Span l) { return holds(l, a) && holds(l, b); });
}
const AliasScope::Bound* AliasScope::boundFor(const std::string& name, Span place, bool inEveryTrip) const {
  const Bound* last = nullptr;
  if (all_.unread()) return nullptr;
  for (const Bound& b : bound_) {
    if (b.also || b.name != name || b.span.end > place.begin || (last && b.span.begin < last->span.begin)) continue;
    if (b.value && sharedBy(*b.value).contains(name)) continue;  // still the array it was
    const StatementPlace at = placeIn(all_.file(), b.span);
    const bool passed = at.among && std::ranges::any_of(*at.among, [&](auto& s) { return s && holds(s->span, place); });
    const auto bindsIn = [&](Span loop) {
      return std::ranges::any_of(bound_, [&](const Bound& o) { return o.name == name && holds(loop, o.span); });
    };
    const bool again = std::ranges::any_of(
        loops_, [&](Span l) { return holds(l, place) && !holds(l, b.span) && (inEveryTrip || bindsIn(l)); });
    if (passed && !again) last = &b;
  }
  return last;
}
bool AliasScope::reaches(const Bound& b, Span change) const {
  const Bound* last = boundFor(b.name, change);
  return !last || b.span.begin >= last->span.begin;
}
bool AliasScope::isSince(const std::string& name, Span place, Span change) const {
  const Bound* last = boundFor(name, change);
  return !last || (place.begin > last->span.begin && place.end <= change.begin);
}

void AliasScope::addGiven(const ast::Expr& call, NameSet& names) const {
  const ast::Expr& callee = *call.args[0];
  const size_t receivers = callee.kind == ExprKind::Member ? 1 : 0;
  const auto add = [&](const ast::Expr* value) {
    if (value) names.merge(sharedBy(*value));
  };
  const auto addArgument = [&](const std::string& parameter, size_t i) {
    if (i < receivers) return add(callee.args[0].get());
    for (const ast::Argument& a : call.arguments)
      if (a.name && a.name->text == parameter) add(a.value.get());
    const size_t place = i - receivers;
    if (place < call.arguments.size() && !call.arguments[place].name) add(call.arguments[place].value.get());
  };
  // An object holds what it is made of; a function that could not be read may give it back.
  if (all_.isClass(callee.text) || (all_.unread() && isUnread(callee.text))) {
    if (receivers > 0) add(callee.args[0].get());
    for (const ast::Argument& a : call.arguments) add(a.value.get());
  }
  for (const ast::Stmt* fn : all_.functions(callee.text)) {
    const NameSet given = all_.given(*fn);
    for (size_t i = 0; i < fn->params.size(); ++i)
      if (given.contains(fn->params[i].name.text)) addArgument(fn->params[i].name.text, i);
  }
  for (const Bound& b : bound_) {
    const bool lambda = receivers == 0 && b.name == callee.text && b.value && b.value->kind == ExprKind::Lambda;
    if (!lambda || !b.value->body) continue;
    const NameSet given = all_.given(*b.value, *this);
    for (size_t i = 0; i < b.value->params.size(); ++i)
      if (meet(given, namesOf(b.value->params[i].pattern))) addArgument("", i);
  }
}

NameSet AliasScope::given() const {
  NameSet names;
  const auto add = [&](const ast::Stmt& s) {
    if (s.value) names.merge(sharedBy(*s.value));
  };
  if (fn_->bodyIsExpr) add(*fn_);
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    if (s.kind == StmtKind::Return) add(s);
  };
  visitor.visit(*fn_);
  if (const auto& all = fn_->body.statements; !all.empty() && all.back() && all.back()->kind == StmtKind::Expr)
    add(*all.back());
  for (size_t before = 0; before != names.size();) {
    before = names.size();
    for (const Bound& b : bound_)
      if (b.value && names.contains(b.name)) names.merge(sharedBy(*b.value));
  }
  return names;
}

bool AliasScope::isOfView(const ast::Subscript& s) const {
  if (s.kind != ast::Subscript::Kind::Index || !s.index) return true;
  const auto copies = [this](const ast::Expr& e) {
    const bool compares = e.kind == ExprKind::Binary &&
                          (e.text.starts_with('<') || e.text.starts_with('>') || e.text == "==" || e.text == "!=");
    const bool part = e.kind == ExprKind::Index && std::ranges::any_of(e.subscripts, [](const ast::Subscript& i) {
                        return i.kind == ast::Subscript::Kind::Slice;
                      });
    const bool calls = e.kind == ExprKind::Call && mostDims(all_.file(), e) > 0;  // `X[argmin(d)]` is a row
    return compares || part || e.kind == ExprKind::Array || calls;
  };
  if (copies(*s.index)) return false;
  if (s.index->kind != ExprKind::Name) return true;
  return std::ranges::none_of(bound_, [&](const Bound& b) {
    const bool loops = b.value && std::ranges::find(loops_, b.span) != loops_.end();
    return b.name == s.index->text && b.value && !loops && copies(*b.value);
  });
}

AliasFile::AliasFile(const ast::File& file, bool variablesShare, ElementsOf elements)
    : file_(file), variablesShare_(variablesShare), elements_(elements) {
  for (const ast::StmtPtr& s : file.statements) {
    if (s && s->kind == StmtKind::Fn) functions_[s->name.text].push_back(s.get());
    if (s && s->kind == StmtKind::Struct) classes_.insert(s->name.text);
  }
}

bool AliasFile::unread() {
  if (!unread_) unread_ = hasUnread(file_);
  return *unread_;
}

bool AliasFile::isNumber(const ast::Expr& e) {
  if (!viewsNumbers_)
    viewsNumbers_ = elements_ == ElementsOf::PyTorch ||
                    (elements_ == ElementsOf::Script && (imports(file_, "torch") || librariesOf(file_).torch));
  if (*viewsNumbers_) return false;
  const auto [known, isNew] = numbers_.try_emplace(&e);
  if (isNew) known->second = mostDims(file_, e) == 0;
  return known->second;
}

bool AliasFile::passes(const ast::Expr& callee) {
  if (passesOperand(callee)) return true;
  if (!passing_) {
    passing_.emplace();
    TreeVisitor layers;
    layers.onStatement = [&](const ast::Stmt& s) {
      const std::string name = nameBound(s);
      if (!name.empty() && s.value && passesOperand(*s.value)) passing_->insert(name);
    };
    layers.onExpression = [&](const ast::Expr& e) {
      for (const ast::FieldInit& f : e.fields)
        if (f.value && passesOperand(*f.value)) passing_->insert("." + f.name.text);
      return true;
    };
    layers.visit(file_);
  }
  return passing_->contains((callee.kind == ExprKind::Member ? "." : "") + callee.text);
}

AliasScope& AliasFile::scopeAt(Span part) {
  const ast::Stmt* fn = functionAround(file_, part);
  if (const auto known = scopes_.find(fn); known != scopes_.end()) return *known->second;
  return *scopes_.emplace(fn, std::make_unique<AliasScope>(*this, part)).first->second;
}

const std::vector<const ast::Stmt*>& AliasFile::functions(std::string_view name) const {
  static const std::vector<const ast::Stmt*> none;
  const auto found = functions_.find(name);
  return found == functions_.end() ? none : found->second;
}

const NameSet& AliasFile::given(const ast::Stmt& fn) {
  constexpr int kMostDepth = 64;  // of the stack
  const auto [known, isNew] = given_.try_emplace(&fn);
  if (!isNew) return known->second;
  if (depth_ >= kMostDepth) {  // in doubt all of them
    for (const ast::FnParam& p : fn.params) known->second.insert(p.name.text);
    return known->second;
  }
  ++depth_;
  NameSet names = scopeAt(fn.span).given();
  --depth_;
  return known->second = std::move(names);
}

const NameSet& AliasFile::given(const ast::Expr& lambda, const AliasScope& scope) {
  const auto [known, isNew] = given_.try_emplace(&lambda);
  if (isNew) known->second = scope.sharedBy(*lambda.body);
  return known->second;
}

}  // namespace tenc::frontend
