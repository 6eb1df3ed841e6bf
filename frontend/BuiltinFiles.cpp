// Files: tensors and trees of tensors. Headers are read while compiling, elements when the program runs.
#include <filesystem>

#include "frontend/Builtin.h"
#include "runtime/io/Io.h"

namespace tenc::frontend {

using ir::DType;
using ir::OpKind;

namespace {

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

bool fits(const Ty& want, const ir::Type& type) {
  if (want.dtype && *want.dtype != type.dtype) return false;
  if (!want.dims) return true;
  if (want.dims->size() != type.shape.size()) return false;
  for (size_t i = 0; i < type.shape.size(); ++i) {
    if ((*want.dims)[i] >= 0 && (*want.dims)[i] != type.shape[i]) return false;
  }
  return true;
}

/// One tensor of a file; `want` may be null.
Val loadTensor(BuiltinCall& k, const rt::FileSource& source, const Ty* want) {
  std::string error;
  const std::string quoted = "`" + source.path + "`" + (source.name.empty() ? "" : ", `" + source.name + "`,");
  auto header = rt::readHeader(source, {k.l.options.fileRoot}, error);
  ir::Type type;
  if (header) {
    type.dtype = static_cast<DType>(header->dtype);
    type.shape = header->shape;
    // Text has no dtype of its own: the declared one is read.
    if (source.format == "csv" && want && want->dtype) type.dtype = *want->dtype;
    if (want && !fits(*want, type)) {
      return k.fail(Code::E0502, quoted + " holds " + ir::toString(type) + ", but " + toString(*want) + " is declared");
    }
  } else if (want && want->complete() && writtenBefore(k.l.module, source.path)) {
    type = {*want->dtype, *want->dims, {}};  // checked when it is read
  } else {
    std::error_code unknown;  // a path may be too long to ask for
    bool exists = std::filesystem::exists(std::filesystem::path(source.path), unknown);
    return k.fail(exists ? Code::E0502 : Code::E0501, error);
  }
  return k.result(k.c.b
                      .makeTyped(OpKind::Load, {}, {type},
                                 {{"path", source.path}, {"format", source.format}, {"name", source.name}})
                      ->result());
}

/// A tree leaf by leaf; leaves are named `fc1.w`, `blocks.0.w`.
Val loadTree(BuiltinCall& k, const rt::FileSource& source, const Ty& want) {
  if (want.isTensor()) return loadTensor(k, source, &want);
  auto inner = [&](const std::string& step) {
    rt::FileSource s = source;
    s.name += (s.name.empty() ? "" : ".") + step;
    return s;
  };
  std::vector<Val> elems;
  const auto count = want.kind == Ty::Kind::List ? static_cast<size_t>(want.length) : want.elems.size();
  for (size_t i = 0; i < count; ++i) {
    std::string step = std::to_string(i);
    if (want.kind == Ty::Kind::Struct) step = want.info->decl->stmt->fields[i].name.text;
    elems.push_back(loadTree(k, inner(step), want.elems[want.kind == Ty::Kind::List ? 0 : i]));
    if (elems.back().poison()) return Val::none();
  }
  switch (want.kind) {
    case Ty::Kind::Struct: return Val::ofStruct(want.info, std::move(elems), k.span);
    case Ty::Kind::List: return Val::ofList(std::move(elems), k.span);
    default: return Val::ofTuple(std::move(elems), k.span);
  }
}

Val load(BuiltinCall& k) {
  auto path = k.l.constString(k["path"], "the path");
  if (!path) return Val::none();
  rt::FileSource source{*path, formatOf(*path, k.row.name), {}};
  if (k.row.name == "load" && k.has("name")) {
    auto name = k.string("name", "");
    if (!name) return Val::none();
    source.name = *name;
  }
  const bool tree = k.expected && (k.expected->kind == Ty::Kind::Struct || k.expected->kind == Ty::Kind::Tuple ||
                                   k.expected->kind == Ty::Kind::List);
  if (!source.name.empty() && !rt::holdsNames(source.format)) {
    return k.fail(Code::E0502,
                  "`" + *path + "` holds one tensor, without a name; .safetensors and .npz files have names");
  }
  if (!tree) return loadTensor(k, source, k.expected && k.expected->isTensor() ? k.expected : nullptr);
  if (!rt::holdsNames(source.format)) {
    return k.fail(Code::E0502, "`" + *path + "` holds one tensor, not " + toString(*k.expected) +
                                   "; a tree is loaded from .safetensors");
  }
  if (!k.expected->complete()) return k.l.notYet(k.span, "loading a tree with dims that are not known");
  return loadTree(k, source, *k.expected);
}

Val save(BuiltinCall& k) {
  auto path = k.l.constString(k["path"], "the path");
  if (!path || k["x"].poison()) return Val::none();
  const std::string format = formatOf(*path, k.row.name);
  const bool names = rt::holdsNames(format);
  if (k["x"].isTree() && !names) {
    return k.fail(Code::E0503,
                  "`" + *path + "` holds one tensor, not " + describe(k["x"]) + "; a tree is saved as .safetensors");
  }
  std::vector<ir::Value*> tensors;
  std::vector<std::string> paths;
  bool good = true;
  Val done = k.l.mapLeaves(k["x"], [&](const Val& leaf, const std::string& name, bool) {
    ir::Value* x = k.l.tensorOf(leaf);
    if (!x) return Val::none();
    std::string why = rt::checkSave(format, static_cast<uint8_t>(x->type.dtype), x->type.shape);
    if (!why.empty() && good) {
      k.fail(Code::E0503, "cannot write " + ir::toString(x->type) + (name.empty() ? "" : ", `" + name + "`,") +
                              " to `" + *path + "`: " + why);
      good = false;
    }
    tensors.push_back(x);
    paths.push_back(name.empty() ? "tensor" : name);
    return leaf;
  });
  if (!good || done.poison()) return Val::none();
  ir::Op* op = k.c.b.make(OpKind::Save, tensors, {{"path", *path}, {"format", format}});
  if (names) op->set("names", paths);
  return Val::unit(k.span);
}

constexpr BuiltinRow kRows[] = {
    {"load", "load(path; name: str?)",
     "A tensor, or a tree of the declared type, from a file: .npy, .npz, .safetensors, .csv, .png. Shapes are read "
     "while "
     "compiling.",
     load},
    {"load_csv", "load_csv(path)", "A table of numbers from a text file.", load},
    {"load_bytes", "load_bytes(path)", "The bytes of a file, u8[N].", load},
    {"save", "save(path, x)", "Writes a tensor: .npy, .csv, .png, .ppm; or a tree: .safetensors, .npz.", save},
    {"save_bytes", "save_bytes(path, x)", "Writes u8[N] as it stands.", save},
};

}  // namespace

std::span<const BuiltinRow> fileBuiltins() { return kRows; }

}  // namespace tenc::frontend
