// Whether a module is well-formed: structure, SSA dominance, types as inference gives them, control flow, attributes,
// names of devices.
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "ir/Attributes.h"
#include "ir/Ir.h"

namespace tenc::ir {
namespace {

Type indexType() { return {DType::I64, {}, {}}; }
Type conditionType() { return {DType::Bool, {}, {}}; }

int regionCount(OpKind kind) {
  switch (kind) {
    case OpKind::While:
    case OpKind::If: return 2;
    case OpKind::For:
    case OpKind::On:
    case OpKind::Bench:
    case OpKind::Fused: return 1;
    default: return 0;
  }
}

class Verifier {
 public:
  explicit Verifier(const Module& m) : module_(m) {}

  std::string run() {
    if (!devices()) return error_;
    for (const auto& f : module_.funcs) {
      if (!functions_.emplace(f->name, f.get()).second) return "function `@" + f->name + "` is defined twice";
    }
    for (const auto& f : module_.funcs) {
      if (!function(*f)) return error_;
    }
    for (const auto& f : module_.funcs) {
      if (!acyclic(*f)) return error_;
    }
    return {};
  }

 private:
  bool fail(const Op& op, const std::string& what) {
    std::string where = "in @" + func_->name + ": ";
    if (!op.results.empty()) {
      where += "%" + (op.result()->name.empty() ? std::string("_") : op.result()->name) + " = ";
    }
    error_ = where + std::string(op.info().mnemonic) + madeBy(op) + ": " + what;
    return false;
  }
  bool fail(const std::string& what) {
    error_ = "in @" + func_->name + ": " + what;
    return false;
  }

  /// Whether values may be on a device of that name, or on none.
  bool deviceKnown(std::string_view name) const {
    return name.empty() || devices_.contains(name) || DeviceTable::couldBe(name);
  }
  bool devices() {
    for (const DeviceDecl& d : module_.devices) {
      devices_.insert(d.name);
      if (!d.actual.empty() && !DeviceTable::couldBe(d.actual))
        error_ = "device `" + d.name + "` is said to be `" + d.actual + "`, which no machine has";
    }
    if (!deviceKnown(module_.defaultDevice))
      error_ = "the default device `" + module_.defaultDevice + "` is not declared";
    return error_.empty();
  }
  bool devicesKnown(const Func& f) {
    const auto unknown = [&](std::string_view name) { return !name.starts_with("$") && !deviceKnown(name); };
    for (const auto& places : {f.paramPlaces, f.resultPlaces, {f.ownDevice}})
      for (const std::string& name : places)
        if (unknown(name)) return fail("the device `" + name + "` of its signature is not declared");
    for (const Type& t : f.resultTypes)
      if (!deviceKnown(t.place.device)) return fail("the device `" + t.place.device + "` of a result is not declared");
    return true;
  }
  /// The devices in the types of values and in an op's attribute.
  bool devicesKnown(const Op& o) {
    for (const auto& r : o.results)
      if (!deviceKnown(r->type.place.device)) return fail(o, "device `" + r->type.place.device + "` is not declared");
    if (const Attr* named = o.find("device"); named && o.has(Trait::Placing)) {
      const auto& name = std::get<std::string>(*named);
      if (!name.starts_with("$") && !deviceKnown(name)) return fail(o, "device `" + name + "` is not declared");
    }
    return true;
  }

  bool function(const Func& f) {
    func_ = &f;
    visible_.clear();
    if (f.module != &module_ || f.body == nullptr || f.body->func != &f || f.body->parentOp != nullptr) {
      return fail("the function is linked wrongly");
    }
    if (f.paramPlaces.size() > f.body->args.size() || f.resultPlaces.size() > f.resultTypes.size()) {
      return fail("there are more places than parameters or results");
    }
    if (!devicesKnown(f) || !region(*f.body, OpKind::Return)) return false;
    const Op* end = f.body->terminator();
    if (end->operandCount() != f.resultTypes.size()) return fail(*end, "the function has another number of results");
    for (size_t i = 0; i < end->operandCount(); ++i) {
      if (!end->operand(i)->type.sameTensor(f.resultTypes[i])) {
        return fail(*end, "returns " + toString(end->operand(i)->type) + " for " + toString(f.resultTypes[i]));
      }
    }
    return true;
  }

  bool region(const Region& r, OpKind terminator) {
    std::vector<const Value*> defined;
    const auto define = [&](const Value* v) {
      visible_.insert(v);
      defined.push_back(v);
    };
    for (size_t i = 0; i < r.args.size(); ++i) {
      const Value* a = r.args[i].get();
      if (a->region != &r || a->op != nullptr || a->index != i) return fail("a region argument is linked wrongly");
      if (!deviceKnown(a->type.place.device)) {
        return fail("device `" + a->type.place.device + "` of %" + a->name + " is not declared");
      }
      define(a);
    }
    if (r.ops.empty() || r.ops.back()->kind != terminator) {
      return fail("a region does not end in `" + std::string(opInfo(terminator).mnemonic) + "`");
    }
    for (auto it = r.ops.begin(); it != r.ops.end(); ++it) {
      const Op& op = **it;
      if (op.parent != &r || &**op.self != &op) return fail(op, "the op is linked wrongly");
      if (op.has(Trait::Terminator) && &op != r.ops.back().get())
        return fail(op, "stands before the end of its region");
      if (!this->op(op)) return false;
      for (const auto& result : op.results) define(result.get());
    }
    for (const Value* v : defined) visible_.erase(v);
    return true;
  }

  bool op(const Op& o) {
    for (size_t i = 0; i < o.operandCount(); ++i) {
      if (o.operand(i) == nullptr) return fail(o, "an operand was destroyed");
      if (!visible_.contains(o.operand(i))) {
        return fail(o, "operand " + std::to_string(i) + " (%" + o.operand(i)->name + ") is not defined before it");
      }
    }
    if (!o.usesHold()) return fail(o, "the use lists of its operands do not name it");
    for (size_t i = 0; i < o.results.size(); ++i) {
      const Value* r = o.results[i].get();
      if (r->op != &o || r->region != nullptr || r->index != i) return fail(o, "a result is linked wrongly");
    }
    if (o.loc.index >= module_.locs.size()) return fail(o, "its location does not exist");
    return attributes(o) && typesHold(o) && devicesKnown(o) && regionsHold(o) && special(o);
  }

  bool attributes(const Op& o) {
    for (const auto& [key, value] : o.attrs()) {
      bool known = key.find('.') != std::string::npos;
      for (const AttrSpec& spec : attrSpecs(o.kind)) known = known || spec.name == key;
      if (!known) return fail(o, "has an unknown attribute `" + key + "`");
    }
    const std::string bad = checkAttributes(o.kind, [&](std::string_view key) { return o.find(key); });
    return bad.empty() || fail(o, bad);
  }

  /// Counts, and types equal to the inferred ones wherever they follow from operands and attributes.
  bool typesHold(const Op& o) {
    const OpInfo& info = o.info();
    const auto operands = static_cast<int>(o.operandCount());
    if (operands < info.minOperands || (info.maxOperands >= 0 && operands > info.maxOperands)) {
      return fail(o, "has " + std::to_string(operands) + " operands");
    }
    if (info.results >= 0 && static_cast<int>(o.results.size()) != info.results) {
      return fail(o, "has " + std::to_string(o.results.size()) + " results, not " + std::to_string(info.results));
    }
    for (const auto& r : o.results) {
      const auto count = elementCount(r->type.shape);
      if (!count || r->type.shape.size() > kMaxRank) return fail(o, "has a result of impossible shape");
    }
    const bool given = info.rule == ShapeRule::Given && o.kind != OpKind::Fill && o.kind != OpKind::RngNext &&
                       o.kind != OpKind::Time && o.kind != OpKind::DeviceEq;
    if (given) return true;
    const Inferred inferred = infer(o.kind, typesOf(o.operands()), [&](std::string_view key) { return o.find(key); });
    if (!inferred.ok()) return fail(o, inferred.error);
    for (size_t i = 0; i < o.results.size(); ++i) {
      if (!o.results[i]->type.sameTensor(inferred.types[i])) {
        return fail(o, "has type " + toString(o.results[i]->type) + ", but makes " + toString(inferred.types[i]));
      }
    }
    return true;
  }

  /// `values[from..]` have the types of `want`.
  template <class Values>
  bool match(const Op& o, const Values& values, size_t from, const std::vector<Type>& want, std::string_view what) {
    if (values.size() != from + want.size()) {
      return fail(o, "has " + std::to_string(values.size()) + " " + std::string(what) + ", not " +
                         std::to_string(from + want.size()));
    }
    for (size_t i = 0; i < want.size(); ++i) {
      if (!values[from + i]->type.sameTensor(want[i])) {
        return fail(o, "has " + std::string(what) + " of type " + toString(values[from + i]->type) + " for " +
                           toString(want[i]));
      }
    }
    return true;
  }

  bool regionsHold(const Op& o) {
    const int wanted = regionCount(o.kind);
    if (static_cast<int>(o.regions.size()) != wanted) {
      return fail(o, "has " + std::to_string(o.regions.size()) + " regions, not " + std::to_string(wanted));
    }
    if (wanted == 0) return true;
    for (size_t i = 0; i < o.regions.size(); ++i) {
      const Region& r = *o.regions[i];
      if (r.parentOp != &o || r.func != func_) return fail(o, "a region is linked wrongly");
      if (!region(r, o.kind == OpKind::While && i == 0 ? OpKind::Condition : OpKind::Yield)) return false;
    }
    std::vector<Type> results;
    for (const auto& r : o.results) results.push_back(r->type);
    const Region& first = *o.regions[0];
    const Region& last = *o.regions.back();
    switch (o.kind) {
      case OpKind::For: {
        for (size_t i = 0; i < 3; ++i) {
          if (!o.operand(i)->type.sameTensor(indexType())) return fail(o, "needs bounds and a step of type i64");
        }
        std::vector<Type> args = results;
        args.insert(args.begin(), indexType());
        return match(o, o.operands(), 3, results, "operands") && match(o, first.args, 0, args, "region arguments") &&
               match(o, first.terminator()->operands(), 0, results, "yielded values");
      }
      case OpKind::While:
        return match(o, o.operands(), 0, results, "operands") && match(o, first.args, 0, results, "region arguments") &&
               match(o, last.args, 0, results, "region arguments") &&
               match(o, first.terminator()->operands(), 0, {conditionType()}, "conditions") &&
               match(o, last.terminator()->operands(), 0, results, "yielded values");
      case OpKind::If:
        if (!o.operand(0)->type.sameTensor(conditionType())) return fail(o, "needs a rank-0 bool");
        return match(o, first.args, 0, {}, "region arguments") && match(o, last.args, 0, {}, "region arguments") &&
               match(o, first.terminator()->operands(), 0, results, "yielded values") &&
               match(o, last.terminator()->operands(), 0, results, "yielded values");
      case OpKind::Fused: {
        std::vector<Type> operands;
        for (const Value* v : o.operands()) operands.push_back(v->type);
        return match(o, first.args, 0, operands, "region arguments") &&
               match(o, first.terminator()->operands(), 0, results, "yielded values");
      }
      case OpKind::Bench: return match(o, first.args, 0, {}, "region arguments");
      default:
        return match(o, first.args, 0, {}, "region arguments") &&
               match(o, first.terminator()->operands(), 0, results, "yielded values");
    }
  }

  bool special(const Op& o) {
    switch (o.kind) {
      case OpKind::Constant: {
        const auto* data = std::get_if<Data>(o.find("value"));
        const Type& t = o.result()->type;
        if (data == nullptr || *data == nullptr || static_cast<int64_t>((*data)->size()) != t.bytes()) {
          return fail(o, "its data do not fill " + toString(t));
        }
        return true;
      }
      case OpKind::Call: return call(o);
      case OpKind::To:
      case OpKind::Transfer:
        return causeNamed(o.stringAttr("cause")) || fail(o, "`" + o.stringAttr("cause") + "` is no cause of a move");
      case OpKind::Print: return format(o, o.operandCount());
      case OpKind::Assert:
        if (!o.operand(0)->type.sameTensor(conditionType())) return fail(o, "needs a rank-0 bool");
        return format(o, o.operandCount() - 1);
      case OpKind::Trap:
        if (!isFloat(o.operand(0)->type.dtype)) return fail(o, "checks no floats");
        if (o.hasAttr("selects") && o.operand(o.operandCount() - 1)->type.dtype != DType::Bool)
          return fail(o, "selects by no bools");
        return true;
      case OpKind::Save:
        if (o.stringsAttr("formats").size() >= o.operandCount()) return fail(o, "saves nothing");
        if (o.hasAttr("names") && o.stringsAttr("names").size() != o.firstTextOperand()) {
          return fail(o, "needs a name for each operand that it saves");
        }
        return !o.hasAttr("pieces") || format(o, o.operandCount() - o.firstTextOperand());
      case OpKind::Load:
        if (o.stringsAttr("formats").size() + 1 < o.operandCount()) return fail(o, "has more operands than its path");
        if (o.firstTextOperand() == 1 && !o.operand(0)->type.sameTensor(o.result()->type))
          return fail(o, "takes over another type");
        return !o.hasAttr("pieces") || format(o, o.operandCount() - o.firstTextOperand());
      case OpKind::BringIn: {
        const Type& rows = o.operand(2)->type;
        if (!o.operand(0)->type.sameTensor(conditionType())) return fail(o, "needs a rank-0 bool");
        if (o.operand(1)->type.shape.empty() || rows.dtype != DType::I64) return fail(o, "needs rows and i64 numbers");
        return (o.intAttr("count") >= 0 && (rows.shape.empty() || !o.hasAttr("count"))) ||
               fail(o, "counts from one row");
      }
      case OpKind::ReadAhead:
        if (!o.operand(0)->type.sameTensor(conditionType())) return fail(o, "needs a rank-0 bool");
        return !o.hasAttr("pieces") || format(o, o.operandCount() - 1);
      case OpKind::Seed:
        for (const Value* v : o.operands()) {
          if (!isInt(v->type.dtype) || !v->type.shape.empty()) return fail(o, "needs an integer seed and count");
        }
        return true;
      default: return true;
    }
  }

  bool format(const Op& o, size_t values) {
    if (o.stringsAttr("formats").size() != values) return fail(o, "needs a format for each operand");
    if (o.stringsAttr("pieces").size() != values + 1) return fail(o, "needs a piece of text around each operand");
    return true;
  }

  bool call(const Op& o) {
    auto it = functions_.find(o.stringAttr("callee"));
    if (it == functions_.end()) return fail(o, "there is no function `@" + o.stringAttr("callee") + "`");
    const Func& callee = *it->second;
    std::vector<Type> params;
    for (const auto& a : callee.body->args) params.push_back(a->type);
    calls_[func_].insert(&callee);
    return match(o, o.operands(), 0, params, "operands") && match(o, o.results, 0, callee.resultTypes, "results");
  }

  /// No function calls itself, directly or through others.
  bool acyclic(const Func& f) {
    State& state = states_[&f];
    if (state == State::Done) return true;
    if (state == State::Open) {
      func_ = &f;
      return fail("the function calls itself");
    }
    state = State::Open;
    for (const Func* callee : calls_[&f]) {
      if (!acyclic(*callee)) return false;
    }
    states_[&f] = State::Done;
    return true;
  }

  enum class State : uint8_t { New, Open, Done };
  const Module& module_;
  const Func* func_ = nullptr;
  std::string error_;
  std::unordered_set<std::string_view> devices_;  ///< that the module declares
  std::unordered_map<std::string_view, const Func*> functions_;
  std::unordered_set<const Value*> visible_;
  std::unordered_map<const Func*, std::unordered_set<const Func*>> calls_;
  std::unordered_map<const Func*, State> states_;
};

}  // namespace

std::string verify(const Module& m) { return Verifier(m).run(); }

}  // namespace tenc::ir
