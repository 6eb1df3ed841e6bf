// From fused IR to a Program: kernels, storages, then one step an op.
#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "codegen/Codegen.h"
#include "codegen/FaultSites.h"
#include "codegen/Overwrites.h"
#include "codegen/PlanMemory.h"
#include "codegen/Storage.h"

namespace tenc::codegen {

using abi::BufferId;
using abi::Step;
using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Type;
using ir::Value;

namespace {

class Lowering {
 public:
  Lowering(const ir::Module& m, const ir::Func& f, const SourceManager& sources, const TargetTable& targets)
      : m_(m), f_(f), sites_(m, sources), targets_(targets) {}

  Compiled run() {
    out_.kernels = kernelsOf(m_, f_, targets_, out_.error);
    if (!out_.error.empty()) return std::move(out_);
    storage_ = std::make_unique<Storage>(m_, f_, out_.kernels);
    parameters_.resize(out_.kernels.kernels.size());
    abi::Program& p = out_.program;
    for (const Value* v : args()) p.inputs.push_back(tensor(v));
    p.steps = region(*f_.body);
    if (const Op* ret = f_.body->terminator()) {
      for (const Value* v : ret->operands()) p.results.push_back(tensor(v));
    }
    planBuffers();
    nameKernels();
    sites_.moveInto(p);
    return std::move(out_);
  }

 private:
  std::vector<const Value*> args() const {
    std::vector<const Value*> list;
    for (const auto& a : f_.body->args) list.push_back(a.get());
    return list;
  }

  BufferId buffer(uint32_t storage) { return storage; }
  BufferId buffer(const Value* v) { return storage_->slot(v).storage; }
  abi::KernelArg arg(const Value* v) {
    auto p = storage_->slot(v);
    return {p.storage, p.byteOffset};
  }

  abi::TensorRef tensor(const Value* v) {
    abi::TensorRef t;
    auto p = storage_->slot(v);
    t.buffer = p.storage;
    t.byteOffset = p.byteOffset;
    using ir::DType;
    static_assert(abi::kMostDims == ir::kMaxRank);
    static_assert(abi::dtype::kCount == ir::kDTypeCount && abi::dtype::F64 == uint8_t(DType::F64) &&
                  abi::dtype::BF16 == uint8_t(DType::BF16) && abi::dtype::I64 == uint8_t(DType::I64) &&
                  abi::dtype::U64 == uint8_t(DType::U64) && abi::dtype::Bool == uint8_t(DType::Bool));
    t.dtype = static_cast<uint8_t>(v->type.dtype);
    t.shape = v->type.shape;
    t.device =
        v->type.place.isFree() ? std::string(ir::DeviceTable::kHost) : std::string(m_.actual(v->type.place.device));
    return t;
  }

  abi::Block region(const Region& r) {
    abi::Block steps;
    std::vector<const Op*> made;
    for (const auto& op : r.ops) {
      lower(*op, steps);
      made.resize(steps.size(), op.get());
    }
    steps.reserve(steps.size() + 1);  // `flag` may add one; where steps lie does not change any more
    for (size_t i = 0; i < steps.size(); ++i) out_.opOf[&steps[i]] = made[i];
    return steps;
  }

  void copy(abi::KernelArg to, abi::KernelArg from, const Value* v, abi::Block& steps) {
    if (v->type.bytes() == 0) return;
    if (v->op && v->op->kind == OpKind::ReadAhead && out_.error.empty())
      out_.error = "memory that a file is still read into is copied";
    steps.push_back({abi::Copy{to, from, static_cast<uint64_t>(v->type.bytes())}});
  }

  /// All at once: what is a target and a source goes through a temporary where copies form a cycle.
  void parallel(const std::vector<ValueCopy>& copies, const Op& at, abi::Block& steps) {
    struct Pending {
      ValueCopy copy;
      abi::KernelArg from;
      uint32_t storage;  ///< that it reads
    };
    std::vector<Pending> pending;
    for (const ValueCopy& c : copies) pending.push_back({c, arg(c.from), storage_->slot(c.from).storage});
    // First what nothing is read from any more; where there are only cycles, one value goes through a temporary.
    while (!pending.empty()) {
      const auto isFree = [&](const Pending& p) {
        return std::ranges::none_of(pending,
                                    [&](const Pending& other) { return &other != &p && other.storage == p.copy.to; });
      };
      if (const auto next = std::ranges::find_if(pending, isFree); next != pending.end()) {
        copy({next->copy.to, 0}, next->from, next->copy.from, steps);
        pending.erase(next);
        continue;
      }
      const uint32_t wanted = pending.front().copy.to;
      std::unordered_map<const Value*, BufferId> saved;
      for (Pending& p : pending) {
        if (&p == &pending.front() || p.storage != wanted) continue;
        const auto [known, isNew] = saved.try_emplace(p.copy.from);
        if (isNew) {
          known->second = storage_->temporary(p.copy.from, at);
          copy({known->second, 0}, p.from, p.copy.from, steps);
        }
        p.from = {known->second, 0};
        p.storage = known->second;
      }
    }
  }

  void lower(const Op& op, abi::Block& steps) {
    switch (op.kind) {
      case OpKind::Constant: return constant(op);
      case OpKind::Reshape:
      case OpKind::Slice: return;  // views
      case OpKind::Fused:
        if (out_.kernels.hasKernel(op)) launch(op, steps);
        return;
      case OpKind::Transfer: return transfer(op, steps);
      case OpKind::For:
      case OpKind::While:
      case OpKind::If: return control(op, steps);
      case OpKind::Yield:
      case OpKind::Condition: return parallel(storage_->copiesAtEnd(*op.parent), op, steps);
      case OpKind::Return: return;
      case OpKind::Bench: {
        steps.push_back({abi::Bench{op.stringAttr("name"), region(*op.regions[0])}});
        return;
      }
      default:
        if (!op.has(ir::Trait::Library)) return effect(op, steps);
        return out_.kernels.hasKernel(op) ? launch(op, steps) : library(op, steps);
    }
  }

  /// A call of the runtime's routine of the op's name; integer and bool attributes are its options. These kernels stand
  /// after the compiled ones.
  void library(const Op& op, abi::Block& steps) {
    abi::LibraryCall call;
    call.routine = op.info().mnemonic;
    abi::Launch launch;
    launch.kernel = static_cast<uint32_t>(out_.kernels.kernels.size() + calls_.size());
    launch.device = storage_->deviceOf(op.result());
    auto add = [&](const Value* v, abi::Access access, std::vector<abi::TensorRef>& to) {
      to.push_back(tensor(v));
      abi::KernelArg a = arg(v);
      a.access = v->type.bytes() == 0 ? abi::Access::None : access;
      launch.args.push_back(a);
    };
    for (const Value* v : op.operands()) add(v, abi::Access::Read, call.operands);
    for (const auto& r : op.results) add(r.get(), abi::Access::Write, call.results);
    for (const auto& [name, value] : op.attrs()) {
      if (const auto* i = std::get_if<int64_t>(&value)) call.options.emplace_back(name, *i);
      if (const auto* b = std::get_if<bool>(&value)) call.options.emplace_back(name, *b);
    }
    abi::Kernel& k = calls_.emplace_back();
    k.name = call.routine;
    if (op.has(ir::Trait::CanFault)) {
      for (abi::FaultKind kind : abi::kLibraryFaults) k.sites.push_back(sites_.number(op.loc, kind));
    }
    k.code = std::move(call);
    steps.push_back({std::move(launch)});
  }

  void constant(const Op& op) {
    const ir::Data& data = std::get<ir::Data>(*op.find("value"));
    if (!data || data->empty()) return;
    std::string bytes(reinterpret_cast<const char*>(data->data()), data->size());
    out_.program.constants.push_back({buffer(op.result()), std::move(bytes)});
  }

  void launch(const Op& op, abi::Block& steps) {
    const uint32_t index = out_.kernels.ofOp.at(&op);
    const Kernel& k = out_.kernels.kernels[index];
    const KernelNeeds& needs = out_.kernels.needs(op);
    abi::Launch s;
    s.kernel = index;
    std::vector<abi::Parameter> parameters;
    s.device = op.results.empty() ? 0 : storage_->deviceOf(op.result());
    // Elsewhere the runtime may check that something was put where a kernel works.
    const bool onHost = deviceOf(m_, op) == ir::DeviceTable::kHost;
    for (size_t b = 0; b < k.bufferOperand.size(); ++b) {
      int32_t operand = k.bufferOperand[b];
      int32_t result = k.bufferResult[b];
      if (operand < 0 && result < 0) continue;  // scratch
      if (operand >= 0 && result >= 0 &&
          storage_->copiesFirst(op, static_cast<uint32_t>(operand), static_cast<uint32_t>(result)) &&
          !(onHost && overwritesAll(op, static_cast<size_t>(operand)))) {
        const Value* old = op.operand(static_cast<size_t>(operand));
        copy(arg(op.result(static_cast<size_t>(result))), arg(old), old, steps);
      }
      const Value* v = result >= 0 ? op.result(static_cast<size_t>(result)) : op.operand(static_cast<size_t>(operand));
      abi::KernelArg a = arg(v);
      if (a.byteOffset % needs.argument(b).alignment != 0) {  // a view that begins between what the target can address
        const BufferId aligned = storage_->temporary(v, op);
        copy({aligned, 0}, a, v, steps);
        a = {aligned, 0};
      }
      if (result >= 0) a.access = operand >= 0 ? abi::Access::Update : abi::Access::Write;
      if (v->type.bytes() == 0) a.access = abi::Access::None;
      s.args.push_back(a);
      parameters.push_back({static_cast<uint64_t>(v->type.bytes()), needs.argument(b).alignment, a.access});
    }
    if (needs.workspaceBytes > 0) {
      s.args.push_back({storage_->workspace(op, needs.workspaceBytes, s.device), 0, abi::Access::Write});
      parameters.push_back({needs.workspaceBytes, kPlannedAlignment, abi::Access::Write});
    }
    parameters_[index] = std::move(parameters);
    for (uint32_t o : k.scalarOperand) s.scalars.push_back(buffer(op.operand(o)));
    steps.push_back({std::move(s)});
  }

  void transfer(const Op& op, abi::Block& steps) {
    auto from = arg(op.operand(0));
    auto to = arg(op.result());
    if (from.buffer == to.buffer || op.result()->type.bytes() == 0) return;  // two names of one device; nothing to copy
    steps.push_back({abi::Transfer{to, from, static_cast<uint64_t>(op.result()->type.bytes())}});
  }

  /// A condition in a buffer of its own.
  BufferId flag(const Value* condition, const Op& at, abi::Block& steps) {
    if (storage_->slot(condition).byteOffset == 0) return buffer(condition);
    const BufferId own = storage_->temporary(condition, at);
    copy({own, 0}, arg(condition), condition, steps);
    return own;
  }

  void control(const Op& op, abi::Block& steps) {
    parallel(storage_->copiesBefore(op), op, steps);
    if (op.kind == OpKind::For) {
      abi::For s;
      s.lo = buffer(op.operand(0));
      s.hi = buffer(op.operand(1));
      s.by = buffer(op.operand(2));
      s.induction = buffer(op.regions[0]->args[0].get());
      s.site = sites_.number(op.loc, abi::FaultKind::Step);
      s.body = region(*op.regions[0]);
      s.swaps = storage_->swaps(op);
      steps.push_back({std::move(s)});
    } else if (op.kind == OpKind::While) {
      abi::While s;
      s.condition = region(*op.regions[0]);
      s.goesOn = flag(op.regions[0]->terminator()->operand(0), *op.regions[0]->terminator(), s.condition);
      s.body = region(*op.regions[1]);
      s.swaps = storage_->swaps(op);
      steps.push_back({std::move(s)});
    } else {
      abi::Block then = region(*op.regions[0]), otherwise = region(*op.regions[1]);
      const BufferId condition = flag(op.operand(0), op, steps);
      steps.push_back({abi::If{condition, std::move(then), std::move(otherwise)}});
    }
  }

  /// The operands of an effect from `first` on, between its pieces of text.
  abi::Text text(const Op& op, size_t first) {
    abi::Text t;
    t.pieces = op.stringsAttr("pieces");
    const auto& formats = op.stringsAttr("formats");
    const auto& devices = op.stringsAttr("devices");  // where printed values came from
    for (size_t i = 0; i < formats.size(); ++i) {
      t.values.push_back({tensor(op.operand(first + i)), formats[i]});
      if (i < devices.size()) t.values.back().tensor.device = devices[i];
    }
    return t;
  }
  /// Made of values while the program runs, or known.
  abi::Text path(const Op& op, size_t first) {
    abi::Text t = text(op, first);
    if (t.pieces.empty()) t.pieces.push_back(op.stringAttr("path"));
    return t;
  }

  void effect(const Op& op, abi::Block& steps) {
    const size_t firstText = op.firstTextOperand();
    switch (op.kind) {
      case OpKind::Print:
        steps.push_back({abi::Print{text(op, firstText)}});
        std::get<abi::Print>(steps.back().what).text.pieces.back() += op.printEnd();
        return;
      case OpKind::Assert:
        steps.push_back({abi::Assert{tensor(op.operand(0)), text(op, firstText),
                                     sites_.number(op.loc, abi::FaultKind::Assertion)}});
        return;
      case OpKind::Trap: return trap(op, steps);
      case OpKind::Load:
        steps.push_back({abi::Load{path(op, firstText), op.stringAttr("format"), op.stringAttr("name"),
                                   tensor(op.result()), sites_.number(op.loc, abi::FaultKind::File)}});
        if (firstText == 1) std::get<abi::Load>(steps.back().what).ahead = tensor(op.operand(0));
        return;
      case OpKind::ReadAhead:
        steps.push_back({abi::ReadAhead{tensor(op.operand(0)), path(op, firstText), op.stringAttr("format"),
                                        op.stringAttr("name"), tensor(op.result())}});
        return;
      case OpKind::BringIn:
        steps.push_back(
            {abi::BringIn{tensor(op.operand(0)),
                          rowsFrom(op.operand(1), op.intAttr("files.first"),
                                   op.hasAttr("files.rows") ? op.intAttr("files.rows") : op.operand(1)->type.shape[0]),
                          tensor(op.operand(2)), static_cast<uint64_t>(op.intAttr("count"))}});
        return;
      case OpKind::ReadRows:
        steps.push_back(
            {abi::ReadRows{rowsFrom(op.operand(0), op.intAttr("first"), op.intAttr("count")), tensor(op.operand(1)),
                           tensor(op.result()), sites_.number(op.loc, abi::FaultKind::Index),
                           sites_.number(op.loc, abi::FaultKind::File)}});
        return;
      case OpKind::EndReadAhead: steps.push_back({abi::EndReadAhead{tensor(op.operand(0))}}); return;
      case OpKind::Save: {
        abi::Save s{path(op, firstText),
                    op.stringAttr("format"),
                    {},
                    op.stringsAttr("names"),
                    sites_.number(op.loc, abi::FaultKind::File)};
        for (size_t i = 0; i < firstText; ++i) s.tensors.push_back(tensor(op.operand(i)));
        steps.push_back({std::move(s)});
        return;
      }
      case OpKind::Seed: {
        abi::Seed s{tensor(op.operand(0)), std::nullopt};
        if (op.operandCount() > 1) s.draws = tensor(op.operand(1));
        steps.push_back({std::move(s)});
        return;
      }
      case OpKind::RngNext:
        steps.push_back({abi::RngNext{tensor(op.results[0].get()), tensor(op.results[1].get()), !op.boolAttr("peek")}});
        return;
      case OpKind::Time: steps.push_back({abi::Time{tensor(op.result())}}); return;
      default:
        if (out_.error.empty()) out_.error = "`" + std::string(op.info().mnemonic) + "` was not lowered by the passes";
        return;
    }
  }

  void trap(const Op& op, abi::Block& steps) {
    abi::Trap s{op.stringAttr("what"),
                abi::originsNamed(op.stringAttr("relation")),
                op.intsAttr("axes"),
                tensor(op.operand(0)),
                {},
                {},
                op.boolAttr("selects"),
                sites_.number(op.loc, abi::FaultKind::NonFinite)};
    const size_t operands = op.operandCount() - (op.hasAttr("selects") ? 1 : 0);
    for (size_t i = 1; i < operands; ++i) s.operands.push_back(tensor(op.operand(i)));
    if (operands < op.operandCount()) s.mask = tensor(op.operand(operands));
    steps.push_back({std::move(s)});
  }

  /// `count` rows of a table from `first` on.
  abi::TensorRef rowsFrom(const Value* file, int64_t first, int64_t count) {
    abi::TensorRef table = tensor(file);
    const Type& type = file->type;
    table.byteOffset += static_cast<uint64_t>(first * (type.bytes() / type.shape[0]));
    table.shape[0] = count;
    return table;
  }

  void planBuffers() {
    abi::Program& p = out_.program;
    const auto& items = storage_->items();
    p.buffers.resize(items.size());
    for (uint32_t i = 0; i < items.size(); ++i) {
      if (!items[i].inFile) continue;
      const uint64_t unit = std::max<uint64_t>(64, items[i].alignment);
      const uint64_t offset = (p.fileBytes + unit - 1) / unit * unit;
      p.buffers[i] = {0, offset, items[i].bytes, true};
      p.fileBytes = offset + items[i].bytes;
      out_.memory.fileBytes += items[i].bytes;
    }
    for (uint32_t d = 0; d < storage_->deviceCount(); ++d) {
      std::vector<MemoryItem> list;
      std::vector<uint32_t> ids;
      for (uint32_t i = 0; i < items.size(); ++i) {
        if (items[i].bytes == 0 || items[i].device != d || items[i].inFile) continue;
        list.push_back({items[i].bytes, items[i].start, items[i].end, 0, items[i].alignment, items[i].gap});
        ids.push_back(i);
      }
      MemoryLayout layout = planMemory(list);
      MemoryPlan::Device plan{storage_->devices()[d], layout.peak, {}, storage_->opAt(layout.peakTime)};
      for (size_t i = 0; i < ids.size(); ++i) {
        p.buffers[ids[i]] = {d, list[i].offset, list[i].bytes};
        if (list[i].start <= layout.peakTime && layout.peakTime < list[i].end)
          plan.atPeak.push_back({storage_->valueAt(ids[i], layout.peakTime), list[i].bytes});
      }
      p.devices.push_back({storage_->devices()[d], layout.peak});
      out_.memory.devices.push_back(std::move(plan));
    }
  }

  void nameKernels() {
    abi::Program& p = out_.program;
    for (const Kernel& k : out_.kernels.kernels) {
      abi::Kernel& to = p.kernels.emplace_back();
      to.name = k.name;
      for (size_t s = 0; s < k.faults.size(); ++s)
        to.sites.push_back(sites_.number(k.faults[s], static_cast<abi::FaultKind>(k.faultCodes[s])));
      to.parameters = std::move(parameters_[p.kernels.size() - 1]);
      to.scalars = static_cast<uint32_t>(k.scalarOperand.size());
    }
    for (abi::Kernel& k : calls_) p.kernels.push_back(std::move(k));
  }

  const ir::Module& m_;
  const ir::Func& f_;
  FaultSites sites_;
  const TargetTable& targets_;
  Compiled out_;
  std::unique_ptr<Storage> storage_;
  std::vector<abi::Kernel> calls_;                       // of library routines
  std::vector<std::vector<abi::Parameter>> parameters_;  // of compiled kernels, as they are launched
};

}  // namespace

Compiled lowerToProgram(const ir::Module& m, const ir::Func& func, const SourceManager& sources,
                        const TargetTable& targets) {
  return Lowering(m, func, sources, targets).run();
}

}  // namespace tenc::codegen
