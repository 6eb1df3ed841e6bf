// setp and testp.
#include <cmath>

#include "tests/cuda/vm/Operations.h"

namespace tenc::ptx {
namespace {

float value(float f) { return f; }
double value(double f) { return f; }
float value(Half h) { return toFloat(h); }
float value(Bfloat b) { return toFloat(b); }

template <class I>
void addIntegerComparisons(Operations& t, const std::string& type) {
  t.add("setp.eq." + type, comparison<[](I a, I b) { return a == b; }, I>());
  t.add("setp.ne." + type, comparison<[](I a, I b) { return a != b; }, I>());
  t.add("setp.lt." + type, comparison<[](I a, I b) { return a < b; }, I>());
  t.add("setp.le." + type, comparison<[](I a, I b) { return a <= b; }, I>());
  t.add("setp.gt." + type, comparison<[](I a, I b) { return a > b; }, I>());
  t.add("setp.ge." + type, comparison<[](I a, I b) { return a >= b; }, I>());
  if constexpr (!std::is_signed_v<I>) {
    t.alias("setp.lo." + type, "setp.lt." + type);
    t.alias("setp.ls." + type, "setp.le." + type);
    t.alias("setp.hi." + type, "setp.gt." + type);
    t.alias("setp.hs." + type, "setp.ge." + type);
    std::string bits = "b" + type.substr(1);
    t.alias("setp.eq." + bits, "setp.eq." + type);
    t.alias("setp.ne." + bits, "setp.ne." + type);
  }
}

/// F: what is stored; compared are floats, where it is a half.
template <class F>
void addFloatComparisons(Operations& t, const std::string& type) {
  auto add = [&](const char* name, Operation ordered, Operation unordered) {
    t.add(std::string("setp.") + name + "." + type, std::move(ordered));
    t.add(std::string("setp.") + name + "u." + type, std::move(unordered));
  };
#define TENC_COMPARE(name, ordered, unordered) \
  add(name,                                    \
      comparison<[](F x, F y) {                \
        auto a = value(x);                     \
        auto b = value(y);                     \
        return ordered;                        \
      },                                       \
                 F>(),                         \
      comparison<[](F x, F y) {                \
        auto a = value(x);                     \
        auto b = value(y);                     \
        return unordered;                      \
      },                                       \
                 F>())
  TENC_COMPARE("eq", a == b, !(a < b || a > b));
  TENC_COMPARE("ne", a < b || a > b, a != b);
  TENC_COMPARE("lt", a < b, !(a >= b));
  TENC_COMPARE("le", a <= b, !(a > b));
  TENC_COMPARE("gt", a > b, !(a <= b));
  TENC_COMPARE("ge", a >= b, !(a < b));
#undef TENC_COMPARE
  t.add("setp.num." + type, comparison<[](F x, F y) { return !std::isnan(value(x)) && !std::isnan(value(y)); }, F>());
  t.add("setp.nan." + type, comparison<[](F x, F y) { return std::isnan(value(x)) || std::isnan(value(y)); }, F>());
}

template <auto F, class T>
void test(Warp& w, const Instruction& i) {
  const auto* a = w.read<KeptType<T>>(i.from[0]);
  Mask holds = 0;
  for (uint32_t l = 0; l < kLanes; ++l) holds |= static_cast<Mask>(F(decodeLane<T>(a[l]))) << l;
  w.writePredicate(i.to[0], holds);
}

template <class F>
void addTests(Operations& t, const std::string& type) {
  t.add("testp.finite." + type, {test<[](F a) { return std::isfinite(a); }, F>, 0, {sizeof(F)}});
  t.add("testp.infinite." + type, {test<[](F a) { return std::isinf(a); }, F>, 0, {sizeof(F)}});
  t.add("testp.notanumber." + type, {test<[](F a) { return std::isnan(a); }, F>, 0, {sizeof(F)}});
  t.add("testp.number." + type, {test<[](F a) { return !std::isnan(a); }, F>, 0, {sizeof(F)}});
}

}  // namespace

void addComparisons(Operations& t) {
  addIntegerComparisons<int16_t>(t, "s16");
  addIntegerComparisons<uint16_t>(t, "u16");
  addIntegerComparisons<int32_t>(t, "s32");
  addIntegerComparisons<uint32_t>(t, "u32");
  addIntegerComparisons<int64_t>(t, "s64");
  addIntegerComparisons<uint64_t>(t, "u64");
  addFloatComparisons<float>(t, "f32");
  addFloatComparisons<double>(t, "f64");
  addFloatComparisons<Half>(t, "f16");
  addFloatComparisons<Bfloat>(t, "bf16");
  addTests<float>(t, "f32");
  addTests<double>(t, "f64");
}

}  // namespace tenc::ptx
