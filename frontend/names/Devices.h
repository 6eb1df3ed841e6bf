// Devices as compile-time values.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Scopes;
class UnknownNames;
class Names;
class Evaluator;
class Expressions;
class Members;

/// Device declarations with their fallbacks, literals and annotations.
class Devices {
 public:
  Devices(Context& context, Scopes& scopes, UnknownNames& unknownNames, Names& names, Evaluator& evaluator,
          Expressions& expressions, Members& members)
      : context_(context),
        scopes_(scopes),
        unknownNames_(unknownNames),
        names_(names),
        evaluator_(evaluator),
        expressions_(expressions),
        members_(members) {}

  /// The device a name or literal means, checked to be declared or available (E0304); for available, count, devices.
  bool deviceAvailable(std::string_view name) const;
  /// The actual device of a name: "gpu" -> "cuda:0".
  std::string actualDevice(std::string_view name) const;
  /// E0304, with the devices that are there.
  Val noDevice(std::string_view name, Span span);
  /// What a `device` line binds: the first of its choices that is there, or what `--device` says (E0304).
  Val deviceOf(const Unit& unit, const ast::Stmt& decl);
  /// The value as a device that is there (E0203, E0304).
  std::optional<DeviceRef> constDevice(const Val& v, std::string_view what = "this");
  /// The device that `@d` names.
  std::optional<DeviceRef> annotationDevice(const ast::Annotation& a);

 private:
  /// The same when the lines that it names are known.
  Val lineValue(const Unit& unit, const ast::Stmt& decl);
  Val madeOfItself(const ast::Stmt& line);

  Context& context_;
  Scopes& scopes_;
  UnknownNames& unknownNames_;
  Names& names_;
  Evaluator& evaluator_;
  Expressions& expressions_;
  Members& members_;
};

}  // namespace tenc::frontend
