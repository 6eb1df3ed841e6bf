#include "codegen/cuda/CudaScalars.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

#include "codegen/cuda/FarSine.h"

namespace tenc::codegen::cuda {
namespace {

std::string_view signedType(Repr r) {
  switch (r) {
    case Repr::I8: return "signed char";
    case Repr::I16: return "short";
    case Repr::I32: return "int";
    default: return "long long";
  }
}

/// The shortest form of a finite float is not needed, its exact one is: hexadecimal, as C++17 reads it.
std::string floatLiteral(Repr r, double v) {
  const bool d = r == Repr::F64;
  if (!std::isfinite(v)) {
    const std::string bits =
        d ? decimal(std::bit_cast<uint64_t>(v)) + "ull" : decimal(std::bit_cast<uint32_t>(static_cast<float>(v))) + "u";
    return (d ? "__longlong_as_double((long long)" : "__uint_as_float(") + bits + ")";
  }
  char digits[48];
  const int n = std::snprintf(digits, sizeof digits, "%a", v);
  std::string text(digits, static_cast<size_t>(n));
  if (!d) text += 'f';
  return text[0] == '-' ? "(" + text + ")" : text;
}

std::string call(std::string_view f, std::string_view a) { return std::string(f) + "(" + std::string(a) + ")"; }
std::string call(std::string_view f, std::string_view a, std::string_view b) {
  return std::string(f) + "(" + std::string(a) + ", " + std::string(b) + ")";
}
std::string infix(std::string_view a, std::string_view op, std::string_view b) {
  return std::string(a) + " " + std::string(op) + " " + std::string(b);
}

/// Whether an expression is an integer that intConstant wrote.
bool isLiteral(std::string_view x) {
  const size_t digits = x.find_first_not_of("0123456789");
  return digits != 0 && digits != std::string_view::npos && (x.substr(digits) == "u" || x.substr(digits) == "ull");
}

/// The value for a signed comparison, division or shift. Of bytes it is extended by an instruction of its own: NVRTC
/// (12 and 13) compares the 16 bits that a difference of bytes is computed in.
std::string asSigned(Repr r, std::string_view x) {
  return r == Repr::I8 ? call("tenc_signed_byte", x) : "(" + std::string(signedType(r)) + ")" + std::string(x);
}

}  // namespace

std::string_view registerType(Repr r) {
  switch (r) {
    case Repr::I1: return "bool";
    case Repr::I8: return "unsigned char";
    case Repr::I16: return "unsigned short";
    case Repr::I32: return "unsigned";
    case Repr::I64: return "unsigned long long";
    case Repr::F32: return "float";
    case Repr::F64: return "double";
  }
  return "";
}

std::string_view memoryType(ir::DType t) {
  if (isHalf(t)) return "unsigned short";
  if (t == ir::DType::Bool) return "unsigned char";
  return registerType(reprOf(t));
}

Scalar CudaScalars::wrap(std::string expression, Repr r) {
  expressions_.push_back(std::move(expression));
  return {this, &expressions_.back(), r};
}

Scalar CudaScalars::named(std::string_view expression, Repr r) {
  const std::string name = out_.fresh("v");
  out_.line("const " + std::string(registerType(r)) + " " + name + " = " + std::string(expression) + ";");
  return wrap(name, r);
}

Scalar CudaScalars::computed(std::string expression, Repr r) {
  if (r == Repr::F32) computed_.insert(expression);
  return wrap(std::move(expression), r);
}

std::string CudaScalars::variable(std::string_view type, std::string_view expression) {
  const std::string name = out_.fresh("v");
  out_.line("const " + std::string(type) + " " + name + " = " + std::string(expression) + ";");
  return name;
}

void CudaScalars::declare(std::string_view text) {
  if (tables_.find(text) == std::string::npos) tables_ += text;
}

Scalar CudaScalars::fromMemory(std::string_view expression, ir::DType t) {
  if (t == ir::DType::Bool) return wrap("(" + infix(expression, "!=", "0") + ")", Repr::I1);
  if (!isHalf(t)) return wrap(std::string(expression), reprOf(t));
  const bool isF16 = t == ir::DType::F16;
  const Scalar x = named(call(isF16 ? "tenc_half_of_bits" : "tenc_bfloat_of_bits", expression), Repr::F32);
  (isF16 ? halves_ : bfloats_).emplace(text(x), expression);
  return x;
}

std::string CudaScalars::toMemory(Scalar s, ir::DType t) {
  return text(isHalf(t) ? storedBits(s, t) : s);  // a bool converts to 0 or 1
}

Scalar CudaScalars::constantOfBits(uint64_t bits, ir::DType t) {
  const Repr r = reprOf(t);
  if (t == ir::DType::F32) return floatConstant(r, std::bit_cast<float>(static_cast<uint32_t>(bits)));
  if (t == ir::DType::F64) return floatConstant(r, std::bit_cast<double>(bits));
  if (isHalf(t)) return fromStoredBits(intConstant(Repr::I16, bits), t);
  return intConstant(r, bits);
}

Scalar CudaScalars::elementwise(ir::OpKind kind, ir::DType operand, ir::DType result, std::span<const Scalar> args,
                                uint32_t fault) {
  return emitElementwise(*this, kind, operand, result, args, fault);
}

Scalar CudaScalars::floatConstant(Repr r, double v) { return wrap(floatLiteral(r, v), r); }

Scalar CudaScalars::intConstant(Repr r, uint64_t v) {
  if (r == Repr::I1) return wrap((v & 1) != 0 ? "true" : "false", r);
  const int width = bitWidth(r);
  if (width < 64) v &= (uint64_t{1} << width) - 1;
  if (r == Repr::I64) return wrap(decimal(v) + "ull", r);
  if (r == Repr::I32) return wrap(decimal(v) + "u", r);
  return wrap(call(registerType(r), decimal(v)).insert(0, "(").insert(1 + registerType(r).size(), ")"), r);
}

Scalar CudaScalars::unary(UnaryInst op, Scalar a) {
  const std::string& x = text(a);
  const bool d = a.repr == Repr::F64;
  auto function = [&](std::string_view name) { return named(call(std::string(name) + (d ? "" : "f"), x), a.repr); };
  switch (op) {
    case UnaryInst::FNeg: return named("-" + x, a.repr);
    case UnaryInst::FAbs: return function("fabs");
    case UnaryInst::Sqrt: return named(call(d ? "__dsqrt_rn" : "__fsqrt_rn", x), a.repr);
    case UnaryInst::Floor: return function("floor");
    case UnaryInst::Ceil: return function("ceil");
    case UnaryInst::RoundEven: return function("rint");
    case UnaryInst::Truncate: return function("trunc");
    case UnaryInst::Popcount: return named(call(a.repr == Repr::I64 ? "__popcll" : "__popc", x), a.repr);
  }
  return a;
}

Scalar CudaScalars::binary(BinaryInst op, Scalar a, Scalar b) {
  const std::string &x = text(a), &y = text(b);
  auto simple = [&](std::string_view symbol) { return named(infix(x, symbol, y), a.repr); };
  auto computed = [&](std::string_view symbol) {
    const Scalar result = simple(symbol);
    if (a.repr == Repr::F32) computed_.insert(text(result));
    return result;
  };
  auto wrapped = [&](std::string_view symbol) {
    return a.repr == Repr::I16 ? named(call("tenc_short", infix("(unsigned)" + x, symbol, y)), a.repr) : simple(symbol);
  };
  auto signs = [&](std::string_view symbol) { return infix(asSigned(a.repr, x), symbol, asSigned(a.repr, y)); };
  auto chosen = [&](std::string_view condition) {
    return named(std::string(condition) + " ? " + x + " : " + y, a.repr);
  };
  switch (op) {
    case BinaryInst::FAdd: return computed("+");
    case BinaryInst::Add: return wrapped("+");
    case BinaryInst::FSub: return computed("-");
    case BinaryInst::Sub: return wrapped("-");
    case BinaryInst::FMul: return computed("*");
    case BinaryInst::Mul: return wrapped("*");
    case BinaryInst::FDiv:
    case BinaryInst::UDiv: return simple("/");
    case BinaryInst::SDiv: return named(signs("/"), a.repr);
    case BinaryInst::And: return simple("&");
    case BinaryInst::Or: return simple("|");
    case BinaryInst::Xor: return simple("^");
    case BinaryInst::Shl: return simple("<<");
    case BinaryInst::LShr: return simple(">>");
    case BinaryInst::AShr: return named(infix(asSigned(a.repr, x), ">>", y), a.repr);
    case BinaryInst::SMin: return chosen(signs("<"));
    case BinaryInst::SMax: return chosen(signs(">"));
    case BinaryInst::UMin: return chosen(infix(x, "<", y));
    case BinaryInst::UMax: return chosen(infix(x, ">", y));
    case BinaryInst::FCopySign: return named(call(a.repr == Repr::F64 ? "copysign" : "copysignf", x, y), a.repr);
    case BinaryInst::FMaximum: return named(call("tenc_maximum", x, y), a.repr);
    case BinaryInst::FMinimum: return named(call("tenc_minimum", x, y), a.repr);
  }
  return a;
}

Scalar CudaScalars::fma(Scalar a, Scalar b, Scalar c) {
  const Scalar result = named(
      (a.repr == Repr::F64 ? "__fma_rn(" : "__fmaf_rn(") + text(a) + ", " + text(b) + ", " + text(c) + ")", a.repr);
  if (a.repr == Repr::F32) computed_.insert(text(result));
  return result;
}

Scalar CudaScalars::compare(Predicate p, Scalar a, Scalar b) {
  const std::string &x = text(a), &y = text(b);
  // Divisors that are literals need no check.
  if (p == Predicate::Eq && isLiteral(x) && isLiteral(y)) return wrap(x == y ? "true" : "false", Repr::I1);
  auto as = [&](std::string_view symbol, bool isSigned) {
    if (!isSigned || isFloat(a.repr) || a.repr == Repr::I1) return named(infix(x, symbol, y), Repr::I1);
    return named(infix(asSigned(a.repr, x), symbol, asSigned(a.repr, y)), Repr::I1);
  };
  switch (p) {
    case Predicate::Oeq:
    case Predicate::Eq: return as("==", false);
    case Predicate::Une:
    case Predicate::Ne: return as("!=", false);
    case Predicate::Olt:
    case Predicate::Ult: return as("<", false);
    case Predicate::Ole:
    case Predicate::Ule: return as("<=", false);
    case Predicate::Ogt:
    case Predicate::Ugt: return as(">", false);
    case Predicate::Oge:
    case Predicate::Uge: return as(">=", false);
    case Predicate::Slt: return as("<", true);
    case Predicate::Sle: return as("<=", true);
    case Predicate::Sgt: return as(">", true);
    case Predicate::Sge: return as(">=", true);
    case Predicate::Uno: return named(infix(x, "!=", x) + (x == y ? "" : " || " + infix(y, "!=", y)), Repr::I1);
  }
  return a;
}

Scalar CudaScalars::select(Scalar condition, Scalar a, Scalar b) {
  if (text(condition) == "true") return a;
  if (text(condition) == "false") return b;
  return named(text(condition) + " ? " + text(a) + " : " + text(b), a.repr);
}

Scalar CudaScalars::convert(ConvertInst op, Scalar a, Repr to) {
  const std::string& x = text(a);
  const std::string target = "(" + std::string(registerType(to)) + ")";
  switch (op) {
    case ConvertInst::FExt: return widened(a);
    case ConvertInst::FTrunc:
      if (const auto known = widened_.find(x); known != widened_.end()) return wrap(known->second, to);
      return named(target + x, to);
    case ConvertInst::UIntToF:
    case ConvertInst::FToUInt:
    case ConvertInst::ZExt: return named(target + x, to);
    case ConvertInst::Trunc: return named(to == Repr::I16 ? call("tenc_short", "(unsigned)" + x) : target + x, to);
    case ConvertInst::SIntToF:
    case ConvertInst::SExt: return named(target + "(" + std::string(signedType(a.repr)) + ")" + x, to);
    case ConvertInst::FToSInt: return named(target + "(" + std::string(signedType(to)) + ")" + x, to);
    case ConvertInst::Bits:
      if (a.repr == Repr::F32) return named(call("__float_as_uint", x), to);
      if (a.repr == Repr::F64) return named("(unsigned long long)" + call("__double_as_longlong", x), to);
      if (to == Repr::F32) return named(call("__uint_as_float", x), to);
      if (to == Repr::F64) return named(call("__longlong_as_double", "(long long)" + x), to);
      return a;
  }
  return a;
}

Scalar CudaScalars::scaleByPowerOf2(Scalar x, Scalar n) { return named(call("tenc_scale", text(x), text(n)), x.repr); }

Scalar CudaScalars::lookup(std::span<const double, 16> table, Scalar index) {
  const Repr repr = index.repr == Repr::I64 ? Repr::F64 : Repr::F32;
  std::string values;
  for (double v : table) values += (values.empty() ? "" : ", ") + floatLiteral(repr, v);
  // One table for all that are equal: its declaration is found again.
  const std::string tail = "[16] = {" + values + "};\n";
  size_t at = tables_.find(tail);
  if (at == std::string::npos) {
    tables_ +=
        std::string("__device__ const ") + (repr == Repr::F64 ? "double " : "float ") + out_.fresh("table") + tail;
    at = tables_.size() - tail.size();
  }
  const size_t begin = tables_.rfind(' ', at) + 1;
  return named(tables_.substr(begin, at - begin) + "[" + text(index) + " & 15]", repr);
}

Scalar CudaScalars::halfBits(Scalar x) {
  const auto known = halves_.find(text(x));
  return known != halves_.end() ? wrap(known->second, Repr::I16) : named(call("tenc_half_bits", text(x)), Repr::I16);
}

// Floats of bits are expressions and no variables: often only the bits are wanted.
Scalar CudaScalars::halfOfBits(Scalar bits) {
  const Scalar x = wrap(call("tenc_half_of_bits", text(bits)), Repr::F32);
  halves_.emplace(text(x), text(bits));
  return x;
}

Scalar CudaScalars::roundToBFloat(Scalar x) {
  if (bfloats_.contains(text(x))) return x;
  const bool isComputed = computed_.contains(text(x));
  const std::string_view function = isComputed ? "tenc_bfloat_result_bits" : "tenc_bfloat_bits";
  const Scalar bits = named(call(function, text(x)), Repr::I16);
  // One that is computed has a name of its own, as `bits` has: an operand may be rounded in several blocks.
  const Scalar rounded = isComputed ? named(call("tenc_bfloat_result", text(x)), Repr::F32)
                                    : wrap(call("tenc_bfloat_of_bits", text(bits)), Repr::F32);
  bfloats_.emplace(text(rounded), text(bits));
  return rounded;
}

Scalar CudaScalars::bfloatBits(Scalar x) {
  const auto known = bfloats_.find(text(x));
  return known != bfloats_.end() ? wrap(known->second, Repr::I16) : ScalarBuilder::bfloatBits(x);
}

Scalar CudaScalars::widened(Scalar x) {
  const Scalar wide = wrap("(double)" + text(x), Repr::F64);
  widened_.emplace(text(wide), text(x));
  return wide;
}

std::string CudaScalars::libraryFunction(std::string_view name, size_t arity, Repr r) {
  // Of its own: inlined wherever it is rarely called, it would be most of the code.
  const std::string symbol = "tenc_" + std::string(name) + (r == Repr::F32 ? "f" : "");
  // That of floats is exact, too, and less to compile.
  if (name == "fmod" && r == Repr::F32) {
    declare("__device__ __noinline__ float " + symbol + "(float x, float y) { return fmodf(x, y); }\n");
    return symbol;
  }
  const std::string type(registerType(r)), wide = r == Repr::F32 ? "(double)" : "";
  const std::string text = "__device__ __noinline__ " + type + " " + symbol + "(" + type + " x" +
                           (arity == 2 ? ", " + type + " y" : "") + ") { return " + (r == Repr::F32 ? "(float)" : "") +
                           std::string(name) + "(" + wide + "x" + (arity == 2 ? ", " + wide + "y" : "") + "); }\n";
  declare(text);
  return symbol;
}

Scalar CudaScalars::libraryCall(std::string_view name, std::initializer_list<Scalar> args, Scalar condition,
                                Scalar otherwise) {
  static constexpr std::string_view kLibrary[] = {"fmod", "sin", "cos", "tan"},
                                    kPrelude[] = {"tenc_lgamma", "tenc_digamma", "tenc_integer_power"};
  const bool isOwn = std::find(std::begin(kPrelude), std::end(kPrelude), name) != std::end(kPrelude);
  if (!isOwn && std::find(std::begin(kLibrary), std::end(kLibrary), name) == std::end(kLibrary)) missing_ = name;
  // Where all are floats, what is not rare has nothing to do with doubles.
  const auto floatOf = [&](Scalar s) {
    const auto known = widened_.find(text(s));
    return known == widened_.end() ? Scalar{} : wrap(known->second, Repr::F32);
  };
  std::vector<Scalar> operands(args), floats;
  for (Scalar s : operands) floats.push_back(floatOf(s));
  floats.push_back(floatOf(otherwise));
  const bool areFloats =
      !isOwn && std::all_of(floats.begin(), floats.end(), [](Scalar s) { return s.handle != nullptr; });
  if (areFloats) operands.assign(floats.begin(), floats.end() - 1);
  const Scalar usual = areFloats ? floats.back() : otherwise;
  const bool isTurn = usual.repr == Repr::F32 && (name == "sin" || name == "cos");
  if (isTurn) declare(kFarSine);
  const std::string function = isTurn  ? "tenc_far_sine"
                               : isOwn ? std::string(name)
                                       : libraryFunction(name, operands.size(), usual.repr);
  const Scalar result = rarely(condition, usual, [&] {
    std::string list;
    for (Scalar s : operands) list += (list.empty() ? "" : ", ") + text(s);
    if (isTurn) list += name == "cos" ? ", 1" : ", 0";
    return wrap(call(function, list), usual.repr);
  });
  return areFloats ? widened(result) : result;
}

Scalar CudaScalars::rarely(Scalar condition, Scalar otherwise, const std::function<Scalar()>& body) {
  const std::string name = out_.fresh("v");
  out_.line(std::string(registerType(otherwise.repr)) + " " + name + " = " + text(otherwise) + ";");
  out_.open("if (" + text(condition) + ")");
  out_.line(name + " = " + text(body()) + ";");
  out_.close();
  return wrap(name, otherwise.repr);
}

void CudaScalars::repeat(int times, std::span<Scalar> state, const std::function<void(std::span<Scalar>)>& step) {
  std::vector<std::string> names;
  for (Scalar& s : state) {
    names.push_back(out_.fresh("s"));
    out_.line(std::string(registerType(s.repr)) + " " + names.back() + " = " + text(s) + ";");
    s = wrap(names.back(), s.repr);
  }
  const std::string i = out_.fresh("i");
  out_.line("#pragma unroll 1");
  out_.open("for (int " + i + " = 0; " + i + " < " + decimal(times) + "; ++" + i + ")");
  std::vector<Scalar> next(state.begin(), state.end());
  step(next);
  // All at once: a step may exchange what it is given.
  std::vector<Scalar> last;
  for (const Scalar& s : next) last.push_back(named(text(s), s.repr));
  for (size_t k = 0; k < names.size(); ++k) out_.line(names[k] + " = " + text(last[k]) + ";");
  out_.close();
}

void CudaScalars::setFault(Scalar condition, uint32_t fault) { setFault(text(condition), fault, "0", 1, -1, 0); }

void CudaScalars::setFault(std::string_view condition, uint32_t fault, std::string_view index, int64_t count,
                           int64_t size, int64_t axis) {
  if (condition == "false") return;
  const std::string isFirst = faulted.empty() ? "" : " && !" + faulted,
                    note = faulted.empty() ? "" : faulted + " = true, ";
  out_.line("if (" + std::string(condition) + isFirst + ") " + note + "tenc_report(faults, order, " +
            decimal(fault + 1) + "u, " + std::string(index) + ", " + decimal(count) + ", " + decimal(size) + ", " +
            decimal(axis) + (trip.empty() ? "" : ", " + trip) + ");");
}

}  // namespace tenc::codegen::cuda
