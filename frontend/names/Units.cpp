// Units: what they declare, and what they import.
#include "frontend/names/Units.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/StdModules.h"
#include "frontend/builtins/BuiltinNames.h"
#include "frontend/calls/Overloads.h"
#include "frontend/habits/Aliases.h"
#include "frontend/habits/Libraries.h"
#include "frontend/habits/OwnNames.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/PythonSums.h"
#include "frontend/habits/TiedParts.h"
#include "frontend/habits/TrainingMode.h"
#include "frontend/habits/Translation.h"
#include "frontend/habits/UntrainedTensors.h"
#include "frontend/names/Constants.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Resolve.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Suggest.h"
#include "frontend/names/Unit.h"
#include "ir/DeviceTable.h"
#include "syntax/Familiar.h"
#include "syntax/ForeignImports.h"
#include "syntax/Parse.h"
#include "syntax/StatementEdits.h"

namespace tenc::frontend {

namespace {
using StmtKind = ast::Stmt::Kind;

bool isDeclaration(const ast::Stmt& s) { return s.kind <= StmtKind::Bench; }
}  // namespace

bool Units::declareOnce(Unit& unit, const ast::Name& name) {
  if (isImported(unit, name)) return false;
  auto [it, fresh] = unit.declared.try_emplace(name.text, name.span);
  if (fresh) return true;
  context_.error(Code::E0103, name.span, "`" + name.text + "` is declared twice")
      .note(it->second, "first declared here");
  return false;
}

/// Reports a declaration whose name an import has brought already.
bool Units::isImported(const Unit& unit, const ast::Name& name) {
  const auto it = unit.imported.find(name.text);
  if (it == unit.imported.end()) return false;
  auto d = context_.error(Code::E0103, name.span, "`" + name.text + "` is declared twice");
  d.note(it->second, "imported here");
  if (const auto from = unit.names.find(name.text); from != unit.names.end())
    d.help("import the module as a whole, and write `" + from->second.first->name + "." + from->second.second + "`");
  return true;
}

/// Whether an import may bring a name: a file has one meaning for each. `instead`: what means it too, if anything does.
bool Units::importOnce(Unit& unit, const ast::Name& name, const std::string& instead) {
  Span first = name.span;
  if (const auto declared = unit.declared.find(name.text); declared != unit.declared.end())
    first = declared->second;
  else if (const auto function = unit.functions.find(name.text); function != unit.functions.end())
    first = function->second[0].stmt->name.span;
  else
    first = unit.imported.try_emplace(name.text, name.span).first->second;
  if (first == name.span) return true;
  auto d = context_.error(Code::E0103, name.span, "`" + name.text + "` is declared twice");
  d.note(first, unit.imported.contains(name.text) ? "imported here" : "first declared here");
  if (!instead.empty()) d.help("import the module as a whole, and write `" + instead + "`");
  return false;
}

Units::Units(Context& context, Constants& constants, Overloads& overloads, bool wholeLibrary)
    : context_(context),
      constants_(constants),
      overloads_(overloads),
      library_(context.sources, context.diags),
      wholeLibrary_(wholeLibrary) {}

void Units::collectImport(Unit& unit, const ast::Stmt& s) {
  std::string path;
  for (const ast::Name& p : s.path) path += (path.empty() ? "" : "/") + p.text;
  const Unit* imported = s.path.empty() ? nullptr : import(path, s.path.back().span, inLibrary(unit));
  if (!imported) {
    // One error is enough: what the import would have brought is poison.
    if (s.names.empty() && !s.path.empty())
      unit.evaluated[s.path.back().text] = unit.evaluated[s.path.front().text] = context_.lost();
    for (const ast::Name& n : s.names) unit.evaluated[n.text] = context_.lost();
    return;
  }
  if (s.names.empty()) {
    const auto known = unit.modules.find(s.path.back().text);
    const bool again = known != unit.modules.end() && known->second == imported;
    if (again || importOnce(unit, s.path.back(), "")) unit.modules[s.path.back().text] = imported;
  }
  for (const ast::Name& n : s.names) {
    const bool exists = imported->declared.count(n.text) || imported->functions.count(n.text);
    if (!exists) {
      std::vector<std::string> names;
      for (const auto& [known, at] : imported->declared) names.push_back(known);
      for (const auto& [known, list] : imported->functions) names.push_back(known);
      auto d = context_.error(Code::E0102, n.span, "module `" + path + "` has no `" + n.text + "`");
      if (isBuiltin(n.text))
        d.help("`" + n.text + "` is built in: it needs no import");
      else
        suggest(d, n.text, n.span, names, nullptr, Among::Few);
      unit.evaluated[n.text] = context_.lost();
      continue;
    }
    const std::pair<const Unit*, std::string> meant = {imported, n.text};
    const auto known = unit.names.find(n.text);
    if ((known != unit.names.end() && known->second == meant) || importOnce(unit, n, s.path.back().text + "." + n.text))
      unit.names[n.text] = meant;
  }
}

/// Functions of one name differ by the head of their first parameter, and share it with nothing else.
void Units::checkHeads(const Unit& unit) {
  for (const auto& [name, list] : unit.functions) {
    if (auto it = unit.declared.find(name); it != unit.declared.end()) {
      context_.error(Code::E0103, list[0].stmt->name.span, "`" + name + "` is declared twice")
          .note(it->second, "first declared here");
    }
    std::map<Overloads::Head, Span> heads;
    for (const FnDecl& d : list) {
      const auto& params = d.stmt->params;
      auto [it, fresh] = heads.try_emplace(
          params.empty() ? Overloads::Head{Overloads::HeadKind::None} : overloads_.headOf(params[0].type.get(), d),
          d.stmt->name.span);
      if (fresh) continue;
      context_
          .error(Code::E0103, d.stmt->name.span,
                 "`" + name + "` is declared twice for the same kind of first parameter")
          .note(it->second, "first declared here");
    }
  }
}

/// Fields, parameters and type parameters of one declaration have names of their own.
void Units::checkTwice(std::span<const ast::StmtPtr> statements) {
  auto check = [&](auto&& list, const char* what) {
    std::set<std::string> seen;
    for (const auto& x : list) {
      if (!seen.insert(x.name.text).second) {
        context_.fail(Code::E0103, x.name.span, std::string(what) + " `" + x.name.text + "` is declared twice");
      }
    }
  };
  for (const auto& statement : statements) {
    if (!statement) continue;
    if (statement->kind == StmtKind::Struct) check(statement->fields, "the field");
    if (statement->kind == StmtKind::Fn) check(statement->params, "the parameter");
    check(statement->generics, "the type parameter");
  }
}

void Units::collect(Unit& unit, size_t from) {
  const std::span statements = std::span(unit.file->statements).subspan(from);
  for (const auto& statement : statements) {
    if (!statement) continue;
    const ast::Stmt& s = *statement;
    const std::string& name = s.name.text;
    switch (s.kind) {
      case StmtKind::Const:
        if (declareOnce(unit, s.name)) unit.constants[name] = &s;
        break;
      case StmtKind::Param:
        if (declareOnce(unit, s.name)) unit.params[name] = &s;
        break;
      case StmtKind::Device:
        if (ir::DeviceTable::isKind(name)) {
          context_.error(Code::E0103, s.name.span, "`" + name + "` is declared by the language: the devices of a kind")
              .help("a device of the script has a name of its own, by which annotations mean it");
        } else if (declareOnce(unit, s.name)) {
          unit.devices[name] = &s;
        }
        break;
      case StmtKind::TypeAlias:
        if (declareOnce(unit, s.name)) unit.aliases[name] = &s;
        break;
      case StmtKind::Struct:
        if (declareOnce(unit, s.name)) unit.structs[name] = {&s, &unit};
        break;
      case StmtKind::Fn:
        if (isImported(unit, s.name)) break;
        if (auto it = unit.declared.find(name); it != unit.declared.end()) {
          context_.error(Code::E0103, s.name.span, "`" + name + "` is declared twice")
              .note(it->second, "first declared here");
        } else {
          unit.functions[name].push_back({&s, &unit});
        }
        break;
      case StmtKind::Import: collectImport(unit, s); break;
      default:
        if (!unit.isScript && !isDeclaration(s) && s.kind != StmtKind::Error) {
          context_.fail(Code::E0108, s.span, "a module holds declarations only");
        }
        break;
    }
  }
  resolveNames(unit, from);
  checkHeads(unit);
  checkTwice(statements);
}

namespace {
/// Modules of the standard library import each other, whatever files stand beside the script; no path is spelled so.
std::string libraryKey(const std::string& name) { return ":" + name; }
}  // namespace

void Units::resolveNames(Unit& unit, size_t from) {
  const auto moduleAt = [&](const std::string& path) {
    const auto found = modules_.find(inLibrary(unit) ? libraryKey(path) : path);
    return found == modules_.end() || !found->second ? nullptr : found->second->resolution.get();
  };
  if (unit.resolution)
    unit.resolution->extend(moduleAt);
  else if (unit.isScript)
    unit.resolution =
        std::make_unique<Resolution>(*unit.file, moduleAt, context_.options.values, context_.options.kept);
  else
    unit.resolution = std::make_unique<Resolution>(*unit.file, moduleAt);
  unit.resolution->unit = &unit;
  // Of the standard library only what is needed is there.
  if (inLibrary(unit)) return;
  checkAliases(unit);
  for (const auto& statement : std::span(unit.file->statements).subspan(from))
    if (statement) checkDims(unit, *statement);
}

namespace {
/// Where in a type a name stands for several dims: `...S`.
void packsIn(const ast::TypeExpr& t, std::vector<Span>& packs) {
  if (t.kind == ast::TypeExpr::Kind::Pack && !t.path.empty()) packs.push_back(t.path[0].span);
  for (const ast::TypePtr& a : t.args)
    if (a) packsIn(*a, packs);
}
}  // namespace

namespace {
/// Where a type leaves something open: `_`.
void openIn(const ast::TypeExpr& t, std::vector<Span>& open) {
  if (t.kind == ast::TypeExpr::Kind::Path && t.path.size() == 1 && t.path[0].text == "_") open.push_back(t.span);
  for (const ast::TypePtr& a : t.args)
    if (a) openIn(*a, open);
}
}  // namespace

/// Names in the shapes of a struct or an alias are listed, or known where it stands: otherwise values of one type would
/// differ in shape.
void Units::checkDims(const Unit& unit, const ast::Stmt& s) {
  const bool isStruct = s.kind == StmtKind::Struct;
  if (!isStruct && s.kind != StmtKind::TypeAlias) return;
  const std::string what = isStruct ? "struct" : "type";
  std::vector<Span> packs, open;
  const auto look = [&](const ast::TypePtr& t) {
    if (!t) return;
    packsIn(*t, packs);
    openIn(*t, open);
  };
  for (const ast::Field& f : s.fields) look(f.type);
  look(s.type);
  for (const Span& span : open) {
    context_.error(Code::E0102, span, "`_` is not the name of a dim")
        .help("a dim of a " + what + " is a number, a `const`, or a name that is listed after its own: `" + what + " " +
              s.name.text + "[N]`");
  }
  std::vector<const Use*> unknown;
  std::string missing;
  for (const Use& u : unit.resolution->within(s.span)) {
    if (u.declaration || !u.inShape) continue;
    if (std::ranges::any_of(unknown, [&](const Use* other) { return other->name == u.name; })) continue;
    unknown.push_back(&u);
    if (scriptVariable(unit.file, u.name)) continue;
    const bool pack = std::ranges::find(packs, u.span) != packs.end();
    missing += (missing.empty() ? "" : ", ") + std::string(pack ? "..." : "") + std::string(u.name);
  }
  for (const Use* u : unknown) {
    auto d = context_.error(Code::E0102, u->span, "unknown name `" + std::string(u->name) + "`");
    if (const ast::Stmt* variable = scriptVariable(unit.file, u->name)) {
      d.note(variable->pattern.span, "bound by the script here; " + what + "s do not see its variables");
      d.help("make it a `const`, or a dim of the " + what + ": `" + what + " " + s.name.text + "[" +
             std::string(u->name) + "]" + (isStruct ? " { ... }`" : " = ...`"));
    } else if (!missing.empty()) {
      // One help lists all.
      const Span last = s.generics.empty() ? s.name.span : s.generics.back().span;
      const std::string list = s.generics.empty() ? "[" + missing + "]" : ", " + missing;
      d.help("the dims of a " + what + " are listed after its name", {{Span{last.file, last.end, last.end}, list}});
      missing.clear();
    }
  }
}

std::vector<const ast::Stmt*> Unit::aliasesIn(const ast::Stmt& alias) const {
  std::vector<const ast::Stmt*> found;
  for (const Use& u : resolution->within(alias.span)) {
    const Declaration* d = u.declaration;
    const bool own = d && d->kind == Declaration::Kind::Alias && d->home == resolution.get();
    if (own && aliases.contains(d->name) && aliases.find(d->name)->second == d->statement)
      found.push_back(d->statement);
  }
  return found;
}

void Units::checkAliases(const Unit& unit) {
  struct Step {
    const ast::Stmt* alias;
    std::vector<const ast::Stmt*> parts;
    size_t next = 0;
  };
  std::set<const ast::Stmt*> seen;
  for (const auto& [name, first] : unit.aliases) {
    if (!seen.insert(first).second) continue;
    std::vector<Step> way;
    way.push_back({first, unit.aliasesIn(*first)});
    std::set<const ast::Stmt*> open = {first};
    while (!way.empty()) {
      Step& top = way.back();
      if (top.next == top.parts.size()) {
        open.erase(top.alias);
        way.pop_back();
        continue;
      }
      const ast::Stmt* part = top.parts[top.next++];
      if (open.contains(part)) {
        if (!unit.evaluated.contains(part->name.text))
          unit.evaluated[part->name.text] =
              context_.fail(Code::E0109, part->name.span, "the type `" + part->name.text + "` is made of itself");
        for (auto s = way.rbegin(); s->alias != part; ++s) unit.evaluated[s->alias->name.text] = context_.lost();
      } else if (seen.insert(part).second) {
        open.insert(part);
        way.push_back({part, unit.aliasesIn(*part)});
      }
    }
  }
}

Unit& Units::addScript(const ast::File& file) {
  auto unit = std::make_unique<Unit>();
  unit->isScript = true;
  unit->source = file.source;
  unit->file = &file;
  return *units_.emplace_back(std::move(unit));
}

const Unit* Units::import(const std::string& name, Span span, bool byLibrary) {
  const std::string key = byLibrary ? libraryKey(name) : name;
  if (auto it = modules_.find(key); it != modules_.end()) {
    if (reading_.contains(key)) context_.fail(Code::E0110, span, "module `" + name + "` imports itself");
    if (it->second && inLibrary(*it->second)) extendLibrary();
    return it->second;
  }
  std::optional<uint32_t> source;
  if (byLibrary) {
    if (const auto text = stdModule(name)) {
      source = context_.sources.add("std/" + name + ".tl", std::string(*text));
      context_.sources.markLibrary(*source);
    }
  } else {
    source = findBeside(name);
    if (!source && stdModule(name)) return modules_[name] = import(name, span, true);
  }
  if (!source) {
    auto d = context_.error(Code::E0110, span, "there is no module `" + name + "`");
    d.note("it is looked for beside the script and in the standard library");
    if (const ast::File* file = fileOf(context_)) {
      const ast::Stmt* statement = placeIn(*file, span).statement;
      std::string path = name;
      std::replace(path.begin(), path.end(), '/', '.');
      const auto instead = syntax::importedInstead(path, {});
      if (statement && instead) {
        const Edit gone = syntax::removed(context_.sources, statement->span);
        const syntax::Familiar* known = syntax::familiarName(path);
        if (const auto mode = trainingMode(*file)) {
          d.label(mode->call, "a network in training mode");
          d.help(mode->help);
          modules_[key] = nullptr;
          return nullptr;
        }
        // What could not be read decides which functions there are.
        if (const auto hidden = hasUnread(*file) ? std::nullopt : hiddenMethod(*file)) {
          d.label(hidden->call, "called here");
          d.help(hidden->help);
          modules_[key] = nullptr;
          return nullptr;
        }
        if (const auto counted = countedTwice(*file)) {
          d.label(counted->call, "counted here");
          d.help(counted->help);
          modules_[key] = nullptr;
          return nullptr;
        }
        if (const auto untrained = untrainedTensor(*file)) {
          d.label(untrained->binding, "bound here");
          d.help(untrained->help);
          modules_[key] = nullptr;
          return nullptr;
        }
        const bool told = known && !known->help.empty() && !known->prefix && syntax::familiarCalls(path).empty();
        std::vector<Edit> edits{instead->empty() ? gone : Edit{statement->span, *instead}};
        std::string help = !instead->empty() ? "write `" + *instead + "`"
                           : told            ? std::string(known->help)
                                             : "operations have no prefix, and nothing is imported for them";
        const std::vector<Edit> sums = sumsOfRows(context_.sources, *file, *statement);
        if (!sums.empty()) help += "; Python's `sum` adds the rows of a matrix: `sum(m, axis: 0)`";
        edits.insert(edits.end(), sums.begin(), sums.end());
        d.help(help, std::move(edits));
        modules_[key] = nullptr;
        return nullptr;
      }
      // `import nn.linear`
      const size_t slash = name.rfind('/');
      const std::string module = slash == std::string::npos ? "" : name.substr(0, slash);
      if (statement && !module.empty() && (findBeside(module) || stdModule(module))) {
        std::replace(path.begin(), path.end(), '/', '.');
        d.help("names of a module stand after a colon",
               {{statement->span, "import " + path.substr(0, slash) + ": " + path.substr(slash + 1)}});
        modules_[key] = nullptr;
        return nullptr;
      }
    }
    suggest(d, name, span, std::vector<std::string>(stdModuleNames().begin(), stdModuleNames().end()),
            syntax::familiarName(name), Among::Few);
    modules_[key] = nullptr;
    return nullptr;
  }
  modules_[key] = nullptr;
  auto unit = std::make_unique<Unit>();
  unit->name = name;
  unit->key = key;
  unit->source = *source;
  unit->owned = inLibrary(*unit) ? library_.open(*source, wholeLibrary_)
                                 : syntax::parse(context_.sources, *source, context_.diags);
  if (!unit->owned) return nullptr;
  unit->file = unit->owned.get();
  {
    reading_.insert(key);
    Frame own(unit.get());
    const FrameScope inside(context_.frames, own);
    collect(*unit);
    reading_.erase(key);
  }
  units_.push_back(std::move(unit));
  return modules_[key] = units_.back().get();
}

std::optional<uint32_t> Units::findBeside(const std::string& name) {
  // Beside the script first, then where the command line says.
  const std::string& beside = context_.sources.file(script().source).name();
  const size_t slash = beside.rfind('/');
  std::vector<std::string> folders = {slash == std::string::npos ? "" : beside.substr(0, slash)};
  folders.insert(folders.end(), context_.options.importPaths.begin(), context_.options.importPaths.end());
  for (const std::string& folder : folders) {
    const std::string path = (folder.empty() ? "" : folder + "/") + name + ".tl";
    if (path == beside) continue;  // a script called amp.tl may import the standard library's amp
    std::error_code none;          // what is no file holds no module: a pipe would be waited for
    std::ifstream in;
    if (std::filesystem::is_regular_file(path, none)) in.open(path, std::ios::binary);
    if (!in.is_open()) {
      context_.out.read.missing.push_back(path);
      continue;
    }
    std::ostringstream text;
    text << in.rdbuf();
    return context_.out.read.modules.emplace_back(context_.sources.add(path, text.str()));
  }
  return std::nullopt;
}

std::vector<const Unit*> Units::ownModules() const {
  std::vector<const Unit*> own;
  for (const auto& unit : units_)
    if (!unit->isScript && !inLibrary(*unit)) own.push_back(unit.get());
  return own;
}

bool Units::inLibrary(const Unit& unit) const { return context_.sources.file(unit.source).isLibrary; }

void Units::extendLibrary() {
  library_.extend([&](uint32_t source, std::unique_ptr<ast::File> part) {
    const auto unit = std::find_if(units_.begin(), units_.end(), [&](const auto& u) { return u->source == source; });
    if (unit == units_.end()) return;  // still being read: it needs no more for itself
    auto& statements = (*unit)->owned->statements;
    const size_t known = statements.size();
    std::move(part->statements.begin(), part->statements.end(), std::back_inserter(statements));
    Frame own(unit->get());
    const FrameScope inside(context_.frames, own);
    collect(**unit, known);
  });
}

void Units::takeOptions(const Unit& script) { constants_.takeOptions(*script.file); }

void Units::collectParams(const Unit& unit) {
  for (const auto& statement : unit.file->statements) {
    if (!statement || statement->kind != StmtKind::Param) continue;
    const ast::Stmt& s = *statement;
    constants_.paramOf(s);
    context_.out.params.push_back({s.name.text, s.type ? std::string(context_.sources.text(s.type->span)) : "",
                                   s.value ? std::string(context_.sources.text(s.value->span)) : "", s.doc});
  }
  for (const auto& [name, value] : context_.options.params) {
    if (unit.params.count(name)) continue;
    std::vector<std::string> names;
    for (const auto& [n, s] : unit.params) names.push_back(n);
    auto d = context_.error(Code::E0504, {}, "the script has no param `" + name + "`");
    if (std::string near = nearest(name, names); !near.empty()) {
      d.help("did you mean `--" + near + "`?");
    } else {
      std::string all;
      for (const std::string& n : names) all += (all.empty() ? "it has `--" : ", `--") + n + "`";
      d.note(all.empty() ? "it has none" : all);
    }
  }
}

void Units::checkDefaultDevice(const Unit& unit) {
  const std::string& name = context_.options.defaultDevice;
  if (unit.devices.contains(name) || context_.options.machine.has(ir::DeviceTable::normal(name))) return;
  const std::string there = context_.options.machine.nearest(name);
  context_.error(Code::E0304, {}, "there is no device `" + name + "`, which `--default-device` asks for")
      .note(context_.options.machine.text())
      .help("`--default-device " + there + "` creates tensors on one that is there");
  context_.module.defaultDevice = ir::DeviceTable::kHost;
}

}  // namespace tenc::frontend
