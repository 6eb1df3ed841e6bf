#include "codegen/cpu/ConstantSections.h"

#include <llvm/CodeGen/MachineConstantPool.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace tenc::codegen::cpu {
namespace {

class ConstantSections : public llvm::MachineFunctionPass {
 public:
  static char id;  // NOLINT: its address is the pass's identity
  ConstantSections() : MachineFunctionPass(id) {}

  bool runOnMachineFunction(llvm::MachineFunction& f) override {
    const std::vector<llvm::MachineConstantPoolEntry>& constants = f.getConstantPool()->getConstants();
    auto isLarge = [&](const llvm::MachineConstantPoolEntry& c) {
      return !c.isMachineConstantPoolEntry() && c.getSectionKind(&f.getDataLayout()).isReadOnly();
    };
    bool changed = false;
    for (const llvm::MachineConstantPoolEntry& c : constants) changed = changed || isLarge(c);
    if (!changed) return false;
    for (llvm::MachineBasicBlock& block : f) {
      for (llvm::MachineInstr& instruction : block) {
        for (llvm::MachineOperand& operand : instruction.operands()) {
          if (!operand.isCPI()) continue;
          const auto& c = constants[static_cast<size_t>(operand.getIndex())];
          if (isLarge(c))
            operand.ChangeToGA(global(*f.getFunction().getParent(), c), operand.getOffset(), operand.getTargetFlags());
        }
      }
    }
    return true;
  }

 private:
  llvm::GlobalVariable* global(llvm::Module& module, const llvm::MachineConstantPoolEntry& c) {
    auto* value = const_cast<llvm::Constant*>(c.Val.ConstVal);
    llvm::GlobalVariable*& made = made_[value];
    if (made == nullptr) {
      made = new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true, llvm::GlobalValue::PrivateLinkage,
                                      value, "constant");
      made->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
    }
    made->setAlignment(std::max(made->getAlign().valueOrOne(), c.getAlign()));
    return made;
  }

  std::unordered_map<const llvm::Constant*, llvm::GlobalVariable*> made_;  ///< of the module, for all functions
};

char ConstantSections::id = 0;

}  // namespace

llvm::FunctionPass* constantSectionsPass() { return new ConstantSections(); }

}  // namespace tenc::codegen::cpu
