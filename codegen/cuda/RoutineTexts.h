// Functions in CUDA C++ that routines (Trait::Library) are made of. One block works on one row or matrix; all of its
// threads call them, and each begins and ends at a barrier, so that what it was given is there and what it gives is.
#pragma once
#include <string_view>

namespace tenc::codegen::cuda {

/// Sorting: keys, rows in shared memory by a bitonic network, and the first of longer ones.
extern const std::string_view kSortText;
/// Longer rows by digits; needs kSortText.
extern const std::string_view kDigitSortText;
/// Rows that several blocks sort; needs kDigitSortText.
extern const std::string_view kWideSortText;
/// Maxima and minima that several threads write.
extern const std::string_view kScatterText;
/// What all linear algebra uses: reductions over a block.
extern const std::string_view kMatrixText;
/// Elimination, triangular systems, Cholesky and Householder factors.
extern const std::string_view kFactoriseText;
/// Eigenvalues, singular values and least squares by Jacobi's rotations.
extern const std::string_view kSpectralText;
/// What goes to cuSOLVER and comes from there, in which any number of blocks work on one matrix.
extern const std::string_view kSolverText;

}  // namespace tenc::codegen::cuda
