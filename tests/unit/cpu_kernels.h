// Hand-built kernels for tests of the CPU target, and a way to run them.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "codegen/cpu/CpuTarget.h"
#include "runtime/LoadedProgram.h"

namespace tenc::codegen {

inline int64_t product(const std::vector<int64_t>& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

inline std::vector<int64_t> denseStrides(const std::vector<int64_t>& dims) {
  std::vector<int64_t> s(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) s[i - 1] = s[i] * dims[i];
  return s;
}

struct KernelMaker {
  Kernel k;
  KernelMaker() { k.name = "test"; }
  uint32_t buffer(ir::DType t, int64_t n, Buffer::Role role) {
    k.buffers.push_back({t, n, role});
    return static_cast<uint32_t>(k.buffers.size() - 1);
  }
  Stage& stage(std::vector<int64_t> inner = {}) {
    Stage s;
    s.outerLo.assign(k.outer.size(), 0);
    s.outerHi = k.outer;
    s.innerLo.assign(inner.size(), 0);
    s.innerHi = inner;
    k.stages.push_back(s);
    return k.stages.back();
  }
  static ExprId add(Stage& s, Expr e) {
    s.exprs.push_back(std::move(e));
    return static_cast<ExprId>(s.exprs.size() - 1);
  }
  ExprId load(Stage& s, uint32_t buffer, std::vector<int64_t> strides, int64_t offset = 0) {
    Expr e;
    e.kind = Expr::Kind::Load;
    e.dtype = k.buffers[buffer].dtype;
    e.access = {buffer, offset, std::move(strides), {}};
    return add(s, e);
  }
  ExprId op(Stage& s, ir::OpKind kind, ir::DType t, std::vector<ExprId> args, uint32_t fault = 0) {
    Expr e;
    e.kind = Expr::Kind::Op;
    e.op = kind;
    e.dtype = t;
    e.args = std::move(args);
    e.fault = fault;
    return add(s, e);
  }
  ExprId var(Stage& s, uint32_t number) {
    Expr e;
    e.kind = Expr::Kind::LoopVar;
    e.dtype = ir::DType::I64;
    e.index = number;
    return add(s, e);
  }
  ExprId reduced(Stage& s, uint32_t number) {
    Expr e;
    e.kind = Expr::Kind::Reduced;
    e.dtype = k.reductions[number].result;
    e.index = number;
    return add(s, e);
  }
  uint32_t reduce(Stage& s, Reduction::Kind kind, ExprId value, ir::DType accumulator, ir::DType result,
                  ExprId position = kNoExpr) {
    k.reductions.push_back({kind, value, position, accumulator, result});
    s.reductions.push_back(static_cast<uint32_t>(k.reductions.size() - 1));
    return s.reductions.back();
  }
  static void store(Stage& s, uint32_t buffer, std::vector<int64_t> strides, ExprId value, int64_t offset = 0) {
    s.stores.push_back({{buffer, offset, std::move(strides), {}}, value});
  }
};

/// Compiles one kernel and runs all its items, at once or one by one.
class CompiledKernel {
 public:
  explicit CompiledKernel(const Kernel& k) {
    // TENC_TEST_CPU=x86-64-v3 in the environment tests code for less than this machine.
    cpu::CpuOptions options;
    if (const char* name = std::getenv("TENC_TEST_CPU")) options.target = name;
    EXPECT_EQ(cpu::targetProblem(options.target), "");
    auto target = cpu::makeCpuTarget(options);
    std::string error;
    auto program = std::make_shared<abi::Program>();
    const CodeRequest request{&k, codeKey(k), 1};
    const std::vector<Code> code = target->compile({&request, 1}, program->images, error);
    EXPECT_EQ(code.size(), 1u);
    program->kernels.push_back({k.name, code.at(0), {}});
    EXPECT_EQ(error, "");
    code_ = rt::LoadedProgram::load(std::move(program), error);
    EXPECT_EQ(error, "");
    kernel = code_->kernels()[0];
    scratch_.resize(kernel.scratchBytes + 64);
  }
  uint32_t run(std::vector<void*> buffers, std::vector<uint64_t> scalars = {}, bool split = false) {
    abi::KernelState state;
    for (int64_t i = 0; split && i < kernel.phases[0].items; ++i)
      kernel.function(buffers.data(), scalars.data(), i, i + 1, &state.fault, scratch_.data());
    if (!split)
      kernel.function(buffers.data(), scalars.data(), 0, kernel.phases[0].items, &state.fault, scratch_.data());
    return state.fault;
  }
  rt::LoadedKernel kernel;

 private:
  std::shared_ptr<const rt::LoadedProgram> code_;
  std::vector<std::byte> scratch_;
};

/// A kernel that applies one op to `n` elements of each of its operands.
inline Kernel mapKernel(ir::OpKind op, std::vector<ir::DType> operands, ir::DType result, int64_t n) {
  KernelMaker m;
  m.k.outer = {n};
  for (ir::DType t : operands) m.buffer(t, n, Buffer::Role::Input);
  uint32_t out = m.buffer(result, n, Buffer::Role::Output);
  m.k.faults.push_back({});
  Stage& s = m.stage();
  std::vector<ExprId> args;
  for (size_t i = 0; i < operands.size(); ++i) args.push_back(m.load(s, static_cast<uint32_t>(i), {1}));
  m.store(s, out, {1}, m.op(s, op, result, args));
  return m.k;
}

}  // namespace tenc::codegen
