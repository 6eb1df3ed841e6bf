// What functions and layers of other libraries do, beyond how TL writes their calls: facts that edits have to know.
#pragma once
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "syntax/ForeignCalls.h"

namespace tenc::syntax {

/// A layer that normalises by statistics, which training changes.
bool keepsStatistics(std::string_view layer);
/// A layer that draws numbers in training, some only where they are asked to.
bool drawsInTraining(std::string_view layer);
/// Whether what is called so may be something else in training: such a layer, or a function that is told the mode,
/// `F.dropout(x, p, self.training)`.
bool mayAskForMode(std::string_view name);

/// A layer of PyTorch that has parameters.
bool hasParameters(std::string_view layer);
/// What the streams of a generator have in common that a function makes, `default_rng`; empty for another function.
std::string_view familyOfGenerator(std::string_view maker);

/// A function whose result is an array of its own.
bool givesOwnArray(std::string_view function);
/// A function that gives one array in NumPy, PyTorch and TL, whatever its options.
bool givesOneArray(std::string_view function);
/// A function that gives one value in TL, and in PyTorch several with a dim behind the array.
bool givesSeveralByDim(std::string_view function);
/// A method that gives numbers of Python, which no gradient goes through.
bool givesNumbers(std::string_view method);
/// A method that changes its array in NumPy, or its list in Python, and gives a new one in TL: `x.sort()`.
bool isInPlaceElsewhere(std::string_view method);
/// Whether a mark before a function changes nothing that it gives: `@jax.jit`, `@torch.no_grad()`.
bool isIdleMark(std::string_view name);
/// A function that gives an array which takes a copy of what it indexes, in NumPy and PyTorch.
bool givesIndices(std::string_view function);

/// A function that gives a list or a tuple of arrays.
bool givesListOfArrays(std::string_view function);
/// A function of arrays that may give one whole number.
bool givesNumberOfArray(std::string_view function);
/// A method of arrays of NumPy or PyTorch that gives an array, and has another name here.
bool isMethodOfArrays(std::string_view method);
/// A function that reads arrays of any dims from a file.
bool readsArrays(std::string_view function);

/// The names that functions or methods of one library have in another meaning than elsewhere, of a form that says which
/// library: Torch, NumPy or Python.
const std::set<std::string, std::less<>>& namesOf(ForeignCall::Form library);
/// The same of methods of PyTorch's tensors.
inline const std::set<std::string, std::less<>>& methodsOfTorch() { return namesOf(ForeignCall::Form::Torch); }

}  // namespace tenc::syntax
