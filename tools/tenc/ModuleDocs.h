// What modules declare, and what their doc comments say of it.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/SourceFile.h"
#include "syntax/Ast.h"

namespace tenc::tool {

/// Whether a statement declares a name that others can use.
bool declaresName(const ast::Stmt& s);
std::vector<std::string_view> linesOf(std::string_view text);

class ModuleDocs {
 public:
  explicit ModuleDocs(SourceManager& sources) : sources_(sources) {}

  /// What a module declares, by name; empty when there is no such module.
  std::vector<std::string> names(const std::string& module);
  /// Its functions and structs with the first sentence of their documentation; empty for none.
  std::string overview(const std::string& module);
  /// The declarations of a name in it, also those that it imports by name.
  std::vector<const ast::Stmt*> declarations(const std::string& module, const std::string& name);
  /// Signatures and doc comments; empty for none.
  std::string documentation(const std::vector<const ast::Stmt*>& declarations) const;
  /// Of "nn.linear".
  std::string documentation(const std::string& path);

 private:
  /// Functions, structs and constants that a doc comment says something of: each, or a group of lines below it. What
  /// has none is a helper.
  std::vector<const ast::Stmt*> described(const ast::File& file) const;
  /// The tree of a module that is imported or in the standard library; null for others.
  const ast::File* module(const std::string& name);

  SourceManager& sources_;
  std::map<std::string, std::unique_ptr<ast::File>> modules_;
};

}  // namespace tenc::tool
