// Whether a program is well-formed: what codegen promises and the runtime relies on.
#include <algorithm>
#include <limits>

#include "runtime/file/CheckSolver.h"
#include "runtime/file/ProgramFile.h"
#include "runtime/io/Io.h"
#include "runtime/io/NonFinite.h"
#include "runtime/library/Library.h"

namespace tenc::rt {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 46;  // of an arena
constexpr uint64_t kMostScratch = uint64_t{1} << 32;
constexpr uint64_t kOffsetUnit = 64;
constexpr uint32_t kMostLines = uint32_t{1} << 24;  // of a source

/// Of a well-formed tensor.
uint64_t bytesOf(const abi::TensorRef& t) {
  auto bytes = static_cast<uint64_t>(dtypeSize(t.dtype));
  for (const int64_t d : t.shape) bytes *= static_cast<uint64_t>(d);
  return bytes;
}

constexpr size_t kLongestName = 64;

/// Whether a name can stand in messages.
bool isName(const std::string& text) {
  return !text.empty() && text.size() <= kLongestName &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

class Checker {
 public:
  explicit Checker(const abi::Program& p) : p_(p) {}

  std::string run() {
    memory();
    if (!problem_.empty()) return problem_;  // all that follows looks up buffers
    for (const abi::FaultSite& s : p_.sites) site(s);
    for (const abi::Kernel& k : p_.kernels) kernel(k);
    if (!problem_.empty()) return problem_;  // launches are held against kernels
    written_.resize(p_.buffers.size());
    block(p_.steps);
    for (const abi::Constant& c : p_.constants) {
      need(isBuffer(c.buffer) && c.bytes.size() <= p_.buffers[c.buffer].bytes, "a constant is larger than its buffer");
      unwritten(c.buffer);
    }
    constantsAreAlone();
    for (const abi::TensorRef& t : p_.inputs) tensor(t), unwritten(t.buffer);
    for (const abi::TensorRef& t : p_.results) tensor(t);
    return problem_;
  }

 private:
  /// The first problem is kept.
  bool need(bool holds, const char* problem) {
    if (!holds && problem_.empty()) problem_ = problem;
    return holds;
  }
  void fail(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }

  void memory() {
    need(!p_.devices.empty() && p_.devices[0].name == "cpu", "the first device is not the host");
    need(p_.devices.size() <= abi::kMostDevices, "it has too many devices");
    for (const abi::Device& d : p_.devices) {
      need(d.arenaBytes <= kMostBytes, "an arena is too large");
      need(isName(d.name), "a device has no name");
    }
    need(p_.fileBytes <= kMostBytes, "files are too large");
    for (const abi::Buffer& b : p_.buffers) {
      if (!need(b.device < p_.devices.size(), "a buffer is on no device")) return;
      need(!b.inFile || b.device == 0, "a buffer of a device stays in a file");
      const uint64_t arena = b.inFile ? p_.fileBytes : p_.devices[b.device].arenaBytes;
      need(b.offset % kOffsetUnit == 0, "a buffer is not aligned");
      need(b.bytes <= arena && b.offset <= arena - b.bytes, "a buffer is outside of its arena");
    }
  }

  /// What a constant holds is put there once, before all calls.
  void constantsAreAlone() {
    std::vector<bool> isConstant(p_.buffers.size());
    std::vector<abi::BufferId> byPlace;
    for (const abi::Constant& c : p_.constants) {
      if (!isBuffer(c.buffer) || !need(!isConstant[c.buffer], "a buffer has two constants")) return;
      need(!p_.buffers[c.buffer].inFile, "a constant stays in a file");
      isConstant[c.buffer] = true;
    }
    for (abi::BufferId b = 0; b < p_.buffers.size(); ++b)
      if (p_.buffers[b].bytes != 0 && !p_.buffers[b].inFile) byPlace.push_back(b);
    std::sort(byPlace.begin(), byPlace.end(), [this](abi::BufferId a, abi::BufferId b) {
      const abi::Buffer &x = p_.buffers[a], &y = p_.buffers[b];
      return x.device != y.device ? x.device < y.device : x.offset < y.offset;
    });
    uint32_t device = 0;
    uint64_t end = 0, constantEnd = 0;  // of what begins before
    for (const abi::BufferId b : byPlace) {
      const abi::Buffer& x = p_.buffers[b];
      if (x.device != device) device = x.device, end = constantEnd = 0;
      need(x.offset >= (isConstant[b] ? end : constantEnd), "a constant shares its memory");
      end = std::max(end, x.offset + x.bytes);
      if (isConstant[b]) constantEnd = std::max(constantEnd, x.offset + x.bytes);
    }
  }

  void range(const abi::SourceRange& r) {
    if (r.excerpt == abi::kNoExcerpt) return;
    if (!need(r.excerpt < p_.excerpts.size(), "a range is of no excerpt")) return;
    const abi::Excerpt& e = p_.excerpts[r.excerpt];
    need(r.begin <= r.end && r.end <= e.text.size(), "a range is outside of its excerpt");
    need(e.firstLine >= 1 && e.firstLine <= kMostLines, "an excerpt has no line");
  }
  void site(const abi::FaultSite& s) {
    need(static_cast<uint8_t>(s.kind) < abi::kFaultKinds, "a fault is of no kind");
    range(s.at);
    for (const abi::CallSite& c : s.calls) range(c.at);
  }
  void siteNumber(uint32_t s) { need(s < p_.sites.size(), "a fault has no site"); }

  // ---- kernels

  void kernel(const abi::Kernel& k) {
    for (const uint32_t s : k.sites) siteNumber(s);
    for (const abi::Parameter& x : k.parameters) {
      isAccess(x.access);
      need((x.access == abi::Access::None) == (x.bytes == 0), "a kernel uses an argument of no bytes");
      need(x.alignment > 0 && kOffsetUnit % x.alignment == 0, "an argument of a kernel has no alignment");
    }
    std::visit([this](const auto& code) { check(code); }, k.code);
    if (const auto* product = std::get_if<abi::ProductCode>(&k.code)) matrices(*product, k.parameters);
    if (const auto* solver = std::get_if<abi::SolverCode>(&k.code)) memory(*solver, k.parameters);
  }
  void isAccess(abi::Access a) {
    need(static_cast<uint8_t>(a) <= static_cast<uint8_t>(abi::Access::None), "an argument has no access");
  }
  void image(uint32_t i) { need(i == abi::kNoImage || i < p_.images.size(), "a kernel is in no image"); }
  void check(const abi::HostCode& c) {
    image(c.image);
    need(c.items >= 0 && c.grain >= 1, "the items of a kernel are not numbers of items");
    need(c.scratchBytes <= kMostScratch, "a kernel wants too much scratch memory");
  }
  void check(const abi::DeviceCode& c) {
    image(c.image);
    for (int i = 0; i < 3; ++i) need(c.grid[i] >= 1 && c.group[i] >= 1, "a grid is empty");
  }
  void check(const abi::SequenceCode& c) {
    need(!c.functions.empty(), "a sequence of functions is empty");
    for (const abi::DeviceCode& f : c.functions) check(f);
  }
  void check(const abi::SolverCode& c) {
    check(c.before);
    check(c.then);
  }
  void memory(const abi::SolverCode& c, const std::vector<abi::Parameter>& parameters) {
    const bool has = !parameters.empty() && parameters.back().access == abi::Access::Write;
    const std::string_view why = problemOf(c, has ? parameters.back().bytes : 0);
    if (!why.empty()) fail(std::string(why));
  }
  void check(const abi::ProductCode& c) {
    for (const int64_t n : {c.m, c.n, c.k, c.count})
      need(n >= 1 && n <= std::numeric_limits<int32_t>::max(), "a product has no extents");
    if (c.then) check(*c.then);
  }
  /// The library is given addresses and strides as they are here.
  void matrices(const abi::ProductCode& c, const std::vector<abi::Parameter>& parameters) {
    matrix(c.a, c.m, c.k, c.count, abi::Access::Read, parameters);
    matrix(c.b, c.k, c.n, c.count, abi::Access::Read, parameters);
    matrix(c.d, c.m, c.n, c.count, abi::Access::Write, parameters);
    if (c.c) matrix(*c.c, c.m, c.n, c.count, abi::Access::Read, parameters);
    if (c.bias) matrix(*c.bias, 1, c.n, 1, abi::Access::Read, parameters);
    need(c.a.row == 1 || c.a.column == 1, "a factor has no rows or columns side by side");
    need(c.b.row == 1 || c.b.column == 1, "a factor has no rows or columns side by side");
    for (const abi::MatrixRef* m : {&c.d, c.c ? &*c.c : &c.d, c.bias ? &*c.bias : &c.d})
      need(m->column == 1, "the rows of a product are not side by side");
    need(c.a.dtype == c.b.dtype, "factors are of two dtypes");
    need(
        !parameters.empty() && parameters.back().access == abi::Access::Write && c.workspace <= parameters.back().bytes,
        "a product has no memory to work in");
  }
  void matrix(const abi::MatrixRef& m, int64_t rows, int64_t columns, int64_t count, abi::Access access,
              const std::vector<abi::Parameter>& parameters) {
    if (!problem_.empty() || !need(m.argument < parameters.size(), "a matrix is in no argument")) return;
    const abi::Parameter& p = parameters[m.argument];
    if (!need(m.dtype <= abi::dtype::F64, "a matrix is of no floats")) return;
    need(p.access == access, "a matrix is used in another way");
    const auto size = static_cast<uint64_t>(dtypeSize(m.dtype));
    if (!need(m.byteOffset <= p.bytes, "a matrix is outside of its argument")) return;
    const uint64_t elements = (p.bytes - m.byteOffset) / size;
    if (!need(elements > 0, "a matrix is outside of its argument")) return;
    uint64_t left = elements - 1;  // behind the first one
    for (const auto& [extent, stride] :
         {std::pair(rows, m.row), std::pair(columns, m.column), std::pair(count, m.batch)}) {
      const auto steps = static_cast<uint64_t>(extent - 1), step = static_cast<uint64_t>(stride);
      if (!need(stride >= 0 && (steps == 0 || step <= left / steps), "a matrix is outside of its argument")) return;
      left -= steps * step;
    }
  }
  void check(const abi::LibraryCall& c) {
    for (const auto* list : {&c.operands, &c.results})
      for (const abi::TensorRef& t : *list)
        if (!type(t)) return;
    if (!need(isName(c.routine), "a routine has no name")) return;
    if (const std::string why = library::problemOf(c); !why.empty()) fail("the routine `" + c.routine + "` " + why);
  }

  // ---- operands

  bool isBuffer(abi::BufferId b) { return need(b < p_.buffers.size(), "an operand has no buffer"); }
  bool isHost(abi::BufferId b) { return isBuffer(b) && need(p_.buffers[b].device == 0, "the host lacks an operand"); }
  void unwritten(abi::BufferId b) { need(isBuffer(b) && !written_[b], "a step writes to a constant or an input"); }
  void writes(abi::BufferId b) {
    if (!isBuffer(b)) return;
    written_[b] = true;
    need(!p_.buffers[b].inFile, "a step writes to a file's pages");
  }
  void part(const abi::KernelArg& a, uint64_t bytes) {
    if (!isBuffer(a.buffer)) return;
    const uint64_t size = p_.buffers[a.buffer].bytes;
    need(bytes <= size && a.byteOffset <= size - bytes, "an operand is outside of its buffer");
  }
  void scalar(abi::BufferId b, uint64_t bytes = abi::kScalarBytes) {
    if (isHost(b)) need(p_.buffers[b].bytes >= bytes, "a scalar has too few bytes");
  }
  /// Dtype and shape, wherever the elements are.
  bool type(const abi::TensorRef& t) {
    constexpr uint64_t kMostOfNone = uint64_t{1} << 62;  // the other dims of a tensor without elements
    if (!need(t.dtype <= abi::dtype::Bool, "a tensor has no dtype")) return false;
    if (!need(t.shape.size() <= abi::kMostDims, "a tensor has too many dims")) return false;
    const bool empty = std::find(t.shape.begin(), t.shape.end(), 0) != t.shape.end();
    uint64_t bytes = static_cast<uint64_t>(dtypeSize(t.dtype));
    for (const int64_t d : t.shape) {
      if (!need(d >= 0, "a dim is negative")) return false;
      if (d == 0) continue;
      if (!need(static_cast<uint64_t>(d) <= (empty ? kMostOfNone : kMostBytes) / bytes, "a tensor is too large"))
        return false;
      bytes *= static_cast<uint64_t>(d);
    }
    return true;
  }
  void tensor(const abi::TensorRef& t) {
    if (type(t)) part({t.buffer, t.byteOffset}, bytesOf(t));
  }
  void hostTensor(const abi::TensorRef& t) {
    tensor(t);
    isHost(t.buffer);
  }
  /// A value of rank 0 with `bytes` bytes at least.
  void hostScalar(const abi::TensorRef& t, int bytes) {
    hostTensor(t);
    need(t.shape.empty() && dtypeSize(t.dtype) >= bytes, "a scalar has another type");
  }
  void text(const abi::Text& text) {
    need(text.values.size() <= text.pieces.size(), "a text has values without pieces");
    for (const auto& [t, format] : text.values) {
      hostTensor(t);
      if (format == abi::kDeviceFormat) continue;
      if (format == kTextFormat)
        need(t.shape.size() == 1 && dtypeSize(t.dtype) == 1, "a text is made of something else");
      else
        need(isChoiceFormat(t.dtype, t.shape.empty(), format) || isIndentFormat(t.shape.empty(), format) ||
                 checkFormat(t.dtype, format).empty(),
             "a value is printed in a format it does not have");
    }
  }

  // ---- steps

  void block(const abi::Block& steps) {
    for (const abi::Step& s : steps) std::visit([this](const auto& what) { step(what); }, s.what);
  }
  void swaps(const std::vector<abi::Swap>& list) {
    for (const auto& [a, b] : list) {
      if (!isBuffer(a) || !isBuffer(b)) return;
      const abi::Buffer &x = p_.buffers[a], &y = p_.buffers[b];
      need(x.device == y.device && x.bytes == y.bytes && !x.inFile && !y.inFile,
           "buffers that differ exchange their addresses");
      written_[a] = written_[b] = true;
    }
  }

  void step(const abi::Launch& s) {
    if (!need(s.kernel < p_.kernels.size() && s.device < p_.devices.size(), "a launch has no kernel or device")) return;
    const abi::Kernel& k = p_.kernels[s.kernel];
    need(s.device != 0 || std::holds_alternative<abi::HostCode>(k.code) ||
             std::holds_alternative<abi::LibraryCall>(k.code),
         "the host cannot run a kernel");
    if (const auto* call = std::get_if<abi::LibraryCall>(&k.code)) {
      arguments(s, parametersOf(*call));
      need(s.scalars.empty(), "a routine is given scalars");
    } else {
      arguments(s, k.parameters);
      need(s.scalars.size() == k.scalars, "a kernel is given another number of scalars");
    }
    for (const abi::BufferId b : s.scalars) scalar(b);
  }
  static std::vector<abi::Parameter> parametersOf(const abi::LibraryCall& call) {
    std::vector<abi::Parameter> list;
    const auto add = [&](const abi::TensorRef& t, abi::Access access) {
      const uint64_t bytes = bytesOf(t);
      list.push_back({bytes, static_cast<uint64_t>(dtypeSize(t.dtype)), bytes == 0 ? abi::Access::None : access});
    };
    for (const abi::TensorRef& t : call.operands) add(t, abi::Access::Read);
    for (const abi::TensorRef& t : call.results) add(t, abi::Access::Write);
    return list;
  }
  void arguments(const abi::Launch& s, const std::vector<abi::Parameter>& parameters) {
    if (!need(s.args.size() == parameters.size(), "a kernel is given another number of arguments")) return;
    for (size_t i = 0; i < parameters.size(); ++i) {
      const abi::KernelArg& a = s.args[i];
      const abi::Parameter& x = parameters[i];
      part(a, x.bytes);
      if (!isBuffer(a.buffer)) return;
      need(a.access == x.access, "a kernel uses an argument in another way");
      need(a.byteOffset % x.alignment == 0, "an argument of a kernel is not aligned");
      if (x.access == abi::Access::None) continue;
      need(p_.buffers[a.buffer].device == s.device, "a kernel is given memory of another device");
      if (x.access != abi::Access::Read) writes(a.buffer);
    }
  }
  void moves(const abi::KernelArg& to, const abi::KernelArg& from, uint64_t bytes) {
    need(bytes > 0, "nothing is copied");
    part(to, bytes);
    part(from, bytes);
    writes(to.buffer);
  }
  void step(const abi::Transfer& s) { moves(s.to, s.from, s.bytes); }
  void step(const abi::Copy& s) {
    moves(s.to, s.from, s.bytes);
    if (isBuffer(s.to.buffer) && isBuffer(s.from.buffer))
      need(p_.buffers[s.to.buffer].device == p_.buffers[s.from.buffer].device, "a copy is between devices");
  }
  void step(const abi::For& s) {
    for (const abi::BufferId b : {s.lo, s.hi, s.by}) scalar(b);
    if (s.induction != abi::kNoBuffer) scalar(s.induction), writes(s.induction);
    siteNumber(s.site);
    block(s.body);
    swaps(s.swaps);
  }
  void step(const abi::While& s) {
    decided(s.goesOn, {&s.condition, &s.body});
    block(s.condition);
    block(s.body);
    swaps(s.swaps);
  }
  void step(const abi::If& s) {
    decided(s.condition, {&s.then, &s.otherwise});
    block(s.then);
    block(s.otherwise);
  }
  /// By a byte of the host, or of a device that all steps are for.
  void decided(abi::BufferId flag, std::initializer_list<const abi::Block*> blocks) {
    part({flag, 0}, 1);
    if (!isBuffer(flag) || p_.buffers[flag].device == 0) return;
    for (const abi::Block* b : blocks)
      need(isAlone(*b, p_.buffers[flag].device), "a device decides about steps that are not its own");
  }
  bool isAlone(const abi::Block& steps, uint32_t device) const {
    return std::all_of(steps.begin(), steps.end(), [&](const abi::Step& s) {
      return std::visit(
          abi::Overloaded{[&](const abi::Launch& l) {
                            return l.device == device ||
                                   (l.device == 0 && l.kernel < p_.kernels.size() &&
                                    std::holds_alternative<abi::HostCode>(p_.kernels[l.kernel].code) &&
                                    p_.kernels[l.kernel].sites.empty());
                          },
                          [&](const abi::Copy& c) {
                            return c.to.buffer < p_.buffers.size() &&
                                   (p_.buffers[c.to.buffer].device == device || p_.buffers[c.to.buffer].device == 0);
                          },
                          [&](const abi::For& f) { return isAlone(f.body, device); },
                          [&](const abi::While& w) { return isAlone(w.condition, device) && isAlone(w.body, device); },
                          [&](const abi::If& i) { return isAlone(i.then, device) && isAlone(i.otherwise, device); },
                          [](const auto&) { return false; }},
          s.what);
    });
  }
  void step(const abi::Print& s) { text(s.text); }
  void step(const abi::Assert& s) {
    hostScalar(s.condition, 1);
    text(s.message);
    siteNumber(s.site);
  }
  void step(const abi::Trap& s) {
    need(static_cast<uint8_t>(s.origins) < abi::kOriginKinds, "what is checked comes from nowhere");
    tensor(s.result);
    for (const abi::TensorRef& t : s.operands) tensor(t);
    if (s.mask) {
      tensor(*s.mask);
      need(s.mask->dtype == abi::dtype::Bool, "what selects is no bool");
    }
    need(rt::trapFits(s), "the shapes of what is checked do not fit");
    siteNumber(s.site);
  }
  void step(const abi::Load& s) {
    text(s.path);
    tensor(s.result);
    if (isBuffer(s.result.buffer)) written_[s.result.buffer] = true;
    siteNumber(s.site);
    if (s.ahead) readInto(*s.ahead, s.result);
  }
  void step(const abi::ReadAhead& s) {
    hostScalar(s.wanted, 1);
    text(s.path);
    readInto(s.result, s.result);
  }
  void step(const abi::EndReadAhead& s) { readInto(s.ahead, s.ahead); }
  void step(const abi::BringIn& s) {
    hostScalar(s.wanted, 1);
    hostTensor(s.table);
    hostTensor(s.rows);
    need(!s.table.shape.empty() && s.rows.dtype == abi::dtype::I64, "rows are no rows");
    need(s.count == 0 || s.rows.shape.empty(), "rows are counted from more than one");
  }
  void step(const abi::ReadRows& s) {
    for (const auto* t : {&s.table, &s.rows, &s.result}) hostTensor(*t);
    siteNumber(s.site);
    siteNumber(s.file);
    writes(s.result.buffer);
    if (!need(!s.table.shape.empty() && s.rows.dtype == abi::dtype::I64, "rows are no rows")) return;
    std::vector<int64_t> shape = s.rows.shape;
    shape.insert(shape.end(), s.table.shape.begin() + 1, s.table.shape.end());
    need(s.result.dtype == s.table.dtype && s.result.shape == shape, "rows are read into a tensor of another type");
    need(s.result.buffer != s.table.buffer && s.result.buffer != s.rows.buffer, "rows are read into their own memory");
  }
  /// Memory that another thread writes to, for `result`: a whole buffer, which has no other address.
  void readInto(const abi::TensorRef& t, const abi::TensorRef& result) {
    hostTensor(t);
    if (!isBuffer(t.buffer) || !isBuffer(result.buffer)) return;
    need(t.byteOffset == 0 && p_.buffers[t.buffer].bytes == std::max<uint64_t>(abi::kScalarBytes, bytesOf(t)),
         "a file is read into a part of a buffer");
    need(t.dtype == result.dtype && t.shape == result.shape, "a file is read into a tensor of another type");
    need(p_.buffers[result.buffer].device != 0 || result.buffer == t.buffer, "a file is read ahead into other memory");
    writes(t.buffer);
  }
  void step(const abi::Save& s) {
    text(s.path);
    for (const abi::TensorRef& t : s.tensors) hostTensor(t);
    need(s.names.empty() || s.names.size() == s.tensors.size(), "a file is saved without names");
    siteNumber(s.site);
  }
  void step(const abi::Seed& s) {
    hostScalar(s.seed, 1);
    if (s.draws) hostScalar(*s.draws, 1);
  }
  void step(const abi::RngNext& s) {
    for (const auto* t : {&s.seed, &s.draw}) hostScalar(*t, 8), writes(t->buffer);
  }
  void step(const abi::Time& s) {
    hostScalar(s.result, 8);
    writes(s.result.buffer);
  }
  void step(const abi::Bench& s) { block(s.body); }

  const abi::Program& p_;
  std::vector<bool> written_;  // by buffer: some step writes to it
  std::string problem_;
};

}  // namespace

std::string problemOf(const abi::Program& program) { return Checker(program).run(); }

}  // namespace tenc::rt
