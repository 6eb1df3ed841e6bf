#include "syntax/Familiar.h"

#include <algorithm>
#include <array>
#include <span>

namespace tenc::syntax {

namespace {

constexpr std::string_view kNoPrefix = "operations stand without a prefix: `zeros([2, 3])`";
constexpr std::string_view kArray = "a tensor is written `[[1.0, 2.0], [3.0, 4.0]]`";
constexpr std::string_view kCast = "a dtype converts: `f32(x)`";
constexpr std::string_view kValues = "values never share memory: `x` itself will do";

constexpr std::string_view kNothing = "every value is there; an option that is not wanted is left out";
constexpr std::string_view kGradients =
    "tensors hold no gradients: `grad(f)` makes the derivative of a function (this version has none yet)";
constexpr std::string_view kInPlace = "values do not change in place: the name of a `var` is given a new one";

constexpr std::array kNames = {
    Familiar{"True", "true", ""},
    Familiar{"False", "false", ""},
    Familiar{"None", "", kNothing},
    Familiar{"np", "", kNoPrefix},
    Familiar{"numpy", "", kNoPrefix},
    Familiar{"jnp", "", kNoPrefix},
    Familiar{"torch", "", kNoPrefix},
    Familiar{"F", "", kNoPrefix},
    Familiar{"math", "", kNoPrefix},
    Familiar{"nn", "", "the module is imported first: `import nn`"},
    Familiar{"range", "", "a range is written `0..n`"},
    Familiar{"len", "", "the length of the first dim is `x.shape[0]`"},
    Familiar{"shape", "", "a tensor has `x.shape`"},
    Familiar{"array", "", kArray},
    Familiar{"tensor", "", kArray},
    Familiar{"Tensor", "", "a tensor type is a dtype and dims: `f32[N, 3]`"},
    Familiar{"asarray", "", kArray},
    Familiar{"float32", "f32", ""},
    Familiar{"float64", "f64", ""},
    Familiar{"float16", "f16", ""},
    Familiar{"bfloat16", "bf16", ""},
    Familiar{"null", "", kNothing},
    Familiar{"nil", "", kNothing},
    Familiar{"none", "", kNothing},
    Familiar{"undefined", "", kNothing},
    Familiar{"newaxis", "", "a new dim of an index is written `x[:, new]`"},
    Familiar{"str", "", "a string holds values in braces: `\"loss {x}\"`"},
    Familiar{"float", "", "the float dtypes are f16, bf16, f32 and f64"},
    Familiar{"double", "f64", ""},
    Familiar{"half", "f16", ""},
    Familiar{"int", "", "the integer dtypes are i8 to i64 and u8 to u64"},
    Familiar{"int8", "i8", ""},
    Familiar{"int16", "i16", ""},
    Familiar{"int32", "i32", ""},
    Familiar{"int64", "i64", ""},
    Familiar{"uint8", "u8", ""},
    Familiar{"long", "i64", ""},
    Familiar{"string", "str", ""},
    Familiar{"astype", "", kCast},
    Familiar{"type", "", kCast},
    Familiar{"view", "reshape", ""},
    Familiar{"permute", "permute_dims", ""},
    Familiar{"swapaxes", "transpose", ""},
    Familiar{"unsqueeze", "expand_dims", ""},
    Familiar{"ravel", "flatten", ""},
    Familiar{"t", "T", ""},
    Familiar{"cat", "concat", ""},
    Familiar{"concatenate", "concat", ""},
    Familiar{"hstack", "", "tensors are joined with `concat((a, b), axis: 1)`"},
    Familiar{"vstack", "", "tensors are joined with `concat((a, b), axis: 0)`"},
    Familiar{"unbind", "unstack", ""},
    Familiar{"chunk", "split", ""},
    Familiar{"expand", "broadcast_to", ""},
    Familiar{"amax", "max", ""},
    Familiar{"amin", "min", ""},
    Familiar{"absolute", "abs", ""},
    Familiar{"clip", "clamp", ""},
    Familiar{"power", "pow", ""},
    Familiar{"mm", "matmul", ""},
    Familiar{"bmm", "matmul", ""},
    Familiar{"arcsin", "asin", ""},
    Familiar{"arccos", "acos", ""},
    Familiar{"arctan", "atan", ""},
    Familiar{"arctan2", "atan2", ""},
    Familiar{"mod", "", "the remainder is `a % b`"},
    Familiar{"floor_divide", "", "division that rounds down is `a // b`"},
    Familiar{"true_divide", "", "division is `a / b`"},
    Familiar{"add", "", "a sum is `a + b`"},
    Familiar{"subtract", "", "a difference is `a - b`"},
    Familiar{"multiply", "", "a product is `a * b`"},
    Familiar{"divide", "", "division is `a / b`"},
    Familiar{"index_select", "take", ""},
    Familiar{"scatter_add", "", "sums go to places with `scatter(x, i, u, axis: 0, reduce: \"add\")`"},
    Familiar{"allclose", "", "write `all(abs(a - b) <= 1e-6)`"},
    Familiar{"array_equal", "", "write `all(a == b)`"},
    Familiar{"random", "rand", ""},
    Familiar{"manual_seed", "seed", ""},
    Familiar{"randperm", "permutation", ""},
    Familiar{"multinomial", "categorical", ""},
    Familiar{"scaled_dot_product_attention", "attention", ""},
    Familiar{"interpolate", "", "pictures change their size with `image.resize` after `import image`"},
    Familiar{"linear", "", "layers are in a module: `nn.linear(784, 128)` after `import nn`"},
    Familiar{"cross_entropy", "", "losses are in a module: `nn.cross_entropy` after `import nn`"},
    Familiar{"Sequential", "", "layers in a row are a tuple: `(fc1, relu, fc2)`"},
    Familiar{"ModuleList", "", "layers of one type are a list: `list(12, |i| nn.linear(64, 64))`"},
    Familiar{"Module", "", "a layer is a struct with a function `call`"},
    Familiar{"item", "", "a value without dims is a number already"},
    Familiar{"clone", "", kValues},
    Familiar{"copy", "", kValues},
    Familiar{"contiguous", "", kValues},
    Familiar{"detach", "stop_gradient", ""},
    Familiar{"no_grad", "", "nothing is differentiated unless `grad` asks for it"},
    Familiar{"backward", "", kGradients},
    Familiar{"requires_grad", "", kGradients},
    Familiar{"requires_grad_", "", kGradients},
    Familiar{"zero_grad", "", kGradients},
    Familiar{"grad", "", kGradients},
    Familiar{"add_", "", kInPlace},
    Familiar{"sub_", "", kInPlace},
    Familiar{"mul_", "", kInPlace},
    Familiar{"div_", "", kInPlace},
    Familiar{"copy_", "", kInPlace},
    Familiar{"zero_", "", kInPlace},
    Familiar{"fill_", "", kInPlace},
    Familiar{"forward", "", "a layer is called: `m(x)` is its `call`"},
    Familiar{"eval", "", "what differs in training is a `static train: bool` of the function, or another function"},
    Familiar{"train", "", "what differs in training is a `static train: bool` of the function, or another function"},
    Familiar{"parameters", "", "a model is a tree: arithmetic, `map_leaves` and `fold` go over all its parameters"},
    Familiar{"state_dict", "", "a model is a tree: `save(\"m.safetensors\", m)` writes all its parameters"},
    Familiar{"load_state_dict", "", "a model is read with its type: `let m: Mlp = load(\"m.safetensors\")`"},
    Familiar{"apply", "", "`map_leaves(f, m)` goes over all tensors of a tree"},
    Familiar{"format", "", "a string holds values in braces: `\"loss {x:.3f}\"`"},
    Familiar{"input", "", "values from outside are `param`s: `param lr: f32 = 0.1`, `--lr 0.3`"},
    Familiar{"open", "", "files are read with `load` and written with `save`"},
    Familiar{"read_csv", "load_csv", ""},
    Familiar{"isinstance", "", "types are known while compiling: `x.dtype == f32`"},
    Familiar{"dim", "ndim", ""},
    Familiar{"numel", "size", ""},
    Familiar{"append", "", "sizes are fixed: join with `concat`, or set elements of `zeros([n])`"},
    Familiar{"var", "variance", ""},
};

constexpr std::array kOptions = {
    Familiar{"dim", "axis", ""},
    Familiar{"dims", "axis", ""},
    Familiar{"axes", "axis", ""},
    Familiar{"keepdims", "keep", ""},
    Familiar{"keepdim", "keep", ""},
    Familiar{"ddof", "correction", ""},
    Familiar{"is_causal", "causal", ""},
    Familiar{"attn_mask", "mask", ""},
    Familiar{"num_groups", "groups", ""},
    Familiar{"kernel_size", "window", ""},
    Familiar{"negative_slope", "slope", ""},
    Familiar{"reverse", "descending", ""},
    Familiar{"num_classes", "n", ""},
    Familiar{"size", "shape", ""},
    Familiar{"min", "lo", ""},
    Familiar{"max", "hi", ""},
    Familiar{"requires_grad", "", kGradients},
    Familiar{"inplace", "", "values do not change in place: leave it out"},
    Familiar{"end", "", "every `print` writes a line; values of one line stand in one string: `\"{a} {b}\"`"},
    Familiar{"sep", "", "values of one line stand in one string: `\"{a}, {b}\"`"},
    Familiar{"in_dims", "in_axes", ""},
    Familiar{"out_dims", "out_axes", ""},
    Familiar{"device", "", "an annotation says where it is made: `@gpu zeros([2])`"},
};

const Familiar* findIn(std::span<const Familiar> list, std::string_view name) {
  const auto f = std::find_if(list.begin(), list.end(), [&](const Familiar& x) { return x.name == name; });
  return f == list.end() ? nullptr : &*f;
}

}  // namespace

const Familiar* familiarName(std::string_view name) { return findIn(kNames, name); }
const Familiar* familiarOption(std::string_view name) { return findIn(kOptions, name); }

}  // namespace tenc::syntax
