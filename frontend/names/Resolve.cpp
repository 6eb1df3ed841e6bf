#include "frontend/names/Resolve.h"

#include <algorithm>

#include "frontend/builtins/Builtin.h"
#include "frontend/builtins/BuiltinNames.h"
#include "ir/DeviceTable.h"

namespace tenc::frontend {

using DeclarationKind = Declaration::Kind;

Resolution::Resolution(const ast::File& file, const Imports& imports, std::span<const SessionValue> bound,
                       const KeptStatements& kept)
    : file_(file), kept_(kept) {
  for (const SessionValue& v : bound) {
    const auto kind = v.isVar ? DeclarationKind::Variable : DeclarationKind::Local;
    bound_.push_back({declare({.kind = kind, .name = v.name, .span = v.span, .home = this}), v.kept, v.isOld});
  }
  parts_.emplace_back();  // the script's own statements
  extend(imports);
}

void Resolution::extend(const Imports& imports) {
  declareGlobals(imports);
  for (; known_ < file_.statements.size(); ++known_) {
    const ast::Stmt* s = file_.statements[known_].get();
    if (!s) continue;
    if (s->kind <= ast::Stmt::Kind::Bench)
      parts_.push_back({.statements = {s}});
    else
      parts_.front().statements.push_back(s);
    Part& part = s->kind <= ast::Stmt::Kind::Bench ? parts_.back() : parts_.front();
    places_.push_back({s->span.file, s->span.begin, s->span.end, &part});
  }
  // In the order of the text already, but for what a session has kept and what is read later of a library.
  const auto place = [](const Place& p) { return std::pair(p.file, p.begin); };
  if (!std::ranges::is_sorted(places_, {}, place)) std::ranges::sort(places_, {}, place);
  for (Part& p : parts_) {  // a name that meant nothing may mean something now
    p.done = false;
    p.uses.clear();
    p.dims.clear();
    p.signature.clear();
    p.next = 0;
  }
}

void Resolution::declareGlobals(const Imports& imports) {
  using StmtKind = ast::Stmt::Kind;
  const auto add = [&](DeclarationKind kind, const ast::Name& name, const ast::Stmt* s, const Resolution* home) {
    globals_.try_emplace(name.text,
                         declare({.kind = kind, .name = name.text, .span = name.span, .statement = s, .home = home}));
  };
  for (const ast::StmtPtr& statement : std::span(file_.statements).subspan(known_)) {
    if (!statement) continue;
    const ast::Stmt& s = *statement;
    switch (s.kind) {
      case StmtKind::Const: add(DeclarationKind::Constant, s.name, &s, this); break;
      case StmtKind::Param: add(DeclarationKind::Param, s.name, &s, this); break;
      case StmtKind::Device: add(DeclarationKind::Device, s.name, &s, this); break;
      case StmtKind::TypeAlias: add(DeclarationKind::Alias, s.name, &s, this); break;
      case StmtKind::Struct: add(DeclarationKind::Struct, s.name, &s, this); break;
      case StmtKind::Fn: {
        auto known = globals_.find(s.name.text);
        if (known == globals_.end()) {
          declarations_.push_back({.kind = DeclarationKind::Functions,
                                   .name = s.name.text,
                                   .span = s.name.span,
                                   .statement = &s,
                                   .functions = {&s},
                                   .home = this});
          globals_[s.name.text] = &declarations_.back();
          break;
        }
        // Overloads join the first; what is declared twice is an error of its own.
        for (Declaration& d : declarations_) {
          if (&d == known->second && d.kind == DeclarationKind::Functions) d.functions.push_back(&s);
        }
        break;
      }
      case StmtKind::Import: {
        if (s.path.empty()) break;
        std::string path;
        for (const ast::Name& p : s.path) path += (path.empty() ? "" : "/") + p.text;
        const Resolution* module = imports ? imports(path) : nullptr;
        if (module) imported_.push_back(module);
        if (s.names.empty()) add(module ? DeclarationKind::Module : DeclarationKind::Lost, s.path.back(), &s, module);
        if (s.names.empty() && !module) add(DeclarationKind::Lost, s.path.front(), &s, nullptr);
        for (const ast::Name& n : s.names) {
          const Declaration* d = module ? module->global(n.text) : nullptr;
          if (d)
            globals_.try_emplace(n.text, d);
          else
            add(DeclarationKind::Lost, n, &s, nullptr);
        }
        break;
      }
      default: break;
    }
  }
  for (const std::string& name : file_.lost) add(DeclarationKind::Lost, {name, {}}, nullptr, nullptr);
}

const Declaration* Resolution::declare(Declaration d) const { return &declarations_.emplace_back(std::move(d)); }

const Declaration* Resolution::global(std::string_view name) const {
  const auto found = globals_.find(name);
  return found == globals_.end() ? nullptr : found->second;
}

const Declaration* Resolution::builtIn(std::string_view name, bool called) const {
  if (const auto known = builtIns_.find(name); known != builtIns_.end()) {
    const BuiltinRow* row = known->second->builtin;
    return row && row->traits.calledOnly && !called ? nullptr : known->second;
  }
  const BuiltinRow* row = builtinRow(name);
  if (row && row->traits.calledOnly && !called) row = nullptr;
  const bool language = builtinConstant(name, {}) || ir::dtypeNamed(name) || ir::DeviceTable::isKind(name) ||
                        name == "str" || name == "fn" || name == "device";
  if (!row && !language) return nullptr;
  return builtIns_[std::string(name)] =
             declare({.kind = language ? DeclarationKind::Language : DeclarationKind::Builtin,
                      .name = std::string(name),
                      .builtin = language ? nullptr : row});
}

Resolution::Part* Resolution::partAt(Span place) const {
  const auto holds = [&](size_t i) {
    const Place& p = places_[i];
    return p.file == place.file && p.begin <= place.begin && place.begin < p.end;
  };
  // Most are asked for in order.
  size_t at = last_;
  if (at < places_.size() && !holds(at)) {
    ++at;
    if (at < places_.size() && !holds(at)) at = places_.size();
  }
  if (at >= places_.size()) {
    const auto next = std::ranges::upper_bound(places_, std::pair(place.file, place.begin), {},
                                               [](const Place& p) { return std::pair(p.file, p.begin); });
    if (next == places_.begin()) return nullptr;
    at = static_cast<size_t>(next - places_.begin()) - 1;
    if (!holds(at)) return nullptr;
  }
  last_ = at;
  Part& part = *places_[at].part;
  if (!part.done) {
    part.done = true;
    walk(part);
  }
  return &part;
}

const Resolution* Resolution::home(Span place) const {
  if (place.file == file_.source) return this;
  const auto after =
      std::partition_point(places_.begin(), places_.end(), [&](const Place& p) { return p.file <= place.file; });
  if (after != places_.begin() && std::prev(after)->file == place.file) return this;
  for (const Resolution* module : imported_) {
    if (const Resolution* found = module->home(place)) return found;
  }
  return nullptr;
}

std::span<const Use> Resolution::within(Span node) const {
  const Part* part = partAt(node);
  if (!part) return {};
  const auto before = [&](const Use& u, uint32_t offset) {
    return std::pair(u.span.file, u.span.begin) < std::pair(node.file, offset);
  };
  const auto first = std::lower_bound(part->uses.begin(), part->uses.end(), node.begin, before);
  const auto last = std::lower_bound(first, part->uses.end(), node.end, before);
  return {first, last};
}

const Use* Resolution::at(uint32_t offset) const {
  const Part* part = partAt({file_.source, offset, offset});
  if (!part) return nullptr;
  const auto found = std::find_if(part->uses.begin(), part->uses.end(), [&](const Use& u) {
    return u.span.file == file_.source && u.span.begin <= offset && offset < u.span.end;
  });
  return found == part->uses.end() ? nullptr : &*found;
}

const Declaration* Resolution::definition(Span use) const {
  const Resolution* names = home(use);
  Part* part = names ? names->partAt(use) : nullptr;
  if (!part) return nullptr;
  const auto found = [&] { return part->next < part->uses.size() && part->uses[part->next].span == use; };
  if (!found()) {
    const auto at = std::ranges::lower_bound(part->uses, std::pair(use.file, use.begin), {},
                                             [](const Use& u) { return std::pair(u.span.file, u.span.begin); });
    part->next = static_cast<size_t>(at - part->uses.begin());
  }
  return found() ? part->uses[part->next++].declaration : nullptr;
}

std::vector<Use> Resolution::usesOf(const Declaration& declaration) const {
  std::vector<Use> all;
  for (const Part& p : parts_) {
    if (p.statements.empty()) continue;
    const Part* part = partAt(p.statements[0]->span);
    if (!part) continue;
    std::copy_if(part->uses.begin(), part->uses.end(), std::back_inserter(all),
                 [&](const Use& u) { return u.declaration == &declaration; });
  }
  return all;
}

template <class Wanted>
Declarations Resolution::outer(Span node, const Wanted& wanted) const {
  Declarations found;
  for (const Use& u : within(node)) {
    if (!u.declaration || !u.declaration->isLocal() || !wanted(u)) continue;
    const Span at = u.declaration->span;
    const bool inside = at.file == node.file && node.begin <= at.begin && at.end <= node.end;
    if (!inside) found.push_back(u.declaration);
  }
  std::ranges::sort(found, {},
                    [](const Declaration* d) { return std::pair(std::string_view(d->name), d->span.begin); });
  const auto repeated = std::ranges::unique(found);
  found.erase(repeated.begin(), repeated.end());
  return found;
}

Declarations Resolution::captured(Span node) const {
  return outer(node, [](const Use&) { return true; });
}

Declarations Resolution::assigned(Span node) const {
  return outer(node, [](const Use& u) { return u.assigned; });
}

std::vector<const Declaration*> Resolution::dimsIn(Span node) const {
  const Part* part = partAt(node);
  if (!part) return {};
  std::vector<const Declaration*> found;
  std::copy_if(part->dims.begin(), part->dims.end(), std::back_inserter(found), [&](const Declaration* d) {
    return d->span.file == node.file && node.begin <= d->span.begin && d->span.end <= node.end;
  });
  return found;
}

std::span<const Declaration* const> Resolution::signatureOf(const ast::Stmt& fn) const {
  const Part* part = partAt(fn.span);
  return part ? std::span<const Declaration* const>(part->signature) : std::span<const Declaration* const>();
}

const Declaration* Resolution::hiddenBy(Span declared) const {
  const Part* part = partAt(declared);
  if (!part) return nullptr;
  const auto found = std::ranges::find(part->hidden, declared, &std::pair<Span, const Declaration*>::first);
  return found == part->hidden.end() ? nullptr : found->second;
}

bool Resolution::mentions(Span node, Span declared) const {
  const auto uses = within(node);
  return std::any_of(uses.begin(), uses.end(),
                     [&](const Use& u) { return u.declaration && u.declaration->span == declared; });
}

}  // namespace tenc::frontend
