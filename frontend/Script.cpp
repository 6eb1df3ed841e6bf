// The body of the script, its tests and benches.
#include "frontend/Script.h"

#include <string>
#include <vector>

#include "frontend/Context.h"
#include "frontend/Scoped.h"
#include "frontend/calls/Uncalled.h"
#include "frontend/control/Flow.h"
#include "frontend/control/Regions.h"
#include "frontend/control/Statements.h"
#include "frontend/habits/Habits.h"
#include "frontend/habits/Libraries.h"
#include "frontend/names/Constants.h"
#include "frontend/names/Devices.h"
#include "frontend/names/Frame.h"
#include "frontend/names/SessionValues.h"
#include "frontend/names/Unit.h"
#include "frontend/names/Units.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"
#include "ir/CallGraph.h"

namespace tenc::frontend {

namespace {
using StmtKind = ast::Stmt::Kind;
using ir::OpKind;

/// What runs: the script, its tests and benches. Transforms leave functions that none of these come to, such as those
/// of one instance, of which `vmap` has made functions of all.
std::vector<std::string_view> entries(const Lowered& out) {
  std::vector<std::string_view> names{"main"};
  for (const auto& test : out.tests) names.push_back(test.func);
  for (const auto& bench : out.benches) names.push_back(bench.func);
  return names;
}
}  // namespace

void Script::run(const ast::File& file) {
  Unit& unit = units_.addScript(file);
  ir::Func* main = context_.module.addFunc("main");
  main->signature = "main";
  ir::Builder builder(main->body.get());
  Boundary boundary;
  boundary.wantsValue = context_.options.session && sessionValues_.givesValue(file);
  const Scoped inside(context_.body, context_.body.called(builder, boundary));
  {
    Frame own(&unit);
    const FrameScope names(context_.frames, own);
    const std::vector<ir::Value*> inputs = sessionValues_.declareInputs(*main);
    units_.takeOptions(unit);
    units_.collect(unit);
    for (const auto& [name, s] : context_.options.devices) {
      if (!unit.devices.count(name)) context_.fail(Code::E0504, {}, "the script has no device `" + name + "`");
    }
    units_.collectParams(unit);
    for (const auto& [name, s] : unit.devices) devices_.deviceOf(unit, *s);
    units_.checkDefaultDevice(unit);
    for (const auto& [name, s] : unit.constants) constants_.constantOf(unit, *s);
    sessionValues_.bindInputs(inputs);
    if (!context_.out.unfit.empty()) return;
    StatementList statements = file.statements;
    while (!context_.options.kept.trees.empty() && !statements.empty() &&
           !(statements[0] && statements[0]->span.file == file.source)) {  // of earlier entries
      statements_.lowerFrom(statements.first(1), nullptr, nullptr);
      if (statements[0]) sessionValues_.bindTrees(*statements[0]);
      statements = statements.subspan(1);
    }
    const Flow flow = statements_.lowerFrom(statements, nullptr, nullptr);
    if (imports(file, "torch") && !unit.modules.contains("torch")) habits_.methodsOfTorch(file);
    std::vector<ir::Value*> results;
    if (context_.options.session) results = sessionValues_.keepValues(file, boundary.wantsValue ? flow.value : Val());
    context_.b().makeTyped(OpKind::Return, results, {});
    for (const ir::Value* v : results) main->resultTypes.push_back(v->type);
  }
  int number = 0;
  for (const auto& statement : file.statements) {
    if (!statement) continue;
    if (statement->kind == StmtKind::Test && context_.options.tests) lowerCase(*statement, false, number++);
    if (statement->kind == StmtKind::Bench && context_.options.benches) lowerCase(*statement, true, number++);
  }
  uncalled_.checkUnseen(unit);
  // An entry of a session keeps only functions that are right.
  if (context_.options.session && context_.diags.ok())
    uncalled_.checkUncalledOf(unit, file.source);
  else if (!context_.options.checkUncalled && context_.diags.ok())
    uncalled_.checkTypes(unit);
  if (context_.options.checkUncalled) {
    uncalled_.checkUncalled(unit);
    for (const Unit* module : units_.ownModules()) {
      for (const auto& [name, s] : module->devices) devices_.deviceOf(*module, *s);
      for (const auto& [name, s] : module->constants) constants_.constantOf(*module, *s);
      uncalled_.checkUncalled(*module);
    }
    // What the library's functions do is of interest where something calls them.
    if (context_.diags.ok()) {
      std::vector<std::string_view> own = entries(context_.out);
      for (const auto& f : context_.module.funcs)
        if (!context_.sources.inLibrary(f->span)) own.push_back(f->name);
      ir::dropUncalled(context_.module, own, context_.options.oracle);
    }
  } else if (context_.diags.ok()) {
    ir::dropUncalled(context_.module, entries(context_.out), context_.options.oracle);
  }
}

void Script::lowerCase(const ast::Stmt& s, bool isBench, int number) {
  ir::Func* func = context_.module.addFunc((isBench ? "bench." : "test.") + std::to_string(number));
  func->kind = ir::Func::Kind::Case;
  func->span = s.span;
  func->signature = func->name;
  ir::Builder builder(func->body.get());
  Boundary boundary;
  boundary.wantsValue = isBench;
  const Scoped inside(context_.body, context_.body.called(builder, boundary));
  context_.body.isTest = !isBench;
  Frame own(&units_.script());
  const FrameScope names(context_.frames, own);
  const StatementList body = s.body.statements;
  if (!isBench || body.empty()) {
    statements_.lowerBlock(s.body, nullptr, nullptr);
  } else {
    // Only the last statement is timed: what stands before makes its operands.
    Tail none{{}, nullptr, 1, false};
    for (size_t i = 0; i + 1 < body.size(); ++i) {
      if (body[i]) statements_.lowerStatement(*body[i], false, none, nullptr);
    }
    context_.at(s.span);
    ir::Op* op = context_.b().makeTyped(OpKind::Bench, {}, {}, {{"name", s.title}});
    ir::Region* region = context_.b().addRegion(op);
    std::vector<ir::Value*> values;
    context_.inRegion(region, [&] {
      none.wanted = true;
      Val v = body.back() ? statements_.lowerStatement(*body.back(), true, none, nullptr).value : context_.lost();
      leavesOf(tensors_.materialise(v), values);
    });
    regions_.yield(region, values);
  }
  context_.b().makeTyped(OpKind::Return, {}, {});
  (isBench ? context_.out.benches : context_.out.tests).push_back({s.title, func->name, s.span});
}

}  // namespace tenc::frontend
