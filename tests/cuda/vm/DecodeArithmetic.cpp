// Instructions that are rows of the table of operations, and moves that pack and unpack.
#include <algorithm>
#include <map>

#include "tests/cuda/vm/Form.h"
#include "tests/cuda/vm/Handlers.h"
#include "tests/cuda/vm/Operations.h"

namespace tenc::ptx {
namespace {

bool isFloat(const std::string& type) { return type == "f32" || type == "f64"; }

/// What of the modifiers does not select an operation, but is done around it.
struct Around {
  bool flush = false, saturate = false;
};

/// The key of the table, and what is left of the modifiers.
std::string keyOf(Form& f, Around& around) {
  const std::string& name = f.name();
  bool convert = name == "cvt", compare = name == "setp";
  const std::string& result = convert && f.text.opcode.size() > 2 ? f.text.opcode[f.text.opcode.size() - 2] : f.type();
  std::string key = name;
  for (size_t n = 1; n < f.text.opcode.size(); ++n) {
    const std::string& m = f.text.opcode[n];
    if (m == "ftz") {
      around.flush = true;
    } else if (m == "sat" && isFloat(result)) {
      around.saturate = true;
    } else if (m == "rn" && !convert) {
      // the way to round that is the rule
    } else if (compare && (m == "and" || m == "or" || m == "xor")) {
      f.out.mode = m == "and" ? 1 : m == "or" ? 2 : 3;
    } else {
      key += "." + m;
    }
  }
  return key;
}

/// The unit that converts: between f32 and 16 bits not the one that converts from and to integers. Floats of 16 bits
/// become f32 where halves are added, and are packed, like integers, by the ALU.
Class classOfConversion(const std::string& to, const std::string& from) {
  const bool toHalf = to.find("f16") != to.npos, fromHalf = from.find("f16") != from.npos;
  if (fromHalf && to == "f32") return Class::Half;
  const bool packs = toHalf && from == "f32", ofIntegers = !isFloat(to) && !isFloat(from) && !toHalf && !fromHalf;
  return packs || ofIntegers ? Class::Integer : Class::Convert;
}

void classify(Form& f) {
  const std::string& name = f.name();
  const std::string& type = f.type();
  auto in = [&](std::initializer_list<const char*> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  bool half = type.find("f16") != type.npos;
  Class& c = f.out.cls;
  if (name == "cvt")
    c = classOfConversion(f.text.opcode[f.text.opcode.size() - 2], type);
  else if (name == "mov" || name == "selp")
    c = Class::Move;
  else if (isFloat(type) && in({"ex2", "lg2", "sin", "cos", "rcp", "rsqrt", "sqrt", "tanh"}))
    c = Class::Special;
  else if (type == "f64")
    c = Class::Float64;
  else if (type == "f32")
    c = Class::Float32;
  else
    c = half ? Class::Half : Class::Integer;
  if ((isFloat(type) || half) && in({"add", "sub", "mul", "div", "fma", "mad"})) {
    bool pairs = type.find("x2") != type.npos, fused = in({"fma", "mad"});
    f.out.flops = static_cast<uint8_t>((pairs ? 2 : 1) * (fused ? 2 : 1));
  }
}

bool decodeCarry(Form& f) {
  bool reads = f.name() == "addc" || f.name() == "subc" || f.name() == "madc", sets = f.has("cc");
  if (!reads && !sets) return false;
  f.out.mode = static_cast<uint8_t>(reads | sets << 1);
  f.out.variant = f.name()[0] == 'a' ? 0 : f.name()[0] == 's' ? 1 : f.has("lo") ? 2 : 3;
  f.out.isSigned = f.type()[0] == 's';
  const Operation* o = Operations::all().find(f.bytes() == 8 ? "carry.64" : "carry.32");
  f.out.handler = o->handler;
  f.out.cls = Class::Integer;
  f.to(0, o->to);
  for (size_t n = 1; n < f.operands(); ++n) f.from(n, o->to);
  return true;
}

/// mov.b64 %rd, {%r1, %r2} and back.
bool decodePacked(Form& f) {
  if (f.name() != "mov" || f.operands() != 2) return false;
  bool pack = f.operand(1).kind == syntax::Operand::Kind::List,
       unpack = f.operand(0).kind == syntax::Operand::Kind::List;
  if (!pack && !unpack) return false;
  size_t parts = f.operand(pack).elements.size();
  f.out.cls = Class::Move;
  f.out.wide = f.bytes() == 8;
  f.out.bytes = static_cast<uint8_t>(f.bytes() / parts);
  f.out.handler = pack ? executePack : executeUnpack;
  f.to(0, pack ? f.bytes() : f.out.bytes);
  f.from(1, pack ? f.out.bytes : f.bytes());
  return true;
}

}  // namespace

void decodeArithmetic(Form& f) {
  if (decodePacked(f) || decodeCarry(f)) return;
  Around around;
  const Operation* o = Operations::all().find(keyOf(f, around));
  // Rows without a type of half precision flush nothing; narrower than f32 the hardware does not either.
  if (!o) return;
  classify(f);
  bool compare = f.name() == "setp";
  f.to(0, o->to);
  bool wide = o->from[0] == 4 && around.flush && (f.type() == "f32");
  for (size_t n = 1; n < f.operands() && n <= o->from.size(); ++n) {
    f.from(n, o->from[n - 1]);
    Slot& s = f.out.from[f.out.sources - 1];
    if (!wide || o->from[n - 1] != 4) continue;
    Slot flushed = f.symbols.newRegister(32);
    f.helper("flush.f32", s, flushed, false);
    s = flushed;
  }
  f.out.handler = o->handler;
  if (compare || o->to == kPredicateWidth) return;
  bool f32 = f.name() == "cvt" ? f.has("f32") && o->to == 4 && f.text.opcode[f.text.opcode.size() - 2] == "f32"
                               : f.type() == "f32";
  if (around.saturate) f.helper(o->to == 8 ? "saturate.f64" : "saturate.f32", f.out.to[0], f.out.to[0], true);
  if (around.flush && f32) f.helper("flush.f32", f.out.to[0], f.out.to[0], true);
}

Family familyOf(const std::string& opcode) {
  static const std::map<std::string, Family> families = {{"ld", decodeLoad},
                                                         {"ldu", decodeLoad},
                                                         {"st", decodeStore},
                                                         {"atom", decodeAtomic},
                                                         {"red", decodeAtomic},
                                                         {"cvta", decodeAddress},
                                                         {"isspacep", decodeAddress},
                                                         {"cp", decodeCopy},
                                                         {"ldmatrix", decodeMatrixMove},
                                                         {"stmatrix", decodeMatrixMove},
                                                         {"bar", decodeBarrier},
                                                         {"barrier", decodeBarrier},
                                                         {"membar", decodeFence},
                                                         {"fence", decodeFence},
                                                         {"shfl", decodeShuffle},
                                                         {"vote", decodeVote},
                                                         {"match", decodeMatch},
                                                         {"redux", decodeRedux},
                                                         {"activemask", decodeLanes},
                                                         {"elect", decodeLanes},
                                                         {"mma", decodeMma},
                                                         {"wgmma", decodeWarpgroup}};
  auto at = families.find(opcode);
  return at == families.end() ? nullptr : at->second;
}

}  // namespace tenc::ptx
