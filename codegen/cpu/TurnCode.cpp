#include "codegen/cpu/TurnCode.h"

#include <algorithm>

#include "codegen/cpu/VectorAssembler.h"

namespace tenc::codegen::cpu {
namespace {

/// Some rows become strips: 16 bytes of each of their columns.
class StripAssembler : public VectorAssembler {
 public:
  using VectorAssembler::VectorAssembler;

 protected:
  /// Rows that a strip has an element of.
  int together() const { return 16 / form_.elementBytes; }
  int lanes() const { return form_.registerBytes / form_.elementBytes; }
  /// Each 16 bytes of registers 0, 1, ... are of one row, of as many rows as there are elements in them. Says from
  /// which register on they are of one column.
  int interleave(int rows) {
    if (rows == 2) {
      vunpcklpd(vec(2), vec(0), vec(1));
      vunpckhpd(vec(3), vec(0), vec(1));
      return 2;
    }
    // Rows 0 and 1, and 2 and 3, by elements, then both by pairs.
    for (int i = 0; i < 4; i += 2) {
      vunpcklps(vec(4 + i), vec(i), vec(i + 1));
      vunpckhps(vec(5 + i), vec(i), vec(i + 1));
    }
    for (int i = 0; i < 4; i += 2) {
      vunpcklpd(vec(i), vec(4 + i / 2), vec(6 + i / 2));
      vunpckhpd(vec(i + 1), vec(4 + i / 2), vec(6 + i / 2));
    }
    return 0;
  }
  /// 16 bytes of a vector.
  void storePart(const Address& to, int from, int part) {
    if (part == 0)
      vmovups(to, Xbyak::Xmm(from));
    else if (hasMasks())
      vextractf32x4(to, vec(from), static_cast<uint8_t>(part));
    else
      vextractf128(to, vec(from), static_cast<uint8_t>(part));
  }
};

class TurnAssembler : StripAssembler {
 public:
  using StripAssembler::StripAssembler;

  MachineCode run() {
    const Reg64 sums = rdi, turned = rsi, first = rdx, rows = rcx, vectors = r8, row = r9, column = rax, from = r10,
                to = r11, place = rbx, left = rdx;
    const int size = form_.elementBytes, together = this->together(), lanes = this->lanes();
    mov(column, qword[rsp + 8]);
    push(place);
    imul(column, column, size);
    imul(row, row, size);
    sub(rows, first);
    mov(from, first);
    imul(from, row);
    add(sums, from);
    imul(first, first, size);
    add(turned, first);
    Label nextRows, nextVector, done;
    cmp(rows, 0);
    jle(done);
    L(nextRows);
    mov(place, sums);
    mov(to, turned);
    mov(left, vectors);
    align(32);
    L(nextVector);
    mov(from, place);
    for (int i = 0; i < together; ++i) {
      load(i, ptr[from]);
      add(from, row);
    }
    const int columns = interleave(together);
    for (int lane = 0; lane < lanes; ++lane) {
      storePart(ptr[to], columns + lane % together, lane / together);
      add(to, column);
    }
    add(place, form_.registerBytes);
    dec(left);
    jnz(nextVector);
    for (int i = 0; i < together; ++i) add(sums, row);
    add(turned, 16);
    sub(rows, together);
    jg(nextRows);
    L(done);
    pop(place);
    return leave();
  }
};

class PackAssembler : StripAssembler {
 public:
  PackAssembler(const PackCode& pack, std::string_view listed) : StripAssembler(pack.form, listed), p_(pack) {}

  MachineCode run() {
    p_.turned ? columns() : rows();
    return leave();
  }

 private:
  const PackCode& p_;
  const Reg64 source_ = rdi, panel_ = rsi, count_ = rdx, left_ = rcx, column_ = r8, strip_ = r9, from_ = r10;
  int rowBytes() const { return static_cast<int>(p_.vectors) * form_.registerBytes; }
  int distance() const { return static_cast<int>(p_.distance); }
  int maskRegister() const { return hasMasks() ? 31 : 15; }

  void repeat(const Reg64& count, int64_t times, const auto& body) {
    if (times <= 0) return;
    if (times == 1) return body();
    Label head;
    mov(count, static_cast<uint64_t>(times));
    align(32);
    L(head);
    body();
    dec(count);
    jnz(head);
  }

  void rows() {
    const int64_t left = p_.columns % lanes(), vectors = p_.columns / lanes();
    if (left > 0) selectLanes(static_cast<int>(left), maskRegister());
    for (auto v = static_cast<int>(vectors); v < p_.vectors; ++v) clear(v);
    repeat(count_, p_.terms, [&] {
      for (int v = 0; v < p_.vectors; ++v) {
        const int at = v * form_.registerBytes;
        if (v < vectors) load(v, ptr[source_ + at]);
        if (v == vectors && left > 0) loadSelected(v, ptr[source_ + at]);
      }
      for (int v = 0; v < p_.vectors; ++v) store(ptr[panel_ + v * form_.registerBytes], v);
      add(source_, distance());
      add(panel_, rowBytes());
    });
  }

  void columns() {
    const auto rest = static_cast<int>(p_.terms % lanes());
    if (rest > 0) selectLanes(rest, maskRegister());
    repeat(count_, p_.terms / lanes(), [&] {
      strips(lanes());
      add(source_, form_.registerBytes);
      add(panel_, lanes() * rowBytes());
    });
    if (rest > 0) strips(rest);
  }

  /// All columns of as many terms.
  void strips(int terms) {
    const int64_t whole = p_.columns / together(), all = p_.vectors * lanes() / together();
    const auto part = static_cast<int>(p_.columns % together());
    mov(column_, source_);
    mov(strip_, panel_);
    repeat(left_, whole, [&] { strip(terms, together()); });
    if (part > 0) strip(terms, part);
    if (whole + (part > 0 ? 1 : 0) == all) return;
    clear(0);
    repeat(left_, all - whole - (part > 0 ? 1 : 0), [&] {
      for (int term = 0; term < terms; ++term) storePart(ptr[strip_ + term * rowBytes()], 0, 0);
      add(strip_, 16);
    });
  }

  void strip(int terms, int used) {
    for (int i = 0; i < used; ++i) {
      terms < lanes() ? loadSelected(i, ptr[column_]) : load(i, ptr[column_]);
      add(column_, distance());
    }
    for (int i = used; i < together(); ++i) clear(i);
    const int first = interleave(together());
    for (int term = 0; term < terms; ++term)
      storePart(ptr[strip_ + term * rowBytes()], first + term % together(), term / together());
    add(strip_, 16);
  }
};

}  // namespace

bool isAssembled(const PackCode& p) {
  constexpr int64_t kFarthest = 1 << 30;
  return p.terms > 0 && p.columns > 0 && std::abs(p.distance) < kFarthest && p.vectors <= 8;
}

MachineCode assembledTurn(VectorForm form, std::string_view listed) { return TurnAssembler(form, listed).run(); }
MachineCode assembledPack(const PackCode& pack, std::string_view listed) { return PackAssembler(pack, listed).run(); }

}  // namespace tenc::codegen::cpu
