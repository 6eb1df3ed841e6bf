// Whole calls of other libraries and what TL writes in their place, as texts: `nn.Softmax(dim=1)` is
// `|x| softmax(x, axis: 1)`. Read only where there is an error; nothing is accepted that TL does not have.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenc::syntax {

struct ForeignCall {
  /// How the call stands there.
  enum class Form : uint8_t {
    Any,
    Prefixed,  ///< a function of a library, or one without its prefix
    Torch,     ///< a function of PyTorch, where others have another meaning
    NumPy,     ///< a function of NumPy or JAX, likewise
    Python,    ///< a function of `math`
    Builtin,   ///< a function of Python itself, without a module
    Draws,     ///< a function of `jax.random`, whose first argument is a key
    Method,    ///< the receiver is the first parameter
    Array,     ///< a method of NumPy's and JAX's arrays, which TL takes in another way; what must be given is by place
    Layer,     ///< a class of `nn`
  };
  /// `name(a, b, *)`: what the library calls the parameters, `*` for any number. `a=true` matches that value alone,
  /// and `-a` any; neither need be given, and both are left out; `!a=true` must be. `+a` is an integer literal, `:a` is
  /// given by name, `%a` a tuple, `1a` a value of one dim that must be given, `!:a` must be given by name; `**` is all
  /// others that are given by name, with their names. A parameter in quotes matches that string alone. `lax.cond(...)`
  /// matches behind that module alone.
  std::string_view call;
  /// With `{a}` for the text of an argument, `{*}` for the rest, `{#a}` for it as a shape, `{2a}` for a size of a
  /// window in both dims, `{^a}` for the same where it is a literal and for it as a shape else, `{-*}` for it as a
  /// shape in which -1 is what the first argument has there, `{~a}` for that many axes from the end, `{a.0}` for a part
  /// of a tuple, `{=}` for a test that `a` and `b` have one shape where that is not known, unless one is a number,
  /// and `<...>` for what goes where an argument in it is not given.
  /// `{accelerator}`: the kind of device; `{{` is a brace. Empty where only `help` can tell, "-" where a statement of
  /// it may be left out.
  std::string_view text;
  Form form = Form::Any;
  bool statement = false;  ///< only where the call is a whole statement
  bool apart = false;      ///< TL has a function of that name, called in another way
  std::string_view help{};
  std::string_view second{};   ///< the call gives a pair: `text` is its first part, this the second
  bool taken = false;          ///< only where one part of the pair is taken: `[0]`, `.indices`
  std::string_view instead{};  ///< the text stands for the whole statement that names the result; what is read through
                               ///< that name is read through this one; "-" where it is only handed on
  bool divides = false;  ///< only where `size` is known to divide the dim (`dim`, else the first) of the first argument
  int rank = -1;         ///< only where the first argument is known to have that many dims
  int mostRank = rank;   ///< or more, up to so many
  std::string_view dtype{};  ///< only where an argument is known to have it, and none another one

  std::string_view name() const { return call.substr(0, call.find('(')); }
};

/// An argument as it is written.
struct ForeignArgument {
  std::string name;  ///< empty for one by place
  std::string text;
  bool compound = false;             ///< needs parentheses beside an operator
  bool number = false;               ///< an integer literal
  std::vector<std::string> parts{};  ///< of a tuple
  int rank = -1;                     ///< how many dims it has, where that is known
  std::vector<int64_t> shape{};      ///< of a tensor whose type is known
  std::string dtype{};               ///< likewise
  bool always = true;                ///< rank, shape and dtype are those of every call of the function around it
  bool placed = false;               ///< it was written without its name, which its place tells
};

/// The rows of a name, in order.
std::vector<const ForeignCall*> foreignCalls(std::string_view name);
/// The text for a call with these arguments; nothing where they are not what the row takes.
std::optional<std::string> rewritten(const ForeignCall& row, std::span<const ForeignArgument> given,
                                     std::string_view accelerator);
/// The same for the second part of the pair that the call gives.
std::optional<std::string> rewrittenSecond(const ForeignCall& row, std::span<const ForeignArgument> given,
                                           std::string_view accelerator);
/// The rows of all names.
std::span<const ForeignCall> foreignNumberCalls();
std::span<const ForeignCall> foreignTensorCalls();
std::span<const ForeignCall> foreignLayerCalls();
std::span<const ForeignCall> foreignOptionCalls();
std::span<const ForeignCall> foreignFormulas();
std::span<const ForeignCall> foreignTorchCalls();
/// All of these tables, in the order in which the rows of a name are tried.
std::array<std::span<const ForeignCall>, 6> foreignTables();

}  // namespace tenc::syntax
