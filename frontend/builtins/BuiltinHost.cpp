// What talks to the host: print, the seed, the clock, and questions about devices.
#include "frontend/Context.h"
#include "frontend/builtins/Builtin.h"
#include "frontend/expressions/Formats.h"
#include "frontend/names/Devices.h"
#include "runtime/io/Io.h"

namespace tenc::frontend {

using ir::Dims;
using ir::DType;
using ir::OpKind;

namespace {

Val print(BuiltinCall& k) {
  std::vector<Val> values;
  for (const Val* v : k.args.rest) values.push_back(*v);
  const auto between = k.has("sep") ? k.string("sep") : std::optional<std::string>(" ");
  const auto end = k.has("end") ? k.string("end") : std::optional<std::string>("\n");
  if (!between || !end) return k.lost();
  FormatParts parts = k.formats.formatParts(values, k.span, *between);
  if (!parts.ok) return k.lost();
  k.context.at(k.span, parts.written);
  ir::Op* op = k.c.b.make(OpKind::Print, parts.operands, {{"pieces", parts.pieces}, {"formats", parts.formats}});
  if (*end != "\n") op->set("end", *end);
  return Val::unit(k.span);
}

// ---- seed and clock

Val seed(BuiltinCall& k) {
  ir::Value* s = k.tensor("n", DType::U64);
  if (!s) return k.lost();
  const bool isState = s->type.shape == Dims{2} && s->type.dtype == DType::U64;
  if (!ir::isInt(s->type.dtype) || (!isState && s->type.rank() != 0)) {
    return k.fail(Code::E0201, "`seed` takes an integer, or the u64[2] of `rng_state()`, not " + ir::toString(s->type));
  }
  if (isState) {
    ir::Value* part[2];
    for (int64_t i = 0; i < 2; ++i) part[i] = k.c.reshape(k.c.sliceAxis(s, 0, i, 1), Dims{});
    k.c.b.make(OpKind::Seed, {part[0], part[1]});
    return Val::unit(k.span);
  }
  k.c.b.make(OpKind::Seed, {k.c.cast(s, DType::U64)});
  return Val::unit(k.span);
}

/// (seed, draws so far) as u64[2].
Val rngState(BuiltinCall& k) {
  const ir::Type u64{DType::U64, {}, {}};
  ir::Op* next = k.c.b.makeTyped(OpKind::RngNext, {}, {u64, u64}, {{"peek", true}});
  return k.result(k.c.b.value(OpKind::Concat, {k.c.reshape(next->result(0), {1}), k.c.reshape(next->result(1), {1})},
                              {{"axis", int64_t{0}}}));
}

/// A string whose text is known only at run time: one hole, written as bytes.
Val text(BuiltinCall& k) {
  ir::Value* x = k.tensor("x", DType::U8);
  if (!x) return k.lost();
  if (x->type.dtype != DType::U8 || x->type.rank() != 1) {
    return k.fail(Code::E0201, "`text` takes u8[N], not " + ir::toString(x->type));
  }
  static const std::vector<ast::StringPiece> kHole = [] {
    std::vector<ast::StringPiece> pieces(1);
    pieces[0].hole = std::make_unique<ast::Expr>();
    pieces[0].format = rt::kTextFormat;
    return pieces;
  }();
  Val v;
  v.kind = Val::Kind::Format;
  v.span = k.span;
  v.pieces = &kHole;
  v.elems.push_back(k.result(x));
  return v;
}

Val time(BuiltinCall& k) { return k.result(k.c.b.makeTyped(OpKind::Time, {}, {{DType::F64, {}, {}}})->result()); }

// ---- devices: compile-time values

/// The device that an argument names; unlike everywhere else it need not be there.
std::optional<DeviceRef> deviceNamed(BuiltinCall& k, std::string_view parameter) {
  const Val& v = k[parameter];
  if (v.is(Val::Kind::Device) && !v.device.of) return v.device;
  if (v.is(Val::Kind::Device)) {
    k.context
        .error(
            Code::E0111, v.span,
            "`" + std::string(k.row.name) + "` must be known at compile time, but where a value lives is decided later")
        .help("name the device, as in `" + std::string(k.row.name) + "(gpu)`");
  } else if (!v.poison()) {
    k.fail(Code::E0203, "`" + std::string(k.row.name) + "` takes a device, not " + describe(v));
  }
  return std::nullopt;
}

Val available(BuiltinCall& k) {
  if (k["device"].is(Val::Kind::Device) && k["device"].device.of) return Val::ofBool(true, k.span);  // a value is there
  auto d = deviceNamed(k, "device");
  return d ? Val::ofBool(k.devices.deviceAvailable(d->name), k.span) : k.lost();
}

/// "cuda" of `cuda`, `cuda:0`; "cpu" of `cpu`.
std::optional<std::string> kindOf(BuiltinCall& k) {
  auto d = deviceNamed(k, "kind");
  if (!d) return std::nullopt;
  std::string name = k.devices.actualDevice(d->name);
  return std::string(ir::DeviceTable::kindOf(name));
}

template <bool Listed>
Val countDevices(BuiltinCall& k) {
  auto kind = kindOf(k);
  if (!kind) return k.lost();
  const int64_t n = k.context.options.machine.count(*kind);
  if (!Listed) return Val::ofInt(n, k.span);
  std::vector<Val> all;
  for (int64_t i = 0; i < n; ++i) all.push_back(Val::ofDevice({ir::DeviceTable::numbered(*kind, i), nullptr}, k.span));
  return Val::ofSequence(std::move(all), k.span);
}

/// The device that is asked about, which must be there; reports.
std::optional<std::string> presentDevice(BuiltinCall& k) {
  auto d = deviceNamed(k, "device");
  if (!d) return std::nullopt;
  std::string actual = k.devices.actualDevice(d->name);
  if (k.devices.deviceAvailable(actual)) return actual;
  k.devices.noDevice(actual, k["device"].span);
  return std::nullopt;
}

Val nameOfDevice(BuiltinCall& k) {
  const auto actual = presentDevice(k);
  if (!actual) return k.lost();
  return Val::ofString(k.context.options.deviceName ? k.context.options.deviceName(*actual) : *actual, k.span);
}

Val memoryOfDevice(BuiltinCall& k) {
  const auto actual = presentDevice(k);
  if (!actual) return k.lost();
  return Val::ofInt(k.context.options.deviceMemory ? k.context.options.deviceMemory(*actual) : 0, k.span);
}

constexpr BuiltinRow kRows[] = {
    {"print(...; sep: str?, end: str?)",
     "Values and strings, with `sep`, a blank, between them and `end`, a newline, after them.", print},
    {"text(x)", "Bytes as text, for `print`.", text},
    {"seed(n)", "Fixes the random numbers that follow: an integer, or a state of `rng_state()`.", seed},
    {"rng_state()", "The state of the generator, u64[2]; `seed` takes it back.", rngState},
    {"time()", "Seconds as f64, after everything before is done.", time},
    {"available(device: device)", "Whether the machine has a device.", available},
    {"count(kind: device)", "How many devices of a kind the machine has.", countDevices<false>},
    {"devices(kind: device)", "The devices of a kind.", countDevices<true>},
    {"name(device: device)", "The name of a device.", nameOfDevice},
    {"memory(device: device)", "Bytes of memory of a device.", memoryOfDevice},
};

}  // namespace

std::span<const BuiltinRow> hostBuiltins() { return kRows; }

}  // namespace tenc::frontend
