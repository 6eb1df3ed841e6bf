// The body of the script, its tests and benches.
#pragma once
#include "syntax/Ast.h"

namespace tenc::frontend {

class Context;
class Constants;
class Devices;
class Units;
class SessionValues;
class Tensors;
class Statements;
class Regions;
class Uncalled;
class Habits;

/// Lowers the script, its tests and benches.
class Script {
 public:
  Script(Context& context, Constants& constants, Devices& devices, Units& units, SessionValues& sessionValues,
         Tensors& tensors, Statements& statements, Regions& regions, Uncalled& uncalled, Habits& habits)
      : context_(context),
        constants_(constants),
        devices_(devices),
        units_(units),
        sessionValues_(sessionValues),
        tensors_(tensors),
        statements_(statements),
        regions_(regions),
        uncalled_(uncalled),
        habits_(habits) {}

  /// Lowers all of the file into the module of the context.
  void run(const ast::File& file);

 private:
  void lowerCase(const ast::Stmt& stmt, bool isBench, int number);

  Context& context_;
  Constants& constants_;
  Devices& devices_;
  Units& units_;
  SessionValues& sessionValues_;
  Tensors& tensors_;
  Statements& statements_;
  Regions& regions_;
  Uncalled& uncalled_;
  Habits& habits_;
};

}  // namespace tenc::frontend
