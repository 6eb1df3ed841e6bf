// The entry of lowering: its parts, and how they know each other.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/Script.h"
#include "frontend/builtins/Builtins.h"
#include "frontend/calls/Calls.h"
#include "frontend/calls/Functions.h"
#include "frontend/calls/Instances.h"
#include "frontend/calls/Lambdas.h"
#include "frontend/calls/Overloads.h"
#include "frontend/calls/Parameters.h"
#include "frontend/calls/Tracer.h"
#include "frontend/calls/Transforms.h"
#include "frontend/calls/Uncalled.h"
#include "frontend/control/Assignments.h"
#include "frontend/control/Autocast.h"
#include "frontend/control/Bindings.h"
#include "frontend/control/Branches.h"
#include "frontend/control/Continuations.h"
#include "frontend/control/Loops.h"
#include "frontend/control/PlacedBlocks.h"
#include "frontend/control/Regions.h"
#include "frontend/control/Statements.h"
#include "frontend/control/UnusedValues.h"
#include "frontend/expressions/Conversions.h"
#include "frontend/expressions/Elementwise.h"
#include "frontend/expressions/Expressions.h"
#include "frontend/expressions/Formats.h"
#include "frontend/expressions/Indexing.h"
#include "frontend/expressions/Members.h"
#include "frontend/expressions/Operators.h"
#include "frontend/expressions/StructLiterals.h"
#include "frontend/habits/Habits.h"
#include "frontend/habits/OwnNames.h"
#include "frontend/habits/UnreadScript.h"
#include "frontend/names/Constants.h"
#include "frontend/names/Devices.h"
#include "frontend/names/Names.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/SessionValues.h"
#include "frontend/names/Units.h"
#include "frontend/names/UnknownNames.h"
#include "frontend/types/Aliases.h"
#include "frontend/types/DimSolver.h"
#include "frontend/types/Structs.h"
#include "frontend/types/Types.h"
#include "frontend/types/Unifier.h"
#include "frontend/values/Evaluator.h"
#include "frontend/values/PlacingOps.h"
#include "frontend/values/Tensors.h"

namespace tenc::frontend {

namespace {
/// The parts of lowering, each with those that it uses.
struct Parts {
  Context context;
  const bool wholeLibrary;
  Scopes scopes{context};
  UnknownNames unknownNames{context, scopes, habits};
  Names names{context, scopes, unknownNames, constants, devices, types};
  Constants constants{context, types, expressions};
  Devices devices{context, scopes, unknownNames, names, evaluator, expressions, members};
  Units units{context, constants, overloads, wholeLibrary};
  SessionValues sessionValues{context, scopes, units, structs, tensors, calls};
  Evaluator evaluator{context};
  Tensors tensors{context, placing};
  PlacingOps placing{context, tensors};
  Types types{context, scopes, unknownNames, names, devices, evaluator, aliases, structs};
  Aliases aliases{context, types, expressions};
  Structs structs{context, names, tensors, placing, types, aliases, unifier, dimSolver};
  Unifier unifier{context, evaluator, tensors, types, aliases, structs, dimSolver};
  DimSolver dimSolver{context, scopes, evaluator, types};
  Elementwise elementwise{context, tensors};
  Operators operators{context, devices, evaluator, tensors, elementwise};
  Conversions conversions{context, tensors, types, structs};
  Expressions expressions{context,     scopes,    unknownNames, names,    tensors,        placing,
                          elementwise, operators, members,      indexing, structLiterals, formats,
                          statements,  branches,  placedBlocks, regions,  calls,          habits};
  Members members{context, names, tensors};
  Indexing indexing{context, evaluator, tensors, operators, expressions};
  StructLiterals structLiterals{context, evaluator, types, aliases, structs, expressions};
  Formats formats{context, devices, tensors, expressions};
  Statements statements{context,     scopes,   tensors,       types,        expressions, formats, bindings,
                        assignments, branches, continuations, placedBlocks, loops,       unused};
  UnusedValues unused{context, scopes};
  Bindings bindings{context, scopes, tensors, placing, types, unifier, dimSolver, expressions};
  Assignments assignments{context, scopes,  unknownNames, names,       tensors,
                          placing, unifier, operators,    expressions, indexing};
  Branches branches{context, scopes, unknownNames, expressions, statements, continuations, regions, placing};
  Continuations continuations{context, statements, regions, placing};
  Autocast autocast{context, evaluator, expressions};
  PlacedBlocks placedBlocks{context, scopes, devices, autocast, continuations, regions};
  Loops loops{context,    scopes,   evaluator, tensors,       placing, expressions,
              statements, bindings, branches,  continuations, regions};
  Regions regions{context, tensors, placing};
  Calls calls{context, scopes,  names,     devices,    placing, conversions, expressions,
              members, lambdas, overloads, transforms, habits,  builtins};
  Lambdas lambdas{context, scopes, tensors, placing, types, unifier, dimSolver, expressions, statements, bindings};
  Overloads overloads{context, types, functions};
  Functions functions{context, devices, tensors, types, aliases, unifier, dimSolver, expressions, overloads, instances};
  Instances instances{context, scopes, devices, autocast, tensors, types, unifier, dimSolver, expressions, statements};
  Tracer tracer{context, structs, instances};
  Parameters parameters{context, names, types, overloads};
  Transforms transforms{{context, evaluator, tensors, structs, placing, parameters, tracer, calls}};
  Uncalled uncalled{context, unknownNames, tensors, types, aliases, structs, unifier, functions, instances};
  Habits habits{context, scopes};
  Builtins builtins{{context, evaluator, tensors, elementwise, operators, structs, regions, calls, devices, placing,
                     transforms, tracer, formats}};
  Script script{context, constants, devices, units, sessionValues, tensors, statements, regions, uncalled, habits};
};

/// What is wrong in a call of the standard library is told once, and at the call alone: its source is not shown, and
/// nobody mends it.
void hideLibrary(const SourceManager& sources, Diagnostics& diags) {
  const auto isInside = [&](const Diagnostic& d) {
    return !sources.inLibrary(d.span) &&
           std::ranges::any_of(d.notes, [&](const Note& n) { return sources.inLibrary(n.span) && !n.isCall; });
  };
  const auto edits = [&](const Help& h) {
    return std::any_of(h.edits.begin(), h.edits.end(), [&](const Edit& e) { return sources.inLibrary(e.span); });
  };
  for (size_t i = 0; i < diags.all().size(); ++i) {
    std::vector<Help> helps = diags.all()[i].helps;
    if (std::erase_if(helps, edits) > 0) diags.setHelps(i, std::move(helps));
  }
  std::vector<Diagnostic> all = diags.take(0), kept;
  for (Diagnostic& d : all) {
    const bool inside = isInside(d);
    const auto isSame = [&](const Diagnostic& k) { return k.code == d.code && k.span == d.span && isInside(k); };
    if (inside && std::ranges::any_of(kept, isSame)) continue;
    if (inside) std::erase_if(d.labels, [&](const Label& l) { return sources.inLibrary(l.span); });
    kept.push_back(std::move(d));
  }
  diags.add(std::move(kept));
}
}  // namespace

Lowered lower(const ast::File& file, SourceManager& sources, Diagnostics& diags, const Options& options) {
  const Diagnostics before = diags;
  const UnreadScript unread(file, sources, diags);
  for (const bool wholeLibrary : {false, true}) {
    Lowered out;
    out.module = std::make_unique<ir::Module>();
    Parts parts{{sources, diags, options, out}, wholeLibrary};
    parts.script.run(file);
    if (!diags.ok() && parts.units.libraryIsPartial()) {
      diags = before;  // what errors propose is looked for in whole modules
      continue;
    }
    hideLibrary(sources, diags);
    withholdHidden(file, sources, diags);
    unread.withhold(parts.context, diags);
    parts.context.reportTooLarge(out.module->span(out.module->tooLarge.at));
    if (out.module->tooLarge.ever) out.module.reset();
    return out;
  }
  return {};
}

}  // namespace tenc::frontend
