#include "frontend/habits/InPlaceLayers.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "frontend/builtins/Builtins.h"
#include "frontend/habits/Aliases.h"
#include "frontend/names/Scan.h"
#include "ir/DeviceTable.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

/// Where `inplace` stands among the parameters of a function, or of what makes a layer.
struct InPlaceOption {
  std::string_view name;
  size_t place;
};
constexpr std::array kOptions = std::to_array<InPlaceOption>(
    {{"relu", 1},      {"relu6", 1},       {"selu", 1},       {"silu", 1},        {"mish", 1},     {"hardswish", 1},
     {"elu", 2},       {"celu", 2},        {"leaky_relu", 2}, {"hardsigmoid", 1}, {"hardtanh", 3}, {"threshold", 3},
     {"dropout", 3},   {"dropout1d", 3},   {"dropout2d", 3},  {"dropout3d", 3},   {"ReLU", 0},     {"ReLU6", 0},
     {"SELU", 0},      {"SiLU", 0},        {"Mish", 0},       {"Hardswish", 0},   {"ELU", 1},      {"CELU", 1},
     {"LeakyReLU", 1}, {"Hardsigmoid", 0}, {"Hardtanh", 2},   {"Threshold", 2},   {"Dropout", 1},  {"Dropout1d", 1},
     {"Dropout2d", 1}, {"Dropout3d", 1}});

const InPlaceOption* optionOf(std::string_view name) {
  const auto found = std::ranges::find(kOptions, name, &InPlaceOption::name);
  return found == kOptions.end() ? nullptr : &*found;
}

bool isSequence(const ast::Expr& e) {
  return e.kind == ExprKind::Call && (e.args[0]->text == "Sequential" || e.args[0]->text == "sequential");
}

/// Layers that may give what they are given, or a view of it.
constexpr std::array kPassing = std::to_array<std::string_view>(
    {"Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "Flatten", "Identity", "Unflatten", "dropout_layer"});

/// The expressions around each one, as far as the values of layers go.
class LayerUses {
 public:
  explicit LayerUses(const ast::File& file) : file_(file) {
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) { add(s); };
    visitor.onExpression = [&](const ast::Expr& e) {
      add(e);
      return true;
    };
    visitor.visit(file);
  }

  std::optional<std::string> readBehind(const ast::Expr& call, const ast::Expr& operand) {
    for (const std::string& name : namesPassed(operand))
      if (auto read = readAfterChange(file_, name, call)) return read;
    return std::nullopt;
  }

  /// Of all calls of the layer that an expression gives.
  std::optional<std::string> readBehindCalls(const ast::Expr& layer) {
    if (!seen_.insert(&layer).second) return std::nullopt;
    if (const auto around = around_.find(&layer); around != around_.end()) return ofPart(layer, *around->second);
    const auto given = statements_.find(&layer);
    if (given == statements_.end()) return "";
    const std::string name = nameGiven(*given->second);
    if (name.empty()) return given->second->kind == StmtKind::Expr ? std::nullopt : std::optional<std::string>("");
    return ofNamed(names_[name]);
  }

 private:
  void add(const ast::Stmt& s) {
    if (!s.value) return;
    statements_[s.value.get()] = &s;
    if (const std::string name = nameGiven(s); !name.empty()) values_[name].push_back(s.value.get());
  }
  void add(const ast::Expr& e) {
    if (e.kind == ExprKind::Name) names_[e.text].push_back(&e);
    if (e.kind == ExprKind::Member) names_["." + e.text].push_back(&e);
    const auto hold = [&](const ast::ExprPtr& part) {
      if (part) around_[part.get()] = &e;
    };
    for (const ast::ExprPtr& part : e.args) hold(part);
    for (const ast::Argument& a : e.arguments) hold(a.value);
    for (const ast::FieldInit& f : e.fields) {
      hold(f.value);
      values_["." + f.name.text].push_back(f.value.get());
    }
    if (e.kind == ExprKind::If || e.kind == ExprKind::Block)
      for (const ast::Block& b : e.blocks)
        if (!b.statements.empty() && b.statements.back() && b.statements.back()->kind == StmtKind::Expr)
          hold(b.statements.back()->value);
  }
  static std::string nameGiven(const ast::Stmt& s) {
    if (s.kind == StmtKind::Assign && s.op == "=" && s.target->kind == ExprKind::Name) return s.target->text;
    const bool binds = (s.kind == StmtKind::Let || s.kind == StmtKind::Var) && !s.pattern.isTuple;
    return binds ? s.pattern.name.text : "";
  }

  std::optional<std::string> ofNamed(const std::vector<const ast::Expr*>& uses) {
    for (const ast::Expr* use : uses) {
      if (!around_.contains(use) && !statements_.contains(use)) continue;  // it is assigned there
      if (auto read = readBehindCalls(*use)) return read;
    }
    return std::nullopt;
  }
  std::optional<std::string> ofPart(const ast::Expr& layer, const ast::Expr& around) {
    switch (around.kind) {
      case ExprKind::Tuple: return inSequence(layer, around);
      case ExprKind::If:
      case ExprKind::Block: return readBehindCalls(around);
      case ExprKind::Struct:
        for (const ast::FieldInit& f : around.fields)
          if (f.value.get() == &layer) return ofNamed(names_["." + f.name.text]);
        return "";
      case ExprKind::Member: return ofMember(around);
      case ExprKind::Call:
        if (around.args[0].get() == &layer)
          return around.arguments.empty() ? std::nullopt : readBehind(around, *around.arguments[0].value);
        return isSequence(around) ? inSequence(layer, around) : std::optional<std::string>("");
      default: return "";
    }
  }
  /// `net.to(device)`, `net.forward(x)`; other members of it call nothing.
  std::optional<std::string> ofMember(const ast::Expr& member) {
    constexpr std::array kSame = std::to_array<std::string_view>(
        {"bfloat16", "double", "eval", "float", "half", "requires_grad_", "to", "train"});
    const auto around = around_.find(&member);
    const bool called =
        around != around_.end() && around->second->kind == ExprKind::Call && around->second->args[0].get() == &member;
    if (!called) return std::nullopt;
    if (member.text == "forward") return ofPart(member, *around->second);
    const bool same =
        std::ranges::find(kSame, std::string_view(member.text)) != kSame.end() || ir::DeviceTable::isKind(member.text);
    return same ? readBehindCalls(*around->second) : std::nullopt;
  }
  std::optional<std::string> inSequence(const ast::Expr& layer, const ast::Expr& sequence) {
    for (const ast::Expr* before : partsOf(sequence)) {
      if (before == &layer) break;
      if (makesNew(*before)) return std::nullopt;
    }
    return readBehindCalls(sequence);
  }

  static std::vector<const ast::Expr*> partsOf(const ast::Expr& sequence) {
    std::vector<const ast::Expr*> parts;
    if (sequence.kind == ExprKind::Tuple)
      for (const ast::ExprPtr& part : sequence.args) parts.push_back(part.get());
    else
      for (const ast::Argument& a : sequence.arguments) parts.push_back(a.value.get());
    return parts;
  }
  /// Whether a layer gives a tensor that nothing else has, as its text tells: not where it may have been one that works
  /// in place before an edit.
  bool makesNew(const ast::Expr& layer) const {
    if (layer.kind == ExprKind::Tuple || isSequence(layer))
      return std::ranges::any_of(partsOf(layer), [&](const ast::Expr* part) { return makesNew(*part); });
    if (layer.kind == ExprKind::Name) return builtinRow(layer.text) && !optionOf(layer.text) && layer.text != "flatten";
    if (layer.kind == ExprKind::Lambda)
      return layer.body && layer.body->kind == ExprKind::Call && makesNew(*layer.body->args[0]);
    if (layer.kind != ExprKind::Call) return false;
    const ast::Expr& callee = *layer.args[0];
    const bool ofModule = callee.kind == ExprKind::Member && rootOfMember(callee).kind == ExprKind::Name &&
                          (rootOfMember(callee).text == "nn" || rootOfMember(callee).text == "torch");
    return ofModule && !isAskedInPlace(layer) && callee.text != "ModuleList" &&
           std::ranges::find(kPassing, std::string_view(callee.text)) == kPassing.end();
  }

  /// The names whose array an operand may be, through layers that may hand it on.
  NameSet namesPassed(const ast::Expr& operand) const {
    if (operand.kind != ExprKind::Call) return namesShared(file_, operand);
    const ast::Expr& callee = *operand.args[0];
    const auto made = values_.find((callee.kind == ExprKind::Member ? "." : "") + callee.text);
    const bool known = made != values_.end();
    if (known && std::ranges::all_of(made->second, [&](const ast::Expr* v) { return makesNew(*v); })) return {};
    NameSet names = namesShared(file_, operand);
    const bool ofParameter = !known && callee.kind == ExprKind::Name && !builtinRow(callee.text);
    if (known || ofParameter)
      for (const ast::Argument& a : operand.arguments) names.merge(namesPassed(*a.value));
    return names;
  }

  const ast::File& file_;
  std::map<const ast::Expr*, const ast::Expr*> around_;
  std::map<const ast::Expr*, const ast::Stmt*> statements_;
  std::map<std::string, std::vector<const ast::Expr*>> names_;   ///< where each stands; fields with a point before
  std::map<std::string, std::vector<const ast::Expr*>> values_;  ///< what each is given
  std::set<const ast::Expr*> seen_;
};

}  // namespace

std::optional<size_t> inPlaceArgument(const ast::Expr& call) {
  const auto named =
      std::ranges::find_if(call.arguments, [](const ast::Argument& a) { return a.name && a.name->text == "inplace"; });
  if (named != call.arguments.end()) return static_cast<size_t>(named - call.arguments.begin());
  const InPlaceOption* option = optionOf(call.args[0]->text);
  const bool given = option && option->place < call.arguments.size() && !call.arguments[option->place].name;
  return given ? std::optional(option->place) : std::nullopt;
}

bool isAskedInPlace(const ast::Expr& call) {
  const auto place = inPlaceArgument(call);
  const ast::Expr* value = place ? call.arguments[*place].value.get() : nullptr;
  return value && boolWritten(*value).value_or(true);
}

bool isInPlaceKnown(const ast::Expr& call) {
  const auto place = inPlaceArgument(call);
  const ast::Expr* value = place ? call.arguments[*place].value.get() : nullptr;
  return !value || boolWritten(*value);
}

bool passesOperand(const ast::Expr& layer) {
  const auto anyOf = [](const std::vector<ast::ExprPtr>& parts) {
    return std::ranges::any_of(parts, [](const auto& part) { return part && passesOperand(*part); });
  };
  switch (layer.kind) {
    case ExprKind::Name: return layer.text == "flatten";
    case ExprKind::Member: return isInPlaceName(layer.text);
    case ExprKind::Tuple: return layer.args.empty() || anyOf(layer.args);  // `nn.Sequential()` gives its operand
    case ExprKind::If:
      return std::ranges::any_of(layer.blocks, [](const ast::Block& b) {
        const auto& all = b.statements;
        return !all.empty() && all.back() && all.back()->value && passesOperand(*all.back()->value);
      });
    case ExprKind::Lambda:
      return layer.body && (layer.body->kind == ExprKind::Name ||
                            (layer.body->kind == ExprKind::Call && passesOperand(*layer.body->args[0])));
    case ExprKind::Call: {
      const ast::Expr& callee = *layer.args[0];
      const bool isEmpty = isSequence(layer) && layer.arguments.empty();
      if (isEmpty || std::ranges::find(kPassing, std::string_view(callee.text)) != kPassing.end() ||
          isAskedInPlace(layer))
        return true;
      // `nn.Sequential(nn.Identity(), nn.ReLU())`, `partial(F.relu, inplace=True)`
      return std::ranges::any_of(layer.arguments,
                                 [](const ast::Argument& a) { return a.value && passesOperand(*a.value); });
    }
    default: return false;
  }
}

bool makesInPlaceLayer(const ast::Expr& call) {
  const std::string& name = call.args[0]->text;
  return !name.empty() && std::isupper(static_cast<unsigned char>(name[0])) != 0 && isAskedInPlace(call);
}

std::optional<std::string> readBehindChange(const ast::File& file, const ast::Expr& call, const ast::Expr& operand) {
  return hasUnread(file) ? "" : LayerUses(file).readBehind(call, operand);
}

std::optional<std::string> changedByLayer(const ast::File& file, const ast::Expr& layer) {
  return hasUnread(file) ? "" : LayerUses(file).readBehindCalls(layer);
}

}  // namespace tenc::frontend
