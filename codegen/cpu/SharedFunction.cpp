#include "codegen/cpu/SharedFunction.h"

#include <llvm/IR/Module.h>

#include "codegen/ScalarRandom.h"
#include "codegen/cpu/ExprEmitter.h"
#include "codegen/cpu/IrBuilder.h"

namespace tenc::codegen::cpu {
using llvm::Value;

Value* callShared(LlvmScalars& scalars, const std::string& name, const std::vector<Value*>& args, llvm::Type* result,
                  const std::function<Value*(LlvmScalars&, const std::vector<Value*>&)>& body) {
  llvm::IRBuilderBase& b = scalars.irBuilder();
  llvm::Module& m = *b.GetInsertBlock()->getModule();
  std::string full = name + ".";
  std::vector<llvm::Type*> types;
  for (Value* v : args) {
    types.push_back(v->getType());
    full += types.back()->isVectorTy() ? std::to_string(scalars.lanes()) : "1";
    full += '.';
  }
  llvm::Function* f = m.getFunction(full);
  if (f == nullptr) {
    f = llvm::Function::Create(llvm::FunctionType::get(result, types, false), llvm::Function::InternalLinkage, full, m);
    f->addFnAttr(llvm::Attribute::NoInline);
    setCodeAttributes(*f);
    IrBuilder inner(llvm::BasicBlock::Create(m.getContext(), "entry", f));
    LlvmScalars own(inner, nullptr, scalars.lanes());
    std::vector<Value*> parameters;
    for (llvm::Argument& a : f->args()) parameters.push_back(&a);
    Value* v = body(own, parameters);
    inner.CreateRet(result->isVectorTy() ? own.splat(v) : v);
  }
  return b.CreateCall(f, args);
}

Scalar callOp(LlvmScalars& scalars, const std::string& name, Repr result, std::span<const Scalar> args,
              const std::function<Scalar(LlvmScalars&, const std::vector<Scalar>&)>& emit) {
  std::vector<Value*> values;
  bool vector = false;
  for (Scalar s : args) {
    values.push_back(LlvmScalars::value(s));
    vector = vector || values.back()->getType()->isVectorTy();
  }
  llvm::Type* element = registerType(scalars.irBuilder().getContext(), result);
  llvm::Type* type = vector ? llvm::FixedVectorType::get(element, static_cast<unsigned>(scalars.lanes())) : element;
  Value* called = callShared(scalars, name, values, type, [&](LlvmScalars& own, const std::vector<Value*>& parameters) {
    std::vector<Scalar> a;
    for (size_t i = 0; i < args.size(); ++i) a.push_back(own.wrap(parameters[i], args[i].repr));
    return LlvmScalars::value(emit(own, a));
  });
  return scalars.wrap(called, result);
}

Scalar callElementwise(LlvmScalars& scalars, ir::OpKind kind, ir::DType operand, ir::DType result,
                       std::span<const Scalar> args) {
  const std::string name = "op." + std::string(ir::opInfo(kind).mnemonic) + "." + std::string(ir::name(operand)) + "." +
                           std::string(ir::name(result));
  return callOp(scalars, name, reprOf(result), args, [&](LlvmScalars& own, const std::vector<Scalar>& a) {
    return emitElementwise(own, kind, operand, result, a, 0);
  });
}

Scalar callRandom(LlvmScalars& scalars, ir::OpKind kind, ir::DType result, std::span<const Scalar> args) {
  const std::string name = "random." + std::string(ir::opInfo(kind).mnemonic) + "." + std::string(ir::name(result));
  return callOp(scalars, name, reprOf(result), args, [&](LlvmScalars&, std::vector<Scalar> a) {
    a.resize(5);
    return emitRandom(kind, result, a[0], a[1], a[2], a[3], a[4]);
  });
}

}  // namespace tenc::codegen::cpu
