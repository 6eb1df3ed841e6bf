#include "codegen/cuda/RoutineTexts.h"

namespace tenc::codegen::cuda {

// Each launch does one step of a pass for all rows. Which of three places has the keys changes where a pass finds that
// all have the same digit; what a launch reads of it, none of its blocks writes.
const std::string_view kWideSortText = R"cuda(
struct tenc_wide_state {
  unsigned pass, from;             // what is counted next: bytes of the keys; 0: of the row, 1 and 2: of the memory
  unsigned shift, source, target;  // what is moved; target 0: nothing
};

// Rows of n elements, `blocks` blocks of so many elements for each, and their memory.
template <class Order, class Place>
struct tenc_wide {
  typedef typename Order::key Key;
  const typename Order::element* x;
  unsigned char* work;
  long long rows;
  Place n, chunk;
  unsigned blocks;

  __device__ long long row() const { return blockIdx.x / blocks; }
  __device__ unsigned block() const { return blockIdx.x % blocks; }
  __device__ Place first() const { return (Place)block() * chunk; }
  __device__ Place last() const { return min(n, first() + chunk); }
  __device__ const typename Order::element* elements(long long r) const { return x + r * n; }
  __device__ Place* all_places() const { return (Place*)((Key*)work + 2 * (long long)n * rows); }
  __device__ Place* counts(long long r) const { return all_places() + 2 * (long long)n * rows + 256ll * blocks * r; }
  __device__ tenc_wide_state* state(long long r) const { return (tenc_wide_state*)counts(rows) + r; }
  __device__ tenc_keyed<Order, Place> keyed(long long r, unsigned which) const {
    if (which == 0) return {0, 0};
    const long long at = (2 * r + which - 1) * (long long)n;
    return {(Key*)work + at, all_places() + at};
  }
};

template <class Order, class Place>
__device__ void tenc_wide_begin(const tenc_wide<Order, Place>& w) {
  for (long long r = threadIdx.x; r < w.rows; r += blockDim.x) *w.state(r) = {0, 0, 0, 0, 0};
}

template <class Order, class Place>
__device__ void tenc_wide_count(const tenc_wide<Order, Place>& w) {
  __shared__ unsigned counts[256];
  const tenc_wide_state state = *w.state(w.row());
  const tenc_keyed<Order, Place> from = w.keyed(w.row(), state.from);
  const typename Order::element* const row = w.elements(w.row());
  counts[threadIdx.x] = 0;
  __syncthreads();
  for (Place i = w.first() + threadIdx.x; i < w.last(); i += 256)
    atomicAdd(&counts[tenc_key_at<Order, Place>(row, from, i) >> (8 * state.pass) & 255], 1u);
  __syncthreads();
  w.counts(w.row())[(long long)threadIdx.x * w.blocks + w.block()] = counts[threadIdx.x];
}

// Where each block puts its first element of each digit: a block for each row, a warp for each digit.
template <class Order, class Place>
__device__ void tenc_wide_scan(const tenc_wide<Order, Place>& w) {
  __shared__ Place starts[256];
  Place* const counts = w.counts(blockIdx.x);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int d = warp; d < 256; d += 8) {
    Place sum = 0;
    for (unsigned b = lane; b < w.blocks; b += 32) sum += counts[(long long)d * w.blocks + b];
    for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(~0u, sum, by);
    if (lane == 0) starts[d] = sum;
  }
  __syncthreads();
  const Place own = starts[threadIdx.x];
  const bool same = __syncthreads_or(own == w.n);
  for (int by = 1; by < 256; by *= 2) {
    const Place before = (int)threadIdx.x >= by ? starts[threadIdx.x - by] : 0;
    __syncthreads();
    starts[threadIdx.x] += before;
    __syncthreads();
  }
  starts[threadIdx.x] -= own;
  __syncthreads();
  for (int d = warp; d < 256 && !same; d += 8) {
    Place start = starts[d];
    for (unsigned first = 0; first < w.blocks; first += 32) {
      const bool is = first + lane < w.blocks;
      Place* const at = counts + (long long)d * w.blocks + first + lane;
      const Place count = is ? *at : 0;
      Place sum = count;
      for (int by = 1; by < 32; by *= 2) {
        const Place before = __shfl_up_sync(~0u, sum, by);
        if (lane >= by) sum += before;
      }
      if (is) *at = start + sum - count;
      start += __shfl_sync(~0u, sum, 31);
    }
  }
  if (threadIdx.x == 0) {
    tenc_wide_state* const state = w.state(blockIdx.x);
    const unsigned from = state->from, target = same ? 0 : from == 1 ? 2 : 1;
    *state = {state->pass + 1, same ? from : target, 8 * state->pass, from, target};
  }
}

template <class Order, class Place>
__device__ void tenc_wide_scatter(const tenc_wide<Order, Place>& w) {
  __shared__ Place starts[256];
  const tenc_wide_state state = *w.state(w.row());
  if (state.target == 0) return;
  starts[threadIdx.x] = w.counts(w.row())[(long long)threadIdx.x * w.blocks + w.block()];
  __syncthreads();
  tenc_radix_move<Order, Place, 256>(w.elements(w.row()), w.keyed(w.row(), state.source), w.keyed(w.row(), state.target), w.first(), w.last(),
                                     state.shift, starts);
}

// The first k of each row; either may be null.
template <class Order, class Place>
__device__ void tenc_wide_finish(const tenc_wide<Order, Place>& w, long long k, typename Order::element* values, long long* places) {
  const long long r = w.row();
  const tenc_keyed<Order, Place> from = w.keyed(r, w.state(r)->from);
  for (Place i = w.first() + threadIdx.x; i < min((Place)k, w.last()); i += 256) {
    const Place place = from.keys ? from.places[i] : i;
    if (values) values[r * k + i] = w.elements(r)[place];
    if (places) places[r * k + i] = place;
  }
}
)cuda";

}  // namespace tenc::codegen::cuda
