#include "codegen/cpu/TurnCode.h"

#include <algorithm>
#include <array>

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

class BlockTurnAssembler : VectorAssembler {
 public:
  BlockTurnAssembler(VectorForm form, int row, std::string_view listed) : VectorAssembler(form, listed), row_(row) {}

  MachineCode run() {
    for (const Reg64& r : kept_) push(r);
    Label wholeRows, lastRows, done;
    cmp(width_, 0);
    jle(done);
    L(wholeRows);
    cmp(height_, lanes());
    jl(lastRows);
    squares(false);
    for (int i = 0; i < lanes(); ++i) add(rows_, distance_);
    add(turned_, form_.registerBytes);
    sub(height_, lanes());
    jmp(wholeRows);
    L(lastRows);
    cmp(height_, 0);
    jle(done);
    squares(true);
    L(done);
    for (size_t i = kept_.size(); i > 0; --i) pop(kept_[i - 1]);
    return leave();
  }

 private:
  const int row_;  ///< bytes from one turned column to the next
  const Reg64 rows_ = rdi, turned_ = rsi, width_ = rdx, height_ = rcx, distance_ = r8, from_ = rax, left_ = r9,
              place_ = r10, to_ = r11, scratch_ = r12, next_ = r13;
  const std::array<Reg64, 2> kept_ = {r12, r13};

  int together() const { return 16 / form_.elementBytes; }
  int lanes() const { return form_.registerBytes / form_.elementBytes; }
  int pieces() const { return form_.registerBytes / 16; }

  /// As many rows as there are lanes, the last of them again in place of those that are not there.
  void squares(bool isLast) {
    Label nextVector, part, loaded, done;
    mov(place_, rows_);
    mov(to_, turned_);
    mov(left_, width_);
    align(32);
    L(nextVector);
    cmp(left_, lanes());
    jl(part);
    loadRows(isLast, false);
    L(loaded);
    turnSquare();
    add(place_, form_.registerBytes);
    add(to_, lanes() * row_);
    sub(left_, lanes());
    jg(nextVector);
    jmp(done);
    L(part);
    selectLanes(left_, scratch_, next_, 15);
    loadRows(isLast, true);
    jmp(loaded);
    L(done);
  }

  void loadRows(bool isLast, bool isPart) {
    mov(from_, place_);
    for (int i = 0; i < lanes(); ++i) {
      isPart ? loadSelected(i, ptr[from_]) : load(i, ptr[from_]);
      if (i + 1 == lanes()) break;
      if (isLast) mov(next_, from_);
      add(from_, distance_);
      if (!isLast) continue;
      cmp(height_, i + 1);
      cmovle(from_, next_);
    }
  }

  /// Within 16 bytes of some rows each first, then by whole 16 bytes.
  void turnSquare() {
    const int size = together(), first = lanes();  // registers behind the rows are free, but for one
    std::array<std::array<int, 4>, 4> columns{};   // of each group of rows
    for (int group = 0; group < pieces(); ++group) {
      const auto n = static_cast<size_t>(group);
      const int row = group * size;
      if (size == 2) {
        columns[n] = {first + group, row + 1};
        vunpcklpd(vec(first + group), vec(row), vec(row + 1));
        vunpckhpd(vec(row + 1), vec(row), vec(row + 1));
        continue;
      }
      for (int i = 0; i < 4; i += 2) {
        vunpcklps(vec(first + i), vec(row + i), vec(row + i + 1));
        vunpckhps(vec(first + i + 1), vec(row + i), vec(row + i + 1));
      }
      for (int i = 0; i < 4; i += 2) {
        vunpcklpd(vec(row + i), vec(first + i / 2), vec(first + 2 + i / 2));
        vunpckhpd(vec(row + i + 1), vec(first + i / 2), vec(first + 2 + i / 2));
      }
      columns[n] = {row, row + 1, row + 2, row + 3};
    }
    for (int column = 0; column < size; ++column) storeColumns(columns, column, first + 4);
  }

  /// Columns `column`, `column` + together(), ... of all groups of rows. Registers from `free` on are free.
  void storeColumns(const std::array<std::array<int, 4>, 4>& columns, int column, int free) {
    const auto of = [&](size_t group) { return vec(columns[group][static_cast<size_t>(column)]); };
    const auto storeAt = [&](int piece, int from) { store(at(to_, (piece * together() + column) * row_), from); };
    if (pieces() == 2) {
      vperm2f128(vec(free), of(0), of(1), static_cast<uint8_t>(0x20));
      vperm2f128(vec(free + 1), of(0), of(1), static_cast<uint8_t>(0x31));
      for (int piece = 0; piece < 2; ++piece) storeAt(piece, free + piece);
      return;
    }
    // The first two pieces of two groups side by side, and the last two; then every other one.
    for (int half = 0; half < 2; ++half) {
      const auto both = static_cast<uint8_t>(half == 0 ? 0x44 : 0xEE);
      vshuff32x4(vec(free), of(0), of(1), both);
      vshuff32x4(vec(free + 1), of(2), of(3), both);
      vshuff32x4(vec(free + 2), vec(free), vec(free + 1), static_cast<uint8_t>(0x88));
      vshuff32x4(vec(free + 3), vec(free), vec(free + 1), static_cast<uint8_t>(0xDD));
      for (int piece = 0; piece < 2; ++piece) storeAt(2 * half + piece, free + 2 + piece);
    }
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
MachineCode assembledBlockTurn(VectorForm form, int row, std::string_view listed) {
  return BlockTurnAssembler(form, row, listed).run();
}
MachineCode assembledPack(const PackCode& pack, std::string_view listed) { return PackAssembler(pack, listed).run(); }

}  // namespace tenc::codegen::cpu
