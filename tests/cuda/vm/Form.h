// An instruction while it is decoded: its text, and the operands and modifiers in the terms of the machine.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "tests/cuda/vm/Kernel.h"
#include "tests/cuda/vm/Symbols.h"
#include "tests/cuda/vm/Syntax.h"

namespace tenc::ptx {

class Form {
 public:
  Form(const syntax::Instruction& text, Symbols& symbols, Kernel& kernel);

  const syntax::Instruction& text;
  Symbols& symbols;
  Kernel& kernel;
  Instruction out;

  const std::string& name() const { return text.opcode[0]; }
  bool has(std::string_view modifier) const;
  /// The index of the first of `names` that is a modifier, or `otherwise`.
  uint8_t which(std::initializer_list<std::string_view> names, uint8_t otherwise = 0) const;
  /// The last modifier, and the bytes of the type that it names.
  const std::string& type() const { return text.opcode.back(); }
  uint8_t bytes() const { return static_cast<uint8_t>(syntax::bytesOf(type())); }
  Space space() const;

  size_t operands() const { return text.operands.size(); }
  const syntax::Operand& operand(size_t n) const;
  /// Appends what the operand names to the destinations or sources; a list or pair is as many. A value in a register of
  /// another width is converted by a helper.
  void to(size_t n, uint8_t bytes);
  void from(size_t n, uint8_t bytes);
  void addTo(const syntax::Operand& o, uint8_t bytes);
  void addFrom(const syntax::Operand& o, uint8_t bytes);
  /// [register + offset]; symbols and numbers are constants.
  void address(size_t n);
  void address2(size_t n);
  /// Where the value of an operand is, without making it a source.
  Slot slot(const syntax::Operand& o, uint8_t bytes);

  /// Puts what was decoded behind the kernel's code, with its helpers. The instructions before it stay before it.
  void emit();
  /// A helper that turns one register into another: an operation of the table.
  void helper(const char* operation, Slot from, Slot to, bool behind);

 private:
  void addressOf(size_t n, Slot& slot, int64_t& offset);

  std::vector<Instruction> behind_;
};

/// Decodes a family of opcodes. Leaves out.handler null where it does not know the variant.
using Family = void (*)(Form&);
/// Null for an opcode that no family knows: arithmetic, or an unknown one.
Family familyOf(const std::string& opcode);
void decodeArithmetic(Form& f);

// The families, in the files DecodeMemory.cpp, DecodeWarp.cpp and DecodeWarpgroup.cpp.
void decodeLoad(Form& f);
void decodeStore(Form& f);
void decodeAtomic(Form& f);
void decodeAddress(Form& f);
void decodeCopy(Form& f);
void decodeMatrixMove(Form& f);
void decodeBarrier(Form& f);
void decodeFence(Form& f);
void decodeShuffle(Form& f);
void decodeVote(Form& f);
void decodeMatch(Form& f);
void decodeRedux(Form& f);
void decodeLanes(Form& f);
void decodeMma(Form& f);
void decodeWarpgroup(Form& f);
/// When everything is decoded: which instructions touch registers of wgmma.
void watchRegisters(Kernel& k);

}  // namespace tenc::ptx
