// From the syntax tree to checked, unplaced IR. One call each; everything else in this room is private.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/Kept.h"
#include "ir/DeviceTable.h"
#include "ir/Module.h"
#include "support/Diagnostics.h"
#include "syntax/Ast.h"
#include "syntax/Parse.h"

namespace tenc::frontend {

/// What the compiler knows of the machine and the command line when it lowers a script.
struct Options {
  std::map<std::string, std::optional<std::string>> params;  ///< --lr 0.3; without a text: --verbose
  std::map<std::string, std::string> devices;                ///< --device gpu=cuda:1
  std::string defaultDevice{ir::DeviceTable::kHost};
  ir::DeviceTable machine;                                  ///< the devices that are there, real or virtual
  std::function<std::string(std::string_view)> deviceName;  ///< name(gpu)
  std::function<int64_t(std::string_view)> deviceMemory;    ///< memory(gpu)
  std::string fileRoot;                  ///< --sandbox-dir: the folder that files are confined to, or ""
  bool tests = false;                    ///< lower `test` blocks as functions "test.N"
  bool benches = false;                  ///< lower `bench` blocks
  bool checkUncalled = false;            ///< `tenc check`: instantiate functions that nobody calls
  std::vector<std::string> importPaths;  ///< folders for modules; std/ is built in
  bool oracle = false;                   ///< derivatives are left to the interpreter (ir/CallAttributes.h)
  bool session = false;                  ///< an entry of the REPL: see Lowered::kept
  std::vector<SessionValue> values;      ///< of a session: bound before the entry, their tensors parameters of `main`
  KeptStatements kept;                   ///< of a session
  /// Conditions on devices that placement has decided, by the key of their `if`: only the branch taken is lowered.
  std::map<std::string, bool> decisions;
};

/// What the meaning of a script follows from besides its text, the options and the devices.
struct Dependencies {
  std::vector<uint32_t> modules;     ///< sources of the files that it imports
  std::vector<std::string> missing;  ///< where a module was looked for, and there is no file
  /// The header of a file that it loads, by its codes of dtypes.
  struct Tensor {
    std::string path, format, name;
    uint8_t dtype = 0;
    std::vector<int64_t> shape;
    bool isMappable = false;
  };
  std::vector<Tensor> tensors;
};

struct Lowered {
  std::unique_ptr<ir::Module> module;  ///< null after errors that leave nothing to go on with
  struct Case {
    std::string title;
    std::string func;
    Span span;
  };
  std::vector<Case> tests, benches;
  struct Param {
    std::string name, type, otherwise, doc;
  };
  std::vector<Param> params;  ///< for --help
  Dependencies read;
  /// In a session: the top-level names of the entry in order, and "" for the value of a last expression, which is
  /// printed too.
  struct Kept {
    std::string name;
    bool isVar = false;
    Span span;  ///< where it is bound, or assigned by the statement that it is kept as; may be none
    std::optional<KeptValue> value;  ///< nothing for what is kept as its statement: functions, types, sequences
    std::optional<KeptValue> tree;   ///< without a value: of a tree with functions
    std::string type;                ///< for people
    std::vector<std::string> uses;   ///< without a value: names that its statement sees
  };
  std::vector<Kept> kept;
  /// The names of Options::values that were not bound: their struct is declared otherwise now, or not at all.
  std::vector<std::string> unfit;
  /// The keys of `if`s on devices both of whose branches cannot be lowered: one has errors, or their types differ.
  std::vector<std::string> undecided;
};
Lowered lower(const ast::File& file, SourceManager& sources, Diagnostics& diags, const Options& options);

/// A built-in operation, for documentation: how it is called, one sentence, and the dtypes it takes ("" where that is
/// not one list).
struct OpDoc {
  std::string_view name;
  std::string signature;
  std::string_view doc, dtypes;
};
/// All of them, by name.
std::vector<OpDoc> operations();
/// The names of those that a tensor of the dtype may stand before, as the first operand: `x.sum()`.
std::vector<std::string_view> methodsOf(ir::DType dtype);

}  // namespace tenc::frontend
