// What talks to the host: print, files, the seed, the clock, and questions about devices.
#include <filesystem>

#include "frontend/Builtin.h"
#include "runtime/io/Io.h"

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
  k.l.at(k.span, parts.written);
  k.c.b.make(OpKind::Print, parts.operands, {{"pieces", parts.pieces}, {"formats", parts.formats}});
  return Val::unit(k.span);
}

// ---- files

std::string formatOf(const std::string& path, std::string_view function) {
  if (function == "load_csv") return "csv";
  if (function == "load_bytes" || function == "save_bytes") return "bytes";
  size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(dot + 1);
}

/// Whether this script has already been seen to write `path`, so that it may exist only later.
bool writtenBefore(const ir::Region& region, const std::string& path) {
  for (const auto& op : region.ops) {
    if (op->kind == OpKind::Save && op->stringAttr("path") == path) return true;
    for (const auto& inner : op->regions) {
      if (writtenBefore(*inner, path)) return true;
    }
  }
  return false;
}

bool writtenBefore(const ir::Module& m, const std::string& path) {
  for (const auto& f : m.funcs) {
    if (f->body && writtenBefore(*f->body, path)) return true;
  }
  return false;
}

Val load(BuiltinCall& k) {
  auto path = k.l.constString(k["path"], "the path");
  if (!path) return Val::none();
  std::string format = formatOf(*path, k.row.name);
  if (format == "safetensors" || (k.expected && !k.expected->isTensor() && k.expected->kind != Ty::Kind::Unknown)) {
    return k.l.notYet(k.span, "loading trees and safetensors");
  }
  const Ty* want = k.expected && k.expected->isTensor() ? k.expected : nullptr;
  std::string error;
  auto header = rt::readHeader(*path, format, error);
  ir::Type type;
  if (header) {
    type.dtype = static_cast<DType>(header->dtype);
    type.shape = header->shape;
    // Text has no dtype of its own: the declared one is read.
    if (format == "csv" && want && want->dtype) type.dtype = *want->dtype;
    if (want) {
      bool fits = !want->dtype || *want->dtype == type.dtype;
      if (want->dims) {
        fits = fits && want->dims->size() == type.shape.size();
        for (size_t i = 0; fits && i < type.shape.size(); ++i) {
          fits = (*want->dims)[i] < 0 || (*want->dims)[i] == type.shape[i];
        }
      }
      if (!fits) {
        return k.fail(Code::E0502,
                      "`" + *path + "` holds " + ir::toString(type) + ", but " + toString(*want) + " is declared");
      }
    }
  } else if (want && want->complete() && writtenBefore(k.l.module, *path)) {
    type = {*want->dtype, *want->dims, {}};  // checked when it is read
  } else {
    bool exists = std::filesystem::exists(std::filesystem::path(*path));
    return k.fail(exists ? Code::E0502 : Code::E0501, error);
  }
  return k.result(k.c.b.makeTyped(OpKind::Load, {}, {type}, {{"path", *path}, {"format", format}})->result());
}

Val save(BuiltinCall& k) {
  auto path = k.l.constString(k["path"], "the path");
  if (!path || k["x"].poison()) return Val::none();
  std::string format = formatOf(*path, k.row.name);
  if (format == "safetensors") return k.l.notYet(k.span, "saving safetensors");
  if (k["x"].isTree()) {
    return k.fail(Code::E0503,
                  "`" + *path + "` holds one tensor, not " + describe(k["x"]) + "; a tree is saved as .safetensors");
  }
  ir::Value* x = k.tensor("x");
  if (!x) return Val::none();
  std::string why = rt::checkSave(format, static_cast<uint8_t>(x->type.dtype), x->type.shape);
  if (!why.empty()) return k.fail(Code::E0503, "cannot write " + ir::toString(x->type) + " to `" + *path + "`: " + why);
  k.c.b.make(OpKind::Save, {x}, {{"path", *path}, {"format", format}});
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
  const int64_t n = k.l.options.machine.count(*kind);
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
    {"load", "load(path; name: str?)", "A tensor from a file; its shape is read while compiling.", load},
    {"load_csv", "load_csv(path)", "A table of numbers from a text file.", load},
    {"load_bytes", "load_bytes(path)", "The bytes of a file, u8[N].", load},
    {"save", "save(path, x)", "Writes a tensor: .npy, .csv, .png, .ppm.", save},
    {"save_bytes", "save_bytes(path, x)", "Writes u8[N] as it stands.", save},
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
