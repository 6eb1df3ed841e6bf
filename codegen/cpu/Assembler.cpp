#include "codegen/cpu/Assembler.h"

#include <array>

namespace tenc::codegen::cpu {
namespace {

constexpr std::array<std::string_view, 16> kNames = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                                     "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
constexpr unsigned numberOf(Gpr r) { return static_cast<unsigned>(r); }
constexpr bool isByte(int64_t v) { return v >= -128 && v <= 127; }
std::string constant(int64_t v) { return "$" + std::to_string(v); }

}  // namespace

// ---- the listing

std::string Assembler::shown(Gpr r) const { return listing_ ? "%" + std::string(kNames[numberOf(r)]) : ""; }
std::string Assembler::shown(Mem m) const {
  if (!listing_) return {};
  return (m.offset != 0 ? std::to_string(m.offset) : "") + "(" + shown(m.base) + ")";
}
std::string Assembler::shown(int vector, int bytes) const {
  if (!listing_) return {};
  if (bytes == 0) bytes = form_.registerBytes;
  return (bytes == 64 ? "%zmm" : bytes == 32 ? "%ymm" : "%xmm") + std::to_string(vector);
}
std::string Assembler::shown(Label& l) {
  if (!listing_) return {};
  if (l.number_ < 0) l.number_ = labels_++;
  return ".L" + prefix_ + "." + std::to_string(l.number_);
}

template <typename... Operands>
void Assembler::line(std::string_view mnemonic, const Operands&... operands) {
  if (!listing_) return;
  text_ += '\t';
  text_ += mnemonic;
  std::string_view before = "\t";
  ((text_ += before, text_ += operands, before = ", "), ...);
  text_ += '\n';
}

// ---- general registers

void Assembler::number(int64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) byte(static_cast<unsigned>(value >> (8 * i)) & 0xFF);
}

/// ModRM, SIB and the distance, which counts in `scale` where it is one byte.
void Assembler::memory(unsigned reg, Mem m, int scale) {
  const unsigned base = numberOf(m.base) & 7, rsp = 4, rbp = 5;
  const bool none = m.offset == 0 && base != rbp;
  const bool isShort = m.offset % scale == 0 && isByte(m.offset / scale);
  byte((none ? 0U : isShort ? 0x40U : 0x80U) | (reg & 7) << 3 | base);
  if (base == rsp) byte(0x24);
  if (none) return;
  isShort ? number(m.offset / scale, 1) : number(m.offset, 4);
}

void Assembler::general(unsigned opcode, unsigned reg, Gpr rm) {
  byte(0x48 | (reg >> 3) << 2 | numberOf(rm) >> 3);
  if (opcode > 0xFF) byte(opcode >> 8);
  byte(opcode & 0xFF);
  byte(0xC0 | (reg & 7) << 3 | (numberOf(rm) & 7));
}
void Assembler::general(unsigned opcode, unsigned reg, Mem rm) {
  byte(0x48 | (reg >> 3) << 2 | numberOf(rm.base) >> 3);
  if (opcode > 0xFF) byte(opcode >> 8);
  byte(opcode & 0xFF);
  memory(reg, rm, 1);
}
void Assembler::immediate(unsigned extension, Gpr to, int32_t value) {
  if (!isByte(value) && to == Gpr::Rax) {  // a form of its own
    byte(0x48);
    byte(extension << 3 | 5);
    return number(value, 4);
  }
  general(isByte(value) ? 0x83 : 0x81, extension, to);
  number(value, isByte(value) ? 1 : 4);
}
void Assembler::immediate(unsigned extension, Mem to, int32_t value) {
  general(isByte(value) ? 0x83 : 0x81, extension, to);
  number(value, isByte(value) ? 1 : 4);
}

void Assembler::move(Gpr to, Gpr from) {
  line("movq", shown(from), shown(to));
  general(0x89, numberOf(from), to);
}
void Assembler::move(Gpr to, int32_t value) {
  line("movq", constant(value), shown(to));
  general(0xC7, 0, to);
  number(value, 4);
}
void Assembler::load(Gpr to, Mem from) {
  line("movq", shown(from), shown(to));
  general(0x8B, numberOf(to), from);
}
void Assembler::store(Mem to, Gpr from) {
  line("movq", shown(from), shown(to));
  general(0x89, numberOf(from), to);
}
void Assembler::add(Gpr to, int32_t value) {
  line("addq", constant(value), shown(to));
  immediate(0, to, value);
}
void Assembler::add(Mem to, int32_t value) {
  line("addq", constant(value), shown(to));
  immediate(0, to, value);
}
void Assembler::add(Gpr to, Gpr from) {
  line("addq", shown(from), shown(to));
  general(0x01, numberOf(from), to);
}
void Assembler::add(Gpr to, Mem from) {
  line("addq", shown(from), shown(to));
  general(0x03, numberOf(to), from);
}
void Assembler::subtract(Gpr to, int32_t value) {
  line("subq", constant(value), shown(to));
  immediate(5, to, value);
}
void Assembler::subtract(Gpr to, Mem from) {
  line("subq", shown(from), shown(to));
  general(0x2B, numberOf(to), from);
}
void Assembler::subtract(Gpr to, Gpr from) {
  line("subq", shown(from), shown(to));
  general(0x29, numberOf(from), to);
}
void Assembler::multiply(Gpr to, Gpr by) {
  line("imulq", shown(by), shown(to));
  general(0x0FAF, numberOf(to), by);
}
void Assembler::multiply(Gpr to, Gpr by, int32_t times) {
  line("imulq", constant(times), shown(by), shown(to));
  general(isByte(times) ? 0x6B : 0x69, numberOf(to), by);
  number(times, isByte(times) ? 1 : 4);
}
void Assembler::address(Gpr to, Mem of) {
  line("leaq", shown(of), shown(to));
  general(0x8D, numberOf(to), of);
}
void Assembler::compare(Gpr x, int32_t y) {
  line("cmpq", constant(y), shown(x));
  immediate(7, x, y);
}
void Assembler::compare(Mem x, int32_t y) {
  line("cmpq", constant(y), shown(x));
  immediate(7, x, y);
}
void Assembler::decrement(Gpr x) {
  line("decq", shown(x));
  general(0xFF, 1, x);
}
void Assembler::decrement(Mem x) {
  line("decq", shown(x));
  general(0xFF, 1, x);
}
void Assembler::push(Gpr x) {
  line("pushq", shown(x));
  if (numberOf(x) > 7) byte(0x41);
  byte(0x50 | (numberOf(x) & 7));
}
void Assembler::pop(Gpr x) {
  line("popq", shown(x));
  if (numberOf(x) > 7) byte(0x41);
  byte(0x58 | (numberOf(x) & 7));
}
void Assembler::prefetch(Mem at, bool write) {
  line(write ? "prefetchw" : "prefetcht0", shown(at));
  if (numberOf(at.base) > 7) byte(0x41);
  byte(0x0F);
  byte(write ? 0x0D : 0x18);
  memory(1, at, 1);
}

void Assembler::leave() {
  line("vzeroupper");
  line("retq");
  for (unsigned b : {0xC5U, 0xF8U, 0x77U, 0xC3U}) byte(b);
  for (const auto& [use, bytes] : constants_) {
    while (code_.size() % bytes.size() != 0) byte(0xCC);
    const auto distance = static_cast<int64_t>(code_.size() - use - 4);
    for (size_t i = 0; i < 4; ++i) code_[use + i] = static_cast<char>(distance >> (8 * i));
    code_ += bytes;
    if (!listing_) continue;
    text_ += "\t.balign\t" + std::to_string(bytes.size()) + ", 0xCC\n.L" + prefix_ + ".lanes:\n";
    for (const char b : bytes) line(".byte", std::to_string(static_cast<unsigned char>(b)));
  }
}

// ---- labels

void Assembler::bind(Label& label) {
  if (listing_) text_ += shown(label) + ":\n";
  label.at_ = code_.size();
  for (const size_t use : label.uses_) {
    const auto distance = static_cast<int64_t>(code_.size() - use - 4);
    for (size_t i = 0; i < 4; ++i) code_[use + i] = static_cast<char>(distance >> (8 * i));
  }
}

void Assembler::jumpIf(If condition, Label& to) {
  const auto code = static_cast<unsigned>(condition);
  constexpr std::array<std::string_view, 16> kConditions = {"jo", "jno", "jb", "jae", "je", "jne", "jbe", "ja",
                                                            "js", "jns", "jp", "jnp", "jl", "jge", "jle", "jg"};
  line(kConditions[code], shown(to));
  const int64_t distance = to.at_ ? static_cast<int64_t>(*to.at_) - static_cast<int64_t>(code_.size()) - 2 : -1000;
  if (isByte(distance)) {
    byte(0x70 | code);
    return number(distance, 1);
  }
  byte(0x0F);
  byte(0x80 | code);
  if (!to.at_) to.uses_.push_back(code_.size());
  number(distance - 4, 4);  // this form is longer by four bytes
}

void Assembler::align(size_t bytes) {
  // The longest instructions that do nothing, as manuals recommend them.
  using std::string_view_literals::operator""sv;
  constexpr std::array<std::string_view, 9> kNothing = {
      {"\x90"sv, "\x66\x90"sv, "\x0F\x1F\x00"sv, "\x0F\x1F\x40\x00"sv, "\x0F\x1F\x44\x00\x00"sv,
       "\x66\x0F\x1F\x44\x00\x00"sv, "\x0F\x1F\x80\x00\x00\x00\x00"sv, "\x0F\x1F\x84\x00\x00\x00\x00\x00"sv,
       "\x66\x0F\x1F\x84\x00\x00\x00\x00\x00"sv}};
  line(".balign", std::to_string(bytes));
  for (size_t left = (bytes - code_.size() % bytes) % bytes; left > 0;) {
    const size_t some = left < kNothing.size() ? left : kNothing.size();
    code_ += kNothing[some - 1];
    left -= some;
  }
}

// ---- vector registers

/// `high`: bits 3 and 4 of a register at `rm`, or bit 3 of what an address begins with.
void Assembler::prefixes(Opcode op, int reg, int second, unsigned high, bool evex, Options o) {
  const auto r = static_cast<unsigned>(reg), v = static_cast<unsigned>(second);
  const int bytes = o.bytes != 0 ? o.bytes : form_.registerBytes;
  const unsigned b = high & 1, x = high >> 1;
  if (evex) {
    const unsigned length = bytes == 64 ? 2 : bytes == 32 ? 1 : 0;
    byte(0x62);
    byte((~r >> 3 & 1) << 7 | (~x & 1) << 6 | (~b & 1) << 5 | (~r >> 4 & 1) << 4 | op.map);
    byte((op.wide ? 0x80U : 0U) | (~v & 15) << 3 | 4 | op.prefix);
    byte((o.masked == 2 ? 0x80U : 0U) | length << 5 | (o.broadcast ? 0x10U : 0U) | (~v >> 4 & 1) << 3 |
         (o.masked != 0 ? 1U : 0U));
  } else {
    const unsigned last = (~v & 15) << 3 | (bytes == 32 ? 4U : 0U) | op.prefix;
    if (op.map == 1 && b == 0) {
      byte(0xC5);
      byte((~r >> 3 & 1) << 7 | last);
    } else {
      byte(0xC4);
      byte((~r >> 3 & 1) << 7 | 0x40 | (~b & 1) << 5 | op.map);
      byte((op.wide ? 0x80U : 0U) | last);
    }
  }
  byte(op.byte);
}

void Assembler::vector(Opcode op, int reg, int second, int rm, Options o) {
  const bool evex = o.masked != 0 || o.bytes == 64 || (o.bytes == 0 && form_.registerBytes == 64) || reg > 15 ||
                    second > 15 || rm > 15;
  prefixes(op, reg, second, static_cast<unsigned>(rm) >> 3, evex, o);
  byte(0xC0 | (static_cast<unsigned>(reg) & 7) << 3 | (static_cast<unsigned>(rm) & 7));
}
void Assembler::vector(Opcode op, int reg, int second, Mem rm, Options o) {
  const int bytes = o.bytes != 0 ? o.bytes : form_.registerBytes;
  const bool evex = o.masked != 0 || o.broadcast || bytes == 64 || reg > 15 || second > 15;
  prefixes(op, reg, second, numberOf(rm.base) >> 3, evex, o);
  memory(static_cast<unsigned>(reg), rm, !evex ? 1 : o.memoryBytes != 0 ? o.memoryBytes : bytes);
}

namespace {
constexpr uint8_t k66 = 1;
}

void Assembler::clear(int to) {
  line("vxorps", shown(to, 16), shown(to, 16), shown(to, 16));
  vector({0, 1, 0x57}, to, to, to, {.bytes = 16});
}
void Assembler::load(int to, Mem from) {
  line(typed("vmovup"), shown(from), shown(to));
  vector({isDouble() ? k66 : uint8_t{0}, 1, 0x10, isDouble() && hasMasks()}, to, 0, from, {});
}
void Assembler::store(Mem to, int from) {
  line(typed("vmovup"), shown(from), shown(to));
  vector({isDouble() ? k66 : uint8_t{0}, 1, 0x11, isDouble() && hasMasks()}, from, 0, to, {});
}
void Assembler::broadcast(int to, Mem from) {
  line(typed("vbroadcasts"), shown(from), shown(to));
  vector({k66, 2, static_cast<uint8_t>(isDouble() ? 0x19 : 0x18), isDouble() && hasMasks()}, to, 0, from,
         {.memoryBytes = form_.elementBytes});
}
void Assembler::multiplyAdd(int sum, int x, int y) {
  line(typed("vfmadd231p"), shown(y), shown(x), shown(sum));
  vector({k66, 2, 0xB8, isDouble()}, sum, x, y, {});
}
void Assembler::multiplyAddBroadcast(int sum, int x, Mem from) {
  line(typed("vfmadd231p"), shown(from) + (isDouble() ? "{1to8}" : "{1to16}"), shown(x), shown(sum));
  vector({k66, 2, 0xB8, isDouble()}, sum, x, from, {.broadcast = true, .memoryBytes = form_.elementBytes});
}

void Assembler::interleave(int to, int x, int y, int bytes, bool upper) {
  const bool wide = bytes == 8;
  line(std::string(upper ? "vunpckhp" : "vunpcklp") + (wide ? "d" : "s"), shown(y), shown(x), shown(to));
  vector({wide ? k66 : uint8_t{0}, 1, static_cast<uint8_t>(upper ? 0x15 : 0x14), wide && hasMasks()}, to, x, y, {});
}
void Assembler::storePart(Mem to, int from, int part) {
  if (part == 0) {
    line("vmovups", shown(from, 16), shown(to));
    return vector({0, 1, 0x11}, from, 0, to, {.bytes = 16});
  }
  const bool half = form_.registerBytes == 32;
  line(half ? "vextractf128" : "vextractf32x4", constant(part), shown(from), shown(to));
  vector({k66, 3, 0x19}, from, 0, to, {.memoryBytes = 16});
  byte(static_cast<unsigned>(part));
}

void Assembler::selectLanes(int lanes, int mask) {
  const auto bits = static_cast<int32_t>((1U << lanes) - 1);
  if (hasMasks()) {
    line("movl", constant(bits), "%eax");
    byte(0xB8);
    number(bits, 4);
    line("kmovw", "%eax", "%k1");
    for (unsigned b : {0xC5U, 0xF8U, 0x92U, 0xC8U}) byte(b);
    return;
  }
  mask_ = mask;
  const auto size = static_cast<size_t>(form_.elementBytes);
  std::string all(static_cast<size_t>(form_.registerBytes), '\0');
  for (size_t i = 0; i < static_cast<size_t>(lanes) * size; ++i) all[i] = '\xFF';
  // From behind the code: an address without a base is one from the next instruction on.
  line("vmovups", ".L" + prefix_ + ".lanes(%rip)", shown(mask));
  prefixes({0, 1, 0x10}, mask, 0, 0, false, {});
  byte((static_cast<unsigned>(mask) & 7) << 3 | 5);
  constants_.emplace_back(code_.size(), all);
  number(0, 4);
}
void Assembler::loadSelected(int to, Mem from) {
  if (hasMasks()) {
    line(typed("vmovup"), shown(from), shown(to) + " {%k1} {z}");
    return vector({isDouble() ? k66 : uint8_t{0}, 1, 0x10, isDouble()}, to, 0, from, {.masked = 2});
  }
  line(typed("vmaskmovp"), shown(from), shown(mask_), shown(to));
  vector({k66, 2, static_cast<uint8_t>(isDouble() ? 0x2D : 0x2C)}, to, mask_, from, {});
}
void Assembler::storeSelected(Mem to, int from) {
  if (hasMasks()) {
    line(typed("vmovup"), shown(from), shown(to) + " {%k1}");
    return vector({isDouble() ? k66 : uint8_t{0}, 1, 0x11, isDouble()}, from, 0, to, {.masked = 1});
  }
  line(typed("vmaskmovp"), shown(from), shown(mask_), shown(to));
  vector({k66, 2, static_cast<uint8_t>(isDouble() ? 0x2F : 0x2E)}, from, mask_, to, {});
}

}  // namespace tenc::codegen::cpu
