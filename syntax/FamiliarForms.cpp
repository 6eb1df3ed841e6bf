// Forms of syntax of other languages, and functions that TL has, called in another way.
#include "syntax/Familiar.h"

namespace tenc::syntax {

namespace {

constexpr FamiliarMisuse kMisuses[] = {
    {FamiliarMisuse::Kind::TooMany, "time", "write it without a prefix: `time()`", "let x = 1.0\nprint(x.time())\n"},
    {FamiliarMisuse::Kind::UnnamedInt, "repeat",
     "copies of the whole tensor side by side are made by `tile(x, [2, 1])`",
     "let x = ones([2, 2])\nprint(repeat(x, 2, 1))\n"},
    {FamiliarMisuse::Kind::UnnamedInt, "std",
     "it is given by name, as in `std(x, axis: 0)`; PyTorch divides by n - 1, which is `correction: 1`, and NumPy by n",
     "let x = ones([2, 2])\nprint(x.std(1))\n"},
    {FamiliarMisuse::Kind::UnnamedInt, "variance",
     "it is given by name, as in `variance(x, axis: 0)`; PyTorch divides by n - 1, which is `correction: 1`, and NumPy "
     "by n",
     "let x = ones([2, 2])\nprint(x.variance(1))\n"},
    {FamiliarMisuse::Kind::UnnamedValue, "grad",
     "it takes the function alone, and what it gives takes the arguments: `grad(f)(x)`",
     "let x = ones([2])\nprint(grad(sum, x))\n"},
    {FamiliarMisuse::Kind::UnnamedValue, "value_and_grad",
     "it takes the function alone, and what it gives takes the arguments: `value_and_grad(f)(x)`",
     "let x = ones([2])\nprint(value_and_grad(sum, x))\n"},
    {FamiliarMisuse::Kind::UnnamedValue, "vjp",
     "it takes the function alone, and what it gives takes the arguments and the direction: `vjp(f)(x, d)`",
     "let x = ones([2])\nprint(vjp(sin, x))\n"},
    {FamiliarMisuse::Kind::UnnamedValue, "jvp",
     "it takes the function alone, and what it gives takes the arguments and the direction: `jvp(f)(x, d)`",
     "let x = ones([2])\nprint(jvp(sin, (x,), (x,)))\n"},
    {FamiliarMisuse::Kind::UnnamedValue, "vmap",
     "it takes the function alone, and what it gives takes the arguments: `vmap(f)(x)`",
     "let x = ones([2])\nprint(vmap(sin, x))\n"},
    {FamiliarMisuse::Kind::TakenApart, "grad", "it gives the gradient alone; `value_and_grad(f)` gives the value, too",
     "let x = ones([2])\nlet (l, g) = grad(sum)(ones([3]))\nprint(l, g)\n"},
    {FamiliarMisuse::Kind::OnlyOne, "list",
     "a tensor or a list is walked over and indexed as it is; `list(n, f)` makes one of what `f` gives",
     "let x = ones([2])\nprint(list(x))\n"},
    {FamiliarMisuse::Kind::OnlyOne, "where",
     "how many elements of a mask are true is known only at run time: `where(c, a, b)` chooses, `topk` or `argsort` "
     "sort",
     "let x = ones([2])\nprint(where(x > 0.0))\n"},
};

constexpr FamiliarForm kForms[] = {
    {Form::StringPrefix, "every string interpolates values in braces: it needs no prefix", "print(f\"a\")\n"},
    {Form::ArrowOnNextLine, "a line continues after `->`, not before it: put `->` at the end of this one",
     "fn f(x: f32)\n-> f32 { x }\n"},
    {Form::BraceOnNextLine, "put the `{` on the line that it belongs to", "if true\n{ print(1) }\n"},
    {Form::ResultBehindColon, "write the result type after `->`", "fn f(x: f32): f32 = x\n"},
    {Form::Block, "write a block in braces: `{ ... }`", "if true:\n    print(1)\n"},
    {Form::FunctionValue, "write the value of a function after `=`", "fn f(x: f32) => x\n"},
    {Form::Comment, "a comment starts with `#`", "// note\n"},
    {Form::CommentBlock, "a comment starts with `#` and ends with the line", "/* note */\nprint(1)\n"},
    {Form::CommentBehind, "`//` divides and rounds down; a comment starts with `#`", "let x = 1 // the first one\n"},
    {Form::SeveralModules, "each module is imported by a statement of its own: `import nn`, `import optim`",
     "import nn, optim\n"},
    {Form::SeveralNames, "write several names in parentheses", "let a, b = (1, 2)\n"},
    {Form::SeveralAssigned, "several names are assigned in parentheses: `(a, b) = (b, a)`",
     "var a = 1\nvar b = 2\na, b = b, a\n"},
    {Form::StarredName, "each name takes one part: `let (first, rest) = (xs[0], xs[1:])`",
     "let xs = [1, 2, 3]\nlet (first, *rest) = xs\n"},
    {Form::PatternInBrackets, "write several names in parentheses: `let (a, b) = ...`", "let [a, b] = (1, 2)\n"},
    {Form::LetChanges, "`let` binds a new name; a `var` is changed without it", "var x = 1\nlet x += 1\n"},
    {Form::InclusiveRange, "a range ends before its end: `0..n + 1`", "for i in 0..=3 { print(i) }\n"},
    {Form::RangeStep, "a step is written `by`", "for i in 0..6..2 { print(i) }\n"},
    {Form::CountingLoop, "a loop counts over a range: `for i in 0..n { ... }`",
     "for (i = 0; i < 3; i += 1) { print(i) }\n"},
    {Form::SliceByDots, "a slice is written `x[a : b]`; `a..b` is the range of a `for`",
     "let x = ones([3])\nprint(x[0..2])\n"},
    {Form::Comprehension,
     "a list is made by a function, `list(3, |i| i * 2)`, a tensor by `tabulate([3], |i| i * 2)` or `map(f, x)`",
     "let a = [i * 2 for i in 0..3]\n"},
    {Form::Dictionary,
     "TL has no dictionaries: a `const` and the fields of a `struct` have names, a tuple `(a, b)` has places",
     "let d = {\"a\": 1}\n"},
    {Form::ValuesInBraces, "group values with parentheses, `(a, b)`, or brackets, `[a, b]`", "let s = {1, 2}\n"},
    {Form::TrailingDot, "a number ends with a digit: `1.0`", "let x = 0xff. + 2.0\n"},
    {Form::NewStruct, "a struct is built with `Linear { w: value }`, or by the function that makes one",
     "let a = new Linear(3)\n"},
    {Form::DimsApart, "write all dims in one bracket: `f32[2, 3]`", "let x: f32[2][3] = ones([2, 3])\n"},
    {Form::DimsInParentheses, "write dims in brackets: `f32[2, 3]`", "let x: f32(2, 3) = ones([2, 3])\n"},
    {Form::ListWithoutLength, "the type of a list says how long it is: `[f32; 3]`", "let x: [f32] = ones([2])\n"},
    {Form::DimByColon, "a dim of any size has a name: `f32[N]`", "fn f(x: f32[:]) = x\n"},
    {Form::DimByCall, "a dim of an argument has a name: `x: f32[N]`, which stands for its size in the signature, too",
     "fn f(x: f32[N], w: f32[len(x)]) = x\n"},
    {Form::StarParameter, "a function names its parameters: a tuple takes several values, `...S` several dims",
     "fn f(*xs) = 1\n"},
    {Form::StructInCondition,
     "write a struct that is built in a condition in parentheses: `if (P { x: 1.0 }).x > 0.0 { ... }`",
     "struct P { x: f32 }\nif P { x: 1.0 }.x > 0.0 { print(1) }\n"},
    {Form::MethodInStruct, "a method stands beside the struct: `fn call(m: Net, x: f32[N]) = ...`",
     "struct A {\n  w: f32\n  fn call(x) = x\n}\n"},
    {Form::FieldDefault, "a field is `name: type`; it gets its value where a struct is built",
     "struct A { w = 1.0 }\n"},
    {Form::FieldEquals, "a field is written `name: value`", "struct A { w: f32 }\nlet a = A { w = 1.0 }\n"},
    {Form::FieldsNamed, "fields are named: `Linear { w: value }`", "struct A { w(f32) }\n"},
    {Form::LeadingMinus,
     "a statement starts with `-` only as the first of a block, or after `;` or an empty line: put the operator at the "
     "end of the line before, or write `(-x)`",
     "let x = 1\n- 2\n"},
    {Form::Increment, "one is added with `x += 1`", "var x = 1\nx++\n"},
    {Form::LeadingOperator,
     "an operator at the start of a line does not continue it: put it at the end of the line before",
     "let x = 1\n* 2\n"},
    {Form::ShiftLeft, "bits are shifted by `bitwise_left_shift(a, b)`", "let x = 1 << 2\n"},
    {Form::ShiftRight, "bits are shifted by `bitwise_right_shift(a, b)`", "let x = 4 >> 2\n"},
    {Form::ReturnSeveral, "several values are returned as a tuple, in parentheses: `return (a, b)`",
     "fn f(x: f32) { return x, x }\n"},
    {Form::NameBound, "a name is bound with `let x = ...`", "x := 1\n"},
    {Form::ArgumentEquals, "an argument is named with a colon", "let x = ones([3])\nprint(sum(x, axis=0))\n"},
    {Form::LambdaArrow, "a lambda is written `|x| x + 1`", "let f = (x) => x\n"},
    {Form::Equality, "equality is `==`", "let x = 1\nif x = 1 { print(x) }\n"},
    {Form::BindEquals, "a value is bound with `=`", "let x == 1\n"},
    {Form::Or, "TL has `or`", "let a = true || false\n"},
    {Form::PipedLambda, "write a lambda after `|>` in parentheses: `x |> (|v| v * 2)`", "let x = 1 |> |v| v * 2\n"},
    {Form::LambdaValue, "write a lambda that is a block's value in parentheses: `(|x| x * 2)`",
     "fn f() {\n  |x| x * 2\n}\n"},
    {Form::LeadingDot, "a number starts with a digit: `0.5`", "let x = .5\n"},
    {Form::Choice, "a choice is written `if c { a } else { b }`", "let x = 1 if true else 2\n"},
    {Form::AnnotationPlace, "an annotation goes before a statement or a block: `@gpu let y = x`, `let y = @gpu { x }`",
     "let y = @cpu 1\n"},
    {Form::PrintStatement, "`print` is called like a function: `print(x)`", "print 1\n"},
    {Form::Either, "logical or is `or`", "print((1 > 2) | (1 < 2))\n"},
    {Form::EitherCompared, "comparisons are joined by `or`, since the bar of Python binds tighter than they do",
     "print(1 > 2 | 1 < 2)\n"},
    {Form::ParameterWord, "a parameter has no keyword; one that is assigned is bound anew: `var x = x`",
     "fn f(var x: f32) { x += 1.0\n  x }\n"},
    {Form::DeviceChoice, "the first device that there is of several is written `device d = a or b`",
     "device d = a if true else b\n"},
    {Form::DeviceText, "write devices without quotes", "device gpu = \"cpu\"\n"},
    {Form::ChainedAssignment, "each name is assigned by itself", "var a = 1\nvar b = 2\na = b = 3\n"},
    {Form::TypeBehindName, "a name is bound with its type after it: `let x: f32 = 1.0`", "x: f32 = 1.0\n"},
    {Form::Membership, "`any([1, 2] == x)` tells whether a tensor has the value", "let x = 3\nprint(x in [1, 3])\n"},
    {Form::FormatOutside, "a format stands in the braces of a string: `\"{x:.3f}\"`", "let x = 1.0\nprint(x:.3f)\n"},
    {Form::DimsOfAnyNumber, "dims of any number have one name: `f32[...S]`", "fn f(x: f32[..]) = x\n"},
    {Form::NamesOfModule, "names are listed: `import optim: adam, step`; `import optim` alone brings `optim.adam`",
     "import optim: *\n"},
    {Form::LoopElse,
     "`else` belongs to an `if`, behind its closing brace; a loop has none: keep in a `var` whether it was left",
     "for i in 0..3 { print(i) }\nelse { print(4) }\n"},
};

// A form's row stands at its place.
static_assert([] {
  for (size_t i = 0; i < std::size(kForms); ++i) {
    if (kForms[i].form != static_cast<Form>(i)) return false;
  }
  return std::size(kForms) == static_cast<size_t>(Form::LoopElse) + 1;
}());

constexpr FamiliarPart kParts[] = {
    {"values", 0, 2},       {"indices", 1, 2},  {"Q", 0, 2},         {"R", 1, 2},    {"eigenvalues", 0, 2},
    {"eigenvectors", 1, 2}, {"sign", 0, 2},     {"logabsdet", 1, 2}, {"U", 0, 3},    {"S", 1, 3},
    {"Vh", 2, 3},           {"solution", 0, 4}, {"residuals", 1, 4}, {"rank", 2, 4}, {"singular_values", 3, 4},
};
}  // namespace

std::span<const FamiliarPart> familiarParts() { return kParts; }
std::span<const FamiliarMisuse> familiarMisuses() { return kMisuses; }
std::span<const FamiliarForm> familiarForms() { return kForms; }

}  // namespace tenc::syntax
