// Calls as they run: what the device's memory holds is read, factorised, and written back.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "tests/cuda/vm/cusolver/Decompose.h"
#include "tests/cuda/vm/cusolver/Objects.h"
#include "tests/cuda/vm/driver/LibraryMemory.h"

namespace tenc::ptx::cusolver {
namespace {

class Run {
 public:
  Run(const Call& call, driver::Device& device) : c_(call), memory_(device, call.name) {}

  driver::Status run() {
    if (c_.hostBytes > 0) {
      if (*c_.host != c_.token) memory_.report(Finding::LibraryMisuse, "memory of the host", "has two calls at a time");
      std::memset(c_.host, 0xFF, c_.hostBytes);
    }
    memory_.spoil(c_.workspace, c_.workspaceBytes, "the workspace");
    info_ = compute();
    std::vector<int32_t> info{info_};
    put(c_.info, info, "info");
    return memory_.isWell() ? driver::Status::Success : driver::Status::IllegalAddress;
  }

 private:
  /// Of a column: the rows that belong to a part.
  static std::pair<int64_t, int64_t> rowsOf(Part part, int64_t column, int64_t rows) {
    return {part == Part::Lower ? column : 0, part == Part::Upper ? column + 1 : rows};
  }
  std::string column(const char* name, int64_t c) const { return name + std::string(", column ") + std::to_string(c); }

  Dense get(const Matrix& m, const char* name, Part part = Part::Whole) {
    Dense all(m.rows, m.columns);
    const uint64_t width = widthOf(c_.type);
    for (int64_t c = 0; c < m.columns; ++c) {
      const auto [first, end] = rowsOf(part, c, m.rows);
      const uint64_t at = m.at + static_cast<uint64_t>(c * m.leading + first) * width;
      const uint64_t bytes = static_cast<uint64_t>(end - first) * width;
      const uint8_t* host = memory_.range(at, bytes, column(name, c));
      if (host == nullptr) return all;
      memory_.read(at, bytes, column(name, c));
      for (int64_t r = first; r < end; ++r, host += width) all.at(r, c) = load(host);
    }
    return all;
  }
  void put(const Matrix& m, Dense& from, const char* name, Part part = Part::Whole) {
    const uint64_t width = widthOf(c_.type);
    for (int64_t c = 0; c < m.columns; ++c) {
      const auto [first, end] = rowsOf(part, c, m.rows);
      const uint64_t at = m.at + static_cast<uint64_t>(c * m.leading + first) * width;
      const uint64_t bytes = static_cast<uint64_t>(end - first) * width;
      uint8_t* host = memory_.range(at, bytes, column(name, c));
      if (host == nullptr) return;
      for (int64_t r = first; r < end; ++r, host += width) store(host, from.at(r, c));
      memory_.written(at, bytes);
    }
  }
  /// What is left where it is lost.
  void lose(const Matrix& m) {
    for (int64_t c = 0; c < m.columns; ++c)
      memory_.spoil(m.at + static_cast<uint64_t>(c * m.leading) * widthOf(c_.type),
                    static_cast<uint64_t>(m.rows) * widthOf(c_.type), "A");
  }
  double load(const uint8_t* at) const {
    double wide = 0;
    float narrow = 0;
    if (c_.type == kF64)
      std::memcpy(&wide, at, sizeof wide);
    else
      std::memcpy(&narrow, at, sizeof narrow);
    return c_.type == kF64 ? wide : static_cast<double>(narrow);
  }
  void store(uint8_t* at, double v) const {
    const auto narrow = static_cast<float>(v);
    if (c_.type == kF64)
      std::memcpy(at, &v, sizeof v);
    else
      std::memcpy(at, &narrow, sizeof narrow);
  }
  Matrix column(int64_t elements) const { return {c_.vector, elements, 1, elements}; }
  void putVector(const std::vector<double>& values, const char* name) {
    Dense all(static_cast<int64_t>(values.size()), 1);
    all.all = values;
    put(column(all.rows), all, name);
  }
  template <class T>
  void put(uint64_t at, std::vector<T>& values, const char* name) {
    uint8_t* host = values.empty() ? nullptr : memory_.range(at, values.size() * sizeof(T), name);
    if (host == nullptr) return;
    std::memcpy(host, values.data(), values.size() * sizeof(T));
    memory_.written(at, values.size() * sizeof(T));
  }

  /// Rows that were exchanged, as somebody left them.
  std::vector<int64_t> pivots() {
    std::vector<int64_t> all(static_cast<size_t>(c_.a.rows));
    const uint64_t bytes = all.size() * sizeof(int64_t);
    const uint8_t* host = memory_.range(c_.vector, bytes, "the pivots");
    if (host == nullptr) return {};
    memory_.read(c_.vector, bytes, "the pivots");
    std::memcpy(all.data(), host, bytes);
    for (const int64_t p : all)
      if (p < 1 || p > c_.a.rows) {
        memory_.report(Finding::LibraryMisuse, "the pivots", std::to_string(p) + " is no row");
        return {};
      }
    return all;
  }
  /// Iterations may not come to an end.
  void mustBeFinite(const Dense& a) {
    if (!std::all_of(a.all.begin(), a.all.end(), [](double v) { return std::isfinite(v); }))
      memory_.report(Finding::LibraryMisuse, "A", "is not finite");
  }

  int compute() {
    switch (c_.routine) {
      case Routine::Getrf: return elimination();
      case Routine::Getrs: return solution();
      case Routine::Potrf: return definite();
      case Routine::Geqrf: return factors();
      case Routine::Orgqr: return orthogonal();
      case Routine::Syevd: return eigen();
      case Routine::Gesvd: return singular();
    }
    return 0;
  }
  int elimination() {
    Dense a = get(c_.a, "A");
    std::vector<int64_t> exchanged;
    const int info = eliminate(a, exchanged);
    put(c_.a, a, "A");
    put(c_.vector, exchanged, "the pivots");
    return info;
  }
  int solution() {
    Dense a = get(c_.a, "A"), b = get(c_.b, "B");
    const std::vector<int64_t> exchanged = pivots();
    if (!exchanged.empty()) substitute(a, exchanged, c_.transposed, b);
    put(c_.b, b, "B");
    return 0;
  }
  int definite() {
    Dense a = get(c_.a, "A", c_.part);
    const bool isUpper = c_.part == Part::Upper;
    const auto turn = [&] {
      for (int64_t i = 0; i < a.rows; ++i)
        for (int64_t j = 0; j < i; ++j) std::swap(a.at(i, j), a.at(j, i));
    };
    if (isUpper) turn();
    const int info = cholesky(a);
    if (isUpper) turn();
    put(c_.a, a, "A", c_.part);
    return info;
  }
  int factors() {
    Dense a = get(c_.a, "A");
    std::vector<double> scales;
    householder(a, scales);
    put(c_.a, a, "A");
    putVector(scales, "the scales");
    return 0;
  }
  int orthogonal() {
    Matrix given = c_.a;
    given.columns = c_.k;  // the others are not read
    Dense vectors = get(given, "A"), q(c_.a.rows, c_.a.columns);
    std::copy(vectors.all.begin(), vectors.all.end(), q.all.begin());
    const std::vector<double> scales = get(column(c_.k), "the scales").all;
    reflections(q, scales);
    put(c_.a, q, "A");
    return 0;
  }
  int eigen() {
    Dense a = get(c_.a, "A", c_.part);
    mustBeFinite(a);
    for (int64_t i = 0; i < a.rows; ++i)
      for (int64_t j = 0; j < i; ++j)
        (c_.part == Part::Lower ? a.at(j, i) : a.at(i, j)) = c_.part == Part::Lower ? a.at(i, j) : a.at(j, i);
    const std::vector<double> values = eigenvectors(a);
    flip(a);
    if (c_.vectors)
      put(c_.a, a, "A");
    else
      lose(c_.a);
    putVector(values, "the eigenvalues");
    return 0;
  }
  int singular() {
    Dense a = get(c_.a, "A");
    mustBeFinite(a);
    Dense u(c_.a.rows, c_.vectors ? c_.b.columns : c_.a.columns), v(0, 0);
    const std::vector<double> values = singularVectors(std::move(a), u, v);
    flip(u);
    flip(v);
    lose(c_.a);
    putVector(values, "the singular values");
    if (!c_.vectors) return 0;
    put(c_.b, u, "U");
    Dense vt(v.columns, v.rows);
    for (int64_t i = 0; i < v.rows; ++i)
      for (int64_t j = 0; j < v.columns; ++j) vt.at(j, i) = v.at(i, j);
    put(c_.c, vt, "V");
    return 0;
  }
  void flip(Dense& vectors) const {
    for (int64_t i = 0; c_.flips && i < vectors.rows; ++i) vectors.at(i, 0) = -vectors.at(i, 0);
  }

  const Call& c_;
  driver::LibraryMemory memory_;
  int info_ = 0;
};

}  // namespace

Workspace workspaceOf(const Call& call) {
  const auto rows = static_cast<uint64_t>(call.a.rows), columns = static_cast<uint64_t>(call.a.columns);
  switch (call.routine) {
    case Routine::Getrf: return {(rows * 7 + 100) * widthOf(call.type), 0};
    case Routine::Getrs: return {};
    case Routine::Potrf: return {rows * 5 * widthOf(call.type) + 64, 0};
    case Routine::Geqrf: return {columns * 33 * widthOf(call.type), 8};
    case Routine::Orgqr: return {(columns * 31 + 7) * widthOf(call.type), 0};
    case Routine::Syevd: return {(rows * rows * 2 + rows * 6 + 1) * widthOf(call.type), rows * 8};
    case Routine::Gesvd: return {(rows * 5 + columns * 9) * widthOf(call.type), columns * 16};
  }
  return {};
}

driver::Status run(const Call& call, driver::Device& device) {
  ++device.launches;
  return Run(call, device).run();
}

}  // namespace tenc::ptx::cusolver
