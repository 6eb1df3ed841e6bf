// Sorting, searching, graphs and hash tables.
#include <stdint.h>
#include <string.h>

enum {
  SORTED = 300000,
  PLACES = 100000,
  WANTED = 300000,
  TREES = 300000,
  EDGES = 400000,
  NODES = 100000,
  KEYS = 500000,
  TABLE = 262144,
  HEAP = 200000,
  PRIMES = 4000000,
  VERTICES = 2000,
  ROADS = 30000,
};

void sieve(const uint8_t* restrict start, uint8_t* restrict p) {
  memcpy(p, start, PRIMES);
  p[0] = p[1] = 0;
  for (int64_t i = 2; i * i < PRIMES; ++i) {
    if (!p[i]) continue;
    for (int64_t j = i * i; j < PRIMES; j += i) p[j] = 0;
  }
}

void quicksort(const double* restrict x, double* restrict a) {
  memcpy(a, x, sizeof(double) * SORTED);
  int64_t stack[128], top = 2;
  stack[0] = 0, stack[1] = SORTED - 1;
  while (top > 0) {
    int64_t lo = stack[top - 2], hi = stack[top - 1];
    top -= 2;
    while (lo < hi) {
      double pivot = a[(lo + hi) / 2];
      int64_t i = lo, j = hi;
      while (i <= j) {
        while (a[i] < pivot) ++i;
        while (pivot < a[j]) --j;
        if (i <= j) {
          double t = a[i];
          a[i] = a[j];
          a[j] = t;
          ++i;
          --j;
        }
      }
      if (j - lo < hi - i) {
        stack[top] = i;
        stack[top + 1] = hi;
        hi = j;
      } else {
        stack[top] = lo;
        stack[top + 1] = j;
        lo = i;
      }
      top += 2;
    }
  }
}

void binary_search(const int64_t* restrict sorted, const int64_t* restrict wanted, int64_t* restrict places) {
  for (int64_t q = 0; q < WANTED; ++q) {
    int64_t key = wanted[q], lo = 0, hi = PLACES;
    while (lo < hi) {
      int64_t middle = (lo + hi) / 2;
      if (sorted[middle] < key)
        lo = middle + 1;
      else
        hi = middle;
    }
    places[q] = lo;
  }
}

static int64_t root(int64_t* restrict parent, int64_t x) {
  while (parent[x] != x) {
    parent[x] = parent[parent[x]];
    x = parent[x];
  }
  return x;
}

void union_find(const int64_t* restrict a, const int64_t* restrict b, int64_t* restrict parent) {
  for (int64_t i = 0; i < TREES; ++i) parent[i] = i;
  for (int64_t e = 0; e < EDGES; ++e) {
    int64_t x = root(parent, a[e]), y = root(parent, b[e]);
    if (x < y)
      parent[y] = x;
    else if (y < x)
      parent[x] = y;
  }
}

void breadth_first(const int64_t* restrict starts, const int64_t* restrict targets, int64_t* restrict far) {
  static int64_t queue[NODES];
  for (int64_t i = 0; i < NODES; ++i) far[i] = -1;
  int64_t head = 0, tail = 1;
  queue[0] = far[0] = 0;
  while (head < tail) {
    int64_t node = queue[head++];
    for (int64_t e = starts[node]; e < starts[node + 1]; ++e) {
      int64_t next = targets[e];
      if (far[next] >= 0) continue;
      far[next] = far[node] + 1;
      queue[tail++] = next;
    }
  }
}

void queens(const int64_t* restrict size, int64_t* restrict count) {
  int64_t at[16], n = size[0], row = 0, ways = 0;
  at[0] = -1;
  while (row >= 0) {
    if (++at[row] >= n) {
      --row;
      continue;
    }
    int free = 1;
    for (int64_t k = 0; k < row; ++k) {
      int64_t apart = at[row] - at[k];
      if (apart == 0 || apart == row - k || apart == k - row) {
        free = 0;
        break;
      }
    }
    if (!free) continue;
    if (row == n - 1)
      ++ways;
    else
      at[++row] = -1;
  }
  *count = ways;
}

void hash_table(const int64_t* restrict keys, int64_t* restrict counts) {
  static int64_t table[TABLE];
  for (int64_t i = 0; i < TABLE; ++i) table[i] = -1;
  memset(counts, 0, sizeof(int64_t) * TABLE);
  for (int64_t i = 0; i < KEYS; ++i) {
    int64_t key = keys[i];
    uint64_t at = (uint64_t)key * 2654435761u % TABLE;
    while (table[at] != -1 && table[at] != key) at = (at + 1) % TABLE;
    table[at] = key;
    counts[at] += 1;
  }
}

static void sink(float* restrict a, int64_t root, int64_t end) {
  float v = a[root];
  for (;;) {
    int64_t child = 2 * root + 1;
    if (child >= end) break;
    if (child + 1 < end && a[child] < a[child + 1]) ++child;
    if (!(v < a[child])) break;
    a[root] = a[child];
    root = child;
  }
  a[root] = v;
}

void heap_sort(const float* restrict x, float* restrict a) {
  memcpy(a, x, sizeof(float) * HEAP);
  for (int64_t root = HEAP / 2 - 1; root >= 0; --root) sink(a, root, HEAP);
  for (int64_t end = HEAP - 1; end >= 0; --end) {
    float t = a[0];
    a[0] = a[end];
    a[end] = t;
    sink(a, 0, end);
  }
}

void bellman_ford(const int64_t* restrict from, const int64_t* restrict to, const double* restrict w,
                  double* restrict d) {
  for (int64_t i = 0; i < VERTICES; ++i) d[i] = 1e300;
  d[0] = 0;
  for (int round = 0; round < 20; ++round)
    for (int64_t e = 0; e < ROADS; ++e) {
      double through = d[from[e]] + w[e];
      if (through < d[to[e]]) d[to[e]] = through;
    }
}

void closure(const uint8_t* restrict g, uint8_t* restrict r) {
  enum { N = 200 };
  memcpy(r, g, N * N);
  for (int64_t k = 0; k < N; ++k)
    for (int64_t i = 0; i < N; ++i)
      for (int64_t j = 0; j < N; ++j)
        if (r[i * N + k] && r[k * N + j]) r[i * N + j] = 1;
}
