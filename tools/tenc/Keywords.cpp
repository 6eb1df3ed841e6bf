#include "tools/tenc/Keywords.h"

#include <algorithm>
#include <span>

namespace tenc::tool {

namespace {

constexpr Keyword kKeywords[] = {
    {"and", "a and b", "True where both are; `b` is evaluated only if `a` is true."},
    {"assert", "assert x > 0, \"message\"", "Stops the program where the condition is false."},
    {"autocast", "@autocast(bf16) { ... }", "Rounds the operands of products, convolutions and attention in a block."},
    {"bench", "bench \"title\" { ... }", "A block whose last statement `tenc bench` times."},
    {"break", "break", "Leaves the innermost loop."},
    {"by", "for i in 0..10 by 2 { ... }", "The step of a range."},
    {"const", "const N = 3", "A value known at compile time that functions can read, and that can be a size in types."},
    {"continue", "continue", "Goes on with the next trip of the innermost loop."},
    {"device", "device gpu = cuda:0 or cpu", "A name for the first of these devices that the machine has."},
    {"else", "if c { a } else { b }", "What an `if` does, or is, where its condition is false."},
    {"false", "false", "The bool that is not true."},
    {"fn", "fn f(x: f32[N]) -> f32 = sum(x)", "Declares a function; a body of several statements stands in braces."},
    {"for", "for i in 0..n { ... }",
     "A loop over a range, or over the elements of a list, a tuple or a tensor's first axis."},
    {"if", "if c { a } else { b }", "A choice, as a statement or as a value."},
    {"import", "import nn",
     "Makes the functions of a module available as `nn.linear`; `import nn: linear` as `linear`."},
    {"in", "for x in xs { ... }", "Stands between the name and the range or sequence of a loop."},
    {"let", "let x = [1.0, 2.0]", "Binds a name, which cannot be assigned again; `var` binds one that can."},
    {"new", "x[new, :]", "A new axis of length 1 in an index."},
    {"not", "not a", "True where `a` is false."},
    {"or", "a or b", "True where one of them is; `b` is evaluated only if `a` is false."},
    {"param", "param lr = 0.1", "A value that the command line can set: `tenc s.tl --lr 0.3`."},
    {"return", "return x", "Leaves a function with a value. The last expression of a body is its value without it."},
    {"state", "struct Layer { state mean: f32[N] }", "A field that a layer updates itself, and that has no gradient."},
    {"static", "fn f(static n: i64)", "A parameter, or a loop, whose values are known at compile time."},
    {"struct", "struct Point { x: f32, y: f32 }", "Declares a type with named fields: `Point { x: 1.0, y: 2.0 }`."},
    {"test", "test \"title\" { ... }", "A block that `tenc test` runs."},
    {"true", "true", "The bool that is not false."},
    {"bool", "bool[N]", "true or false, one byte each."},
    {"bf16", "bf16[N]", "Floats of 16 bits with the exponents of f32 and 8 bits of precision."},
    {"cpu", "@cpu let x = ones([3])", "The device that the program runs on."},
    {"cuda", "device gpu = cuda:0 or cpu", "NVIDIA GPUs: `cuda:0`, `cuda:1` and so on; `tenc devices` lists them."},
    {"f16", "f16[N]", "Floats of 16 bits, up to 65504, with 11 bits of precision (IEEE binary16)."},
    {"f32", "f32[N]", "Floats of 32 bits with 24 bits of precision (IEEE binary32): what float literals are."},
    {"f64", "f64[N]", "Floats of 64 bits with 53 bits of precision (IEEE binary64)."},
    {"i16", "i16[N]", "Integers from -32768 to 32767."},
    {"i32", "i32[N]", "Integers of 32 bits."},
    {"i64", "i64[N]", "Integers of 64 bits: what integer literals, indices and sizes are."},
    {"i8", "i8[N]", "Integers from -128 to 127."},
    {"checkpoint", "checkpoint(f)(x)",
     "f; a gradient computes its intermediate values again in place of keeping them."},
    {"custom_vjp", "custom_vjp(f, forward, backward)", "f, with a gradient rule of its own."},
    {"grad", "grad(f)(x, ...)",
     "The gradient of f with respect to x; f gives a single float. `wrt: 1` or `wrt: (0, 2)` choose other arguments."},
    {"jvp", "jvp(f)(x, ..., v)", "(f(x, ...), its derivative in direction v): forward mode."},
    {"stop_gradient", "stop_gradient(x)", "x, which every derivative takes for a constant."},
    {"value_and_grad", "value_and_grad(f)(x, ...)", "(f(x, ...), its gradient with respect to x)."},
    {"vjp", "vjp(f)(x, ..., d)", "(f(x, ...), the gradient of sum(d * f(x, ...))); d has the type of the result."},
    {"vmap", "vmap(f)(xs, ...)", "f for each row of xs; `in_axes: (0, false)` maps the first argument alone."},
    {"inf", "inf", "Positive infinity, a float."},
    {"nan", "nan", "No number, a float: `nan == nan` is false, `isnan(x)` is true."},
    {"rev", "for i in rev(0..n) { ... }", "A range from its end to its start."},
    {"float", "fn f[T: float](x: T[N])", "The kind of a dtype variable: f16, bf16, f32 or f64. `f32(x)` converts."},
    {"int", "fn f[T: int](x: T[N])", "The kind of a dtype variable: an integer of any size. `i64(x)` converts."},
    {"real", "fn f[T: real](x: T[N])", "The kind of a dtype variable: any dtype but bool."},
    {"tree", "fn f[P: tree](p: P)", "The kind of a variable for structs, tuples, lists and tensors: a model."},
    {"|>", "x |> f(a)", "`f(x, a)`: the value before it is the first argument. It binds loosest of all operators."},
    {"@", "a @ b", "The matrix product; before a statement, a function or in a type the device: `@gpu let x = ...`."},
    {"//", "a // b", "The quotient, rounded toward minus infinity; `/` is of floats alone."},
    {"%", "a % b", "The remainder of `//`, which has the sign of b."},
    {"**", "a ** b", "The power: it binds before a minus in front, and from the right."},
    {"..", "0..n", "The range from 0 to n - 1, in a `for`."},
    {"...", "f32[...S]", "A shape pack: as many dims as there are; `x[..., 0]` leaves the dims before the last whole."},
    {":+", "x[i :+ 64]", "64 elements from i on, which may be known only at run time."},
    {"pi", "pi", "3.14159265358979, as exact as the dtype that it takes."},
    {"str", "param path: str = \"x.npy\"", "Text that is known at compile time."},
    {"u16", "u16[N]", "Integers from 0 to 65535."},
    {"u32", "u32[N]", "Integers from 0 on, of 32 bits."},
    {"u64", "u64[N]", "Integers from 0 on, of 64 bits."},
    {"u8", "u8[N]", "Integers from 0 to 255: bytes, and pixels of images."},
    {"type", "type Image = f32[28, 28]", "Another name for a type."},
    {"var", "var x = 0", "Binds a name that can be assigned again: `x = x + 1`."},
    {"while", "while c { ... }", "A loop that goes on as long as its condition is true."},
};

constexpr Keyword kMembers[] = {
    {"to", "x.to(gpu)",
     "x on another device: a tensor, or all tensors of a tree. A dtype converts by a call: `f32(x)`."},
    {"shape", "x.shape", "The sizes of x, known at compile time: `x.shape[0]` is the first."},
    {"ndim", "x.ndim", "How many dims x has, known at compile time."},
    {"size", "x.size", "How many elements x has, a tensor, a list or a tuple; known at compile time."},
    {"dtype", "x.dtype", "The dtype of x, known at compile time: `x.dtype == f32`, `zeros([3], dtype: x.dtype)`."},
    {"device", "x.device", "The device that x lives on, as a device or in an `@` annotation."},
    {"T", "x.T", "x with its last two dims exchanged."},
};

const Keyword* in(std::span<const Keyword> rows, std::string_view word) {
  const auto found = std::ranges::find(rows, word, &Keyword::word);
  return found == rows.end() ? nullptr : &*found;
}
}  // namespace

const Keyword* keyword(std::string_view word) { return in(kKeywords, word); }

const Keyword* member(std::string_view path) { return in(kMembers, path.substr(path.rfind('.') + 1)); }

}  // namespace tenc::tool
