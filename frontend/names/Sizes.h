// Which integer parameters of a function are sizes: known at compile time, in every call.
#pragma once
#include <map>

#include "frontend/names/Resolve.h"

namespace tenc::frontend {

/// A parameter `n: i64` is a dim of its function when a shape is made of it: in the signature, in a written type, in
/// brackets, as the bound of a `for static` or of a slice, or as an argument that is a size where it is handed on, to a
/// built-in (`Parameter::isSize`) or to a function for which it is one.
class SizeParameters {
 public:
  /// `names`: of the file that declares `fn`.
  bool contains(const Resolution& names, const ast::Stmt& fn, const ast::FnParam& p);

 private:
  bool inBody(const Resolution& names, const ast::Stmt& fn, const ast::FnParam& p);
  bool inCall(const Resolution& names, const ast::Expr& call, bool piped, Span declared);
  std::map<const ast::FnParam*, bool> known_;
};

/// Whether dims of the result's type may come from elsewhere than the arguments' types: from a file that the body
/// loads, as those of a `let`, or from what a function or tree among the arguments makes.
bool hasOpenResult(const Resolution& names, const ast::Stmt& fn);

}  // namespace tenc::frontend
