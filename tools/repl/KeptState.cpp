#include "tools/repl/KeptState.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <span>

namespace tenc::repl {

using Kind = ast::Stmt::Kind;

namespace {

bool isDeclaration(const ast::Stmt& s) {
  switch (s.kind) {
    case Kind::Import:
    case Kind::Const:
    case Kind::Param:
    case Kind::Device:
    case Kind::TypeAlias:
    case Kind::Struct:
    case Kind::Fn: return true;
    default: return false;
  }
}

/// Numbers the tensors of a value anew, in the order of `tensors`, to which results are added that it has not yet.
void takeTensors(frontend::KeptValue& v, const std::vector<KeptTensor>& results, std::vector<KeptTensor>& tensors,
                 std::map<size_t, size_t>& numbers) {
  if (v.kind == frontend::KeptValue::Kind::Tensor) {
    const auto [at, isNew] = numbers.emplace(v.tensor, tensors.size());
    if (isNew) tensors.push_back(results.at(v.tensor));
    v.tensor = at->second;
  }
  for (frontend::KeptValue& e : v.elems) takeTensors(e, results, tensors, numbers);
}

/// The names that an entry declares, or imports, and which kept ones give way to them.
class Declared {
 public:
  explicit Declared(std::span<const ast::StmtPtr> statements) {
    for (const auto& s : statements)
      if (s) add(*s);
  }
  void add(const ast::Stmt& s) {
    if (!isDeclaration(s)) return;
    if (s.kind != Kind::Import)
      own_[s.name.text].emplace_back(s.kind, receiverOf(s));
    else if (s.names.empty() && !s.path.empty())
      imported_.insert(s.path.back().text);
    for (const ast::Name& n : s.names) imported_.insert(n.text);
  }
  /// Whether a kept declaration, or a module that was imported, gives way.
  bool replaces(const ast::Stmt& kept) const {
    if (kept.kind == Kind::Import) return kept.names.empty() && has(kept.path.back().text);
    if (imported_.contains(kept.name.text)) return true;
    const auto own = own_.find(kept.name.text);
    if (own == own_.end()) return false;
    return std::ranges::any_of(own->second, [&](const auto& d) {
      return d.first != Kind::Fn || kept.kind != Kind::Fn || d.second == receiverOf(kept);  // else an overload
    });
  }
  /// The names that are left of those of an import.
  std::vector<ast::Name> left(const ast::Stmt& kept) const {
    std::vector<ast::Name> names = kept.names;
    std::erase_if(names, [&](const ast::Name& n) { return has(n.text); });
    return names;
  }
  /// All names.
  std::set<std::string> names() const {
    std::set<std::string> all = imported_;
    for (const auto& [name, d] : own_) all.insert(name);
    return all;
  }

 private:
  bool has(const std::string& name) const { return own_.contains(name) || imported_.contains(name); }

  std::map<std::string, std::vector<std::pair<Kind, std::string>>> own_;  ///< with receivers
  std::set<std::string> imported_;
};

/// An import of some of the names that another one brings.
ast::StmtPtr importOf(const ast::Stmt& whole, std::vector<ast::Name> names) {
  auto s = std::make_unique<ast::Stmt>();
  s->kind = Kind::Import;
  s->span = whole.span;
  s->path = whole.path;
  s->names = std::move(names);
  return s;
}

}  // namespace

std::string receiverOf(const ast::Stmt& s) {
  if (s.kind != Kind::Fn || s.params.empty() || !s.params[0].type) return "";
  const ast::TypeExpr& t = *s.params[0].type;
  if (t.kind == ast::TypeExpr::Kind::Tuple) return "(";
  // dtypes and dtype variables are one head: a tensor.
  if (t.path.empty() || t.path.back().text.empty()) return "";
  const std::string& name = t.path.back().text;
  for (const ast::Generic& g : s.generics) {
    if (g.name.text == name) return "";
  }
  return ir::dtypeNamed(name) ? "" : name;
}

std::string declarationKey(const ast::Stmt& s) {
  if (!isDeclaration(s)) return "";
  if (s.kind != Kind::Import) return s.name.text + "(" + receiverOf(s);
  std::string key = "import";
  for (const auto* names : {&s.path, &s.names}) {
    key += ' ';
    for (const ast::Name& n : *names) key += n.text + ".";
  }
  return key;
}

KeptState::Script::Script(KeptState& state, ast::File& entry) {
  file_.source = entry.source;
  auto borrow = [&](ast::StmtPtr& s) {
    origins_.push_back(&s);
    file_.statements.push_back(std::move(s));
  };
  const Declared entered(entry.statements);
  for (auto& s : state.declarations_) {
    if (entered.replaces(*s)) continue;
    std::vector<ast::Name> left = entered.left(*s);
    if (left.size() == s->names.size()) {
      borrow(s);
    } else if (!left.empty()) {
      origins_.push_back(nullptr);
      file_.statements.push_back(importOf(*s, std::move(left)));
    }
  }
  for (Value& v : state.values_)
    if (v.statement) borrow(v.statement);
  for (auto& s : entry.statements) borrow(s);
}

KeptState::Script::~Script() {
  for (size_t i = 0; i < origins_.size(); ++i)
    if (origins_[i]) *origins_[i] = std::move(file_.statements[i]);
}

namespace {
/// Names of devices for what they mean from now on, in a value's parts.
void renameDevices(frontend::KeptValue& v, const std::map<std::string, std::string>& names) {
  if (v.kind == frontend::KeptValue::Kind::Device)
    if (const auto found = names.find(v.text); found != names.end()) v.text = found->second;
  for (frontend::KeptValue& e : v.elems) renameDevices(e, names);
  for (frontend::KeptValue& a : v.args) renameDevices(a, names);
}

bool isSamePlace(const ast::DevicePlace& a, const ast::DevicePlace& b) {
  return a.name.text == b.name.text && a.number == b.number && !a.index && !b.index;
}

void renameDevices(std::string& place, const std::map<std::string, std::string>& names) {
  if (const auto found = names.find(place); found != names.end()) place = found->second;
}
}  // namespace

KeptState::Devices KeptState::replacedDevices(const ast::File& entry) const {
  Devices replaced;
  const Declared entered(entry.statements);
  for (const auto& old : declarations_) {
    const auto meant = old->kind == Kind::Device ? devices_.find(old->name.text) : devices_.end();
    if (meant == devices_.end() || !entered.replaces(*old)) continue;
    const bool again = std::ranges::any_of(entry.statements, [&](const auto& s) {
      return s && s->kind == Kind::Device && s->name.text == old->name.text &&
             std::ranges::equal(s->places, old->places, isSamePlace);
    });
    if (!again) replaced.insert(*meant);
  }
  return replaced;
}

frontend::SessionValue KeptState::sessionValue(const Value& v, size_t statements, const Devices& replaced) {
  frontend::SessionValue kept{v.name, v.isVar, v.isOld, statements, v.span, v.isVar ? Span() : v.start, v.value, {}};
  for (const KeptTensor& t : v.tensors) kept.tensors.push_back(t.type);
  renameDevices(kept.value, replaced);
  for (frontend::SessionInput& t : kept.tensors) renameDevices(t.place, replaced);
  return kept;
}

std::vector<frontend::SessionValue> KeptState::values(const Devices& replaced) const {
  std::vector<frontend::SessionValue> list;
  size_t statements = 0;
  for (const Value& v : values_) {
    statements += v.statement ? 1 : 0;
    if (v.statement) continue;
    list.push_back(sessionValue(v, statements, replaced));
  }
  return list;
}

frontend::KeptStatements KeptState::statements(const Devices& replaced) const {
  frontend::KeptStatements kept;
  for (const Value& v : values_) {
    if (!v.statement) continue;
    ++kept.count;
    if (v.isOld) kept.old.push_back(v.span);
    if (v.isTree) kept.trees.push_back(sessionValue(v, 0, replaced));
  }
  return kept;
}

std::vector<const void*> KeptState::inputData() const {
  std::vector<const void*> list;
  for (const bool ofStatements : {false, true}) {
    for (const Value& v : values_) {
      if ((v.statement != nullptr) != ofStatements) continue;
      for (const KeptTensor& t : v.tensors) list.push_back(t.data.data());
    }
  }
  return list;
}

namespace {
void namesOf(ast::Pattern& pattern, std::vector<ast::Name*>& names) {
  if (!pattern.isTuple) names.push_back(&pattern.name);
  for (ast::Pattern& element : pattern.elements) namesOf(element, names);
}

/// Whether the name that stands at `at` gets its value from the statement.
bool givesValue(ast::Stmt& s, Span at) {
  if (s.kind == Kind::Assign) return s.target->span == at;
  std::vector<ast::Name*> names;
  if (s.kind == Kind::Let || s.kind == Kind::Var) namesOf(s.pattern, names);
  return std::ranges::any_of(names, [&](const ast::Name* n) { return n->span == at; });
}

/// The `var` that says what the assignment to a name says.
void declareWhatItAssigns(ast::Stmt& s, const std::string& name) {
  s.kind = Kind::Var;
  s.pattern.name = {name, s.target->span};
  s.pattern.span = s.target->span;
  s.target.reset();
}

/// Leaves the statement to bind `name` alone.
void bindAlone(ast::Pattern& pattern, const std::string& name) {
  std::vector<ast::Name*> names;
  namesOf(pattern, names);
  for (ast::Name* n : names)
    if (n->text != name) n->text = "_";
}
}  // namespace

std::vector<std::string> KeptState::commit(ast::File entry, const std::vector<frontend::Lowered::Kept>& kept,
                                           const std::vector<KeptTensor>& results, Devices devices,
                                           SourceManager& sources) {
  const Devices replaced = replacedDevices(entry);
  for (Value& v : values_) {
    renameDevices(v.value, replaced);
    for (KeptTensor& t : v.tensors) renameDevices(t.type.place, replaced);
  }
  devices_ = std::move(devices);
  std::map<std::string, const ast::Stmt*> bindings;  // the last statement of the entry that binds the name
  std::vector<std::string> lost;
  for (auto& s : entry.statements) {
    if (s->kind != Kind::Let && s->kind != Kind::Var) continue;
    std::vector<ast::Name*> names;
    namesOf(s->pattern, names);
    for (const ast::Name* n : names) bindings[n->text] = s.get();
  }
  for (const auto& k : kept) {
    if (k.name == "_" || (k.name.empty() && !k.value)) continue;
    Value v;
    v.name = k.name.empty() ? "_" : k.name;
    v.isVar = k.isVar;
    v.span = k.span;
    v.described = k.type;
    if (k.value) {
      v.value = *k.value;
      // A result that two names share is copied to each.
      std::map<size_t, size_t> numbers;
      takeTensors(v.value, results, v.tensors, numbers);
      dropValue(v.name, sources);
      if (const auto bound = bindings.find(k.name); bound != bindings.end() && !bound->second->pattern.isTuple)
        v.start = bound->second->value->span;
    } else {
      std::map<size_t, size_t> numbers;
      if (k.tree) {
        v.value = *k.tree;
        takeTensors(v.value, results, v.tensors, numbers);
        v.isTree = true;
      }
      // The functions of a tree may be those that an earlier statement gives. What another one has seen of it stays.
      if (const auto known = std::ranges::find_if(
              values_, [&](const Value& old) { return k.tree && old.statement && !old.isOld && old.span == k.span; });
          known != values_.end() && !isSeen(static_cast<size_t>(known - values_.begin()))) {
        v.statement = std::move(known->statement);
        v.uses = std::move(known->uses);
        *known = std::move(v);
        continue;
      }
      const auto statement = std::ranges::find_if(
          entry.statements, [&](const auto& s) { return s && k.span.valid() && givesValue(*s, k.span); });
      dropValue(k.name, sources);
      if (statement == entry.statements.end()) {
        lost.push_back(k.name);
        continue;
      }
      v.statement = std::move(*statement);
      if (v.statement->kind == Kind::Assign)
        declareWhatItAssigns(*v.statement, k.name);
      else
        bindAlone(v.statement->pattern, k.name);
      v.uses = k.uses;
    }
    values_.push_back(std::move(v));
  }
  for (auto& s : entry.statements) {
    if (s && isDeclaration(*s)) replaceDeclaration(std::move(s), sources);
  }
  sweep();
  return lost;
}

void KeptState::replaceDeclaration(ast::StmtPtr statement, SourceManager& sources) {
  Declared declared({});
  declared.add(*statement);
  std::erase_if(declarations_, [&](ast::StmtPtr& s) {
    if (declared.replaces(*s)) return true;
    if (s->kind != Kind::Import || s->names.empty()) return false;
    s->names = declared.left(*s);
    return s->names.empty();
  });
  for (const std::string& name : declared.names()) dropValue(name, sources);
  declarations_.push_back(std::move(statement));
}

void KeptState::dropValue(const std::string& name, SourceManager& sources) {
  for (size_t i = 0; i < values_.size(); ++i) {
    Value& v = values_[i];
    if (v.name != name || v.isOld) continue;
    v.isOld = true;
    if (v.statement || !isSeen(i)) continue;
    // A newer value of the variable is bound at the same place, and every declaration has its own: in another copy.
    const SourceFile& file = sources.file(v.span.file);
    v.span.file = sources.add(file.name(), std::string(file.text()), file.firstLine());
  }
}

/// Whether a kept statement that was entered later sees the value, and none that took its name in between.
bool KeptState::isSeen(size_t index) const {
  const std::string& name = values_[index].name;
  for (size_t i = index + 1; i < values_.size(); ++i) {
    const Value& v = values_[i];
    if (v.statement && std::find(v.uses.begin(), v.uses.end(), name) != v.uses.end()) return true;
    if (v.name == name) return false;
  }
  return false;
}

/// Old values that no statement sees any more go; from the end on, since those of statements that go are seen no more.
void KeptState::sweep() {
  for (size_t i = values_.size(); i-- > 0;) {
    if (values_[i].isOld && !isSeen(i)) values_.erase(values_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void KeptState::drop(const std::vector<std::string>& names) {
  std::erase_if(values_, [&](const Value& v) { return std::find(names.begin(), names.end(), v.name) != names.end(); });
}

const KeptState::Value* KeptState::named(std::string_view name) const {
  const auto found =
      std::find_if(values_.begin(), values_.end(), [&](const Value& v) { return v.name == name && !v.isOld; });
  return found == values_.end() ? nullptr : &*found;
}

std::string KeptState::typeOf(std::string_view name) const {
  const Value* v = named(name);
  return v ? v->described : "";
}

std::optional<ir::DType> KeptState::dtypeOf(std::string_view name, const frontend::KeptValue& part) const {
  const Value* v = named(name);
  if (!v || part.tensor >= v->tensors.size()) return std::nullopt;
  return v->tensors[part.tensor].type.dtype;
}

const frontend::KeptValue* KeptState::value(std::string_view name) const {
  const Value* v = named(name);
  return v && !v->statement ? &v->value : nullptr;
}

bool KeptState::imports(std::string_view module) const {
  return std::any_of(declarations_.begin(), declarations_.end(), [&](const ast::StmtPtr& s) {
    return s->kind == Kind::Import && s->names.empty() && !s->path.empty() && s->path.back().text == module;
  });
}

std::vector<std::string> KeptState::names() const {
  std::vector<std::string> list;
  for (const Value& v : values_)
    if (!v.isOld) list.push_back(v.name);
  for (const auto& s : declarations_) {
    if (!s->name.text.empty()) list.push_back(s->name.text);
    if (!s->path.empty()) list.push_back(s->path.back().text);
    for (const ast::Name& n : s->names) list.push_back(n.text);
  }
  return list;
}

}  // namespace tenc::repl
