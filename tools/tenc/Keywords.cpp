#include "tools/tenc/Keywords.h"

#include <algorithm>

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

}  // namespace

const Keyword* keyword(std::string_view word) {
  const auto* found = std::ranges::find(kKeywords, word, &Keyword::word);
  return found == std::end(kKeywords) ? nullptr : found;
}

}  // namespace tenc::tool
