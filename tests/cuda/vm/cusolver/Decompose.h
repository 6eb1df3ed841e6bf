// Linear algebra by plain loops in f64.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenc::ptx::cusolver {

/// Columns side by side.
struct Dense {
  int64_t rows = 0, columns = 0;
  std::vector<double> all;
  Dense(int64_t r, int64_t c) : rows(r), columns(c), all(static_cast<size_t>(r * c)) {}
  double& at(int64_t r, int64_t c) { return all[static_cast<size_t>(c * rows + r)]; }
};

/// Elimination with the first of the largest as pivot, which stops at one of zero and gives its number from 1 on.
/// `exchanged` has so many numbers as steps were done.
int eliminate(Dense& a, std::vector<int64_t>& exchanged);
/// b becomes x with a x = b, or with a transposed.
void substitute(Dense& a, const std::vector<int64_t>& exchanged, bool transposed, Dense& b);
/// The lower factor in place of the lower triangle; stops where it is not definite, and gives that column's number.
int cholesky(Dense& a);
void householder(Dense& a, std::vector<double>& scales);
/// Columns of the product of the first so many reflections, in place of these.
void reflections(Dense& a, const std::vector<double>& scales);
/// Ascending eigenvalues of a symmetric matrix, which becomes its eigenvectors.
std::vector<double> eigenvectors(Dense& a);
/// Descending singular values; a becomes orthonormal columns of U, as many as `u` has, and `v` the columns of V.
std::vector<double> singularVectors(Dense a, Dense& u, Dense& v);

}  // namespace tenc::ptx::cusolver
