// Values that a session keeps between its entries, as data: what one entry bound, the next one finds bound. Functions
// and types are kept as their declarations or statements instead.
#pragma once
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "ir/Type.h"
#include "support/SourceFile.h"

namespace tenc::frontend {

/// A value without the elements of its tensors. A Function is part of a tree whose statement says which one.
struct KeptValue {
  enum class Kind : uint8_t {
    Tensor,
    Int,
    Float,
    Bool,
    String,
    Choice,
    DType,
    Device,
    Shape,
    Tuple,
    List,
    Struct,
    Function
  };
  Kind kind = Kind::Tuple;
  size_t tensor = 0;                 ///< Tensor: which result of `main`; on the way in, which of SessionValue::tensors
  __int128 integer = 0;              ///< Int
  double real = 0;                   ///< Float
  bool boolean = false;              ///< Bool
  ir::DType dtype = ir::DType::I64;  ///< Int, Float, DType
  bool adopts = false;               ///< Int, Float: takes the dtype of what it meets
  bool dim = false;                  ///< Int: so it does after a `let`
  std::string text;  ///< String; Choice: the format of the number in `elems`; Device: its name; Struct: the name of its
                     ///< declaration
  std::string module;                 ///< Struct: where it is declared; "" in the session itself
  std::vector<KeptValue> elems;       ///< Choice, Shape, Tuple, List; Struct: the fields
  std::vector<std::string> fields;    ///< Struct: their names
  std::vector<std::string> argNames;  ///< Struct: of the arguments of its type that are no types
  std::vector<KeptValue> args;        ///< one each
  /// `tensor` of every leaf, in order.
  std::vector<size_t> tensors() const;
};

/// A tensor of a kept value: a parameter of `main`.
struct SessionInput {
  ir::DType dtype;
  ir::Dims shape;
  std::string place;  ///< device name as written, "cpu" for the host
};

/// A name that the entry finds bound. The statements of earlier entries that are kept as such stand first in the file;
/// each sees the values that were there when it was entered.
struct SessionValue {
  std::string name;
  bool isVar = false;
  bool isOld = false;  ///< only kept statements see it
  size_t kept = 0;     ///< how many kept statements do not see it, those before it
  Span span;           ///< where an earlier entry bound it; no two have one
  Span start;          ///< what that entry bound it to, as written; invalid where it was one of several
  KeptValue value;
  std::vector<SessionInput> tensors;
};

/// The first `let`s and `var`s of a session's file, which earlier entries brought.
struct KeptStatements {
  size_t count = 0;
  std::vector<Span> old;  ///< the names that only kept statements see, where they are bound
  /// What trees with functions hold besides them, by the names that the statements bind.
  std::vector<SessionValue> trees;
};

}  // namespace tenc::frontend
