// Instructions of x86-64 and of both forms of vectors, with a listing for people. Vector registers go by number.
#pragma once
#include <xbyak/xbyak.h>

#include <string>
#include <type_traits>
#include <utility>

#include "codegen/cpu/MachineCode.h"

namespace tenc::codegen::cpu {

/// Code is copied to where it runs: the memory that it is written to need not be executable.
struct WritableMemory : Xbyak::Allocator {
  bool useProtect() const override { return false; }
};

/// Xbyak's instructions, each with a line of a listing, if one is asked for. LLVM's disassembler would make one of the
/// bytes, but its tables are 2.5 MB. cpu_tile_code_test runs what LLVM's assembler makes of listings.
class ListedAssembler : WritableMemory, public Xbyak::CodeGenerator {
 protected:
  using Address = Xbyak::Address;
  using Label = Xbyak::Label;
  using Reg64 = Xbyak::Reg64;
  using Ymm = Xbyak::Ymm;
  using Zmm = Xbyak::Zmm;

 public:
  ListedAssembler(VectorForm form, std::string_view listed)
      : CodeGenerator(Xbyak::DEFAULT_MAX_CODE_SIZE, Xbyak::AutoGrow, this), form_(form), name_(listed) {}

 protected:
#define TENC_LISTED(instruction)           \
  template <typename... Operands>          \
  void instruction(const Operands&... o) { \
    CodeGenerator::instruction(o...);      \
    line(#instruction, o...);              \
  }
  // clang-format off
  TENC_LISTED(mov) TENC_LISTED(lea) TENC_LISTED(push) TENC_LISTED(pop)
  TENC_LISTED(add) TENC_LISTED(sub) TENC_LISTED(imul) TENC_LISTED(dec) TENC_LISTED(cmp)
  TENC_LISTED(jnz) TENC_LISTED(jg) TENC_LISTED(cmovle) TENC_LISTED(bzhi) TENC_LISTED(ret) TENC_LISTED(prefetcht0) TENC_LISTED(prefetchw)
  TENC_LISTED(kmovw) TENC_LISTED(vzeroupper) TENC_LISTED(vxorps)
  TENC_LISTED(vmovups) TENC_LISTED(vmovupd) TENC_LISTED(vmaskmovps) TENC_LISTED(vmaskmovpd)
  TENC_LISTED(vbroadcastss) TENC_LISTED(vbroadcastsd) TENC_LISTED(vfmadd231ps) TENC_LISTED(vfmadd231pd)
  TENC_LISTED(vunpcklps) TENC_LISTED(vunpckhps) TENC_LISTED(vunpcklpd) TENC_LISTED(vunpckhpd)
  TENC_LISTED(vperm2f128) TENC_LISTED(vshuff32x4) TENC_LISTED(vextractf128) TENC_LISTED(vextractf32x4)
  // clang-format on
#undef TENC_LISTED
      // Jumps further on, whose distance is not known yet.
      void jle(const Label& to) {
    CodeGenerator::jle(to, T_NEAR);
    line("jle", to);
  }
  void jl(const Label& to) {
    CodeGenerator::jl(to, T_NEAR);
    line("jl", to);
  }
  void jae(const Label& to) {
    CodeGenerator::jae(to, T_NEAR);
    line("jae", to);
  }
  void jne(const Label& to) {
    CodeGenerator::jne(to, T_NEAR);
    line("jne", to);
  }
  void jmp(const Label& to) {
    CodeGenerator::jmp(to, T_NEAR);
    line("jmp", to);
  }
  void align(size_t bytes) {
    CodeGenerator::align(bytes);
    line(".balign", std::to_string(bytes));
  }
  void L(Label& label) {
    CodeGenerator::L(label);
    if (isListed()) listing_ += shown(label) + ":\n";
  }
  void bytes(int value, int count) {
    for (int i = 0; i < count; ++i) db(value);
    if (count > 0) line(".fill", std::to_string(count) + ", 1, " + std::to_string(value));
  }
  /// Nothing more follows.
  MachineCode complete() {
    ready();
    return {std::string(getCode<const char*>(), getSize()), std::move(listing_)};
  }

  const VectorForm form_;

 private:
  bool isListed() const { return !name_.empty(); }
  /// Operands in the order of the listing: from the last one.
  template <typename... Operands>
  void line(std::string_view instruction, const Operands&... operands) {
    if (!isListed()) return;
    std::string text;
    bool isNumber = false;  // of 8 bytes, in memory
    const auto put = [&](const auto& o) {
      text.insert(0, (text.empty() ? "" : ", "));
      text.insert(0, shown(o));
      if constexpr (std::is_same_v<std::decay_t<decltype(o)>, Address>) isNumber = isNumber || o.getBit() == 64;
    };
    (put(operands), ...);
    listing_ += '\t';
    listing_ += instruction;
    if (isNumber) listing_ += 'q';
    if (!text.empty()) listing_ += '\t';
    listing_ += text + '\n';
  }
  static std::string shown(std::string_view s) { return std::string(s); }
  static std::string shown(int64_t value) { return "$" + std::to_string(value); }
  std::string shown(const Label& label) const { return ".L" + name_ + "." + std::to_string(label.getId()); }
  static std::string masked(const Xbyak::Operand& o) {
    if (o.getOpmaskIdx() == 0) return {};
    return " {%k" + std::to_string(o.getOpmaskIdx()) + "}" + (o.hasZero() ? " {z}" : "");
  }
  static std::string shown(const Xbyak::Reg& r) { return std::string("%") + r.toString() + masked(r); }
  std::string shown(const Address& a) const {
    if (a.getLabel() != nullptr) return shown(*a.getLabel()) + "(%rip)";
    const auto distance = static_cast<int64_t>(a.getDisp());
    return (distance != 0 ? std::to_string(distance) : "") + "(" + shown(a.getRegExp().getBase()) + ")" +
           (a.isBroadcast() ? "{1to" + std::to_string(form_.registerBytes / form_.elementBytes) + "}" : "") + masked(a);
  }

  const std::string name_;
  std::string listing_;
};

/// Instructions whose names depend on the form of vectors.
class VectorAssembler : public ListedAssembler {
 public:
  using ListedAssembler::ListedAssembler;

 protected:
  bool isDouble() const { return form_.elementBytes == 8; }
  bool hasMasks() const { return form_.registerBytes == 64; }
  Ymm vec(int n) const { return hasMasks() ? Ymm(Zmm(n)) : Ymm(n); }
  static Address at(const Reg64& base, int64_t offset) { return Xbyak::util::ptr[base + static_cast<size_t>(offset)]; }

  void load(int to, const Address& from) { isDouble() ? vmovupd(vec(to), from) : vmovups(vec(to), from); }
  void store(const Address& to, int from) { isDouble() ? vmovupd(to, vec(from)) : vmovups(to, vec(from)); }
  void broadcast(int to, const Address& from) {
    isDouble() ? vbroadcastsd(vec(to), from) : vbroadcastss(vec(to), from);
  }
  void clear(int n) {
    const Xbyak::Xmm v(n);
    vxorps(v, v, v);
  }
  /// sum += x * y, rounded once, in the lanes of a mask register; number 0 stands for all.
  template <typename RegisterOrMemory>
  void multiplyAdd(int sum, int x, const RegisterOrMemory& y, int mask = 0) {
    const Ymm to = mask == 0 ? vec(sum) : vec(sum) | Xbyak::Opmask(mask);
    isDouble() ? vfmadd231pd(to, vec(x), y) : vfmadd231ps(to, vec(x), y);
  }
  void setMask(int mask, uint32_t lanes) {
    mov(eax, lanes);
    kmovw(Xbyak::Opmask(mask), eax);
  }
  /// The lanes of a mask register, others are 0.
  void loadMasked(int to, const Address& from, int mask) {
    const Ymm some = vec(to) | Xbyak::Opmask(mask) | T_z;
    isDouble() ? vmovupd(some, from) : vmovups(some, from);
  }

  /// Selects the first lanes for what follows, by mask register 1 or vector register `mask`.
  void selectLanes(int lanes, int mask) {
    if (hasMasks()) return setMask(1, (1U << lanes) - 1);
    selected_ = lanes;
    mask_ = mask;
    vmovups(vec(mask), ptr[rip + lanes_]);
  }
  /// The same of as many lanes as `count` says, but for all of them. Two registers are scratch.
  void selectLanes(const Reg64& count, const Reg64& scratch, const Reg64& other, int mask) {
    if (hasMasks()) {
      mov(scratch.cvt32(), ~0U);
      bzhi(scratch.cvt32(), scratch.cvt32(), count.cvt32());
      return kmovw(k1, scratch.cvt32());
    }
    isCounted_ = true;
    mask_ = mask;
    lea(scratch, ptr[rip + lanes_]);
    imul(other, count, form_.elementBytes);
    sub(scratch, other);
    load(mask, at(scratch, form_.registerBytes));
  }
  void loadSelected(int to, const Address& from) {
    if (hasMasks())
      loadMasked(to, from, 1);
    else
      isDouble() ? vmaskmovpd(vec(to), vec(mask_), from) : vmaskmovps(vec(to), vec(mask_), from);
  }
  void storeSelected(const Address& to, int from) {
    if (hasMasks())
      isDouble() ? vmovupd(to | k1, vec(from)) : vmovups(to | k1, vec(from));
    else
      isDouble() ? vmaskmovpd(to, vec(mask_), vec(from)) : vmaskmovps(to, vec(mask_), vec(from));
  }

  /// Back to the caller, with the upper halves of vector registers cleared. The code is complete.
  MachineCode leave() {
    vzeroupper();
    ret();
    if (isCounted_) {
      align(static_cast<size_t>(form_.registerBytes));
      L(lanes_);
      bytes(0xFF, form_.registerBytes);
      bytes(0, form_.registerBytes);
    } else if (selected_ > 0) {
      align(static_cast<size_t>(form_.registerBytes));
      L(lanes_);
      bytes(0xFF, selected_ * form_.elementBytes);
      bytes(0, form_.registerBytes - selected_ * form_.elementBytes);
    }
    return complete();
  }

 private:
  bool isCounted_ = false;        ///< the lanes are those in front of a place in between ones and zeros
  int selected_ = 0, mask_ = -1;  ///< lanes that a vector register selects, and that register
  Label lanes_;                   ///< behind the code, for that register
};

}  // namespace tenc::codegen::cpu
