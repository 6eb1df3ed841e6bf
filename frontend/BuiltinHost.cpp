// What talks to the host: print, the seed, the clock, and questions about devices.
#include "frontend/Builtin.h"

namespace tenc::frontend {

using ir::Dims;
using ir::DType;
using ir::OpKind;

namespace {

Val print(BuiltinCall& k) {
  std::vector<Val> values;
  for (const Val* v : k.args.rest) values.push_back(*v);
  FormatParts parts = formatParts(k.l, values, k.span);
  if (!parts.ok) return Val::none();
  k.l.at(k.span);
  k.c.b.make(OpKind::Print, parts.operands, {{"pieces", parts.pieces}, {"formats", parts.formats}});
  return Val::unit(k.span);
}

Val notYet(BuiltinCall& k) { return k.notYet(); }

// ---- seed and clock

Val seed(BuiltinCall& k) {
  ir::Value* s = k.tensor("n", DType::U64);
  if (!s) return Val::none();
  if (s->type.rank() != 0) return k.l.notYet(k.span, "going back to a state of the generator");
  if (!ir::isInt(s->type.dtype)) return k.fail(Code::E0201, "a seed is an integer, not " + ir::toString(s->type));
  k.c.b.make(OpKind::Seed, {k.c.cast(s, DType::U64)});
  return Val::unit(k.span);
}

Val time(BuiltinCall& k) { return k.result(k.c.b.makeTyped(OpKind::Time, {}, {{DType::F64, {}, {}}})->result()); }

// ---- devices: compile-time values

/// The device that an argument names; unlike everywhere else it need not be there.
std::optional<DeviceRef> deviceNamed(BuiltinCall& k, std::string_view parameter) {
  const Val& v = k[parameter];
  if (v.is(Val::Kind::Device) && !v.device.of) return v.device;
  if (v.is(Val::Kind::Device)) {
    k.notYet();
  } else if (!v.poison()) {
    k.fail(Code::E0203, "`" + std::string(k.row.name) + "` takes a device, not " + describe(v));
  }
  return std::nullopt;
}

Val available(BuiltinCall& k) {
  auto d = deviceNamed(k, "device");
  return d ? Val::ofBool(k.l.deviceAvailable(d->name), k.span) : Val::none();
}

/// "cuda" of `cuda`, `cuda:0`; "cpu" of `cpu`.
std::optional<std::string> kindOf(BuiltinCall& k) {
  auto d = deviceNamed(k, "kind");
  if (!d) return std::nullopt;
  std::string name = k.l.actualDevice(d->name);
  return name.substr(0, name.find(':'));
}

Val countDevices(BuiltinCall& k) {
  auto kind = kindOf(k);
  if (!kind) return Val::none();
  int64_t n = *kind == "cpu" ? 1 : *kind == "cuda" ? k.l.cudaCount() : 0;
  if (k.row.name == "count") return Val::ofInt(n, k.span);
  std::vector<Val> all;
  for (int64_t i = 0; i < n; ++i)
    all.push_back(Val::ofDevice({*kind == "cpu" ? "cpu" : *kind + ":" + std::to_string(i), nullptr}, k.span));
  return Val::ofSequence(std::move(all), k.span);
}

Val aboutDevice(BuiltinCall& k) {
  auto d = deviceNamed(k, "device");
  if (!d) return Val::none();
  std::string actual = k.l.actualDevice(d->name);
  if (!k.l.deviceAvailable(actual)) return k.fail(Code::E0304, "there is no device `" + actual + "`");
  if (k.row.name == "name") {
    return Val::ofString(k.l.options.deviceName ? k.l.options.deviceName(actual) : actual, k.span);
  }
  return Val::ofInt(k.l.options.deviceMemory ? k.l.options.deviceMemory(actual) : 0, k.span);
}

constexpr BuiltinRow kRows[] = {
    {"print", "print(...)", "Values and strings, with blanks between, and a newline.", print},
    {"text", "text(x)", "Bytes as text, for `print`.", notYet},
    {"seed", "seed(n)", "Fixes the random numbers that follow.", seed},
    {"rng_state", "rng_state()", "The state of the generator, u64[2].", notYet},
    {"time", "time()", "Seconds as f64, after everything before is done.", time},
    {"available", "available(device)", "Whether the machine has a device.", available},
    {"count", "count(kind)", "How many devices of a kind the machine has.", countDevices},
    {"devices", "devices(kind)", "The devices of a kind.", countDevices},
    {"name", "name(device)", "What a device is called.", aboutDevice},
    {"memory", "memory(device)", "Bytes of memory of a device.", aboutDevice},
};

}  // namespace

std::span<const BuiltinRow> hostBuiltins() { return kRows; }

}  // namespace tenc::frontend
