// Tables that are filled from what is in them already: dynamic programming, texts, automata.
#include <stdint.h>
#include <string.h>

enum {
  LETTERS = 3000,
  MATRICES = 300,
  ITEMS = 200,
  CAPACITY = 20000,
  TEXT_BYTES = 2000000,
  WORD = 12,
  STATES = 64,
  NODES = 160,
  SAMPLES = 2000000,
  LONG_TEXT = 20000,
  BAND = 16,
};

static int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t greater(int64_t a, int64_t b) { return a > b ? a : b; }

void edit_distance(const int64_t* restrict a, const int64_t* restrict b, int64_t* restrict row) {
  for (int64_t j = 0; j <= LETTERS; ++j) row[j] = j;
  for (int64_t i = 1; i <= LETTERS; ++i) {
    int64_t diagonal = row[0];
    row[0] = i;
    for (int64_t j = 1; j <= LETTERS; ++j) {
      int64_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
      int64_t best = lesser(lesser(row[j] + 1, row[j - 1] + 1), diagonal + cost);
      diagonal = row[j];
      row[j] = best;
    }
  }
}

void matrix_chain(const int64_t* restrict dims, int64_t* restrict m) {
  memset(m, 0, sizeof(int64_t) * MATRICES * MATRICES);
  for (int64_t length = 2; length <= MATRICES; ++length)
    for (int64_t i = 0; i <= MATRICES - length; ++i) {
      int64_t j = i + length - 1, best = INT64_MAX;
      for (int64_t k = i; k < j; ++k) {
        int64_t cost = m[i * MATRICES + k] + m[(k + 1) * MATRICES + j] + dims[i] * dims[k + 1] * dims[j + 1];
        if (cost < best) best = cost;
      }
      m[i * MATRICES + j] = best;
    }
}

void knapsack(const int64_t* restrict weights, const int64_t* restrict values, int64_t* restrict best) {
  memset(best, 0, sizeof(int64_t) * (CAPACITY + 1));
  for (int64_t i = 0; i < ITEMS; ++i) {
    int64_t w = weights[i];
    for (int64_t j = CAPACITY; j >= w; --j) best[j] = greater(best[j], best[j - w] + values[i]);
  }
}

void floyd_warshall(const int64_t* restrict w, int64_t* restrict d) {
  memcpy(d, w, sizeof(int64_t) * NODES * NODES);
  for (int64_t k = 0; k < NODES; ++k)
    for (int64_t i = 0; i < NODES; ++i)
      for (int64_t j = 0; j < NODES; ++j)
        d[i * NODES + j] = lesser(d[i * NODES + j], d[i * NODES + k] + d[k * NODES + j]);
}

void kadane(const float* restrict x, float* restrict result) {
  float here = x[0], best = x[0];
  for (int64_t i = 1; i < SAMPLES; ++i) {
    float longer = here + x[i];
    here = x[i] > longer ? x[i] : longer;
    best = best > here ? best : here;
  }
  *result = best;
}

void word_count(const uint8_t* restrict text, int64_t* restrict counts) {
  int64_t lines = 0, words = 0, letters = 0;
  int inside = 0;
  for (int64_t i = 0; i < TEXT_BYTES; ++i) {
    uint8_t c = text[i];
    if (c == 10) ++lines;
    if (c == 32 || c == 10 || c == 9) {
      inside = 0;
    } else {
      ++letters;
      if (!inside) ++words;
      inside = 1;
    }
  }
  counts[0] = lines, counts[1] = words, counts[2] = letters;
}

void kmp(const uint8_t* restrict text, const uint8_t* restrict word, int64_t* restrict result) {
  int64_t border[WORD], k = 0, count = 0, last = -1;
  border[0] = 0;
  for (int64_t i = 1; i < WORD; ++i) {
    while (k > 0 && word[i] != word[k]) k = border[k - 1];
    if (word[i] == word[k]) ++k;
    border[i] = k;
  }
  k = 0;
  for (int64_t i = 0; i < TEXT_BYTES; ++i) {
    while (k > 0 && text[i] != word[k]) k = border[k - 1];
    if (text[i] == word[k]) ++k;
    if (k == WORD) {
      ++count;
      last = i + 1 - WORD;
      k = border[k - 1];
    }
  }
  result[0] = count, result[1] = last;
}

void run_lengths(const uint8_t* restrict x, uint8_t* restrict out) {
  memset(out, 0, 2 * TEXT_BYTES);
  int64_t at = 0;
  for (int64_t i = 0; i < TEXT_BYTES;) {
    uint8_t c = x[i];
    int64_t length = 1;
    while (i + length < TEXT_BYTES && x[i + length] == c && length < 255) ++length;
    out[at] = c;
    out[at + 1] = (uint8_t)length;
    at += 2;
    i += length;
  }
}

void automaton(const uint8_t* restrict text, const int32_t* restrict steps, const int32_t* restrict found,
               int64_t* restrict result) {
  int32_t node = 0;
  int64_t count = 0;
  for (int64_t i = 0; i < TEXT_BYTES; ++i) {
    node = steps[node * 256 + text[i]];
    count += found[node];
  }
  *result = count;
}

static int32_t greater32(int32_t a, int32_t b) { return a > b ? a : b; }

void smith_waterman(const uint8_t* restrict a, const uint8_t* restrict b, int32_t* restrict out) {
  enum { N = 1500, W = N + 1 };
  static int32_t h[W * W];
  memset(h, 0, sizeof h);
  int32_t best = 0;
  for (int64_t i = 1; i <= N; ++i)
    for (int64_t j = 1; j <= N; ++j) {
      int32_t s = a[i - 1] == b[j - 1] ? 2 : -1;
      int32_t here = greater32(0, h[(i - 1) * W + j - 1] + s);
      here = greater32(here, greater32(h[(i - 1) * W + j] - 1, h[i * W + j - 1] - 1));
      h[i * W + j] = here;
      best = greater32(best, here);
    }
  out[0] = best;
}

void viterbi(const double* restrict start, const double* restrict move, const double* restrict emit,
             const int64_t* restrict seen, int64_t* restrict path) {
  enum { STEPS = 4000, HIDDEN = 24, SIGNS = 16 };
  static int64_t from[STEPS][HIDDEN];
  double score[HIDDEN], next[HIDDEN];
  memcpy(score, start, sizeof score);
  for (int64_t t = 1; t < STEPS; ++t) {
    for (int64_t s = 0; s < HIDDEN; ++s) {
      double best = score[0] + move[s];
      int64_t at = 0;
      for (int64_t p = 1; p < HIDDEN; ++p) {
        double x = score[p] + move[p * HIDDEN + s];
        if (x > best) best = x, at = p;
      }
      next[s] = best + emit[s * SIGNS + seen[t]];
      from[t][s] = at;
    }
    for (int64_t s = 0; s < HIDDEN; ++s) score[s] = next[s];
  }
  int64_t last = 0;
  for (int64_t s = 1; s < HIDDEN; ++s)
    if (score[s] > score[last]) last = s;
  path[STEPS - 1] = last;
  for (int64_t t = STEPS - 1; t >= 1; --t) path[t - 1] = from[t][path[t]];
}

void banded_distance(const uint8_t* restrict a, const uint8_t* restrict b, int64_t* restrict result) {
  static int64_t row[LONG_TEXT + 1];
  for (int64_t j = 0; j <= LONG_TEXT; ++j) row[j] = 1000000;
  for (int64_t j = 0; j <= BAND; ++j) row[j] = j;
  for (int64_t i = 1; i <= LONG_TEXT; ++i) {
    int64_t first = greater(1, i - BAND), last = lesser(LONG_TEXT, i + BAND);
    int64_t diagonal = row[first - 1];
    row[first - 1] = first == 1 ? i : 1000000;
    for (int64_t j = first; j <= last; ++j) {
      int64_t best = diagonal;
      if (a[i - 1] != b[j - 1]) best = lesser(diagonal, lesser(row[j], row[j - 1])) + 1;
      diagonal = row[j];
      row[j] = best;
    }
  }
  *result = row[LONG_TEXT];
}

void subset_sums(const int64_t* restrict weights, uint64_t* restrict sums) {
  memset(sums, 0, 1024 * sizeof *sums);
  sums[0] = 1;
  for (int k = 0; k < 100; ++k) {
    const int64_t words = weights[k] / 64, places = weights[k] % 64;
    for (int64_t i = 1023; i >= words; --i) {
      uint64_t v = sums[i - words] << places;
      if (places > 0 && i > words) v |= sums[i - words - 1] >> (64 - places);
      sums[i] |= v;
    }
  }
}
