// The entry of lowering: units and their declarations, imports, the script's body, tests, benches, uncalled functions.
#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "frontend/Lowering.h"
#include "frontend/StdModules.h"
#include "frontend/names/Scan.h"

namespace tenc::frontend {

namespace {
using Kind = Val::Kind;
using StmtKind = ast::Stmt::Kind;
using ir::OpKind;

bool isDeclaration(const ast::Stmt& s) { return s.kind <= StmtKind::Bench; }

/// Drops the functions that the script, its tests and benches do not come to: those of one instance, of which `vmap`
/// has made functions of all.
void dropUncalled(ir::Module& module, const Lowered& out) {
  std::map<std::string, const ir::Func*, std::less<>> byName;
  for (const auto& f : module.funcs) byName.emplace(f->name, f.get());
  std::set<const ir::Func*> kept;
  std::function<void(const ir::Region&)> walk;
  const auto keep = [&](const std::string& name) {
    auto it = byName.find(name);
    if (it != byName.end() && kept.insert(it->second).second) walk(*it->second->body);
  };
  walk = [&](const ir::Region& region) {
    for (const auto& op : region.ops) {
      if (op->kind == OpKind::Call) keep(op->stringAttr("callee"));
      for (const auto& inner : op->regions) walk(*inner);
    }
  };
  keep("main");
  for (const auto& test : out.tests) keep(test.func);
  for (const auto& bench : out.benches) keep(bench.func);
  std::erase_if(module.funcs, [&](const auto& f) { return !kept.contains(f.get()); });
}
}  // namespace

Lowering::Lowering(SourceManager& sourceManager, Diagnostics& diagnostics, const Options& opts, Lowered& lowered,
                   bool whole)
    : sources(sourceManager),
      diags(diagnostics),
      options(opts),
      out(lowered),
      module(*lowered.module),
      library(sourceManager, diagnostics),
      wholeLibrary(whole) {
  module.defaultDevice = opts.defaultDevice;
}

bool Lowering::declareOnce(Unit& unit, const ast::Name& name) {
  auto [it, fresh] = unit.declared.try_emplace(name.text, name.span);
  if (fresh) return true;
  error(Code::E0103, name.span, "`" + name.text + "` is declared twice").note(it->second, "first declared here");
  return false;
}

void Lowering::collect(Unit& unit, size_t from) {
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
        if (declareOnce(unit, s.name)) unit.devices[name] = &s;
        break;
      case StmtKind::TypeAlias:
        if (declareOnce(unit, s.name)) unit.aliases[name] = &s;
        break;
      case StmtKind::Struct:
        if (declareOnce(unit, s.name)) unit.structs[name] = {&s, &unit};
        break;
      case StmtKind::Fn:
        if (auto it = unit.declared.find(name); it != unit.declared.end()) {
          error(Code::E0103, s.name.span, "`" + name + "` is declared twice").note(it->second, "first declared here");
        } else {
          FnDecl& decl = unit.functions[name].emplace_back(FnDecl{&s, &unit, {}});
          for (const ast::FnParam& p : s.params) {
            if (p.type) namesInShapes(*p.type, false, decl.dims);
          }
          if (s.type) namesInShapes(*s.type, false, decl.dims);
        }
        break;
      case StmtKind::Import: {
        std::string path;
        for (const ast::Name& p : s.path) path += (path.empty() ? "" : "/") + p.text;
        const Unit* imported = s.path.empty() ? nullptr : import(path, s.path.back().span);
        if (!imported) {
          // One error is enough: what the import would have brought is poison.
          if (s.names.empty() && !s.path.empty())
            unit.evaluated[s.path.back().text] = unit.evaluated[s.path.front().text] = Val::none();
          for (const ast::Name& n : s.names) unit.evaluated[n.text] = Val::none();
          break;
        }
        if (s.names.empty()) unit.modules[s.path.back().text] = imported;
        for (const ast::Name& n : s.names) {
          const bool exists = imported->declared.count(n.text) || imported->functions.count(n.text);
          if (!exists) {
            std::vector<std::string> names;
            for (const auto& [known, at] : imported->declared) names.push_back(known);
            for (const auto& [known, list] : imported->functions) names.push_back(known);
            auto d = error(Code::E0102, n.span, "module `" + path + "` has no `" + n.text + "`");
            if (isBuiltin(n.text))
              d.help("`" + n.text + "` is built in: it needs no import");
            else
              suggest(d, n.text, n.span, names, nullptr);
            unit.evaluated[n.text] = Val::none();
            continue;
          }
          unit.names[n.text] = {imported, n.text};
        }
        break;
      }
      default:
        if (!unit.isScript && !isDeclaration(s) && s.kind != StmtKind::Error) {
          fail(Code::E0108, s.span, "a module holds declarations only");
        }
        break;
    }
  }
  resolveNames(unit, from);
  // Functions of one name differ by the head of their first parameter, and share it with nothing else.
  for (const auto& [name, list] : unit.functions) {
    if (auto it = unit.declared.find(name); it != unit.declared.end()) {
      error(Code::E0103, list[0].stmt->name.span, "`" + name + "` is declared twice")
          .note(it->second, "first declared here");
    }
    std::map<std::string, Span> heads;
    for (const FnDecl& d : list) {
      const auto& params = d.stmt->params;
      auto [it, fresh] =
          heads.try_emplace(params.empty() ? "none" : headOf(params[0].type.get(), d), d.stmt->name.span);
      if (fresh) continue;
      error(Code::E0103, d.stmt->name.span, "`" + name + "` is declared twice for the same kind of first parameter")
          .note(it->second, "first declared here");
    }
  }
  auto checkTwice = [&](auto&& list, const char* what) {
    std::set<std::string> seen;
    for (const auto& x : list) {
      if (!seen.insert(x.name.text).second) {
        fail(Code::E0103, x.name.span, std::string(what) + " `" + x.name.text + "` is declared twice");
      }
    }
  };
  for (const auto& statement : statements) {
    if (!statement) continue;
    if (statement->kind == StmtKind::Struct) checkTwice(statement->fields, "the field");
    if (statement->kind == StmtKind::Fn) checkTwice(statement->params, "the parameter");
    checkTwice(statement->generics, "the type parameter");
  }
}

void Lowering::resolveNames(Unit& unit, size_t from) {
  const auto moduleAt = [&](const std::string& path) {
    const auto found = modules_.find(path);
    return found == modules_.end() || !found->second ? nullptr : found->second->resolution.get();
  };
  if (unit.resolution)
    unit.resolution->extend(moduleAt);
  else
    unit.resolution = std::make_unique<Resolution>(*unit.file, moduleAt);
  // Of the standard library only what is needed is there.
  if (sources.file(unit.source).isLibrary) return;
  for (const auto& statement : std::span(unit.file->statements).subspan(from)) {
    if (!statement || statement->kind != StmtKind::Struct) continue;
    const std::string& name = statement->name.text;
    std::set<std::string_view> reported;
    for (const Use& u : unit.resolution->within(statement->span)) {
      if (u.declaration || !u.inShape || !reported.insert(u.name).second) continue;
      auto d = error(Code::E0102, u.span, "unknown name `" + std::string(u.name) + "`");
      std::string listed = "`struct " + name + "[";
      for (const ast::Generic& g : statement->generics) listed += std::string(sources.text(g.span)) + ", ";
      listed += std::string(u.name) + "] { ... }`";
      if (const ast::Stmt* variable = scriptVariable(unit.file, u.name)) {
        d.note(variable->pattern.span, "bound by the script here; structs do not see its variables");
        d.help("make it a `const`, or a dim of the struct: " + listed);
      } else {
        d.help("a dim of the struct is listed: " + listed);
      }
    }
  }
}

const Unit* Lowering::import(const std::string& name, Span span) {
  if (auto it = modules_.find(name); it != modules_.end()) {
    if (!it->second) fail(Code::E0110, span, "module `" + name + "` imports itself");
    if (it->second && sources.file(it->second->source).isLibrary) extendLibrary();
    return it->second;
  }
  std::optional<uint32_t> source;
  // Beside the script first, then where the command line says.
  const std::string& script = sources.file(units_.front()->source).name();
  const size_t slash = script.rfind('/');
  std::vector<std::string> folders = {slash == std::string::npos ? "" : script.substr(0, slash)};
  folders.insert(folders.end(), options.importPaths.begin(), options.importPaths.end());
  for (const std::string& folder : folders) {
    const std::string path = (folder.empty() ? "" : folder + "/") + name + ".tl";
    std::ifstream in(path, std::ios::binary);
    if (!in) continue;
    std::ostringstream text;
    text << in.rdbuf();
    source = sources.add(path, text.str());
    break;
  }
  if (!source) {
    if (auto text = stdModule(name)) {
      source = sources.add("std/" + name + ".tl", std::string(*text));
      sources.markLibrary(*source);
    }
  }
  if (!source) {
    auto d = error(Code::E0110, span, "there is no module `" + name + "`");
    d.note("it is looked for beside the script and in the standard library");
    suggest(d, name, span, {"nn", "init", "optim", "amp", "data", "image"}, syntax::familiarName(name));
    modules_[name] = nullptr;
    return nullptr;
  }
  modules_[name] = nullptr;  // while it is being read
  auto unit = std::make_unique<Unit>();
  unit->name = name;
  unit->source = *source;
  const bool inLibrary = sources.file(*source).isLibrary;
  unit->owned = inLibrary ? library.open(*source, wholeLibrary) : syntax::parse(sources, *source, diags);
  if (!unit->owned) return nullptr;
  unit->file = unit->owned.get();
  auto own = std::make_unique<Frame>();
  own->unit = unit.get();
  own->scopes.emplace_back();
  frames_.push_back(std::move(own));
  collect(*unit);
  frames_.pop_back();
  units_.push_back(std::move(unit));
  return modules_[name] = units_.back().get();
}

void Lowering::extendLibrary() {
  library.extend([&](uint32_t source, std::unique_ptr<ast::File> part) {
    const auto unit = std::find_if(units_.begin(), units_.end(), [&](const auto& u) { return u->source == source; });
    if (unit == units_.end()) return;  // still being read: it needs no more for itself
    auto& statements = (*unit)->owned->statements;
    const size_t known = statements.size();
    std::move(part->statements.begin(), part->statements.end(), std::back_inserter(statements));
    auto own = std::make_unique<Frame>();
    own->unit = unit->get();
    own->scopes.emplace_back();
    frames_.push_back(std::move(own));
    collect(**unit, known);
    frames_.pop_back();
  });
}

void Lowering::collectParams(const Unit& unit) {
  for (const auto& statement : unit.file->statements) {
    if (!statement || statement->kind != StmtKind::Param) continue;
    const ast::Stmt& s = *statement;
    paramOf(s);
    out.params.push_back({s.name.text, s.type ? std::string(sources.text(s.type->span)) : "",
                          s.value ? std::string(sources.text(s.value->span)) : "", s.doc});
  }
  for (const auto& [name, value] : options.params) {
    if (unit.params.count(name)) continue;
    std::vector<std::string> names;
    for (const auto& [n, s] : unit.params) names.push_back(n);
    auto d = error(Code::E0504, {}, "the script has no param `" + name + "`");
    if (std::string near = nearest(name, names); !near.empty()) {
      d.help("did you mean `--" + near + "`?");
    } else {
      std::string all;
      for (const std::string& n : names) all += (all.empty() ? "it has `--" : ", `--") + n + "`";
      d.note(all.empty() ? "it has none" : all);
    }
  }
}

void Lowering::run(const ast::File& file) {
  auto script = std::make_unique<Unit>();
  script->isScript = true;
  script->source = file.source;
  script->file = &file;
  Unit& unit = *script;
  units_.push_back(std::move(script));
  ir::Func* main = module.addFunc("main");
  main->signature = "main";
  ir::Builder builder(main->body.get());
  Boundary boundary;
  boundary.wantsValue = options.session && givesValue(file);
  enterBody(&builder, &boundary);
  auto own = std::make_unique<Frame>();
  own->unit = &unit;
  own->scopes.emplace_back();
  frames_.push_back(std::move(own));
  declareInputs(*main);
  collect(unit);
  for (const auto& [name, s] : options.devices) {
    if (!unit.devices.count(name)) fail(Code::E0504, {}, "the script has no device `" + name + "`");
  }
  collectParams(unit);
  for (const auto& [name, s] : unit.devices) deviceOf(unit, *s);
  checkDefaultDevice(unit);
  for (const auto& [name, s] : unit.constants) constantOf(unit, *s);
  const Flow flow = lowerFrom(file.statements, 0, nullptr, nullptr);
  std::vector<ir::Value*> results;
  if (options.session) results = keepValues(file, boundary.wantsValue ? flow.value : Val::none());
  b().makeTyped(OpKind::Return, results, {});
  for (const ir::Value* v : results) main->resultTypes.push_back(v->type);
  frames_.pop_back();
  int number = 0;
  for (const auto& statement : file.statements) {
    if (!statement) continue;
    if (statement->kind == StmtKind::Test && options.tests) lowerCase(*statement, false, number++);
    if (statement->kind == StmtKind::Bench && options.benches) lowerCase(*statement, true, number++);
  }
  checkUnseen(unit);
  if (options.checkUncalled) {
    checkUncalled(unit);
  } else if (diags.ok()) {
    dropUncalled(module, out);
  }
}

void Lowering::checkNamesOf(const FnDecl& decl) {
  auto own = std::make_unique<Frame>();
  own->unit = decl.unit;
  own->scopes.emplace_back();
  frames_.push_back(std::move(own));
  checkNames(*decl.stmt);
  frames_.pop_back();
}

void Lowering::checkUnseen(const Unit& unit) {
  for (const auto& [name, list] : unit.functions) {
    for (const FnDecl& decl : list) {
      if (named_.contains(&decl) && !called_.contains(&decl)) checkNamesOf(decl);
    }
  }
}

void Lowering::checkDefaultDevice(const Unit& unit) {
  const std::string& name = options.defaultDevice;
  if (unit.devices.contains(name) || options.machine.has(ir::DeviceTable::normal(name))) return;
  const std::string there = options.machine.nearest(name);
  error(Code::E0304, {}, "there is no device `" + name + "`, which `--default-device` asks for")
      .note(options.machine.text())
      .help("`--default-device " + there + "` creates tensors on one that is there");
  module.defaultDevice = ir::DeviceTable::kHost;
}

void Lowering::lowerCase(const ast::Stmt& s, bool isBench, int number) {
  ir::Func* func = module.addFunc((isBench ? "bench." : "test.") + std::to_string(number));
  func->span = s.span;
  func->signature = func->name;
  ir::Builder builder(func->body.get());
  Boundary boundary;
  boundary.wantsValue = isBench;
  const BodyState outer = enterBody(&builder, &boundary);
  auto own = std::make_unique<Frame>();
  own->unit = units_.back().get();
  for (const auto& u : units_) {
    if (u->isScript) own->unit = u.get();
  }
  own->scopes.emplace_back();
  frames_.push_back(std::move(own));
  const Statements& body = s.body.statements;
  if (!isBench || body.empty()) {
    lowerBlock(s.body, nullptr, nullptr);
  } else {
    // Only the last statement is timed: what stands before makes its operands.
    Tail none{&body, body.size(), nullptr, 1, false};
    for (size_t i = 0; i + 1 < body.size(); ++i) {
      if (body[i]) lowerStatement(*body[i], false, none, nullptr);
    }
    at(s.span);
    ir::Op* op = b().makeTyped(OpKind::Bench, {}, {}, {{"name", s.title}});
    ir::Region* region = b().addRegion(op);
    std::vector<ir::Value*> values;
    inRegion(region, [&] {
      none.wanted = true;
      Val v = body.back() ? lowerStatement(*body.back(), true, none, nullptr).value : Val::none();
      leavesOf(materialise(v), values);
    });
    yield(region, values);
  }
  b().makeTyped(OpKind::Return, {}, {});
  frames_.pop_back();
  leaveBody(outer);
  (isBench ? out.benches : out.tests).push_back({s.title, func->name, s.span});
}

namespace {
/// Nobody mends the standard library: helps that would are dropped.
void dropLibraryEdits(const SourceManager& sources, Diagnostics& diags) {
  const auto edits = [&](const Help& h) {
    return std::any_of(h.edits.begin(), h.edits.end(), [&](const Edit& e) { return sources.inLibrary(e.span); });
  };
  for (size_t i = 0; i < diags.all().size(); ++i) {
    std::vector<Help> helps = diags.all()[i].helps;
    if (std::erase_if(helps, edits) > 0) diags.setHelps(i, std::move(helps));
  }
}
}  // namespace

Lowered lower(const ast::File& file, SourceManager& sources, Diagnostics& diags, const Options& options) {
  const Diagnostics before = diags;
  for (const bool wholeLibrary : {false, true}) {
    Lowered out;
    out.module = std::make_unique<ir::Module>();
    Lowering lowering(sources, diags, options, out, wholeLibrary);
    lowering.run(file);
    if (!diags.ok() && lowering.library.partial()) {
      diags = before;  // what errors propose is looked for in whole modules
      continue;
    }
    dropLibraryEdits(sources, diags);
    lowering.reportTooLarge(out.module->span(out.module->tooLarge.at));
    if (out.module->tooLarge.ever) out.module.reset();
    return out;
  }
  return {};
}

}  // namespace tenc::frontend
