// Files: tensors and trees of tensors. Headers are read at compile time, elements when the program runs.
#include <filesystem>
#include <utility>

#include "frontend/Context.h"
#include "frontend/builtins/Builtin.h"
#include "frontend/control/Regions.h"
#include "frontend/expressions/Formats.h"
#include "frontend/types/Structs.h"
#include "frontend/values/Evaluator.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"
#include "runtime/io/Io.h"

namespace tenc::frontend {

using ir::DType;
using ir::OpKind;

namespace {

/// What says the format of a file: the ending of its path, or the function that is called.
enum class Format : uint8_t { ByEnding, Csv, Bytes };

std::string formatOf(const std::string& path, Format format) {
  if (format == Format::Csv) return "csv";
  if (format == Format::Bytes) return "bytes";
  size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(dot + 1);
}

/// Whether the save may write `path`: it does where its own is known, however both are written; of one that the run
/// computes the ends are known.
bool mayWrite(const ir::Op& save, const std::string& path) {
  const auto normal = [](const std::string& p) { return std::filesystem::path(p).lexically_normal(); };
  const std::vector<std::string>& pieces = save.stringsAttr("pieces");
  if (pieces.size() < 2) return normal(save.stringAttr("path")) == normal(path);
  return path.starts_with(pieces.front()) && path.ends_with(pieces.back());
}

/// Whether this script has already been seen to write `path`, so that it may exist only later.
bool writtenBefore(const ir::Region& region, const std::string& path) {
  for (const auto& op : region.ops) {
    if (op->kind == OpKind::Save && mayWrite(*op, path)) return true;
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

/// A path as it was written: known at compile time (`source.path`), or with parts that the run fills in.
struct WrittenPath {
  rt::FileSource source;
  FormatParts parts;       ///< operands only where there are such parts
  bool isWritten = false;  ///< by this script, before it is loaded
  bool atRunTime() const { return !parts.operands.empty(); }

  /// What the op holds of it, beside the operands.
  void describe(ir::Op& op) const {
    if (!atRunTime()) return;
    op.set("pieces", parts.pieces);
    op.set("formats", parts.formats);
  }
};

/// What the end of a path says, also where the run chooses among texts that say the same; "" where it is not known.
std::string formatAtEnd(const FormatParts& parts, Format format) {
  const std::string& last = parts.pieces.back();
  std::string alone = formatOf(last, format);
  if (!alone.empty() || parts.formats.empty()) return alone;
  std::string common;
  for (const std::string& text : rt::choiceTexts(parts.formats.back())) {
    const std::string own = formatOf(text + last, format);
    if (own.empty() || (!common.empty() && own != common)) return "";
    common = own;
  }
  return common;
}

std::optional<WrittenPath> writtenPath(BuiltinCall& k, Format format) {
  const Val& v = k["path"];
  WrittenPath p;
  if (!v.is(Val::Kind::Format)) {
    const Val* value = k.args.find("x");
    if (value && value->is(Val::Kind::String) && !v.is(Val::Kind::String) && !v.poison()) {
      const auto text = [&](const Val& x) { return std::string(k.context.sources.text(x.span)); };
      k.context.error(Code::E0203, v.span, "the path must be a string, not " + describe(v))
          .help("the path comes first", {{v.span, text(*value)}, {value->span, text(v)}});
      return std::nullopt;
    }
    auto text = k.evaluator.constString(v, "the path");
    if (!text) return std::nullopt;
    p.source = {*text, formatOf(*text, format), {}};
    return p;
  }
  p.parts = k.formats.formatParts({v}, v.span);
  if (!p.parts.ok) return std::nullopt;
  for (const ir::Value* hole : p.parts.operands) {
    if (hole->type.rank() == 0) continue;
    k.context.fail(Code::E0203, v.span, "a path can contain numbers, not " + ir::toString(hole->type));
    return std::nullopt;
  }
  p.source.path = "...";
  p.source.format = formatAtEnd(p.parts, format);
  if (!p.source.format.empty()) return p;
  k.context.fail(Code::E0111, v.span,
                 "the extension of a path must be known at compile time: it says what the file holds");
  return std::nullopt;
}

/// The declared type of what only the run reads; none after an error.
std::optional<ir::Type> declaredType(BuiltinCall& k, const Ty& want) {
  constexpr int64_t kMostBytes = int64_t{1} << 62;
  const auto count = ir::elementCount(*want.dims);
  if (count && *count <= kMostBytes / ir::byteSize(*want.dtype)) return ir::Type{*want.dtype, *want.dims, {}};
  k.fail(Code::E0208, "no file holds a tensor of shape " + ir::toString(*want.dims) + ", whose size overflows");
  return std::nullopt;
}

/// A tensor of a file whose name the run makes: the declared type is checked when it is read.
Val loadLater(BuiltinCall& k, const WrittenPath& path, const Ty* want) {
  if (!want || !want->complete()) {
    return Val(k.context
                   .error(Code::E0111, k["path"].span,
                          "the path has run-time parts, so the shape cannot be read at compile time")
                   .help("declare the whole type: `let x: f32[64, 3] = " + std::string(k.row.name) + "(...)`"));
  }
  const auto type = declaredType(k, *want);
  if (!type) return k.lost();
  ir::Op* op =
      k.context.b().makeTyped(OpKind::Load, path.parts.operands, {*type},
                              {{"path", path.source.path}, {"format", path.source.format}, {"name", path.source.name}});
  path.describe(*op);
  return k.result(op->result());
}

/// One tensor of a file; `want` may be null; `like`: of a tensor that is given, of which that is the type.
Val loadTensor(BuiltinCall& k, rt::FileReader& files, const WrittenPath& path, const Ty* want, bool like = false) {
  if (path.atRunTime()) return loadLater(k, path, want);
  const rt::FileSource& source = path.source;
  std::string error;
  const std::string quoted = "`" + source.path + "`" + (source.name.empty() ? "" : ", `" + source.name + "`,");
  // What lies there now may be of an earlier run.
  const bool isOwn = want && want->complete() && path.isWritten;
  auto header = isOwn ? std::nullopt : files.header(source, error);
  ir::Type type;
  if (header) {
    k.context.out.read.tensors.push_back(
        {source.path, source.format, source.name, header->dtype, header->shape, rt::isMappable(source, *header)});
    type.dtype = static_cast<DType>(header->dtype);
    type.shape = header->shape;
    // Text has no dtype of its own: the declared one is read.
    if (source.format == "csv" && want && want->dtype) type.dtype = *want->dtype;
    const ir::Dims flat = {type.shape.empty() ? 1 : *ir::elementCount(type.shape)};
    if (source.format == "csv" && want && want->dims && want->dims->size() == 1 && rt::fitsCsv(type.shape, flat))
      type.shape = flat;
    if (want && !fits(*want, type)) {
      const std::string asked =
          like ? ", where `like` has " + toString(*want) : ", but " + toString(*want) + " is declared";
      return k.fail(Code::E0502, quoted + " holds " + ir::toString(type) + asked);
    }
  } else if (isOwn) {
    const auto declared = declaredType(k, *want);  // checked when it is read
    if (!declared) return k.lost();
    type = *declared;
  } else {
    std::error_code unknown;  // a path may be too long to ask for
    bool exists = std::filesystem::exists(std::filesystem::path(source.path), unknown);
    auto d = k.context.error(exists ? Code::E0502 : Code::E0501, k.span, error);
    if (!exists && path.isWritten)
      d.help(
          "the script itself writes this file: declare the whole type, without open dims, and it is checked when it is "
          "read");
    return d;
  }
  ir::Op* op = k.context.b().makeTyped(OpKind::Load, {}, {type},
                                       {{"path", source.path}, {"format", source.format}, {"name", source.name}});
  if (header && rt::isMappable(source, *header)) op->set("mapped", true);
  return k.result(op->result());
}

/// A tree leaf by leaf; leaves are named `fc1.w`, `blocks.0.w`.
Val loadTree(BuiltinCall& k, rt::FileReader& files, const WrittenPath& path, const Ty& want) {
  if (want.isTensor()) return loadTensor(k, files, path, &want);
  auto inner = [&](const std::string& step) {
    WrittenPath p = path;
    p.source.name += (p.source.name.empty() ? "" : ".") + step;
    return p;
  };
  if (want.kind == Ty::Kind::List && want.length < 0)
    return k.fail(Code::E0111, "to load a list its length must be known, not " + toString(want));
  if (want.elems.empty() && want.kind != Ty::Kind::Struct && want.kind != Ty::Kind::Tuple)
    return k.fail(Code::E0203, "a file holds tensors, not " + toString(want));
  std::vector<Val> elems;
  const auto count = want.kind == Ty::Kind::List ? static_cast<size_t>(want.length) : want.elems.size();
  for (size_t i = 0; i < count; ++i) {
    std::string step = std::to_string(i);
    if (want.kind == Ty::Kind::Struct) step = want.info->decl->stmt->fields[i].name.text;
    const Ty& part = want.elems[want.kind == Ty::Kind::List ? 0 : i];
    // A pinned field is made where its type says.
    auto load = [&] { return std::vector<Val>{loadTree(k, files, inner(step), part)}; };
    elems.push_back(part.place.empty() ? load()[0] : k.regions.emitOn({part.place, nullptr}, k.span, load)[0]);
    if (elems.back().poison()) return elems.back();
  }
  switch (want.kind) {
    case Ty::Kind::Struct: {
      if (want.complete()) return Val::ofStruct(want.info, std::move(elems), k.span);
      // Dims and dtypes that the type leaves open follow from the leaves.
      return k.structs.structOf(*want.info, std::move(elems), k.span);
    }
    case Ty::Kind::List: return Val::ofList(std::move(elems), k.span);
    default: return Val::ofTuple(std::move(elems), k.span);
  }
}

/// Whether nothing of a function would be lost with it: it has captured nothing.
bool isPlainFunction(const Val& v) {
  if (!v.is(Val::Kind::Function) || !v.fn) return false;
  switch (v.fn->kind) {
    case FnValue::Kind::Overloads:
    case FnValue::Kind::Builtin:
    case FnValue::Kind::Cast: return true;
    case FnValue::Kind::Lambda: return v.fn->captures.empty();
    default: return false;
  }
}

/// The same for a tree like another one, whose functions and texts it has.
Val loadLike(BuiltinCall& k, rt::FileReader& files, const WrittenPath& path, const Val& like) {
  const std::vector<std::string> pinned = pinnedLeaves(like);
  size_t next = 0;  // of the tensors
  return mapLeaves(like, [&](const Val& leaf, const std::string& name, bool) {
    if (!leaf.is(Val::Kind::Tensor) && !leaf.isNumber() && !leaf.is(Val::Kind::Bool)) return leaf;
    WrittenPath part = path;
    part.source.name += (part.source.name.empty() || name.empty() ? "" : ".") + name;
    const Ty want = typeOf(leaf);
    const auto load = [&] { return std::vector<Val>{loadTensor(k, files, part, &want, /*like=*/true)}; };
    const std::string place = leaf.is(Val::Kind::Tensor) ? pinned.at(next++) : "";
    return place.empty() ? load()[0] : k.regions.emitOn({place, nullptr}, k.span, load)[0];
  });
}

/// The path, where it is written there, with the extension of files of trees.
std::vector<Edit> asTreeFile(const BuiltinCall& k) {
  const Span path = k["path"].span;
  const std::string_view text = path.valid() ? k.context.sources.text(path) : "";
  const size_t dot = text.rfind('.');
  if (!text.starts_with('"') || !text.ends_with('"') || dot == std::string_view::npos) return {};
  const auto begin = path.begin + static_cast<uint32_t>(dot);
  return {{Span{path.file, begin, path.end - 1}, ".safetensors"}};
}

template <Format F>
Val load(BuiltinCall& k) {
  auto path = writtenPath(k, F);
  if (!path) return k.lost();
  rt::FileSource& source = path->source;
  const std::string quoted = path->atRunTime() ? "a ." + source.format + " file" : "`" + source.path + "`";
  if (k.has("name")) {
    auto name = k.string("name");
    if (!name) return k.lost();
    source.name = *name;
  }
  const std::optional<Val> like = k.has("like") ? std::optional(k.tensors.settle(k["like"])) : std::nullopt;
  if (like && like->poison()) return *like;
  const bool isTreeLike = like && like->isTree();
  std::vector<ir::Value*> leaves;
  if (isTreeLike && !leavesOf(*like, leaves)) return k.lost();  // part of it has an error
  const bool isOne = like && (like->is(Val::Kind::Tensor) || like->isNumber() || like->is(Val::Kind::Bool));
  if (like && !isOne && leaves.empty())
    return k.failAt("like", Code::E0203, "there is no tensor in `like`, which is " + describe(*like));
  const bool tree = isTreeLike || (!like && k.expected &&
                                   (k.expected->kind == Ty::Kind::Struct || k.expected->kind == Ty::Kind::Tuple ||
                                    k.expected->kind == Ty::Kind::List));
  if (!source.name.empty() && !rt::holdsNames(source.format)) {
    return k.fail(Code::E0502, quoted + " holds one tensor, without a name; .safetensors and .npz files have names");
  }
  path->isWritten = !path->atRunTime() && writtenBefore(k.context.module, source.path);  // once for all leaves
  rt::FileReader files({k.context.options.fileRoot});
  if (!tree && like) return loadLike(k, files, *path, *like);
  if (!tree) return loadTensor(k, files, *path, k.expected && k.expected->isTensor() ? k.expected : nullptr);
  if (!rt::holdsNames(source.format)) {
    const std::string wanted = isTreeLike ? describe(*like) : toString(*k.expected);
    auto d = k.context.error(Code::E0502, k.span, quoted + " holds one tensor, not " + wanted);
    d.help("a tree is loaded from a .safetensors file", asTreeFile(k));
    return d;
  }
  // A number comes to the host, also where a field is pinned elsewhere: a check of the field puts it there.
  return k.structs.checkPlaces(isTreeLike ? loadLike(k, files, *path, *like) : loadTree(k, files, *path, *k.expected),
                               k.span);
}

template <Format F>
Val save(BuiltinCall& k) {
  auto path = writtenPath(k, F);
  if (!path) return k.lost();
  Val x = k.tensors.settle(k["x"]);
  std::vector<ir::Value*> known;
  if (!leavesOf(x, known)) return k.lost();  // part of it has an error
  const std::string& format = path->source.format;
  const std::string quoted = path->atRunTime() ? "a ." + format + " file" : "`" + path->source.path + "`";
  const bool names = rt::holdsNames(format);
  if (x.isTree() && !names) {
    auto d = k.context.error(Code::E0503, k.span, quoted + " holds one tensor, not " + describe(x));
    d.help("a tree is saved as .safetensors", asTreeFile(k));
    return d;
  }
  std::vector<ir::Value*> tensors;
  std::vector<std::string> paths;
  bool good = true;
  Val done = mapLeaves(x, [&](const Val& leaf, const std::string& name, bool) {
    if (x.isTree() && isPlainFunction(leaf)) return leaf;  // `load(path, like: m)` gives it again
    if (x.isTree() && !leaf.is(Val::Kind::Tensor) && !leaf.isNumber() && !leaf.is(Val::Kind::Bool)) {
      if (!std::exchange(good, false)) return leaf;
      k.context.error(Code::E0203, k.span, "a file holds tensors, and `" + name + "` is " + describe(leaf))
          .help("save a tree of its tensors alone, such as a tuple; when it is loaded, make the whole of them again");
      return leaf;
    }
    ir::Value* t = k.tensors.tensorOf(leaf);
    if (!t) return k.lost();
    std::string why = rt::checkSave(format, static_cast<uint8_t>(t->type.dtype), t->type.shape);
    if (!why.empty() && good) {
      k.fail(Code::E0503, "cannot write " + ir::toString(t->type) + (name.empty() ? "" : ", `" + name + "`,") + " to " +
                              quoted + ": " + why);
      good = false;
    }
    tensors.push_back(t);
    paths.push_back(name.empty() ? "tensor" : name);
    return leaf;
  });
  if (tensors.empty() && good && !done.poison())
    return k.fail(Code::E0503, "there is no tensor to save in " + describe(x));
  if (!good || done.poison()) return k.lost();
  tensors.insert(tensors.end(), path->parts.operands.begin(), path->parts.operands.end());
  ir::Op* op = k.c.b.make(OpKind::Save, tensors, {{"path", path->source.path}, {"format", format}});
  path->describe(*op);
  if (names) op->set("names", paths);
  return Val::unit(k.span);
}

constexpr BuiltinTraits kOpen{.openResult = true};

constexpr BuiltinRow kRows[] = {
    {"load(path; name: str?, like?)",
     "A tensor, or a tree of the declared type, or like another one, functions included, from a file: .npy, .npz, "
     ".safetensors, .csv, .png. Shapes are read while compiling.",
     load<Format::ByEnding>, OpKind::Count, kOpen},
    {"load_csv(path)", "A table of numbers from a text file.", load<Format::Csv>, OpKind::Count, kOpen},
    {"load_bytes(path)", "The bytes of a file, u8[N].", load<Format::Bytes>, OpKind::Count, kOpen},
    {"save(path, x)", "Writes a tensor: .npy, .csv, .png, .ppm, .pgm; or a tree: .safetensors, .npz.",
     save<Format::ByEnding>},
    {"save_bytes(path, x)", "Writes the bytes of a u8[N].", save<Format::Bytes>},
};

}  // namespace

std::span<const BuiltinRow> fileBuiltins() { return kRows; }

}  // namespace tenc::frontend
