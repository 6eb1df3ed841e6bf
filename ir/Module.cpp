#include "ir/Module.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdio>
#include <cstdlib>

#include "ir/Ir.h"

namespace tenc::ir {
namespace {

/// Nested regions know their function; it changes when an op moves between functions.
void setFunc(Op& op, Func* func) {
  for (auto& region : op.regions) {
    region->func = func;
    for (auto& inner : region->ops) setFunc(*inner, func);
  }
}

}  // namespace

// ---- Value

Value::~Value() {
  for (const Use& use : uses) use.user->operands_[use.operand] = nullptr;
}

void Value::replaceAllUsesWith(Value* other) {
  assert(other != this && "a value cannot replace itself");
  other->uses.reserve(other->uses.size() + uses.size());
  for (const Use& use : uses) {
    use.user->operands_[use.operand] = other;
    use.user->usePositions_[use.operand] = static_cast<uint32_t>(other->uses.size());
    other->uses.push_back(use);
  }
  uses.clear();
}

Region* Value::home() const { return op != nullptr ? op->parent : region; }

// ---- Region

bool Region::isInside(const Op& op) const {
  const Region* r = this;
  while (r->parentOp != nullptr && r->parentOp != &op) r = r->parentOp->parent;
  return r->parentOp == &op;
}

Value* Region::addArg(Type t, std::string name) {
  auto value = std::make_unique<Value>();
  value->type = std::move(t);
  value->name = std::move(name);
  value->region = this;
  value->index = static_cast<uint32_t>(args.size());
  args.push_back(std::move(value));
  return args.back().get();
}

void Region::removeArg(uint32_t index) {
  assert(args[index]->unused());
  args.erase(args.begin() + index);
  for (uint32_t i = index; i < args.size(); ++i) args[i]->index = i;
}

// ---- Op

Op::~Op() {
  // Regions first: their ops may use results of this op's siblings, never the other way round.
  regions.clear();
  dropOperands();
}

void Op::link(size_t operand) {
  Value* v = operands_[operand];
  usePositions_[operand] = static_cast<uint32_t>(v->uses.size());
  v->uses.push_back({this, static_cast<uint32_t>(operand)});
}

void Op::unlink(size_t operand) {
  Value* v = operands_[operand];
  if (v == nullptr) return;
  const uint32_t position = usePositions_[operand];
  assert(v->uses[position].user == this && v->uses[position].operand == operand);
  const Value::Use last = v->uses.back();
  v->uses[position] = last;
  last.user->usePositions_[last.operand] = position;
  v->uses.pop_back();
}

void Op::setOperand(size_t i, Value* v) {
  assert(v != nullptr);
  if (operands_[i] == v) return;
  unlink(i);
  operands_[i] = v;
  link(i);
}

void Op::addOperand(Value* v) {
  assert(v != nullptr);
  operands_.push_back(v);
  usePositions_.push_back(0);
  link(operands_.size() - 1);
}

void Op::addOperands(const std::vector<Value*>& values) {
  operands_.reserve(operands_.size() + values.size());
  usePositions_.reserve(operands_.size() + values.size());
  for (Value* v : values) addOperand(v);
}

void Op::removeOperand(size_t i) {
  for (size_t j = i; j < operands_.size(); ++j) unlink(j);
  operands_.erase(operands_.begin() + static_cast<ptrdiff_t>(i));
  usePositions_.erase(usePositions_.begin() + static_cast<ptrdiff_t>(i));
  for (size_t j = i; j < operands_.size(); ++j) link(j);
}

void Op::dropOperands() {
  for (size_t i = operands_.size(); i-- > 0;) unlink(i);
  operands_.clear();
  usePositions_.clear();
}

Value* Op::addResult(Type t, std::string name) {
  auto value = std::make_unique<Value>();
  value->type = std::move(t);
  value->name = std::move(name);
  value->op = this;
  value->index = static_cast<uint32_t>(results.size());
  results.push_back(std::move(value));
  return results.back().get();
}

void Op::removeResult(uint32_t index) {
  assert(results[index]->unused());
  results.erase(results.begin() + index);
  for (uint32_t i = index; i < results.size(); ++i) results[i]->index = i;
}

bool Op::usesHold() const {
  for (size_t i = 0; i < operands_.size(); ++i) {
    const Value* v = operands_[i];
    if (v == nullptr || usePositions_[i] >= v->uses.size()) return false;
    const Value::Use& use = v->uses[usePositions_[i]];
    if (use.user != this || use.operand != i) return false;
  }
  return true;
}

const Attr* Op::find(std::string_view name) const {
  for (const auto& [key, value] : attrs_) {
    if (key == name) return &value;
  }
  return nullptr;
}

void Op::set(std::string_view name, Attr value) {
  for (auto& [key, old] : attrs_) {
    if (key == name) {
      old = std::move(value);
      return;
    }
  }
  attrs_.emplace_back(std::string(name), std::move(value));
}

int64_t Op::intAttr(std::string_view name, int64_t otherwise) const {
  const Attr* a = find(name);
  const auto* v = a != nullptr ? std::get_if<int64_t>(a) : nullptr;
  return v != nullptr ? *v : otherwise;
}

double Op::floatAttr(std::string_view name, double otherwise) const {
  const Attr* a = find(name);
  const auto* v = a != nullptr ? std::get_if<double>(a) : nullptr;
  return v != nullptr ? *v : otherwise;
}

bool Op::boolAttr(std::string_view name, bool otherwise) const {
  const Attr* a = find(name);
  const auto* v = a != nullptr ? std::get_if<bool>(a) : nullptr;
  return v != nullptr ? *v : otherwise;
}

std::optional<DType> Op::dtypeAttr(std::string_view name) const {
  const Attr* a = find(name);
  const auto* v = a != nullptr ? std::get_if<DType>(a) : nullptr;
  return v != nullptr ? std::optional(*v) : std::nullopt;
}

const std::string& Op::stringAttr(std::string_view name) const {
  static const std::string none;
  const Attr* a = find(name);
  const auto* v = a != nullptr ? std::get_if<std::string>(a) : nullptr;
  return v != nullptr ? *v : none;
}

const std::vector<int64_t>& Op::intsAttr(std::string_view name) const {
  static const std::vector<int64_t> none;
  const Attr* a = find(name);
  const auto* v = a != nullptr ? std::get_if<std::vector<int64_t>>(a) : nullptr;
  return v != nullptr ? *v : none;
}

const std::vector<std::string>& Op::stringsAttr(std::string_view name) const {
  static const std::vector<std::string> none;
  const Attr* a = find(name);
  const auto* v = a != nullptr ? std::get_if<std::vector<std::string>>(a) : nullptr;
  return v != nullptr ? *v : none;
}

size_t Op::firstTextOperand() const {
  if (kind == OpKind::Assert || kind == OpKind::ReadAhead) return 1;
  return kind == OpKind::Save || kind == OpKind::Load ? operandCount() - stringsAttr("formats").size() : 0;
}

std::string Op::printEnd() const { return hasAttr("end") ? stringAttr("end") : "\n"; }

void Op::erase() {
  assert(std::all_of(results.begin(), results.end(), [](const auto& r) { return r->unused(); }));
  parent->ops.erase(self);
}

void Op::moveBefore(Op* other) {
  if (other == this) return;
  Region* to = other->parent;
  to->ops.splice(other->self, parent->ops, self);
  if (parent->func != to->func) setFunc(*this, to->func);
  parent = to;
}

// ---- Module

Module::Module() { locs.emplace_back(); }

Func* Module::addFunc(std::string name) {
  auto func = std::make_unique<Func>();
  func->name = std::move(name);
  func->source = func->name;
  if (func->name == "main") func->kind = Func::Kind::Script;
  func->module = this;
  func->body = std::make_unique<Region>(nullptr, func.get());
  added_[func->name] = funcs.size();
  funcs.push_back(std::move(func));
  return funcs.back().get();
}

Func* Module::addFuncLike(std::string name, const Func& of) {
  Func* func = addFunc(std::move(name));
  func->source = of.source;
  func->kind = of.kind;
  func->paramPlaces = of.paramPlaces;
  func->resultPlaces = of.resultPlaces;
  func->ownDevice = of.ownDevice;
  func->span = of.span;
  func->signature = of.signature;
  func->resultTypes = of.resultTypes;
  return func;
}

Func* Module::find(std::string_view name) const {
  const auto isNamed = [&](const auto& f) { return f->name == name; };
  if (const auto at = added_.find(name); at != added_.end()) {
    for (size_t i = std::min(at->second + 1, funcs.size()); i > 0; --i)
      if (isNamed(funcs[i - 1])) return funcs[i - 1].get();
  }
  const auto found = std::find_if(funcs.begin(), funcs.end(), isNamed);  // renamed, or put elsewhere
  return found == funcs.end() ? nullptr : found->get();
}

std::string madeBy(const Op& op) {
  const std::string pass = op.origin;
  return pass.empty() ? pass : " (made by `" + pass + "`)";
}

Loc Module::addLoc(Span span) { return addLoc(LocData{span, {}, {}, {}}); }

std::string_view name(Half half) {
  static constexpr std::array<std::string_view, 3> kNames = {"", "forward", "backward"};
  return kNames[static_cast<size_t>(half)];
}

Loc Module::addLoc(LocData data) {
  locs.push_back(std::move(data));
  return Loc{static_cast<uint32_t>(locs.size() - 1), Half::None};
}

std::string_view Module::actual(std::string_view device) const {
  for (const DeviceDecl& d : devices) {
    if (d.name == device && !d.actual.empty()) return d.actual;
  }
  return device;
}

}  // namespace tenc::ir
