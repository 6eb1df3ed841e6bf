// Loops over arrays as plain C. Arguments are the arrays in order, then the result; so in the other files here.
#include <stdint.h>
#include <string.h>

enum { GRID = 1024, TEXT = 4096, DRAWS = 1 << 22, BYTES = 1 << 22, ROWS = 100000, ENTRIES = 1600000 };

// One sweep in place: every point becomes the mean of its neighbours.
void gauss_seidel(const float* restrict start, float* restrict u) {
  memcpy(u, start, sizeof(float) * GRID * GRID);
  for (int64_t i = 1; i < GRID - 1; ++i)
    for (int64_t j = 1; j < GRID - 1; ++j)
      u[i * GRID + j] =
          0.25f * (u[(i - 1) * GRID + j] + u[(i + 1) * GRID + j] + u[i * GRID + j - 1] + u[i * GRID + j + 1]);
}

// The table of lengths of the longest common subsequences of all prefixes.
void common_subsequence(const int32_t* restrict a, const int32_t* restrict b, int32_t* restrict d) {
  memset(d, 0, sizeof(int32_t) * (TEXT + 1) * (TEXT + 1));
  for (int64_t i = 1; i <= TEXT; ++i)
    for (int64_t j = 1; j <= TEXT; ++j) {
      int32_t diagonal = d[(i - 1) * (TEXT + 1) + j - 1], up = d[(i - 1) * (TEXT + 1) + j],
              left = d[i * (TEXT + 1) + j - 1];
      d[i * (TEXT + 1) + j] = a[i - 1] == b[j - 1] ? diagonal + 1 : up > left ? up : left;
    }
}

void histogram(const uint8_t* restrict x, int64_t* restrict h) {
  memset(h, 0, sizeof(int64_t) * 256);
  for (int64_t i = 0; i < DRAWS; ++i) h[x[i]] += 1;
}

void crc32(const uint8_t* restrict x, uint32_t* restrict result) {
  uint32_t table[256];
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int k = 0; k < 8; ++k) c = (c & 1) ? 0xedb88320u ^ (c >> 1) : c >> 1;
    table[i] = c;
  }
  uint32_t crc = 0xffffffffu;
  for (int64_t i = 0; i < BYTES; ++i) crc = table[(crc ^ x[i]) & 255] ^ (crc >> 8);
  *result = crc ^ 0xffffffffu;
}

// y = A x with A in compressed rows.
void sparse_product(const float* restrict values, const int32_t* restrict columns, const int32_t* restrict starts,
                    const float* restrict x, float* restrict y) {
  for (int64_t i = 0; i < ROWS; ++i) {
    float sum = 0;
    for (int64_t k = starts[i]; k < starts[i + 1]; ++k) sum += values[k] * x[columns[k]];
    y[i] = sum;
  }
}

void page_rank(const int64_t* restrict starts, const int64_t* restrict sources, const double* restrict shares,
               double* restrict rank) {
  enum { N = 20000 };
  static double next[N];
  for (int64_t i = 0; i < N; ++i) rank[i] = 1.0 / N;
  for (int round = 0; round < 10; ++round) {
    for (int64_t i = 0; i < N; ++i) {
      double sum = 0;
      for (int64_t e = starts[i]; e < starts[i + 1]; ++e) sum += rank[sources[e]] * shares[sources[e]];
      next[i] = 0.15 / N + 0.85 * sum;
    }
    for (int64_t i = 0; i < N; ++i) rank[i] = next[i];
  }
}
