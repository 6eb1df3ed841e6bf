#include "codegen/cuda/RandomText.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "codegen/ScalarConvert.h"
#include "codegen/ScalarRandom.h"

namespace tenc::codegen::cuda {
namespace {

constexpr std::string_view kPhilox =
    R"cuda(__device__ __forceinline__ uint4 tenc_philox(unsigned long long counter, unsigned long long draw, unsigned long long seed) {
  unsigned a = counter, b = counter >> 32, c = draw, d = draw >> 32, k = seed, l = seed >> 32;
  #pragma unroll
  for (int round = 0; round < 10; ++round) {
    const unsigned x = __umulhi(c, 0xCD9E8D57u) ^ b ^ k, y = __umulhi(a, 0xD2511F53u) ^ d ^ l;
    b = c * 0xCD9E8D57u, d = a * 0xD2511F53u, a = x, c = y;
    k += 0x9E3779B9u, l += 0xBB67AE85u;
  }
  return make_uint4(a, b, c, d);
}
__device__ __forceinline__ unsigned tenc_word(uint4 w, unsigned number) {
  return number & 2 ? number & 1 ? w.w : w.z : number & 1 ? w.y : w.x;
}
__device__ __forceinline__ unsigned long long tenc_words(uint4 w, unsigned number) {
  return (unsigned long long)tenc_word(w, number + 1) << 32 | tenc_word(w, number);
}
)cuda";

/// constant + sum of strides[v] * variable v
struct Line {
  int64_t constant = 0;
  std::vector<int64_t> strides;
};

std::optional<Line> lineOf(const Stage& s, ExprId id, size_t variables) {
  const Expr& e = s.exprs[id];
  Line line{0, std::vector<int64_t>(variables)};
  if (e.kind == Expr::Kind::Constant) {
    line.constant = static_cast<int64_t>(e.bits);
  } else if (e.kind == Expr::Kind::LoopVar) {
    line.strides[e.index] = 1;
  } else if (e.kind == Expr::Kind::Op && (e.op == ir::OpKind::Add || e.op == ir::OpKind::Mul)) {
    std::optional<Line> a = lineOf(s, e.args[0], variables), b = lineOf(s, e.args[1], variables);
    if (!a || !b) return std::nullopt;
    const auto isNumber = [](const Line& l) {
      return std::all_of(l.strides.begin(), l.strides.end(), [](int64_t n) { return n == 0; });
    };
    if (e.op == ir::OpKind::Mul && isNumber(*a)) std::swap(a, b);
    if (e.op == ir::OpKind::Mul && !isNumber(*b)) return std::nullopt;
    const bool adds = e.op == ir::OpKind::Add;
    line.constant = adds ? a->constant + b->constant : a->constant * b->constant;
    for (size_t v = 0; v < variables; ++v)
      line.strides[v] = adds ? a->strides[v] + b->strides[v] : a->strides[v] * b->constant;
  } else {
    return std::nullopt;
  }
  return line;
}

class RandomText {
 public:
  RandomText(CudaText& out, CudaScalars& scalars, std::span<const Scalar> args, const std::optional<std::string>& base,
             const Lanes& lanes)
      : out_(out),
        scalars_(scalars),
        seed_(text(args[0])),
        draw_(text(args[1])),
        element_(base ? "(" + *base + " + v)" : text(args[2])),
        number_(base && lanes.width % 4 == 0 ? "(unsigned)v" : "(unsigned)" + element_),
        base_(base),
        lanes_(lanes) {}

  Scalar uniform(ir::DType t) {
    if (t == ir::DType::F64) return uniformOf(t, pair());
    return uniformOf(t, word(blockOf(2), number_));
  }

  Scalar normal(ir::DType t) {
    if (t == ir::DType::F64) {
      const std::string block = blockOf(0);
      return normalOf(words(block, "0"), words(block, "2"));
    }
    const std::string block = blockOf(2), first = "(" + number_ + " & 2u)";
    const NormalPair both = normalsOf(word(block, first), word(block, first + " + 1u"));
    const Scalar odd = scalars_.wrap("(" + number_ + " & 1u)", Repr::I32);
    return select(equal(odd, 0), both.even, both.odd);
  }

  Scalar pair() { return words(blockOf(1), number_ + " % 2u * 2u"); }

 private:
  static const std::string& text(Scalar s) { return CudaScalars::text(s); }
  /// The block of Philox that has the element, as the name of its words. 2^shift elements share it.
  std::string blockOf(int shift) {
    scalars_.declare(kPhilox);
    if (base_ && lanes_.before) return blocksOfAll(shift);
    const std::string by = " >> " + decimal(shift);
    const std::string counter = shift == 0 ? element_ : base_ ? "(" + *base_ + by + ") + (v" + by + ")" : element_ + by;
    return scalars_.variable("uint4", "tenc_philox(" + counter + ", " + draw_ + ", " + seed_ + ")");
  }
  /// The same, of blocks of all lanes.
  std::string blocksOfAll(int shift) {
    const int count = std::max(1, lanes_.width >> shift);
    std::string blocks;
    for (int n = 0; n < count; ++n)
      blocks += (n == 0 ? "" : ", ") + ("tenc_philox((" + *base_ + " >> " + decimal(shift) + ") + " + decimal(n)) +
                ", " + draw_ + ", " + seed_ + ")";
    const std::string name = out_.fresh("w");
    out_.insert(*lanes_.before, "const uint4 " + name + "[] = {" + blocks + "};");
    return name + "[v >> " + decimal(shift) + "]";
  }
  Scalar word(const std::string& block, const std::string& number) {
    return scalars_.named("tenc_word(" + block + ", " + number + ")", Repr::I32);
  }
  Scalar words(const std::string& block, const std::string& number) {
    return scalars_.named("tenc_words(" + block + ", " + number + ")", Repr::I64);
  }

  CudaText& out_;
  CudaScalars& scalars_;
  const std::string seed_, draw_, element_;
  const std::string number_;  ///< has the low bits of the element's number
  const std::optional<std::string> base_;
  const Lanes& lanes_;
};

}  // namespace

std::optional<std::string> baseOfLanes(const Stage& s, ExprId number, const Lanes& lanes,
                                       std::span<const std::string> variables) {
  const std::optional<Line> line = lineOf(s, number, variables.size());
  if (line && lanes.extents != nullptr) {
    int64_t stride = 1;
    for (size_t v = lanes.extents->size(); v-- > 0; stride *= (*lanes.extents)[v])
      if ((*lanes.extents)[v] > 1 && line->strides[v] != stride) return std::nullopt;
    if (line->constant < 0 || line->constant % lanes.width != 0) return std::nullopt;
    return "((unsigned long long)" + lanes.first +
           (line->constant == 0 ? ")" : " + " + decimal(line->constant) + "ull)");
  }
  if (!line || line->strides[lanes.variable] != 1 || line->constant % lanes.width != 0) return std::nullopt;
  std::string sum = line->constant == 0 ? "" : decimal(line->constant) + "ull";
  for (size_t v = 0; v < variables.size(); ++v) {
    if (line->strides[v] == 0) continue;
    if (v != lanes.variable && line->strides[v] % lanes.width != 0) return std::nullopt;
    const std::string& name = v == lanes.variable ? lanes.first : variables[v];
    sum += (sum.empty() ? "" : " + ") + ("(unsigned long long)(long long)" + name) +
           (line->strides[v] == 1 ? "" : " * " + decimal(line->strides[v]) + "ull");
  }
  return "(" + sum + ")";
}

Scalar randomElement(CudaText& out, CudaScalars& scalars, const Expr& random, std::span<const Scalar> args,
                     const std::optional<std::string>& base, const Lanes& lanes) {
  RandomText text(out, scalars, args, base, lanes);
  if (random.op == ir::OpKind::RandomUniform) return text.uniform(random.dtype);
  if (random.op == ir::OpKind::RandomNormal) return roundTo(text.normal(random.dtype), random.dtype);
  return integerOf(random.dtype, text.pair(), args[3], args[4]);
}

}  // namespace tenc::codegen::cuda
