// Native loops as structured CUDA C++, so that nothing moves between devices: one thread runs them, or one each trip.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "codegen/IndexRanges.h"
#include "codegen/NativeFaults.h"
#include "codegen/NativeTrips.h"
#include "codegen/ScalarBodies.h"
#include "codegen/cuda/KernelWriters.h"
#include "ir/HiddenDims.h"
#include "ir/Loops.h"
#include "ir/Scalar.h"
#include "ir/Views.h"

namespace tenc::codegen::cuda {
namespace {

using ir::OpKind;

/// What a value of the region is here: an element, or a view of a buffer.
struct Slot {
  std::string element;  ///< an expression; empty for tensors
  std::string base;     ///< of a tensor: the address of element (0, 0, ...)
  std::vector<int64_t> strides;
};
using Slots = std::vector<Slot>;

class NativeWriter {
 public:
  NativeWriter(const Kernel& kernel, Module& module, const KernelNames& names)
      : kernel_(kernel),
        out_(module.text),
        scalars_(module.text, module.tables),
        names_(names),
        faults_(faultNumbers(*kernel.native)),
        apart_(loopOfApartTrips(kernel)) {}

  std::string write() {
    const ir::Op& fused = *kernel_.native;
    const ir::Region& region = *fused.regions[0];
    if (apart_ == nullptr) out_.line("if (blockIdx.x != 0 || threadIdx.x != 0) return;");
    if (!kernel_.faults.empty()) {
      scalars_.faulted = out_.fresh("faulted");
      out_.line("bool " + scalars_.faulted + " = false;");
    }
    for (size_t i = 0; i < kernel_.scalarOperand.size(); ++i) {
      const ir::Value* v = region.args[kernel_.scalarOperand[i]].get();
      slots_[v] = element(scalars_.fromMemory(names_.scalars[i], v->type.dtype));
    }
    std::unordered_map<int32_t, std::string> outputs;  // by result
    for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
      if (const int32_t operand = kernel_.bufferOperand[i]; operand >= 0) {
        const ir::Value* v = region.args[static_cast<size_t>(operand)].get();
        bind(v, {"", names_.buffers[i], ir::denseStrides(v->type.shape)});
      }
      if (const int32_t result = kernel_.bufferResult[i]; result >= 0) outputs[result] = names_.buffers[i];
    }
    body(region);
    const ir::Op* end = region.terminator();
    for (size_t r = 0; error_.empty() && r < end->operandCount(); ++r) {
      const ir::Value* v = end->operand(r);
      const Slot& slot = slots_[v];
      const std::string& to = outputs[static_cast<int32_t>(r)];
      if (!slot.element.empty())
        put(to, scalars_.wrap(slot.element, reprOf(v->type.dtype)), v->type.dtype);
      else if (slot.base != to)
        fail("a tensor result that is not updated in place");
    }
    return error_.empty() ? scalars_.missing() : error_;
  }

 private:
  void fail(const std::string& what) {
    if (error_.empty()) error_ = "native loop: " + what;
  }
  static Slot element(Scalar s) { return {CudaScalars::text(s), "", {}}; }
  uint32_t fault(const ir::Op& op) const {
    const auto it = faults_.find(&op);
    return it == faults_.end() ? 0 : it->second;
  }

  // ---- elements and memory
  Scalar read(const std::string& address, ir::DType t) {
    const std::string name = out_.fresh("x");
    out_.line("const " + std::string(memoryType(t)) + " " + name + " = *(" + address + ");");
    return scalars_.fromMemory(name, t);
  }
  void put(const std::string& address, Scalar v, ir::DType t) {
    out_.line("*(" + address + ") = " + scalars_.toMemory(v, t) + ";");
  }
  void bind(const ir::Value* v, const Slot& slot) {
    slots_[v] = slot.element.empty() && v->type.rank() == 0 ? element(read(slot.base, v->type.dtype)) : slot;
  }
  Scalar scalar(const ir::Value* v) {
    const Slot& slot = slots_[v];
    const Repr r = reprOf(v->type.dtype);
    if (!slot.element.empty()) return scalars_.wrap(slot.element, r);
    if (!slot.base.empty() && v->type.size() == 1) return read(slot.base, v->type.dtype);
    fail("a tensor where a single element is needed");
    return scalars_.constant(r, 0);
  }
  /// As i64; a large u64 is the largest, not a negative one that would count from the end.
  Scalar index(const ir::Value* v) {
    Scalar at = scalar(v);
    if (v->type.dtype == ir::DType::U64) at = scalars_.binary(BinaryInst::UMin, at, bits(at, ~uint64_t{0} >> 1));
    return emitCast(scalars_, at, v->type.dtype == ir::DType::U64 ? ir::DType::I64 : v->type.dtype, ir::DType::I64);
  }
  static std::string offset(const std::string& base, Scalar at, int64_t stride) {
    return base + " + (long long)" + CudaScalars::text(at) + (stride == 1 ? "" : " * " + decimal(stride));
  }
  std::string named(const std::string& address) {
    const std::string name = out_.fresh("at");
    out_.line("auto* const " + name + " = " + address + ";");
    return name;
  }

  /// Where a block of `sizes` (null: single elements) stands that starts along axes[i] at operand first + i. An index
  /// that is out of range is a fault, and becomes 0; `inside` gets the condition that none is.
  std::string locate(const ir::Op& op, const Slot& slot, const ir::Type& t, const std::vector<int64_t>& axes,
                     size_t first, const std::vector<int64_t>* sizes, std::string& inside) {
    std::string address = slot.base;
    for (size_t i = 0; i < axes.size(); ++i) {
      const auto axis = static_cast<size_t>(axes[i]);
      const ir::Value* v = op.operand(first + i);
      const int64_t extent = t.shape[axis], most = extent - (sizes != nullptr ? (*sizes)[i] : 1);
      const Range range = ranges_.of(v);
      Scalar at = index(v);
      if (range.least < 0 || range.most > most) {
        const Scalar asked = at;
        at = select(at < 0.0, at + static_cast<double>(extent), at);
        const Scalar outside = compare(Predicate::Ugt, at, like(at, static_cast<double>(most)));
        scalars_.setFault(CudaScalars::text(outside), fault(op), "(long long)" + CudaScalars::text(asked),
                          extent - most, extent, ir::writtenAxis(op, axes[i]));
        inside += (inside.empty() ? "!" : " && !") + CudaScalars::text(outside);
        at = select(outside, 0.0, at);
      }
      address = offset(address, at, slot.strides[axis]);
    }
    return named(address);
  }

  void gather(const ir::Op& op) {
    const ir::Value* x = op.operand(0);
    Slot slot = slots_[x];
    if (slot.base.empty()) return fail("indexing of a single element");
    const auto& axes = op.intsAttr("axes");
    std::vector<bool> dropped(slot.strides.size());
    for (size_t i = 0; i < axes.size(); ++i) {
      const auto axis = static_cast<size_t>(axes[i]);
      if (op.operand(1 + i)->type.rank() != 0) return fail("indexing with tensors");
      if (x->type.shape[axis] == 0) return fail("indexing of an empty dim");
      dropped[axis] = true;
    }
    std::string inside;
    slot.base = locate(op, slot, x->type, axes, 1, nullptr, inside);
    std::vector<int64_t> strides;
    for (size_t d = 0; d < dropped.size(); ++d)
      if (!dropped[d]) strides.push_back(slot.strides[d]);
    slot.strides = strides;
    bind(op.result(), slot);
  }

  void dynamicSlice(const ir::Op& op) {
    const ir::Value* x = op.operand(0);
    Slot slot = slots_[x];
    if (slot.base.empty()) return fail("slicing of a single element");
    std::string inside;
    slot.base = locate(op, slot, x->type, op.intsAttr("axes"), 1, &op.intsAttr("sizes"), inside);
    bind(op.result(), slot);
  }

  /// Stores one element, combined with what is there, where `inside` (empty: always) holds.
  void update(const ir::Op& op, const Slot& slot, const std::string& at, const std::string& inside,
              const std::string& mode) {
    const ir::DType t = op.operand(0)->type.dtype;
    Scalar v = scalar(op.operand(1));
    if (!inside.empty()) out_.open("if (" + inside + ")");
    if (mode != "set") {
      Scalar args[] = {read(at, t), v};
      v = scalars_.elementwise(ir::combinerNamed(mode), t, t, args, 0);
    }
    put(at, v, t);
    if (!inside.empty()) out_.close();
    slots_[op.result()] = slot;
  }

  void updateAt(const ir::Op& op, const std::string& mode) {
    const ir::Value* x = op.operand(0);
    const Slot slot = slots_[x];
    if (slot.base.empty() || op.operand(1)->type.size() != 1) return fail("an update of more than one element");
    std::string inside;
    const std::string at = locate(op, slot, x->type, op.intsAttr("axes"), 2, nullptr, inside);
    update(op, slot, at, inside, mode);
  }

  void updateSlice(const ir::Op& op) {
    const ir::Value* x = op.operand(0);
    const Slot slot = slots_[x];
    if (slot.base.empty() || op.operand(1)->type.size() != 1) return fail("an update of more than one element");
    const auto& starts = op.intsAttr("starts");
    int64_t at = 0;
    for (size_t d = 0; d < starts.size(); ++d) at += starts[d] * slot.strides[d];
    update(op, slot, named(slot.base + " + " + decimal(at)), "", "set");
  }

  /// Memory of a tensor that each trip makes anew.
  Slot local(const ir::Op& op) {
    const ir::Type& t = op.result()->type;
    const std::string name = out_.fresh("local");
    out_.line(std::string(memoryType(t.dtype)) + " " + name + "[" + decimal(std::max<int64_t>(t.size(), 1)) + "];");
    return {"", name, ir::denseStrides(t.shape)};
  }

  void view(const ir::Op& op) {
    const ir::Value* x = op.operand(0);
    const ir::Type& t = op.result()->type;
    Slot slot = slots_[x];
    if (!slot.element.empty()) {
      if (op.kind != OpKind::Reshape && t.rank() > 0) {  // one value everywhere
        const Scalar v = scalar(x);
        const Slot copies = local(op);
        const std::string i = out_.fresh("i");
        out_.open("for (int " + i + " = 0; " + i + " < " + decimal(t.size()) + "; ++" + i + ")");
        put(copies.base + " + " + i, v, t.dtype);
        out_.close();
        slots_[op.result()] = copies;
        return;
      }
      if (t.size() != 1) return fail("a tensor of copies");
      slots_[op.result()] = slot;
      return;
    }
    ir::StridedView moved{x, 0, slot.strides};
    if (!ir::viewThrough(op, moved)) return fail("`" + std::string(op.info().mnemonic) + "` that moves elements");
    if (moved.offset != 0) slot.base = named(slot.base + " + " + decimal(moved.offset));
    slot.strides = std::move(moved.strides);
    bind(op.result(), slot);
  }

  void constant(const ir::Op& op) {
    const ir::Type& t = op.result()->type;
    if (t.rank() == 0) {
      const auto c = ir::constantScalar(op.result());
      if (!c) return fail("a constant tensor");
      slots_[op.result()] = element(scalars_.constantOfBits(ir::bitsOf(*c), t.dtype));
      return;
    }
    const auto* data = std::get_if<ir::Data>(op.find("value"));
    if (data == nullptr || *data == nullptr) return fail("a constant tensor");
    const Slot slot = local(op);
    for (int64_t i = 0; i < t.size(); ++i)
      put(slot.base + " + " + decimal(i), scalars_.constantOfBits(ir::loadBits((*data)->data(), t.dtype, i), t.dtype),
          t.dtype);
    slots_[op.result()] = slot;
  }

  // ---- control
  Slots slotsOf(const ir::Op& op, size_t from) {
    Slots all;
    for (size_t i = from; i < op.operandCount(); ++i) all.push_back(slots_[op.operand(i)]);
    return all;
  }
  /// Variables for the elements of what is carried, which start from `start`; tensors stay where they are.
  Slots variables(const Slots& start, const auto& typeOf) {
    Slots carried = start;
    for (size_t k = 0; k < start.size(); ++k) {
      if (start[k].element.empty()) continue;
      carried[k].element = out_.fresh("c");
      out_.line(std::string(registerType(reprOf(typeOf(k)))) + " " + carried[k].element + " = " + start[k].element +
                ";");
    }
    return carried;
  }
  /// All at once: a trip may exchange what it carries.
  void assign(const Slots& to, const Slots& from, const auto& typeOf) {
    std::vector<std::string> kept(to.size());
    for (size_t k = 0; k < to.size(); ++k) {
      if (to[k].element.empty()) {
        if (from[k].base != to[k].base) fail("a carried tensor that is not updated in place");
      } else if (from[k].element.empty()) {
        fail("a carried value that changes its form");
      } else if (from[k].element != to[k].element) {
        kept[k] = CudaScalars::text(scalars_.named(from[k].element, reprOf(typeOf(k))));
      }
    }
    for (size_t k = 0; k < to.size(); ++k)
      if (!kept[k].empty()) out_.line(to[k].element + " = " + kept[k] + ";");
  }
  void bindArgs(const ir::Region& region, const Slots& values, size_t skip) {
    for (size_t i = 0; i < values.size(); ++i) slots_[region.args[i + skip].get()] = values[i];
  }
  void bindResults(const ir::Op& op, const Slots& values) {
    for (size_t k = 0; k < values.size(); ++k) slots_[op.result(k)] = values[k];
  }
  /// A fault of the loop ends it, and what others report or the host, which a loop looks for now and then: a look takes
  /// as long as many instructions. `trip` counts those of the loop around `region`; a thread has few of those that are
  /// threads.
  void leaveWhenStopped(const ir::Region& region, const std::string& trip) {
    if (!scalars_.faulted.empty()) out_.line("if (" + scalars_.faulted + ") break;");
    const bool isInnermost =
        std::none_of(region.ops.begin(), region.ops.end(), [](const auto& op) { return hasLoop(*op); });
    const std::string now =
        trip == scalars_.trip ? "" : "(" + trip + " & " + (isInnermost ? "255" : "15") + ") == 0 && ";
    const std::string own = scalars_.trip.empty() ? "" : ", " + scalars_.trip;
    out_.line("if (" + now + "tenc_stopped(faults, order" + own + ")) break;");
  }
  static bool hasLoop(const ir::Op& op) {
    return ir::isLoop(op) || std::any_of(op.regions.begin(), op.regions.end(), [](const auto& region) {
             return std::any_of(region->ops.begin(), region->ops.end(),
                                [](const auto& inner) { return hasLoop(*inner); });
           });
  }

  void forLoop(const ir::Op& op) {
    const ir::Region& region = *op.regions[0];
    const Scalar lo = index(op.operand(0)), hi = index(op.operand(1)), step = index(op.operand(2));
    const Range by = ranges_.of(op.operand(2));
    if (by.least <= 0 && by.most >= 0) scalars_.setFault(compare(Predicate::Eq, step, like(step, 0.0)), fault(op));
    const auto typeOf = [&](size_t k) { return op.result(k)->type.dtype; };
    const Slots carried = variables(slotsOf(op, 3), typeOf);
    ranges_.bindLoopVariable(op);
    // Counted, so that nothing wraps near the ends of i64.
    const std::optional<int64_t> known = ir::tripCount(op);
    const std::string trips =
        known ? decimal(*known) + "ull"
              : CudaScalars::text(scalars_.named("tenc_trips(" + CudaScalars::text(lo) + ", " + CudaScalars::text(hi) +
                                                     ", " + CudaScalars::text(step) + ")",
                                                 Repr::I64));
    const std::string n = out_.fresh("n");
    out_.line("#pragma unroll 1");
    if (&op == apart_) {
      scalars_.trip = n;
      out_.open("for (unsigned long long " + n + " = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; " + n +
                " < " + trips + "; " + n + " += (unsigned long long)gridDim.x * blockDim.x)");
    } else {
      out_.open("for (unsigned long long " + n + " = 0; " + n + " < " + trips + "; ++" + n + ")");
    }
    leaveWhenStopped(region, n);
    const Scalar trip = scalars_.wrap(n, Repr::I64);
    const bool isCounted = ir::constantInt(op.operand(2)) == 1;
    slots_[region.args[0].get()] = element(lo + (isCounted ? trip : trip * step));
    bindArgs(region, carried, 1);
    body(region);
    if (!error_.empty()) return;
    assign(carried, slotsOf(*region.terminator(), 0), typeOf);
    out_.close();
    bindResults(op, carried);
  }

  void whileLoop(const ir::Op& op) {
    const ir::Region &condition = *op.regions[0], &region = *op.regions[1];
    const auto typeOf = [&](size_t k) { return op.result(k)->type.dtype; };
    const Slots carried = variables(slotsOf(op, 0), typeOf);
    const std::string n = out_.fresh("n");
    out_.line("#pragma unroll 1");
    out_.open("for (unsigned " + n + " = 0;; ++" + n + ")");
    bindArgs(condition, carried, 0);
    body(condition);
    if (!error_.empty()) return;
    out_.line("if (!" + CudaScalars::text(scalar(condition.terminator()->operand(0))) + ") break;");
    leaveWhenStopped(region, n);
    bindArgs(region, carried, 0);
    body(region);
    if (!error_.empty()) return;
    assign(carried, slotsOf(*region.terminator(), 0), typeOf);
    out_.close();
    bindResults(op, carried);
  }

  void branch(const ir::Op& op) {
    const Scalar condition = scalar(op.operand(0));
    Slots results(op.results.size());
    for (size_t k = 0; k < results.size(); ++k) {
      if (op.result(k)->type.rank() != 0) continue;
      results[k].element = out_.fresh("c");
      out_.line(std::string(registerType(reprOf(op.result(k)->type.dtype))) + " " + results[k].element + ";");
    }
    out_.open("if (" + CudaScalars::text(condition) + ")");
    for (size_t side = 0; side < 2; ++side) {
      const ir::Region& region = *op.regions[side];
      const bool isEmpty = region.ops.size() == 1 &&
                           std::all_of(results.begin(), results.end(), [](const Slot& s) { return s.element.empty(); });
      if (side == 1 && !isEmpty) out_.otherwise();
      body(region);
      if (!error_.empty()) return;
      const Slots left = slotsOf(*region.terminator(), 0);
      for (size_t k = 0; k < results.size(); ++k) {
        if (!results[k].element.empty()) {
          out_.line(results[k].element + " = " + CudaScalars::text(scalar(region.terminator()->operand(k))) + ";");
        } else if (side == 0) {
          results[k] = left[k];
        } else if (left[k].base != results[k].base || !left[k].element.empty()) {
          return fail("branches that yield different tensors");
        }
      }
    }
    out_.close();
    bindResults(op, results);
  }

  void body(const ir::Region& region) {
    for (const auto& op : region.ops) {
      if (!error_.empty() || op->has(ir::Trait::Terminator)) return;
      emitOp(*op);
    }
  }

  void emitOp(const ir::Op& op) {
    if (op.has(ir::Trait::Elementwise)) {
      if (op.result()->type.size() != 1) return fail("an elementwise op on tensors");
      std::vector<Scalar> args;
      for (const ir::Value* v : op.operands()) args.push_back(scalar(v));
      const ir::DType operand = op.operand(op.kind == OpKind::Where ? 1 : 0)->type.dtype;
      slots_[op.result()] = element(scalars_.elementwise(op.kind, operand, op.result()->type.dtype, args, fault(op)));
      return;
    }
    switch (op.kind) {
      case OpKind::Constant: return constant(op);
      case OpKind::Gather: return gather(op);
      case OpKind::DynamicSlice: return dynamicSlice(op);
      case OpKind::Scatter:
        if (op.intsAttr("axes").size() != op.operand(0)->type.shape.size())
          return fail("an update of more than one element");
        return updateAt(op, op.stringAttr("mode"));
      case OpKind::DynamicUpdate: return updateAt(op, "set");
      case OpKind::UpdateSlice: return updateSlice(op);
      case OpKind::Slice:
      case OpKind::Permute:
      case OpKind::Reshape:
      case OpKind::Broadcast:
      case OpKind::Flip:
      case OpKind::Fill: return view(op);
      case OpKind::For: return forLoop(op);
      case OpKind::While: return whileLoop(op);
      case OpKind::If: return branch(op);
      default: return fail("op `" + std::string(op.info().mnemonic) + "`");
    }
  }

  const Kernel& kernel_;
  CudaText& out_;
  CudaScalars scalars_;
  const KernelNames& names_;
  std::unordered_map<const ir::Value*, Slot> slots_;
  std::unordered_map<const ir::Op*, uint32_t> faults_;
  const ir::Op* const apart_;  ///< the loop whose trips are threads; null: one thread does all
  IndexRanges ranges_;
  std::string error_;
};

}  // namespace

std::string writeNativeLoop(const Kernel& kernel, Module& module, const KernelNames& names) {
  return NativeWriter(kernel, module, names).write();
}

}  // namespace tenc::codegen::cuda
