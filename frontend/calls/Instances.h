// Instances of functions: one ir::Func for concrete argument types, dims and compile-time values.
#pragma once
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/names/Frame.h"
#include "frontend/types/Generics.h"
#include "frontend/values/Keys.h"
#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Scopes;
class Devices;
class Autocast;
class Tensors;
class Types;
class Unifier;
class DimSolver;
class Expressions;
class Statements;

/// A lowered instance of a function: concrete arguments, one ir::Func.
struct Instance {
  ir::Func* func = nullptr;
  Val result;  ///< shape of the result: tensors are only types here, see `rebuild`
  std::vector<ir::Type> resultTypes;
  std::vector<size_t> kept;  ///< in training: the leaves of arguments that change, each a result behind the others
  bool failed = false;
};

/// Lowers functions, once for each list of arguments that differ in more than run-time values.
class Instances {
 public:
  Instances(Context& context, Scopes& scopes, Devices& devices, Autocast& autocast, Tensors& tensors, Types& types,
            Unifier& unifier, DimSolver& dimSolver, Expressions& expressions, Statements& statements)
      : context_(context),
        scopes_(scopes),
        devices_(devices),
        autocast_(autocast),
        tensors_(tensors),
        types_(types),
        unifier_(unifier),
        dimSolver_(dimSolver),
        expressions_(expressions),
        statements_(statements) {}

  /// `written`: where the call writes each argument.
  Val instantiate(const FnDecl& decl, std::vector<Val>& values, Generics& g, Span call,
                  const std::vector<Span>& written = {});
  /// Drops the instances that were lowered to these.
  void forget(const std::set<const ir::Func*>& gone);

 private:
  void lowerInstance(const FnDecl& decl, Instance& inst, const std::vector<Val>& values, Generics& g, Frame& own);
  /// One entry a leaf: where the signature says that it lives.
  void placesOf(const Val& v, const Ty& declared, const std::string& otherwise, std::vector<std::string>& list,
                const Pins* pins = nullptr);
  bool hasSyntaxError(Span within);

  Context& context_;
  Scopes& scopes_;
  Devices& devices_;
  Autocast& autocast_;
  Tensors& tensors_;
  Types& types_;
  Unifier& unifier_;
  DimSolver& dimSolver_;
  Expressions& expressions_;
  Statements& statements_;
  std::unordered_map<Key, std::unique_ptr<Instance>, Key::Hash> instances_;
  int unnamedPlaces_ = 0;
};

}  // namespace tenc::frontend
