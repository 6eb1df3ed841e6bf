#include "frontend/values/Values.h"

#include <algorithm>
#include <bit>

namespace tenc::frontend {

Pins Pins::ofParts(std::vector<Pins> parts) {
  const bool any = std::ranges::any_of(parts, &Pins::any);
  return {"", any ? std::move(parts) : std::vector<Pins>()};
}

namespace {
Val made(Val::Kind kind, Span s) {
  Val v;
  v.kind = kind;
  v.span = s;
  return v;
}
}  // namespace

Val Val::unit(Span s) { return made(Kind::Unit, s); }

Val Val::ofInt(Int v, Span s, bool adopts) {
  Val r = made(Kind::Int, s);
  r.integer = v;
  r.adopts = adopts;
  r.dtype = ir::DType::I64;
  return r;
}

Val Val::ofFloat(double v, Span s, bool adopts) {
  Val r = made(Kind::Float, s);
  r.real = v;
  r.adopts = adopts;
  r.dtype = ir::DType::F32;
  return r;
}

Val Val::ofBool(bool v, Span s) {
  Val r = made(Kind::Bool, s);
  r.boolean = v;
  r.dtype = ir::DType::Bool;
  return r;
}

Val Val::ofString(std::string v, Span s) {
  Val r = made(Kind::String, s);
  r.text = std::move(v);
  return r;
}

Val Val::ofChoice(ir::Value* which, std::string format, Span s) {
  Val v;
  v.kind = Kind::Format;
  v.text = std::move(format);
  v.elems.push_back(ofTensor(which, s));
  v.span = s;
  return v;
}

Val Val::ofDType(ir::DType t, Span s) {
  Val r = made(Kind::DType, s);
  r.dtype = t;
  return r;
}

Val Val::ofDevice(DeviceRef d, Span s) {
  Val r = made(Kind::Device, s);
  r.device = std::move(d);
  return r;
}

Elements::Elements(std::vector<Val> parts) {
  if (!parts.empty()) shared_ = std::make_shared<Shared>(Shared{std::move(parts)});
}

Elements::Elements(std::initializer_list<Val> parts) : Elements(std::vector<Val>(parts)) {}

Elements::operator const std::vector<Val>&() const {
  static const std::vector<Val> kNone;
  return shared_ ? shared_->values : kNone;
}

std::vector<Val>& Elements::edit() {
  if (!shared_) {
    shared_ = std::make_shared<Shared>();
  } else if (shared_.use_count() != 1) {
    shared_ = std::make_shared<Shared>(Shared{shared_->values});
  }
  shared_->leaves = 0;
  shared_->facts = 0;
  return shared_->values;
}

void Elements::push_back(Val v) { edit().push_back(std::move(v)); }

size_t Elements::leaves() const {
  if (!shared_) return 0;
  if (shared_->leaves == 0) {
    for (const Val& v : shared_->values) shared_->leaves += v.elems.empty() ? 1 : v.elems.leaves();
  }
  return shared_->leaves;
}

bool Val::isIdentical(const Val& other) const {
  // A NaN is identical to itself, zeros of different signs are not.
  return kind == other.kind && span == other.span && integer == other.integer &&
         std::bit_cast<uint64_t>(real) == std::bit_cast<uint64_t>(other.real) && boolean == other.boolean &&
         adopts == other.adopts && dim == other.dim && dtype == other.dtype && pieces == other.pieces &&
         device.of == other.device.of && tensor == other.tensor && elems.areThoseOf(other.elems) &&
         info == other.info && fn == other.fn && type == other.type && module == other.module && text == other.text &&
         device.name == other.device.name;
}

Val Val::ofTensor(ir::Value* v, Span s) {
  Val r = made(Kind::Tensor, s);
  r.tensor = v;
  r.dtype = v->type.dtype;
  return r;
}

Val Val::ofPack(const ir::Dims& dims, Span s) {
  Val r = made(Kind::Pack, s);
  for (int64_t d : dims) r.elems.push_back(ofInt(d, s));
  return r;
}

Val Val::ofTuple(Elements elems, Span s) {
  Val r = made(Kind::Tuple, s);
  r.elems = std::move(elems);
  return r;
}

Val Val::ofList(Elements elems, Span s) {
  Val r = made(Kind::List, s);
  r.elems = std::move(elems);
  return r;
}

Val Val::ofStruct(StructPtr info, Elements elems, Span s) {
  Val r = made(Kind::Struct, s);
  r.info = std::move(info);
  r.elems = std::move(elems);
  return r;
}

Val Val::ofFunction(FnPtr f, Span s) {
  Val r = made(Kind::Function, s);
  r.fn = std::move(f);
  return r;
}

Val Val::ofRange(Val lo, Val hi, Val by, bool reversed, Span s) {
  Val r = made(Kind::Range, s);
  r.elems = std::vector<Val>{std::move(lo), std::move(hi), std::move(by)};
  r.boolean = reversed;
  return r;
}

Val Val::ofSequence(Elements trips, Span s) {
  Val r = made(Kind::Sequence, s);
  r.elems = std::move(trips);
  return r;
}

bool Ty::complete() const {
  switch (kind) {
    case Kind::Unknown: return false;
    case Kind::Tensor:
      return dtype && dims && std::all_of(dims->begin(), dims->end(), [](int64_t d) { return d >= 0; });
    case Kind::List: return length >= 0 && elems.size() == 1 && elems[0].complete();
    case Kind::Tuple:
    case Kind::Struct: return std::all_of(elems.begin(), elems.end(), [](const Ty& t) { return t.complete(); });
    default: return true;
  }
}

std::string toString(Int v) {
  if (v == 0) return "0";
  const bool negative = v < 0;
  unsigned __int128 rest = negative ? -static_cast<unsigned __int128>(v) : static_cast<unsigned __int128>(v);
  std::string digits;
  for (; rest != 0; rest /= 10) digits.push_back(static_cast<char>('0' + static_cast<int>(rest % 10)));
  if (negative) digits.push_back('-');
  return {digits.rbegin(), digits.rend()};
}

namespace {
std::string joined(const std::vector<Ty>& types) {
  std::string s;
  for (const Ty& t : types) s += (s.empty() ? "" : ", ") + toString(t);
  return s;
}
}  // namespace

std::string toString(const Ty& t) {
  std::string s;
  switch (t.kind) {
    case Ty::Kind::Unknown: return "_";
    case Ty::Kind::Tensor:
      s = t.dtype ? std::string(ir::name(*t.dtype)) : "_";
      if (!t.dims) {
        s += "[...]";
      } else if (!t.dims->empty()) {
        s += "[";
        for (size_t i = 0; i < t.dims->size(); ++i) {
          s += (i ? ", " : "") + ((*t.dims)[i] < 0 ? std::string("_") : std::to_string((*t.dims)[i]));
        }
        s += "]";
      }
      break;
    case Ty::Kind::Tuple: s = "(" + joined(t.elems) + ")"; break;
    case Ty::Kind::List:
      s = "[" + joined(t.elems) + "; " + (t.length < 0 ? std::string("_") : std::to_string(t.length)) + "]";
      break;
    case Ty::Kind::Struct: s = t.info ? t.info->text : "a struct"; break;
    case Ty::Kind::String: return "str";
    case Ty::Kind::Device: return "device";
    case Ty::Kind::Fn: return "fn";
    case Ty::Kind::Shape: return "a shape";
  }
  if (!t.place.empty()) s += " @" + t.place;
  return s;
}

namespace {
std::string floatText(double v) {
  char text[40];
  for (int digits = 6; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, v);
    if (std::strtod(text, nullptr) == v) break;
  }
  return text;
}
std::string elementsText(const Val& v) {
  std::string s;
  for (const Val& e : v.elems) {
    const bool number = e.is(Val::Kind::Int) || e.is(Val::Kind::Float);
    s += (s.empty() ? "" : ", ") + (number ? std::string(ir::name(e.dtype)) : describe(e));
  }
  return s;
}
}  // namespace

std::string describe(const Val& v) {
  switch (v.kind) {
    case Val::Kind::None:
    case Val::Kind::Poison: return "a value with an error";
    case Val::Kind::Unit: return "no value";
    case Val::Kind::Int: return v.adopts ? "the integer " + toString(v.integer) : std::string(ir::name(v.dtype));
    case Val::Kind::Float: return v.adopts ? "the number " + floatText(v.real) : std::string(ir::name(v.dtype));
    case Val::Kind::Bool: return "bool";
    case Val::Kind::String:
    case Val::Kind::Format: return "a string";
    case Val::Kind::DType: return "the dtype " + std::string(ir::name(v.dtype));
    case Val::Kind::Device: return v.device.name.empty() ? "a device" : "the device " + v.device.name;
    case Val::Kind::Tensor: return ir::toString(v.tensor->type);
    case Val::Kind::Array:
      return "an array of " + std::to_string(v.elems.size()) + (v.elems.size() == 1 ? " value" : " values");
    case Val::Kind::Tuple: return "(" + elementsText(v) + ")";
    case Val::Kind::List:
      return v.elems.empty() ? "an empty list"
                             : "[" + describe(v.elems[0]) + "; " + std::to_string(v.elems.size()) + "]";
    case Val::Kind::Struct: return v.info ? v.info->text : "a struct";
    case Val::Kind::Pack: {
      std::string sizes;
      for (const Val& e : v.elems) sizes += (sizes.empty() ? "" : ", ") + toString(e.integer);
      return "the shape [" + sizes + "]";
    }
    case Val::Kind::Function: return v.fn && !v.fn->name.empty() ? "the function `" + v.fn->name + "`" : "a function";
    case Val::Kind::Type: return v.type ? "the type " + toString(*v.type) : "a type";
    case Val::Kind::Range: return "a range";
    case Val::Kind::Sequence: return "a sequence";
    case Val::Kind::Module: return "a module";
  }
  return "a value";
}

}  // namespace tenc::frontend
