#include "codegen/cpu/AssembledFunction.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>

namespace tenc::codegen::cpu {

void giveCode(llvm::Function& f, AssembledForm form, const std::function<MachineCode(std::string_view)>& assembled) {
  const bool isListed = form == AssembledForm::Listing;
  const MachineCode code = assembled(isListed ? std::string_view(f.getName()) : std::string_view());
  llvm::LLVMContext& context = f.getContext();
  f.setAlignment(llvm::Align(64));
  f.addFnAttr(llvm::Attribute::OptimizeNone);
  // LLVM hands on what stands in front of a body as it is. The body is never reached.
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", &f));
  if (isListed) {
    f.addFnAttr(llvm::Attribute::Naked);
    std::string text;  // that begins behind a tabulator
    for (const char c : code.listing.substr(1)) text += c == '$' ? std::string("$$") : std::string(1, c);
    auto* none = llvm::FunctionType::get(b.getVoidTy(), false);
    b.CreateCall(none, llvm::InlineAsm::get(none, text, "", /*hasSideEffects=*/true));
  } else {
    f.setPrologueData(llvm::ConstantDataArray::getString(context, code.bytes, /*AddNull=*/false));
  }
  b.CreateUnreachable();
}

}  // namespace tenc::codegen::cpu
