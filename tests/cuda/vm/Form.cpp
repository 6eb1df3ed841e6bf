#include "tests/cuda/vm/Form.h"

#include <algorithm>

#include "tests/cuda/vm/Lexer.h"
#include "tests/cuda/vm/Operations.h"

namespace tenc::ptx {

Form::Form(const syntax::Instruction& t, Symbols& s, Kernel& k) : text(t), symbols(s), kernel(k) {
  if (text.guard.empty()) return;
  const Symbols::Register* r = symbols.registerOf(text.guard);
  if (!r || r->bits != 1) throw PtxError(text.line, "the guard " + text.guard + " is not a predicate");
  out.guard = r->slot;
  out.guardNegated = text.guardNegated;
}

bool Form::has(std::string_view modifier) const {
  return std::find(text.opcode.begin() + 1, text.opcode.end(), modifier) != text.opcode.end();
}

uint8_t Form::which(std::initializer_list<std::string_view> names, uint8_t otherwise) const {
  for (size_t n = 0; n < names.size(); ++n) {
    if (has(names.begin()[n])) return static_cast<uint8_t>(n);
  }
  return otherwise;
}

Space Form::space() const {
  for (const std::string& m : text.opcode) {
    if (m == "global" || m == "const") return Space::Global;
    if (m == "shared" || m == "shared::cta") return Space::Shared;
    if (m == "local") return Space::Local;
    if (m == "param") return Space::Parameter;
  }
  return Space::Generic;
}

const syntax::Operand& Form::operand(size_t n) const {
  if (n >= text.operands.size()) throw PtxError(text.line, "operands are missing: " + text.text);
  return text.operands[n];
}

void Form::helper(const char* operation, Slot from, Slot to, bool behind) {
  Instruction h;
  h.handler = Operations::all().find(operation)->handler;
  h.cls = Class::Helper;
  h.guard = out.guard;
  h.guardNegated = out.guardNegated;
  h.destinations = h.sources = 1;
  h.to[0] = to;
  h.from[0] = from;
  if (behind) {
    behind_.push_back(h);
  } else {
    kernel.code.push_back(h);
    kernel.origins.push_back({text.text, text.line, text.sourceLine});
  }
}

Slot Form::slot(const syntax::Operand& o, uint8_t bytes) {
  Slot s = symbols.valueOf(o, bytes, text.line);
  const Symbols::Register* r = o.kind == syntax::Operand::Kind::Name ? symbols.registerOf(o.name) : nullptr;
  if (!r || (r->bits == 1) == (bytes == 0)) {
    if (!r || r->bits == 1 || (r->bits == 64) == (bytes == 8)) return s;
  }
  if (r->bits != 64 || bytes == 0) throw PtxError(text.line, o.name + " is not as wide as its use: " + text.text);
  Slot narrow = symbols.newRegister(32);
  helper("cvt.u32.u64", s, narrow, false);
  return narrow;
}

void Form::addFrom(const syntax::Operand& o, uint8_t bytes) {
  if (o.kind == syntax::Operand::Kind::List || o.kind == syntax::Operand::Kind::Pair) {
    for (const auto& e : o.elements) addFrom(e, bytes);
    return;
  }
  if (out.sources == out.from.size()) throw PtxError(text.line, "too many sources: " + text.text);
  if (o.negated) out.negated |= static_cast<uint8_t>(1 << out.sources);
  out.from[out.sources++] = slot(o, bytes);
}

void Form::addTo(const syntax::Operand& o, uint8_t bytes) {
  if (o.kind == syntax::Operand::Kind::List || o.kind == syntax::Operand::Kind::Pair) {
    for (const auto& e : o.elements) addTo(e, bytes);
    return;
  }
  if (out.destinations == out.to.size()) throw PtxError(text.line, "too many destinations: " + text.text);
  Slot s = symbols.valueOf(o, bytes, text.line);
  if (s & kConstant) throw PtxError(text.line, "this cannot be written: " + text.text);
  const Symbols::Register* r = symbols.registerOf(o.name);
  if (r && r->bits == 64 && bytes && bytes < 8) {
    Slot narrow = symbols.newRegister(32);
    helper(text.opcode[text.opcode.size() > 2 ? text.opcode.size() - 2 : 1][0] == 's' ? "cvt.s64.s32" : "cvt.u64.u32",
           narrow, s, true);
    s = narrow;
  } else if (r && r->bits != 64 && bytes == 8) {
    throw PtxError(text.line, o.name + " is too narrow: " + text.text);
  }
  out.to[out.destinations++] = s;
}

void Form::to(size_t n, uint8_t bytes) { addTo(operand(n), bytes); }
void Form::from(size_t n, uint8_t bytes) { addFrom(operand(n), bytes); }

void Form::addressOf(size_t n, Slot& slot, int64_t& offset) {
  const syntax::Operand& o = operand(n);
  if (o.kind != syntax::Operand::Kind::Address) throw PtxError(text.line, "expected an address: " + text.text);
  offset = o.offset;
  if (o.name.empty()) {
    slot = symbols.constant(0, 8);
    return;
  }
  const Symbols::Register* r = symbols.registerOf(o.name);
  syntax::Operand name;
  name.name = o.name;
  if (!r) {
    slot = symbols.valueOf(name, 8, text.line);
  } else if (r->bits == 64) {
    slot = r->slot;
  } else {
    slot = symbols.newRegister(64);
    helper("cvt.u64.u32", r->slot, slot, false);
  }
}

void Form::address(size_t n) { addressOf(n, out.address, out.offset); }
void Form::address2(size_t n) { addressOf(n, out.address2, out.offset2); }

void Form::emit() {
  auto push = [&](const Instruction& i) {
    kernel.code.push_back(i);
    kernel.origins.push_back({text.text, text.line, text.sourceLine});
  };
  push(out);
  for (const Instruction& h : behind_) push(h);
}

}  // namespace tenc::ptx
