// What a session knows of a dotted name, `m.fc1.w` or `nn.linear`: what may follow it, and its documentation.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/Frontend.h"
#include "ir/Type.h"
#include "tools/repl/KeptState.h"
#include "tools/tenc/ModuleDocs.h"

namespace tenc::repl {

class Names {
 public:
  Names(const KeptState& state, SourceManager& sources) : state_(state), sources_(sources) {}

  /// The names that may stand behind `path` and a dot: fields, members of tensors, what a module declares.
  std::vector<std::string> members(const std::string& path);
  /// What a module declares, by name; empty when there is no such module.
  std::vector<std::string> moduleNames(const std::string& name) { return modules_.names(name); }
  /// A module's functions and structs, a line each with the first line of their documentation; empty for none.
  std::string overview(const std::string& name) { return modules_.overview(name); }
  /// The dtype of a kept value, or a field of one, that is a tensor or a number; nullopt for others.
  std::optional<ir::DType> dtypeOf(const std::string& path) const;
  /// The session's functions that take a value of its kind first, so that they can be called as its methods.
  std::vector<std::string> functionsOf(const std::string& path) const;
  /// The session's declarations of a name as they were entered; empty for none.
  std::string source(const std::string& name) const;
  /// Signatures and doc comments of the functions, structs and constants of a name; empty when there are none.
  std::string documentation(const std::string& path);

 private:
  const frontend::KeptValue* valueAt(const std::string& path) const;
  const KeptState& state_;
  SourceManager& sources_;
  tool::ModuleDocs modules_{sources_};
};

}  // namespace tenc::repl
