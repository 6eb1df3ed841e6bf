// What a session keeps between its entries: declarations as syntax trees, values as host tensors.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "frontend/Frontend.h"

namespace tenc::repl {

/// Which declaration a statement is: those with the same key stand in for each other. Empty when it declares nothing.
std::string declarationKey(const ast::Stmt& s);

/// A tensor on the host, and the device that it is put back on.
struct KeptTensor {
  frontend::SessionInput type;
  std::vector<std::byte> data;
};

/// Each entry is compiled as a script of its own: the kept declarations, `let` and `var` statements that make the kept
/// values from the parameters of `main`, then the entry. Only an entry that ran to its end changes what is kept.
class KeptState {
 public:
  /// The script for an entry, for one compilation; the destructor gives the borrowed trees back.
  class Script {
   public:
    Script(KeptState& state, SourceManager& sources, ast::File& entry);
    ~Script();
    Script(const Script&) = delete;
    Script& operator=(const Script&) = delete;
    const ast::File& file() const { return file_; }
    /// The source of the statements that make the kept values; errors there mean that a value fits no longer.
    uint32_t prelude() const { return prelude_; }

   private:
    ast::File file_;
    uint32_t prelude_ = Span::kNone;
    std::vector<ast::StmtPtr*> origins_;  ///< where each statement came from; null: made for this script
  };

  /// Parameters of `main` for the kept values, and where their bytes are.
  std::vector<frontend::SessionInput> inputs() const;
  std::vector<const void*> inputData() const;

  /// Takes over what an entry that ran declared and computed. `results` are those of `main`.
  void commit(ast::File entry, const std::vector<frontend::Lowered::Kept>& kept, std::vector<KeptTensor> results);
  /// Drops the values whose statements have errors in the prelude; gives their names.
  std::vector<std::string> dropBroken(const Diagnostics& diags, const SourceManager& sources, uint32_t prelude);

  /// All names, for completion.
  std::vector<std::string> names() const;
  /// The type of a kept value as messages say it, "nn.Linear[784, 128]"; empty when there is no value of that name.
  std::string typeOf(std::string_view name) const;
  /// Whether a module is imported under that name.
  bool imports(std::string_view module) const;
  const std::vector<ast::StmtPtr>& declarations() const { return declarations_; }

 private:
  /// A name with a value: an expression over its tensors (`$0`, `$1`, ...), or, for functions and types, the statement.
  struct Value {
    std::string name;
    bool isVar = false;
    std::string text;
    std::string type;       ///< written for lists only
    std::string described;  ///< the type as messages say it
    std::vector<KeptTensor> tensors;
    ast::StmtPtr statement;
  };
  void replaceDeclaration(ast::StmtPtr statement);
  void dropValue(const std::string& name);

  std::vector<ast::StmtPtr> declarations_;
  std::vector<Value> values_;
};

}  // namespace tenc::repl
