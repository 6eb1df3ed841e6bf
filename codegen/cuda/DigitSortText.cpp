#include "codegen/cuda/RoutineTexts.h"

namespace tenc::codegen::cuda {

// Sorts by digits of eight bits, from the last one on (Merrill and Grimshaw 2011). Elements themselves are moved, and
// their keys computed again in each pass, so that nothing is gathered at the end; their places only where somebody
// wants those.
const std::string_view kDigitSortText = R"cuda(
// What a pass reads: without places these are the numbers of the elements.
template <class Order, class Place>
struct tenc_unsorted {
  const typename Order::element* elements;
  const Place* places;
};
// Where the first k elements go: each of these may be null.
template <class Order, class Place>
struct tenc_sorted {
  typename Order::element* elements;
  Place* places;
  long long* results;
  Place k;
};

__device__ __forceinline__ unsigned tenc_byte(unsigned key, int shift) { return __byte_perm(key, 0, 0x4440 | shift >> 3); }
__device__ __forceinline__ unsigned tenc_byte(unsigned long long key, int shift) { return (unsigned)(key >> shift) & 255u; }
template <class Order>
__device__ unsigned tenc_digit(typename Order::element x, int shift) { return tenc_byte(Order::of(x), shift); }

// The lanes that have the same digit: a vote a bit, each of four instructions, which C++ makes six.
__device__ __forceinline__ unsigned tenc_peers(unsigned digit) {
  unsigned peers = ~0u;
#pragma unroll
  for (int bit = 0; bit < 8; ++bit) {
    unsigned lanes;
    asm volatile("{ .reg .pred p; .reg .b32 t; and.b32 t, %1, %2; setp.ne.u32 p, t, 0; vote.sync.ballot.b32 %0, p, -1; @!p not.b32 %0, %0; }"
                 : "=r"(lanes) : "r"(digit), "r"(1u << bit));
    peers &= lanes;
  }
  return peers;
}

// What threads before this one have, of 256.
template <class Place>
__device__ Place tenc_before_thread(Place own) {
  __shared__ Place sums[8];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  Place sum = own;
#pragma unroll
  for (int by = 1; by < 32; by *= 2) {
    const Place before = __shfl_up_sync(~0u, sum, by);
    if (lane >= by) sum += before;
  }
  if (lane == 31) sums[warp] = sum;
  __syncthreads();
  sum -= own;
#pragma unroll
  for (int w = 0; w < 7; ++w)
    if (w < warp) sum += sums[w];
  return sum;
}

// Counts the digits of elements [first, last): 257 counts in shared memory, of which the last is for what is behind.
template <class Order, int items, class Place, class Count>
__device__ void tenc_count_digits(const typename Order::element* elements, Place first, Place last, int shift, Count* counts) {
  __builtin_assume(__isGlobal(elements));  // of several pointers the compiler doubts it
  for (int d = threadIdx.x; d < 257; d += 256) counts[d] = 0;
  __syncthreads();
  for (Place tile = first; tile < last; tile += 256 * items) {
    typename Order::element own[items];
#pragma unroll
    for (int j = 0; j < items; ++j) own[j] = elements[min(tile + j * 256 + (Place)threadIdx.x, last - 1)];
#pragma unroll
    for (int j = 0; j < items; ++j) {
      const unsigned digit = tenc_digit<Order>(own[j], shift);
      atomicAdd(&counts[tile + j * 256 + threadIdx.x < last ? digit : 256u], (Count)1);
    }
  }
  __syncthreads();
}

// The elements [first, last) to where those of their digit go, tile by tile, of 256 threads with so many items each. Warps have
// consecutive parts of a tile, which is sorted in shared memory first, so that neighbours are stored side by side. `start`: where the
// first of the digit that the thread's number is goes.
template <class Order, bool placed, int items, class Place>
__device__ void tenc_move_digits(const tenc_unsorted<Order, Place>& from, const tenc_sorted<Order, Place>& to, Place first, Place last, int shift,
                                 Place start) {
  typedef typename Order::element Element;
  const int width = placed && sizeof(Place) > sizeof(Element) ? sizeof(Place) : sizeof(Element);
  __shared__ unsigned counts[8][256];
  __shared__ Place offsets[256];
  __shared__ __align__(8) unsigned char kept[256 * items * width];
  Element* const elements = (Element*)kept;
  Place* const places = (Place*)kept;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, own = warp * items * 32 + lane;
  const unsigned below = (1u << lane) - 1, above = ~below << 1;
  const Place most = to.elements ? to.k : 0;
  __builtin_assume(__isGlobal(from.elements));
#pragma unroll 1
  for (Place tile = first; tile < last; tile += 256 * items) {
    const int filled = (int)min((Place)(256 * items), last - tile);
    Element x[items];
    unsigned ranks[items];  // with digits, then positions
#pragma unroll
    for (int j = 0; j < items; ++j) x[j] = from.elements[tile + min(own + j * 32, filled - 1)];
    for (int d = lane; d < 256; d += 32) counts[warp][d] = 0;
    __syncwarp();
#pragma unroll
    for (int j = 0; j < items; ++j) {
      // What is behind the last element comes last.
      const unsigned known = tenc_digit<Order>(x[j], shift), digit = own + j * 32 < filled ? known : 255u;
      const unsigned peers = tenc_peers(digit), before = __popc(peers & below), had = counts[warp][digit];
      __syncwarp();
      if ((peers & above) == 0) counts[warp][digit] = had + before + 1;
      __syncwarp();
      ranks[j] = digit << 16 | (had + before);
    }
    __syncthreads();
    unsigned sum = 0;
#pragma unroll
    for (int w = 0; w < 8; ++w) sum += counts[w][threadIdx.x];
    unsigned at = tenc_before_thread(sum);
    offsets[threadIdx.x] = start - at;
    start += sum;
#pragma unroll
    for (int w = 0; w < 8; ++w) {
      const unsigned count = counts[w][threadIdx.x];
      counts[w][threadIdx.x] = at;
      at += count;
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < items; ++j) {
      ranks[j] = counts[warp][ranks[j] >> 16] + (ranks[j] & 0xffffu);
      elements[ranks[j]] = x[j];
    }
    __syncthreads();
    Place target[items];
#pragma unroll
    for (int j = 0; j < items; ++j) {
      const int i = j * 256 + threadIdx.x;
      if (i >= filled) continue;
      const Element element = elements[i];
      target[j] = offsets[tenc_digit<Order>(element, shift)] + i;
      if (target[j] < most) to.elements[target[j]] = element;
    }
    if (placed) {
      Place place[items];
#pragma unroll
      for (int j = 0; j < items; ++j) place[j] = tile + min(own + j * 32, filled - 1);
      if (from.places) {
#pragma unroll
        for (int j = 0; j < items; ++j) place[j] = from.places[place[j]];
      }
      __syncthreads();
#pragma unroll
      for (int j = 0; j < items; ++j) places[ranks[j]] = place[j];
      __syncthreads();
#pragma unroll
      for (int j = 0; j < items; ++j) {
        const int i = j * 256 + threadIdx.x;
        if (i >= filled || target[j] >= to.k) continue;
        if (to.places) to.places[target[j]] = places[i];
        if (to.results) to.results[target[j]] = (long long)places[i];
      }
    }
    __syncthreads();
  }
}

// The first k of each row in order, a row a block, with memory for 2 n elements of each block, and 2 n places. A digit that all have
// moves nothing, but for the last, behind which elements are where they are wanted.
template <class Order, bool placed, int items, class Place>
__device__ void tenc_sort_long(const tenc_faults* faults, const typename Order::element* x, long long rows, Place n, Place k, typename Order::element* values,
                               long long* results, unsigned char* work) {
  typedef typename Order::element Element;
  __shared__ Place counts[257];
  const int bits = 8 * (int)sizeof(Element);
  const long long own = 2 * (long long)n * blockIdx.x;
  Place* const places = (Place*)work + own;
  Element* const elements = (Element*)((Place*)work + (placed ? 2 * (long long)n * gridDim.x : 0)) + own;
  for (long long r = blockIdx.x; r < rows; r += gridDim.x) {
    tenc_unsorted<Order, Place> from = {x + r * n, 0};
    Place half = 0;
    for (int shift = 0; shift < bits; shift += 8) {
      if (tenc_block_interrupted(faults)) return;
      tenc_count_digits<Order, items>(from.elements, (Place)0, n, shift, counts);
      const Place count = counts[threadIdx.x];
      const bool last = shift + 8 == bits;
      if (__syncthreads_or(count == n) && !last) continue;
      tenc_sorted<Order, Place> to = {elements + half, placed ? places + half : 0, 0, n};
      if (last) to = {values ? values + r * k : 0, 0, results ? results + r * k : 0, k};
      tenc_move_digits<Order, placed, items>(from, to, (Place)0, n, shift, tenc_before_thread(count));
      from = {to.elements, to.places};
      half = n - half;
    }
  }
}
)cuda";

// Rows that several blocks sort. Each launch does one step of a pass for all rows. Where elements are changes where a
// pass finds that all have the same digit; what a launch reads of it, none of its blocks writes.
const std::string_view kWideSortText = R"cuda(
struct tenc_wide_state {
  unsigned pass, from;             // what is counted next, and where: 0: the row, 1 and 2: the memory
  unsigned digit;                  // of the first element
  unsigned shift, source, target;  // what is moved; target 0: nothing, 3: the results
  unsigned unused[2];
};

// Rows of n elements, `blocks` blocks of so many elements for each, and their memory. The pass that `ends` goes to the results.
template <class Order, bool placed, int items, class Place>
struct tenc_wide {
  typedef typename Order::element Element;
  const Element* x;
  unsigned char* work;
  long long rows;
  Place n, chunk;
  unsigned blocks, ends;

  __device__ long long row() const { return blockIdx.x / blocks; }
  __device__ unsigned block() const { return blockIdx.x % blocks; }
  __device__ Place first() const { return (Place)block() * chunk; }
  __device__ Place last() const { return min(n, first() + chunk); }
  // Of each block, by digits; and of all blocks.
  __device__ Place* counts(long long r) const { return (Place*)work + 256ll * blocks * r; }
  __device__ Place* totals(long long r) const { return counts(rows) + 256ll * r; }
  __device__ Place* places() const { return totals(rows); }
  __device__ tenc_wide_state* state(long long r) const { return (tenc_wide_state*)(places() + (placed ? 2 * (long long)n * rows : 0)) + r; }
  __device__ Element* elements() const { return (Element*)state(rows); }
  __device__ tenc_unsorted<Order, Place> source(long long r, unsigned which) const {
    if (which == 0) return {x + r * n, 0};
    const long long at = (2 * r + which - 1) * (long long)n;
    return {elements() + at, placed ? places() + at : 0};
  }
  __device__ tenc_sorted<Order, Place> target(long long r, unsigned which) const {
    const long long at = (2 * r + which - 1) * (long long)n;
    return {elements() + at, placed ? places() + at : 0, 0, n};
  }
};

template <class Order, bool placed, int items, class Place>
__device__ void tenc_wide_begin(const tenc_wide<Order, placed, items, Place>& w) {
  for (long long r = threadIdx.x; r < w.rows; r += blockDim.x) w.state(r)->pass = w.state(r)->from = 0;
}

template <class Order, bool placed, int items, class Place>
__device__ void tenc_wide_count(const tenc_wide<Order, placed, items, Place>& w) {
  __shared__ unsigned counts[257];
  tenc_wide_state* const state = w.state(w.row());
  const typename Order::element* const from = w.source(w.row(), state->from).elements;
  const int shift = 8 * state->pass;
  tenc_count_digits<Order, items>(from, w.first(), w.last(), shift, counts);
  w.counts(w.row())[256ll * w.block() + threadIdx.x] = counts[threadIdx.x];
  if (w.block() == 0 && threadIdx.x == 0) state->digit = tenc_digit<Order>(from[0], shift);
}

// How many elements of each digit are in blocks before each block: 32 blocks a row, which have 8 digits each. The thread that finds how
// many elements have the first one's digit notes what is to be done.
template <class Order, bool placed, int items, class Place>
__device__ void tenc_wide_scan(const tenc_wide<Order, placed, items, Place>& w) {
  const int together = 8;
  __shared__ Place sums[32][8];
  const long long r = blockIdx.x / 32;
  const int part = threadIdx.x / 8, digit = blockIdx.x % 32 * 8 + threadIdx.x % 8;
  tenc_wide_state* const state = w.state(r);
  const bool notes = part == 31 && digit == (int)state->digit;
  Place* const counts = w.counts(r) + digit;
  const unsigned each = (w.blocks + 31) / 32, first = min(part * each, w.blocks), last = min(first + each, w.blocks);
  const auto load = [&](Place (&count)[together], unsigned b) {
#pragma unroll
    for (int j = 0; j < together; ++j) count[j] = counts[256ll * min(b + j, last - 1)];
  };
  Place sum = 0;
#pragma unroll 1
  for (unsigned b = first; b < last; b += together) {
    Place count[together];
    load(count, b);
#pragma unroll
    for (int j = 0; j < together; ++j)
      if (b + j < last) sum += count[j];
  }
  sums[part][threadIdx.x % 8] = sum;
  __syncthreads();
  Place before = 0;
#pragma unroll
  for (int p = 0; p < 31; ++p)
    if (p < part) before += sums[p][threadIdx.x % 8];
  const Place total = before + sum;
#pragma unroll 1
  for (unsigned b = first; b < last; b += together) {
    Place count[together];
    load(count, b);
#pragma unroll
    for (int j = 0; j < together; ++j) {
      if (b + j < last) counts[256ll * (b + j)] = before;
      before += count[j];
    }
  }
  if (part == 31) w.totals(r)[digit] = total;
  if (!notes) return;
  const unsigned pass = state->pass, from = state->from;
  const unsigned target = pass == w.ends ? 3 : total == w.n ? 0 : from == 1 ? 2 : 1;
  state->shift = 8 * pass, state->source = from, state->target = target;
  state->pass = pass + 1;
  if (target != 0) state->from = target;
}

// `values` and `results`: of the first k of each row; either may be null.
template <class Order, bool placed, int items, class Place>
__device__ void tenc_wide_move(const tenc_wide<Order, placed, items, Place>& w, Place k, typename Order::element* values, long long* results) {
  const long long r = w.row();
  const tenc_wide_state* const state = w.state(r);
  const unsigned which = state->target;
  if (which == 0) return;
  const Place start = w.counts(r)[256ll * w.block() + threadIdx.x] + tenc_before_thread(w.totals(r)[threadIdx.x]);
  tenc_sorted<Order, Place> to = {values ? values + r * k : 0, 0, results ? results + r * k : 0, k};
  if (which != 3) to = w.target(r, which);
  tenc_move_digits<Order, placed, items>(w.source(r, state->source), to, w.first(), w.last(), (int)state->shift, start);
}
)cuda";

}  // namespace tenc::codegen::cuda
