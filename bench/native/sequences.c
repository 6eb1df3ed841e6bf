// Filters, sorts and counts of sequences, as C.
#include <stdint.h>
#include <string.h>

enum { TAPS = 16, FILTERED = 100000, BIT_WORDS = 200000, WALLS = 1000000, SELECTED = 3000, INSERTED = 4000, SLID = 500000 };
enum { WINDOW = 50, COINS = 12, AMOUNT = 100000, SIGNS = 200000, NUMBERS = 100000, WIDTH = 31 };

void convolution(const float* restrict x, const float* restrict taps, float* restrict y) {
  for (int64_t i = 0; i < FILTERED; ++i) {
    float sum = 0;
    for (int64_t k = 0; k < TAPS; ++k) sum += x[i + k] * taps[k];
    y[i] = sum;
  }
}

void bit_counts(const int64_t* restrict x, int64_t* restrict result) {
  int64_t count = 0;
  for (int64_t i = 0; i < BIT_WORDS; ++i)
    for (uint64_t bits = (uint64_t)x[i]; bits != 0; bits &= bits - 1) ++count;
  *result = count;
}

void trapped_rain(const int64_t* restrict h, int64_t* restrict result) {
  int64_t left = 0, right = WALLS - 1, left_most = 0, right_most = 0, water = 0;
  while (left < right) {
    if (h[left] < h[right]) {
      if (h[left] >= left_most)
        left_most = h[left];
      else
        water += left_most - h[left];
      ++left;
    } else {
      if (h[right] >= right_most)
        right_most = h[right];
      else
        water += right_most - h[right];
      --right;
    }
  }
  *result = water;
}

void selection_sort(const double* restrict x, double* restrict r) {
  memcpy(r, x, sizeof(double) * SELECTED);
  for (int64_t i = 0; i < SELECTED; ++i) {
    int64_t least = i;
    for (int64_t j = i + 1; j < SELECTED; ++j)
      if (r[j] < r[least]) least = j;
    double t = r[i];
    r[i] = r[least];
    r[least] = t;
  }
}

void insertion_sort(const int64_t* restrict x, int64_t* restrict r) {
  memcpy(r, x, sizeof(int64_t) * INSERTED);
  for (int64_t i = 1; i < INSERTED; ++i) {
    int64_t v = r[i], j = i - 1;
    for (; j >= 0 && r[j] > v; --j) r[j + 1] = r[j];
    r[j + 1] = v;
  }
}

void sliding_maximum(const int64_t* restrict x, int64_t* restrict out) {
  static int64_t queue[SLID];
  int64_t head = 0, tail = 0;
  for (int64_t i = 0; i < SLID; ++i) {
    while (tail > head && x[queue[tail - 1]] <= x[i]) --tail;
    queue[tail++] = i;
    if (queue[head] <= i - WINDOW) ++head;
    out[i] = x[queue[head]];
  }
}

void coin_change(const int64_t* restrict coins, int64_t* restrict ways) {
  memset(ways, 0, sizeof(int64_t) * (AMOUNT + 1));
  ways[0] = 1;
  for (int64_t k = 0; k < COINS; ++k)
    for (int64_t v = coins[k]; v <= AMOUNT; ++v) ways[v] = (ways[v] + ways[v - coins[k]]) % 1000000007;
}

void run_decode(const int64_t* restrict lengths, const uint8_t* restrict values, uint8_t* restrict out) {
  enum { RUNS = 200000, MOST = 2000000 };
  memset(out, 0, MOST);
  int64_t at = 0;
  for (int64_t i = 0; i < RUNS; ++i)
    for (int64_t k = 0; k < lengths[i]; ++k) out[at++] = values[i];
}

void lru(const int64_t* restrict asked, int64_t* restrict result) {
  enum { ASKED = 500000, KEYS = 4096, KEPT = 256 };
  int64_t slot[KEYS], key[KEPT], before[KEPT + 1] = {0}, after[KEPT + 1] = {0}, hits = 0, used = 0;
  memset(slot, -1, sizeof slot);
  memset(key, -1, sizeof key);
  before[KEPT] = after[KEPT] = KEPT;
  for (int64_t i = 0; i < ASKED; ++i) {
    int64_t k = asked[i], s = slot[k];
    if (s >= 0) {
      ++hits;
      after[before[s]] = after[s];
      before[after[s]] = before[s];
    } else if (used < KEPT) {
      s = used++;
    } else {
      s = before[KEPT];
      after[before[s]] = KEPT;
      before[KEPT] = before[s];
      slot[key[s]] = -1;
    }
    key[s] = k;
    slot[k] = s;
    after[s] = after[KEPT];
    before[s] = KEPT;
    before[after[KEPT]] = s;
    after[KEPT] = s;
  }
  *result = hits;
}

void moving_median(const double* restrict x, double* restrict out) {
  double window[WIDTH];
  int64_t count = 0;
  for (int64_t i = 0; i < NUMBERS; ++i) {
    if (i >= WIDTH) {
      int64_t at = 0;
      while (at < count && window[at] != x[i - WIDTH]) ++at;
      for (int64_t k = at; k < count - 1; ++k) window[k] = window[k + 1];
      --count;
    }
    int64_t at = count;
    while (at > 0 && window[at - 1] > x[i]) {
      window[at] = window[at - 1];
      --at;
    }
    window[at] = x[i];
    ++count;
    out[i] = window[count / 2];
  }
}

void huffman(const int64_t* restrict weights, int64_t* restrict lengths) {
  static int64_t weight[2 * SIGNS - 1], parent[2 * SIGNS - 1], depth[2 * SIGNS - 1];
  memset(weight, 0, sizeof weight);
  memset(parent, 0, sizeof parent);
  memset(depth, 0, sizeof depth);
  for (int64_t i = 0; i < SIGNS; ++i) weight[i] = weights[i];
  int64_t leaf = 0, node = SIGNS;
  for (int64_t next = SIGNS; next < 2 * SIGNS - 1; ++next) {
    int64_t sum = 0;
    for (int k = 0; k < 2; ++k) {
      int64_t least = leaf < SIGNS && (node >= next || weight[leaf] <= weight[node]) ? leaf++ : node++;
      sum += weight[least];
      parent[least] = next;
    }
    weight[next] = sum;
  }
  for (int64_t i = 2 * SIGNS - 3; i >= 0; --i) depth[i] = depth[parent[i]] + 1;
  for (int64_t i = 0; i < SIGNS; ++i) lengths[i] = depth[i];
}

void radix_sort(const uint32_t* restrict x, uint32_t* restrict a) {
  enum { NUMBERS = 300000 };
  static uint32_t b[NUMBERS];
  memcpy(a, x, sizeof b);
  for (int pass = 0; pass < 4; ++pass) {
    int64_t count[257] = {0};
    for (int64_t i = 0; i < NUMBERS; ++i) ++count[(a[i] >> (8 * pass) & 255) + 1];
    for (int k = 0; k < 256; ++k) count[k + 1] += count[k];
    for (int64_t i = 0; i < NUMBERS; ++i) b[count[a[i] >> (8 * pass) & 255]++] = a[i];
    for (int64_t i = 0; i < NUMBERS; ++i) a[i] = b[i];
  }
}
