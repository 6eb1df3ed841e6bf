#include "codegen/cuda/RoutineTexts.h"

namespace tenc::codegen::cuda {

// Elements are compared by unsigned keys of as many bits, equal keys by their places: so that the order is stable, -0
// equals +0, and every NaN is the largest. Sorting by digits is in DigitSortText.cpp.
const std::string_view kSortText = R"cuda(
// Element: the bits; Key: unsigned, or unsigned long long for 64 bits. kind: 0 unsigned, 1 signed, 2 float, whose infinity is given.
template <class Element, class Key, int kind, unsigned long long infinity, bool descending>
struct tenc_order {
  typedef Element element;
  typedef Key key;
  // Whether one element alone has the key, which are all but zeros and NaN; and that.
  __device__ static bool isExact(Key key) { return kind != 2 || (key != of(0) && key != of((Element)~(Element)0)); }
  __device__ static Element back(Key key) {
    const Element top = (Element)((Element)1 << (8 * sizeof(Element) - 1));
    Element x = descending ? (Element)~key : (Element)key;
    if (kind == 1) x ^= top;
    if (kind == 2) x = x < (Element)infinity ? (Element)(((Element)infinity - x) | top) : (Element)(x - (Element)infinity);
    return x;
  }
  __device__ static Key of(Element x) {
    const Element top = (Element)((Element)1 << (8 * sizeof(Element) - 1));
    if (kind == 1) x ^= top;
    if (kind == 2) {  // as a signed number, of which there is one zero, above minus infinity; NaN of both signs is beyond twice that
      const Element sign = (Element)-(Element)(x >> (8 * sizeof(Element) - 1)), nan = (Element)(2 * infinity + 1);
      x = (Element)(((x & ~top) ^ sign) - sign + (Element)infinity);
      x = x < nan ? x : nan;
    }
    return descending ? (Element)~x : x;
  }
};

// A key with its place.
template <class Key>
struct tenc_placed_key {
  unsigned long long both;
  __device__ static tenc_placed_key of(Key key, unsigned place) { return {(unsigned long long)key << 32 | place}; }
  __device__ Key key() const { return (Key)(both >> 32); }
  __device__ unsigned place() const { return (unsigned)both; }
  __device__ bool before(const tenc_placed_key& o) const { return both < o.both; }
  __device__ tenc_placed_key from(int lane) const { return {__shfl_sync(~0u, both, lane)}; }
  __device__ tenc_placed_key up() const { return {__shfl_up_sync(~0u, both, 1)}; }
};
template <>
struct tenc_placed_key<unsigned long long> {
  unsigned long long own;
  unsigned at;
  __device__ static tenc_placed_key of(unsigned long long key, unsigned place) { return {key, place}; }
  __device__ unsigned long long key() const { return own; }
  __device__ unsigned place() const { return at; }
  __device__ bool before(const tenc_placed_key& o) const { return own < o.own || (own == o.own && at < o.at); }
  __device__ tenc_placed_key from(int lane) const { return {__shfl_sync(~0u, own, lane), __shfl_sync(~0u, at, lane)}; }
  __device__ tenc_placed_key up() const { return {__shfl_up_sync(~0u, own, 1), __shfl_up_sync(~0u, at, 1)}; }
};

// Some of them in shared memory, 32 bits of each as one number. They are swizzled, as threads have eight side by side.
__device__ __forceinline__ int tenc_swizzled(int i) { return i ^ (i >> 4 & 15); }
template <class Key, int size>
struct tenc_pairs {
  typedef tenc_placed_key<Key> pair;
  unsigned long long both[size];
  __device__ void set(int i, const pair& p) { both[tenc_swizzled(i)] = p.both; }
  __device__ pair get(int i) const { return {both[tenc_swizzled(i)]}; }
};
template <int size>
struct tenc_pairs<unsigned long long, size> {
  typedef tenc_placed_key<unsigned long long> pair;
  unsigned long long keys[size];
  unsigned places[size];
  __device__ void set(int i, const pair& p) { keys[tenc_swizzled(i)] = p.own, places[tenc_swizzled(i)] = p.at; }
  __device__ pair get(int i) const { return {keys[tenc_swizzled(i)], places[tenc_swizzled(i)]}; }
};

// Steps of a bitonic network, the last of which compares pairs 2^last apart: a thread has 2^steps pairs at a time, and makes all steps
// on these.
template <int steps, int length, int size, int threads, class Pairs>
__device__ void tenc_bitonic_steps(Pairs& pairs, int run, int last) {
  const int together = 1 << steps;
#pragma unroll 1
  for (int c = threadIdx.x; c < size / together; c += threads) {
    const int first = (c >> last << (last + steps)) + (c & ((1 << last) - 1));
    const bool ascending = (first & (length - 1) & run) == 0;
    typename Pairs::pair own[together];
#pragma unroll
    for (int j = 0; j < together; ++j) own[j] = pairs.get(first + (j << last));
#pragma unroll
    for (int by = together / 2; by > 0; by /= 2) {
#pragma unroll
      for (int j = 0; j < together; ++j) {
        if (j & by) continue;
        const typename Pairs::pair a = own[j], b = own[j + by];
        if (b.before(a) == ascending) own[j] = b, own[j + by] = a;
      }
    }
#pragma unroll
    for (int j = 0; j < together; ++j) pairs.set(first + (j << last), own[j]);
  }
  __syncthreads();
}

// Sorts runs of `length` pairs, a power of two, by a bitonic network (Batcher 1968). No two pairs are equal, but for those that fill
// a run up. `size`, all pairs, is a power of two, too.
template <int length, int size, int threads, class Pairs>
__device__ void tenc_bitonic(Pairs& pairs) {
  __syncthreads();
  int steps = 1;
#pragma unroll 1
  for (int run = 2; run <= length; run *= 2, ++steps) {
    int left = steps;
    if (left % 3 == 1) tenc_bitonic_steps<1, length, size, threads>(pairs, run, --left);
    if (left % 3 == 2) tenc_bitonic_steps<2, length, size, threads>(pairs, run, left -= 2);
#pragma unroll 1
    while (left > 0) tenc_bitonic_steps<3, length, size, threads>(pairs, run, left -= 3);
  }
}

// The first k of each row in order: their values and places; either may be null. A block has `together` rows of up to `length`
// elements at a time.
template <class Order, int length, int together, int threads>
__device__ void tenc_sort_short(const typename Order::element* x, long long rows, int n, int k, typename Order::element* values, long long* places) {
  typedef tenc_placed_key<typename Order::key> Pair;
  __shared__ tenc_pairs<typename Order::key, length * together> pairs;
  for (long long first = (long long)blockIdx.x * together; first < rows; first += (long long)gridDim.x * together) {
    for (int e = threadIdx.x; e < length * together; e += threads) {
      const long long row = first + e / length;
      const int place = e % length;
      if (row < rows && place < n)
        pairs.set(e, Pair::of(Order::of(x[row * n + place]), (unsigned)place));
      else
        pairs.set(e, Pair::of(~(typename Order::key)0, ~0u));
    }
    tenc_bitonic<length, length * together, threads>(pairs);
    for (int e = threadIdx.x; e < length * together; e += threads) {
      const long long row = first + e / length;
      const int i = e % length;
      if (row >= rows || i >= k) continue;
      const Pair pair = pairs.get(e);
      const unsigned place = pair.place();
      if (values) values[row * k + i] = Order::isExact(pair.key()) ? Order::back(pair.key()) : x[row * n + place];
      if (places) places[row * k + i] = place;
    }
    __syncthreads();
  }
}

// The first k of each row in order, of at most 32: a warp has a row, and a lane one of the best so far, in order. Of many elements few are
// better than the last of these, which is all that is asked of the others; those are put in one by one.
template <class Order, int warps>
__device__ void tenc_best(const typename Order::element* x, long long rows, int n, int k, typename Order::element* values, long long* places) {
  typedef tenc_placed_key<typename Order::key> Pair;
  const int together = 8, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (long long r = (long long)blockIdx.x * warps + warp; r < rows; r += (long long)gridDim.x * warps) {
    const typename Order::element* const row = x + r * n;
    Pair best = Pair::of(~(typename Order::key)0, ~0u), last = best;
    #pragma unroll 1
    for (int first = 0; first < n; first += 32 * together) {
      typename Order::element e[together];
      #pragma unroll
      for (int j = 0; j < together; ++j) {
        const int i = first + j * 32 + lane;
        e[j] = i < n ? row[i] : 0;
      }
      #pragma unroll
      for (int j = 0; j < together; ++j) {
        const int i = first + j * 32 + lane;
        const Pair own = Pair::of(Order::of(e[j]), (unsigned)i);
        unsigned better = __ballot_sync(~0u, i < n && own.before(last));
        #pragma unroll 1
        for (; better != 0; better &= better - 1) {
          const Pair next = own.from(__ffs(better) - 1);
          if (!next.before(last)) continue;
          const int at = __popc(__ballot_sync(~0u, best.before(next)));
          const Pair moved = best.up();
          if (lane == at) best = next;
          if (lane > at) best = moved;
          last = best.from(k - 1);
        }
      }
    }
    if (lane >= k) continue;
    const unsigned place = best.place();
    if (values) values[r * k + lane] = row[place];
    if (places) places[r * k + lane] = place;
  }
}

// The first k of each row in order, of few of many, which need no memory: the key of the last one is found digit by digit, then those before it are taken out
// of the row and sorted.
template <class Order, int length>
__device__ void tenc_select(const tenc_faults* faults, const typename Order::element* x, long long rows, unsigned n, int k, typename Order::element* values,
                            long long* places) {
  typedef typename Order::key Key;
  typedef tenc_placed_key<Key> Pair;
  const int threads = 256, bits = 8 * (int)sizeof(typename Order::element);
  __shared__ tenc_pairs<Key, length> pairs;
  __shared__ unsigned taken[length], counts[256];
  __shared__ Key found;
  __shared__ unsigned rest;
  __shared__ unsigned slots, equals[threads / 32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (long long r = blockIdx.x; r < rows; r += gridDim.x) {
    const typename Order::element* const row = x + r * n;
    Key last = 0, known = 0;
    unsigned wanted = k;
    for (int shift = bits - 8; shift >= 0; shift -= 8) {
      if (tenc_block_interrupted(faults)) return;
      counts[threadIdx.x] = 0;
      __syncthreads();
      for (unsigned i = threadIdx.x; i < n; i += threads) {
        const Key key = Order::of(row[i]);
        if ((key & known) == last) atomicAdd(&counts[key >> shift & 255], 1u);
      }
      __syncthreads();
      if (threadIdx.x == 0) {
        int digit = 0;
        unsigned left = wanted;
        while (counts[digit] < left) left -= counts[digit++];
        found = last | (Key)digit << shift;
        rest = left;
        slots = 0;
      }
      __syncthreads();
      last = found, wanted = rest;
      known |= (Key)255 << shift;
    }
    for (int i = threadIdx.x; i < length; i += threads) pairs.set(i, Pair::of(~(Key)0, ~0u));
    __syncthreads();
    // Those below in any order, and of the equal ones the first.
    unsigned had = 0;
    for (unsigned tile = 0; tile < n; tile += threads) {
      const unsigned i = tile + threadIdx.x;
      const Key key = i < n ? Order::of(row[i]) : ~(Key)0;
      const bool equal = i < n && key == last, below = i < n && key < last;
      const unsigned lanes = __ballot_sync(~0u, equal);
      if (lane == 0) equals[warp] = __popc(lanes);
      __syncthreads();
      unsigned before = had + __popc(lanes & ((1u << lane) - 1));
      for (int w = 0; w < threads / 32; ++w) {
        if (w < warp) before += equals[w];
        had += equals[w];
      }
      if (below || (equal && before < wanted)) {
        const unsigned slot = atomicAdd(&slots, 1u);
        taken[slot] = i;
      }
      __syncthreads();
    }
    for (int i = threadIdx.x; i < k; i += threads) pairs.set(i, Pair::of(Order::of(row[taken[i]]), taken[i]));
    tenc_bitonic<length, length, threads>(pairs);
    for (int i = threadIdx.x; i < k; i += threads) {
      const unsigned place = pairs.get(i).place();
      if (values) values[r * k + i] = row[place];
      if (places) places[r * k + i] = place;
    }
    __syncthreads();
  }
}
)cuda";

}  // namespace tenc::codegen::cuda
