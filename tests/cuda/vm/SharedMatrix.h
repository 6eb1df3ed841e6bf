// An operand of wgmma in shared memory, as its descriptor says: pieces of 8 elements side by side, with offsets between
// them, and bits of the address that are exchanged. Its lines are rows of A, or columns of B.
#pragma once
#include <algorithm>
#include <cstdint>

namespace tenc::ptx {

class SharedMatrix {
 public:
  static constexpr uint32_t kTerms = 16, kPiece = 8, kPieceBytes = 16;

  /// `transposed`: lines lie side by side, not terms.
  SharedMatrix(uint64_t descriptor, bool transposed) : descriptor_(descriptor), transposed_(transposed) {
    auto field = [&](uint32_t bit) { return static_cast<uint32_t>(descriptor >> bit & 0x3FFF) << 4; };
    start_ = field(0);
    leading_ = field(16);
    stride_ = field(32);
    base_ = descriptor >> 49 & 7;
    static constexpr uint32_t kSpans[] = {kPieceBytes, 128, 64, 32};
    span_ = kSpans[descriptor >> 62];
  }

  /// What a matrix of so many lines may not be, or null.
  const char* mistake(uint32_t lines) const {
    constexpr uint64_t kUnused = uint64_t{3} << 14 | uint64_t{3} << 30 | uint64_t{7} << 46 | uint64_t{0x3FF} << 52;
    if (descriptor_ & kUnused) return "bits of a descriptor are set that mean nothing";
    if (span_ == kPieceBytes) return nullptr;
    // The pattern of the exchanged bits repeats after 8 spans; the first span is where a matrix begins.
    const uint32_t into = (start_ - base_ * 128) % (8 * span_),
                   wanted = transposed_ ? std::min(span_, lines * 2) : kTerms * 2;
    if (into >= span_) return "a matrix does not start where the pattern of its swizzle does";
    if (into + wanted > span_) return "a matrix goes on behind the end of the span that it starts in";
    return nullptr;
  }

  /// The address of a piece: of a line 8 terms from `term` on, or transposed of a term 8 lines from `line` on.
  uint32_t piece(uint32_t line, uint32_t term) const {
    uint32_t at = start_;
    const uint32_t pieces = span_ / kPieceBytes;
    if (!transposed_)
      at += line % 8 * span_ + line / 8 * stride_ + term / 8 * (pieces == 1 ? leading_ : kPieceBytes);
    else if (pieces == 1)
      at += line / 8 * stride_ + term % 8 * kPieceBytes + term / 8 * leading_;
    else
      at += line / 8 % pieces * kPieceBytes + line / 8 / pieces * leading_ + term % 8 * span_ + term / 8 * stride_;
    // 128 bytes: bits 4 to 6 with 7 to 9 of the address; 64: 4 and 5 with 7 and 8; 32: 4 with 7.
    return at ^ ((((at >> 7) - base_) & (pieces - 1)) << 4);
  }

  /// Calls f(line, term, address) for all pieces of so many lines from `first` on.
  template <class F>
  void forPieces(uint32_t first, uint32_t lines, F f) const {
    const uint32_t byLine = transposed_ ? kPiece : 1, byTerm = transposed_ ? 1 : kPiece;
    for (uint32_t line = first; line < first + lines; line += byLine) {
      for (uint32_t term = 0; term < kTerms; term += byTerm) f(line, term, piece(line, term));
    }
  }
  bool transposed() const { return transposed_; }

 private:
  uint64_t descriptor_;
  bool transposed_;
  uint32_t start_ = 0, leading_ = 0, stride_ = 0, base_ = 0, span_ = 0;
};

}  // namespace tenc::ptx
