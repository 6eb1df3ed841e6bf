// What names mean: locals, declarations of units, built-ins.
#pragma once
#include <optional>
#include <string_view>

#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
struct Declaration;
class Scopes;
class UnknownNames;
class Constants;
class Devices;
class Types;

/// Looks names up: in the body, in the unit, among the built-ins.
class Names {
 public:
  Names(Context& context, Scopes& scopes, UnknownNames& unknownNames, Constants& constants, Devices& devices,
        Types& types)
      : context_(context),
        scopes_(scopes),
        unknownNames_(unknownNames),
        constants_(constants),
        devices_(devices),
        types_(types) {}

  /// What the name that is written at `use` means in the body at hand; nullopt when nothing declares it.
  std::optional<Val> lookup(Span use);
  /// What a method written at `use` means: a variable that is no function hides none.
  std::optional<Val> lookupMethod(Span use);
  /// What a unit declares under that name, for names that the tree does not hold; nullopt when there is none.
  std::optional<Val> lookupGlobal(const Unit& unit, std::string_view name, Span span);
  /// What a declaration stands for, used at `span`; nullopt for a local without a value here.
  std::optional<Val> valueOf(const Declaration& declaration, Span span);
  /// `call`: the call that it is the function of, to be shown as TL writes it when there is no such function.
  Val lookupCallee(const ast::Expr& name, const ast::Expr* call = nullptr);

 private:
  bool meansVariable(const std::string& name, Span use) const;
  /// W0106 for `pi` in a function of a script that has a variable of that name.
  void warnOfConstant(const std::string& name, Span use);
  Val unitValue(const Declaration& declaration, Span span);
  Val aliasValue(const Unit& unit, const ast::Stmt& alias);

  Context& context_;
  Scopes& scopes_;
  UnknownNames& unknownNames_;
  Constants& constants_;
  Devices& devices_;
  Types& types_;
};

}  // namespace tenc::frontend
