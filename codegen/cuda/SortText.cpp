#include "codegen/cuda/RoutineTexts.h"

namespace tenc::codegen::cuda {

// Elements are compared by unsigned keys of as many bits, equal keys by their places: so that the order is stable, -0
// equals +0, and every NaN is the largest.
const std::string_view kSortText = R"cuda(
// Element: the bits; Key: unsigned, or unsigned long long for 64 bits. kind: 0 unsigned, 1 signed, 2 float, whose infinity is given.
template <class Element, class Key, int kind, unsigned long long infinity, bool descending>
struct tenc_order {
  typedef Element element;
  typedef Key key;
  static Key of(Element x) {
    const Element top = (Element)((Element)1 << (8 * sizeof(Element) - 1));
    if (kind == 1) x ^= top;
    if (kind == 2) {
      if (x == top) x = 0;
      if ((Element)(x & ~top) > (Element)infinity) x = (Element)~top;
      x ^= (x & top) ? (Element)~(Element)0 : top;
    }
    return descending ? (Element)~x : x;
  }
};

// Keys with their places, in shared memory: 32 bits of each are one number.
template <class Key, int size>
struct tenc_pairs {
  unsigned long long both[size];
  __device__ void put(int i, Key key, unsigned place) { both[i] = (unsigned long long)key << 32 | place; }
  __device__ Key key(int i) const { return (Key)(both[i] >> 32); }
  __device__ unsigned place(int i) const { return (unsigned)both[i]; }
  __device__ void order(int i, int j, bool ascending) {
    const unsigned long long a = both[i], b = both[j];
    if ((a > b) == ascending) both[i] = b, both[j] = a;
  }
};
template <int size>
struct tenc_pairs<unsigned long long, size> {
  unsigned long long keys[size];
  unsigned places[size];
  __device__ void put(int i, unsigned long long key, unsigned place) { keys[i] = key, places[i] = place; }
  __device__ unsigned long long key(int i) const { return keys[i]; }
  __device__ unsigned place(int i) const { return places[i]; }
  __device__ void order(int i, int j, bool ascending) {
    const unsigned long long a = keys[i], b = keys[j];
    const unsigned p = places[i], q = places[j];
    if ((a > b || (a == b && p > q)) == ascending) keys[i] = b, keys[j] = a, places[i] = q, places[j] = p;
  }
};

// Sorts runs of `length` pairs, a power of two, by a bitonic network (Batcher 1968). No two pairs are equal, but for those that fill
// a run up.
template <int length, int size, int threads, class Pairs>
__device__ void tenc_bitonic(Pairs& pairs) {
  __syncthreads();
  for (int run = 2; run <= length; run *= 2)
    for (int stride = run / 2; stride > 0; stride /= 2) {
      for (int c = threadIdx.x; c < size / 2; c += threads) {
        const int i = 2 * c - (c & (stride - 1));
        pairs.order(i, i + stride, (i & (length - 1) & run) == 0);
      }
      __syncthreads();
    }
}

// The first k of each row in order: their values and places; either may be null. A block has `together` rows of up to `length`
// elements at a time.
template <class Order, int length, int together, int threads>
__device__ void tenc_sort_short(const typename Order::element* x, long long rows, int n, int k, typename Order::element* values, long long* places) {
  __shared__ tenc_pairs<typename Order::key, length * together> pairs;
  for (long long first = (long long)blockIdx.x * together; first < rows; first += (long long)gridDim.x * together) {
    for (int e = threadIdx.x; e < length * together; e += threads) {
      const long long row = first + e / length;
      const int place = e % length;
      if (row < rows && place < n)
        pairs.put(e, Order::of(x[row * n + place]), (unsigned)place);
      else
        pairs.put(e, ~(typename Order::key)0, ~0u);
    }
    tenc_bitonic<length, length * together, threads>(pairs);
    for (int e = threadIdx.x; e < length * together; e += threads) {
      const long long row = first + e / length;
      const int i = e % length;
      if (row >= rows || i >= k) continue;
      const unsigned place = pairs.place(e);
      if (values) values[row * k + i] = x[row * n + place];
      if (places) places[row * k + i] = place;
    }
    __syncthreads();
  }
}

// A key with its place.
template <class Key>
struct tenc_placed_key {
  unsigned long long both;
  __device__ static tenc_placed_key of(Key key, unsigned place) { return {(unsigned long long)key << 32 | place}; }
  __device__ unsigned place() const { return (unsigned)both; }
  __device__ bool before(const tenc_placed_key& o) const { return both < o.both; }
  __device__ tenc_placed_key from(int lane) const { return {__shfl_sync(~0u, both, lane)}; }
  __device__ tenc_placed_key up() const { return {__shfl_up_sync(~0u, both, 1)}; }
};
template <>
struct tenc_placed_key<unsigned long long> {
  unsigned long long key;
  unsigned at;
  __device__ static tenc_placed_key of(unsigned long long key, unsigned place) { return {key, place}; }
  __device__ unsigned place() const { return at; }
  __device__ bool before(const tenc_placed_key& o) const { return key < o.key || (key == o.key && at < o.at); }
  __device__ tenc_placed_key from(int lane) const { return {__shfl_sync(~0u, key, lane), __shfl_sync(~0u, at, lane)}; }
  __device__ tenc_placed_key up() const { return {__shfl_up_sync(~0u, key, 1), __shfl_up_sync(~0u, at, 1)}; }
};

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

// What a pass over the digits of a row reads and writes; without keys the row itself.
template <class Order, class Place>
struct tenc_keyed {
  typename Order::key* keys;
  Place* places;
};

template <class Order, class Place>
__device__ typename Order::key tenc_key_at(const typename Order::element* row, const tenc_keyed<Order, Place>& from, Place i) {
  return from.keys ? from.keys[i] : Order::of(row[i]);
}

// The elements [first, last) to where those of their digit go, tile by tile. Warps of the block have consecutive parts of a tile. `starts`,
// in shared memory: where the next of each digit goes.
template <class Order, class Place, int threads>
__device__ void tenc_radix_move(const typename Order::element* row, const tenc_keyed<Order, Place> from, const tenc_keyed<Order, Place> to, Place first,
                                Place last, int shift, Place* starts) {
  typedef typename Order::key Key;
  const int warps = threads / 32, items = 8;
  __shared__ Place counts[warps][256];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (Place tile = first; tile < last; tile += threads * items) {
    for (int d = threadIdx.x; d < warps * 256; d += threads) counts[d / 256][d % 256] = 0;
    __syncthreads();
    Key keys[items];
    Place places[items], ranks[items];
#pragma unroll
    for (int j = 0; j < items; ++j) {
      const Place i = tile + (warp * items + j) * 32 + lane;
      const bool is = i < last;
      keys[j] = 0, places[j] = i, ranks[j] = 0;
      if (is && from.keys) keys[j] = from.keys[i], places[j] = from.places[i];
      if (is && !from.keys) keys[j] = Order::of(row[i]);
      const unsigned digit = is ? (unsigned)(keys[j] >> shift & 255) : 256u;
      const unsigned peers = __match_any_sync(~0u, digit), before = __popc(peers & ((1u << lane) - 1));
      const Place had = is ? counts[warp][digit] : 0;
      __syncwarp();
      if (is && before == 0) counts[warp][digit] = had + __popc(peers);
      __syncwarp();
      ranks[j] = had + before;
    }
    __syncthreads();
    Place at = starts[threadIdx.x];
    for (int w = 0; w < warps; ++w) {
      const Place count = counts[w][threadIdx.x];
      counts[w][threadIdx.x] = at;
      at += count;
    }
    starts[threadIdx.x] = at;
    __syncthreads();
#pragma unroll
    for (int j = 0; j < items; ++j) {
      if (tile + (warp * items + j) * 32 + lane >= last) continue;
      const Place position = counts[warp][keys[j] >> shift & 255] + ranks[j];
      to.keys[position] = keys[j];
      to.places[position] = places[j];
    }
    __syncthreads();
  }
}

// A stable pass by eight bits of the keys (as Merrill and Grimshaw 2011 within one block): counts, then in order of the row. False if all
// keys have the same digit: nothing is written.
template <class Order, class Place, int threads>
__device__ bool tenc_radix_pass(const typename Order::element* row, const tenc_keyed<Order, Place> from, const tenc_keyed<Order, Place> to, Place n,
                                int shift) {
  __shared__ Place starts[256];
  starts[threadIdx.x] = 0;
  __syncthreads();
  for (Place i = threadIdx.x; i < n; i += threads) atomicAdd(&starts[tenc_key_at<Order, Place>(row, from, i) >> shift & 255], (Place)1);
  __syncthreads();
  const Place own = starts[threadIdx.x];
  if (__syncthreads_or(own == n)) return false;
  for (int by = 1; by < 256; by *= 2) {
    const Place before = (int)threadIdx.x >= by ? starts[threadIdx.x - by] : 0;
    __syncthreads();
    starts[threadIdx.x] += before;
    __syncthreads();
  }
  starts[threadIdx.x] -= own;
  __syncthreads();
  tenc_radix_move<Order, Place, threads>(row, from, to, 0, n, shift, starts);
  return true;
}

// The first k of each row in order, a row a block, with memory for 2 n keys and 2 n places of each block.
template <class Order, class Place>
__device__ void tenc_sort_long(const tenc_faults* faults, const typename Order::element* x, long long rows, Place n, Place k, typename Order::element* values,
                               long long* places, unsigned char* work) {
  typedef typename Order::key Key;
  Key* const keys = (Key*)work + 2 * (long long)n * blockIdx.x;
  Place* const spare = (Place*)((Key*)work + 2 * (long long)n * gridDim.x) + 2 * (long long)n * blockIdx.x;
  for (long long r = blockIdx.x; r < rows; r += gridDim.x) {
    const typename Order::element* const row = x + r * n;
    tenc_keyed<Order, Place> from = {0, 0}, to = {keys, spare};
    for (int shift = 0; shift < 8 * (int)sizeof(typename Order::element); shift += 8) {
      if (tenc_block_interrupted(faults)) return;
      if (tenc_radix_pass<Order, Place, 256>(row, from, to, n, shift)) {
        from = to;
        to.keys = from.keys == keys ? keys + n : keys;
        to.places = from.places == spare ? spare + n : spare;
      }
    }
    for (Place i = threadIdx.x; i < k; i += 256) {
      const Place place = from.keys ? from.places[i] : i;
      if (values) values[r * k + i] = row[place];
      if (places) places[r * k + i] = place;
    }
    __syncthreads();
  }
}

// The same for few of many, which need no memory: the key of the last one is found digit by digit, then those before it are taken out
// of the row and sorted.
template <class Order, int length>
__device__ void tenc_select(const tenc_faults* faults, const typename Order::element* x, long long rows, unsigned n, int k, typename Order::element* values,
                            long long* places) {
  typedef typename Order::key Key;
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
    for (int i = threadIdx.x; i < length; i += threads) pairs.put(i, ~(Key)0, ~0u);
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
    for (int i = threadIdx.x; i < k; i += threads) pairs.put(i, Order::of(row[taken[i]]), taken[i]);
    tenc_bitonic<length, length, threads>(pairs);
    for (int i = threadIdx.x; i < k; i += threads) {
      const unsigned place = pairs.place(i);
      if (values) values[r * k + i] = row[place];
      if (places) places[r * k + i] = place;
    }
    __syncthreads();
  }
}
)cuda";

}  // namespace tenc::codegen::cuda
