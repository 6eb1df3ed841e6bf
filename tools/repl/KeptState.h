// What a session keeps between its entries: declarations as syntax trees, values as host tensors.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "frontend/Frontend.h"

namespace tenc::repl {

/// Which declaration a statement is: those with the same key stand in for each other. Empty when it declares nothing.
std::string declarationKey(const ast::Stmt& s);

/// The struct that a function takes first, "(" for a tuple, "" for a tensor: overloads differ by it.
std::string receiverOf(const ast::Stmt& s);

/// A tensor on the host, and the device that it is put back on.
struct KeptTensor {
  frontend::SessionInput type;
  std::vector<std::byte> data;
};

/// Each entry is compiled as a script of its own: the kept declarations, then the entry; names with values are bound
/// before it (frontend::Options::values). Only an entry that ran to its end changes what is kept.
class KeptState {
 public:
  /// The script for an entry, for one compilation; the destructor gives the borrowed trees back.
  class Script {
   public:
    Script(KeptState& state, ast::File& entry);
    ~Script();
    Script(const Script&) = delete;
    Script& operator=(const Script&) = delete;
    const ast::File& file() const { return file_; }

   private:
    ast::File file_;
    std::vector<ast::StmtPtr*> origins_;  ///< where each statement came from; null for what was made here
  };

  /// Named devices, and which ones they are.
  using Devices = std::map<std::string, std::string>;
  /// Those that the entry declares otherwise: what is kept stays where it is.
  Devices replacedDevices(const ast::File& entry) const;
  /// The kept values, and where the bytes of their tensors are. Places of `replaced` are called by their devices.
  std::vector<frontend::SessionValue> values(const Devices& replaced = {}) const;
  frontend::KeptStatements statements(const Devices& replaced = {}) const;
  std::vector<const void*> inputData() const;

  /// Takes over what an entry that ran declared and computed; `_` is the value that it showed. `results` are those of
  /// `main`, `devices` the named ones of the entry. Gives the names that are lost: of functions that no statement gives
  /// its value alone. Of several that one pattern binds the first is kept.
  [[nodiscard]] std::vector<std::string> commit(ast::File entry, const std::vector<frontend::Lowered::Kept>& kept,
                                                const std::vector<KeptTensor>& results, Devices devices,
                                                SourceManager& sources);
  /// Drops values that fit their declarations no longer.
  void drop(const std::vector<std::string>& names);

  /// All names, for completion.
  std::vector<std::string> names() const;
  /// The type of a kept value as messages say it, "nn.Linear[784, 128]"; empty when there is no value of that name.
  std::string typeOf(std::string_view name) const;
  /// Of a tensor that is the value of that name, or a part of it.
  std::optional<ir::DType> dtypeOf(std::string_view name, const frontend::KeptValue& part) const;
  /// The value of that name; null where there is none, or none that is kept without its statement.
  const frontend::KeptValue* value(std::string_view name) const;
  /// Whether a module is imported under that name.
  bool imports(std::string_view module) const;
  const std::vector<ast::StmtPtr>& declarations() const { return declarations_; }

 private:
  /// A name with a value; for functions, types and sequences with the statement that binds it.
  struct Value {
    std::string name;
    bool isVar = false;
    Span span;   ///< where it was bound
    Span start;  ///< what to, as written
    frontend::KeptValue value;
    std::string described;  ///< the type as messages say it
    std::vector<KeptTensor> tensors;
    ast::StmtPtr statement;         ///< null where `value` says all
    bool isTree = false;            ///< with functions that `statement` gives: `value` says what is none
    std::vector<std::string> uses;  ///< of `statement`
    bool isOld = false;             ///< it is there for kept statements alone, which were entered when it was so
  };
  static frontend::SessionValue sessionValue(const Value& v, size_t statements, const Devices& replaced);
  void replaceDeclaration(ast::StmtPtr statement, SourceManager& sources);
  /// A value that goes, or stays for the statements that see it.
  void dropValue(const std::string& name, SourceManager& sources);
  bool isSeen(size_t index) const;
  void sweep();
  const Value* named(std::string_view name) const;

  std::vector<ast::StmtPtr> declarations_;
  Devices devices_;            ///< of the last entry
  std::vector<Value> values_;  ///< in the order in which they were entered
};

}  // namespace tenc::repl
