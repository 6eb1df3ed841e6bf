#include "codegen/cpu/RandomFunction.h"

#include <llvm/IR/Module.h>

#include <array>

#include "codegen/cpu/ExprEmitter.h"

namespace tenc::codegen::cpu {
using llvm::Value;

Scalar callRandom(LlvmScalars& scalars, ir::OpKind kind, ir::DType result, std::span<const Scalar> args) {
  llvm::IRBuilder<>& b = scalars.irBuilder();
  llvm::Module& m = *b.GetInsertBlock()->getModule();
  std::string name = "random." + std::string(ir::opInfo(kind).mnemonic) + "." + std::string(ir::name(result)) + ".";
  std::vector<Value*> values;
  std::vector<llvm::Type*> types;
  bool vector = false;
  for (Scalar s : args) {
    values.push_back(LlvmScalars::value(s));
    types.push_back(values.back()->getType());
    vector = vector || types.back()->isVectorTy();
    name += types.back()->isVectorTy() ? std::to_string(scalars.lanes()) : "1";
    name += '.';
  }
  llvm::Function* f = m.getFunction(name);
  if (f == nullptr) {
    llvm::Type* element = registerType(m.getContext(), reprOf(result));
    llvm::Type* type = vector ? llvm::FixedVectorType::get(element, static_cast<unsigned>(scalars.lanes())) : element;
    f = llvm::Function::Create(llvm::FunctionType::get(type, types, false), llvm::Function::InternalLinkage, name, m);
    f->addFnAttr(llvm::Attribute::NoInline);
    setCodeAttributes(*f);
    llvm::IRBuilder<> inner(llvm::BasicBlock::Create(m.getContext(), "entry", f));
    LlvmScalars body(inner, nullptr, scalars.lanes());
    std::array<Scalar, 5> a;
    for (size_t i = 0; i < args.size(); ++i) a[i] = body.wrap(f->getArg(static_cast<unsigned>(i)), args[i].repr);
    Value* v = LlvmScalars::value(emitRandom(body, kind, result, a[0], a[1], a[2], a[3], a[4]));
    inner.CreateRet(vector ? body.splat(v) : v);
  }
  return scalars.wrap(b.CreateCall(f, values), reprOf(result));
}

}  // namespace tenc::codegen::cpu
