// Machine code without LLVM, for code that is the same but for numbers: tiles of products, which LLVM takes a
// millisecond and more each to select and to allocate. x86-64, with AVX2 and FMA, or AVX-512.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenc::codegen::cpu {

enum class Gpr : uint8_t { Rax, Rcx, Rdx, Rbx, Rsp, Rbp, Rsi, Rdi, R8, R9, R10, R11, R12, R13, R14, R15 };

/// Memory at so many bytes from where a register points.
struct Mem {
  Gpr base;
  int32_t offset = 0;
};

/// The elements that vectors hold.
struct VectorForm {
  int registerBytes;  ///< 32, or 64 with AVX-512
  int elementBytes;   ///< 4 or 8
};

class Assembler {
 public:
  /// `listing`: text for people is written along with the code, with labels that begin with `prefix`.
  Assembler(VectorForm form, bool listing, std::string prefix)
      : form_(form), listing_(listing), prefix_(std::move(prefix)) {}

  VectorForm form() const { return form_; }
  const std::string& code() const { return code_; }
  const std::string& text() const { return text_; }

  class Label {
    friend class Assembler;
    std::optional<size_t> at_;
    std::vector<size_t> uses_;  ///< where distances of four bytes stand
    int number_ = -1;           ///< in the listing
  };
  enum class If : uint8_t { AboveOrEqual = 3, NotZero = 5, LessOrEqual = 14, Greater = 15 };
  void bind(Label& label);
  void jumpIf(If condition, Label& to);
  /// No instruction before a multiple of so many bytes, counted from the beginning of the code.
  void align(size_t bytes);

  void move(Gpr to, Gpr from);
  void move(Gpr to, int32_t value);
  void load(Gpr to, Mem from);
  void store(Mem to, Gpr from);
  void add(Gpr to, int32_t value);
  void add(Gpr to, Gpr from);
  void add(Gpr to, Mem from);
  void add(Mem to, int32_t value);
  void subtract(Gpr to, int32_t value);
  void subtract(Gpr to, Gpr from);
  void subtract(Gpr to, Mem from);
  void multiply(Gpr to, Gpr by, int32_t times);
  void multiply(Gpr to, Gpr by);
  void address(Gpr to, Mem of);
  void compare(Gpr x, int32_t y);
  void compare(Mem x, int32_t y);
  void decrement(Gpr x);
  void decrement(Mem x);
  void push(Gpr x);
  void pop(Gpr x);
  void prefetch(Mem at, bool write);
  /// Back to the caller, with the upper halves of vector registers cleared.
  void leave();

  // Vector registers go by number.
  void clear(int to);
  void load(int to, Mem from);
  void store(Mem to, int from);
  void broadcast(int to, Mem from);
  void multiplyAdd(int sum, int x, int y);              ///< sum += x * y, rounded once
  void multiplyAddBroadcast(int sum, int x, Mem from);  ///< by the element at `from`, of AVX-512
  /// The lower or the upper elements of each 16 bytes of two vectors in turns, elements of so many bytes.
  void interleave(int to, int x, int y, int bytes, bool upper);
  void storePart(Mem to, int from, int part);  ///< 16 bytes of a vector
  /// Selects lanes of what follows: the first `lanes`, by mask register 1 or vector register `mask`.
  void selectLanes(int lanes, int mask);
  void loadSelected(int to, Mem from);
  void storeSelected(Mem to, int from);

 private:
  /// The bytes that select an instruction (Intel's manual, volume 2, "VEX" and "EVEX").
  struct Opcode {
    uint8_t prefix;  ///< pp: 0 none, 1 66, 2 F3, 3 F2
    uint8_t map;     ///< 1 0F, 2 0F38, 3 0F3A
    uint8_t byte;
    bool wide = false;  ///< W of VEX and EVEX
  };
  struct Options {
    int bytes = 0;           ///< of vectors; 0: those of the form
    int masked = 0;          ///< by mask register 1: 1 merges, 2 clears
    bool broadcast = false;  ///< of the element in memory
    int memoryBytes = 0;     ///< that are accessed; 0: a whole vector
  };
  bool isDouble() const { return form_.elementBytes == 8; }
  bool hasMasks() const { return form_.registerBytes == 64; }
  void byte(unsigned b) { code_ += static_cast<char>(b); }
  void number(int64_t value, int bytes);
  void vector(Opcode op, int reg, int second, int rm, Options options);
  void vector(Opcode op, int reg, int second, Mem rm, Options options);
  void prefixes(Opcode op, int reg, int second, unsigned high, bool evex, Options options);
  void memory(unsigned reg, Mem m, int scale);
  void general(unsigned opcode, unsigned reg, Gpr rm);
  void general(unsigned opcode, unsigned reg, Mem rm);
  void immediate(unsigned extension, Gpr to, int32_t value);
  void immediate(unsigned extension, Mem to, int32_t value);

  // The listing, in the syntax of GNU's assembler.
  template <typename... Operands>
  void line(std::string_view mnemonic, const Operands&... operands);
  std::string shown(Gpr r) const;
  std::string shown(Mem m) const;
  std::string shown(int vector, int bytes = 0) const;
  std::string shown(Label& l);
  std::string typed(std::string_view mnemonic) const { return std::string(mnemonic) + (isDouble() ? "d" : "s"); }

  VectorForm form_;
  bool listing_;
  std::string prefix_, code_, text_;
  int labels_ = 0;
  int mask_ = -1;  ///< vector register of selected lanes, without mask registers
  std::vector<std::pair<size_t, std::string>> constants_;  ///< behind the code, and where the distance to each stands
};

}  // namespace tenc::codegen::cpu
