// Struct types with their arguments, and values of them.
#pragma once
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "frontend/types/Generics.h"
#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Names;
class Tensors;
class PlacingOps;
class Types;
class Aliases;
class Unifier;
class DimSolver;

/// Struct types with their arguments, and values of them.
class Structs {
 public:
  Structs(Context& context, Names& names, Tensors& tensors, PlacingOps& placing, Types& types, Aliases& aliases,
          Unifier& unifier, DimSolver& dimSolver)
      : context_(context),
        names_(names),
        tensors_(tensors),
        placing_(placing),
        types_(types),
        aliases_(aliases),
        unifier_(unifier),
        dimSolver_(dimSolver) {}

  /// The struct with written arguments; `outer`: the variables that these may name.
  Ty structResolved(const StructDecl& decl, const std::vector<ast::TypePtr>& args, Generics& outer, Span span);
  /// The struct with the variables that are bound in `g`, and its field types; E0109 when it contains itself.
  Ty structWith(const StructDecl& decl, Generics& g);
  /// A struct of these field values (in declared order): unifies, defaults, checks pinned fields. `expected`: a type of
  /// this struct that is declared for it, whose arguments go before defaults where no field fixes them; or null.
  Val makeStruct(const StructDecl& decl, Generics& g, std::vector<Val> fields, Span span,
                 const StructInfo* expected = nullptr);
  /// A struct whose arguments follow from its field values (in declared order).
  Val structOf(const StructInfo& type, std::vector<Val> fields, Span span);
  /// The structs in `v` with the dims of their leaves, which are rows of what they were, or a batch of it: `C[...S]`
  /// with rows of [4, 3] is `C[3]`. One whose leaves are not of the declared shapes keeps its arguments.
  Val refit(Val v);
  /// A tree of leaves that its literals did not check: placement checks that pinned fields are where their types say,
  /// and that what is not pinned in a struct or list is on one device.
  Val checkPlaces(Val v, Span span);
  /// A tensor in the struct whose rank is not the declared one, as in rows of `S { w: f32[3] }`; nothing if all are.
  struct Misfit {
    std::string path;  ///< `.w`
    const Val* leaf;
    const ast::TypeExpr* declared;
  };
  std::optional<Misfit> misfit(const Val& v);
  /// Which of `count` written arguments belong to each type parameter of a struct, as [first, last): one each, and to
  /// the shape pack, if there is one, all that are dims. Reports E0204 when that does not work out.
  std::optional<std::vector<std::pair<size_t, size_t>>> shareArguments(const StructDecl& decl, size_t count, Span span,
                                                                       const std::function<bool(size_t)>& isDim);
  /// Whether a written type argument is a dim or a pack of dims.
  bool isDimArgument(const ast::TypeExpr& t, Generics& g);
  /// Binds variables that have a default and no value.
  void giveDefaults(const StructDecl& decl, Generics& g);

 private:
  Val checkFields(Val v, Span span);
  /// What names a device and is not given is what the declared type says, or the default: fields cannot bind it, as
  /// placement comes later.
  bool bindDevices(const StructDecl& decl, Generics& g, Span span, const StructInfo* expected);
  StructPtr structInfo(const StructDecl& decl, Generics& g);
  bool giveArguments(const StructDecl& decl, const std::vector<ast::TypePtr>& args, Generics& outer, Generics& inner,
                     Span span);

  Context& context_;
  Names& names_;
  Tensors& tensors_;
  PlacingOps& placing_;
  Types& types_;
  Aliases& aliases_;
  Unifier& unifier_;
  DimSolver& dimSolver_;
  std::vector<const StructDecl*> resolving_;  ///< structs whose fields are being read: one in itself is E0109
  std::set<const StructDecl*> circular_;      ///< those that were found to contain themselves
};

}  // namespace tenc::frontend
