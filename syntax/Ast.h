// The syntax tree of TL: what was written, with spans; no names resolved, no types. Built by AstBuilder, the only user
// of ANTLR. Long operator chains are left-leaning but bounded in depth (the builder reports E0105).
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/SourceFile.h"

namespace tenc::ast {

struct Expr;
struct Stmt;
struct TypeExpr;
using ExprPtr = std::unique_ptr<Expr>;
using StmtPtr = std::unique_ptr<Stmt>;
using TypePtr = std::unique_ptr<TypeExpr>;

struct Name {
  std::string text;
  Span span;
};

/// `@gpu`, `@cuda:1`, `@cuda[i]`, `@x.device`, `@autocast(bf16)`
struct Annotation {
  enum class Kind : uint8_t { Place, Autocast } kind = Kind::Place;
  std::vector<Name> path;         ///< gpu; x device; cuda
  std::optional<int64_t> number;  ///< cuda:1
  ExprPtr index;                  ///< cuda[i]; autocast's argument
  Span span;                      ///< with the `@`
};

/// Types, dims and type arguments are one shape of tree.
struct TypeExpr {
  enum class Kind : uint8_t {
    Path,    ///< names (f32, N, nn.Linear) with optional arguments
    Int,     ///< integer
    Device,  ///< cuda:1 as a type argument
    Binary,  ///< op in + - * /(floor)
    Negate,
    Tuple,    ///< (a, b)
    List,     ///< [Block[D]; 12]
    Pack,     ///< ...S as an argument
    ShapeOf,  ///< [...S], a shape argument's type
  } kind = Kind::Path;
  std::vector<Name> path;
  bool hasArgs = false;  ///< f32[] differs from f32 only in text
  std::vector<TypePtr>
      args;  ///< Path: type arguments; Tuple: elements; List: element, length; Binary, Negate: operands
  int64_t integer = 0;
  char op = 0;         ///< '+', '-', '*', '/'
  std::string device;  ///< Device: "cuda:1"
  std::optional<Annotation> place;
  Span span;
};

/// One subscript between brackets.
struct Subscript {
  enum class Kind : uint8_t { Index, Slice, Window, Ellipsis, New } kind = Kind::Index;
  ExprPtr index;         ///< Index; Window: start
  ExprPtr lo, hi, step;  ///< Slice, each may be null
  ExprPtr size;          ///< Window: x[i :+ size]
  Span span;
};

struct Argument {
  std::optional<Name> name;
  ExprPtr value;
  ExprPtr rangeEnd;
  Span span;
  bool equals = false;  ///< named with `=`, as elsewhere, which is an error that has been told
};  ///< rangeEnd: rev(0..n)
struct FieldInit {
  Name name;
  ExprPtr value;
};
struct Pattern {
  bool isTuple = false;
  Name name;
  std::vector<Pattern> elements;
  Span span;
};
struct LambdaParam {
  Pattern pattern;
  TypePtr type;
};

/// A piece of a string: literal text (unescaped), or a hole {expr:format}.
struct StringPiece {
  std::string text;
  ExprPtr hole;
  std::string format;
  Span span;
  Span formatSpan;
};

struct Block {
  std::vector<StmtPtr> statements;
  Span span;
  Span close;
};

struct Expr {
  enum class Kind : uint8_t {
    Name,
    Int,
    Float,
    Bool,
    Device,
    String,
    Tuple,   ///< (a, b), (); a group is its inner expr
    Array,   ///< [a, b]
    Unary,   ///< op: "-" or "not"
    Binary,  ///< op as written: + - * / // % @ ** == != < <= > >= and or |>
    Member,  ///< args[0].name; tuple places have a number as name
    Call,    ///< args[0](arguments)
    Index,   ///< args[0][subscripts]
    Struct,  ///< Path[typeArgs] { fields }; args[0] is the callee expression (Name, Member or Index)
    If,      ///< conditions/blocks, last block is the else when blocks.size() > conditions.size()
    Block,   ///< { ... } with annotations
    Lambda,
    Error,  ///< where a syntax error was; poison
  } kind = Kind::Error;
  Span span;
  Span opSpan;           ///< of the operator, of the member's name
  bool grouped = false;  ///< in parentheses, which `span` covers
  std::string text;      ///< Name, Member name, Unary/Binary op, Device ("cuda:1"), Float/Int as written
  int64_t integer = 0;   ///< Int; `overflow` when it does not fit u64 (bits kept as u64 otherwise)
  bool overflow = false;
  double real = 0;
  bool boolean = false;
  std::vector<ExprPtr> args;  ///< operands, elements, If conditions
  std::vector<Argument> arguments;
  std::vector<Subscript> subscripts;
  std::vector<FieldInit> fields;
  std::vector<StringPiece> pieces;
  std::vector<Annotation> annotations;
  std::vector<Block> blocks;
  std::vector<LambdaParam> params;
  ExprPtr body;  ///< Lambda
};

/// A name listed in brackets: `N`, `...S`, `T: float = f32`.
struct Generic {
  /// What it stands for; Open: for what stands at its place, a dim, a dtype, a type.
  enum class Kind : uint8_t { Open, Real, Float, Int, Any, Tree, Device, Fn } kind = Kind::Open;
  bool pack = false;
  Name name;
  TypePtr otherwise;
  bool isDType() const { return kind >= Kind::Real && kind <= Kind::Any; }
  Span span;
};
struct Field {
  bool state = false;
  Name name;
  TypePtr type;
};
struct FnParam {
  bool isStatic = false;
  Name name;
  TypePtr type;
  ExprPtr otherwise;
};
/// `cuda:0`, `tpu`, `cuda[i]`, `cuda[0..4]` in a device line
struct DevicePlace {
  Name name;
  std::optional<int64_t> number;
  ExprPtr index, indexEnd;
  Span span;
};

/// The parser has checked where statements stand (E0108): declarations at the top level, `break` in loops, `return` in
/// functions and lambdas. An Error statement keeps the name or pattern that it would have declared, where it had one.
/// `@gpu { ... }` as a statement is an Expr whose annotations are the statement's.
struct Stmt {
  enum class Kind : uint8_t {
    Import,
    Const,
    Param,
    Device,
    TypeAlias,
    Struct,
    Fn,
    Test,
    Bench,
    Let,
    Var,
    Assign,
    For,
    While,
    Break,
    Continue,
    Return,
    Assert,
    Expr,
    Error,
  } kind = Kind::Error;
  Span span;
  std::string doc;                      ///< `##` lines above
  std::vector<Annotation> annotations;  ///< of the whole statement
  Name name;                            ///< declared name
  std::vector<Name> path;               ///< import a.b: names
  std::vector<Name> names;              ///< import m: a, b
  std::vector<Generic> generics;
  std::vector<Field> fields;
  std::vector<FnParam> params;
  TypePtr type;     ///< declared type, result type, alias target
  ExprPtr value;    ///< initialiser, assigned value, expression, return value, assert condition, fn body (= expr)
  ExprPtr message;  ///< assert
  ExprPtr target;   ///< Assign
  Span keyword;     ///< `let`, `var`
  std::string op;   ///< Assign: "=", "+=", ...
  Span opSpan;
  std::vector<DevicePlace> places;
  Pattern pattern;          ///< let, var, for
  bool isStatic = false;    ///< for ... in static
  bool bodyIsExpr = false;  ///< fn f() = expr
  ExprPtr lo, hi, by;       ///< for: `lo..hi by by`; a sequence is in lo with hi null; while: condition in lo
  Block body;               ///< fn, for, while, test, bench
  std::string title;        ///< test, bench
};

inline constexpr Generic::Kind kGenericKinds[] = {Generic::Kind::Real, Generic::Kind::Float, Generic::Kind::Int,
                                                  Generic::Kind::Any,  Generic::Kind::Tree,  Generic::Kind::Device,
                                                  Generic::Kind::Fn};
/// As written: "float"; empty for Open.
std::string_view name(Generic::Kind kind);
/// The kind that is written so.
std::optional<Generic::Kind> kindNamed(std::string_view name);

struct File {
  uint32_t source = 0;
  std::vector<StmtPtr> statements;
  std::set<std::string, std::less<>> lost;  ///< names in statements with syntax errors, which may have declared them
  std::set<std::string, std::less<>> declared;  ///< of these, those that the statements give functions and parameters
  bool foreign = false;  ///< words of other languages stand in statements with syntax errors: `def`
  std::set<std::string, std::less<>> renamed;  ///< of these, names of imports that an edit of the import writes anew
};

/// For `--emit=ast`: an indented tree, one node a line.
std::string print(const File& f);
/// The string literal of TL that holds `text`; `holeless`: its braces are doubled, so that they begin no hole.
std::string quoted(std::string_view text, bool holeless = false);

}  // namespace tenc::ast
