// Names of a kernel while it is decoded: registers in their scopes, variables, parameters, special registers,
// constants; and the layout of what they stand for.
#pragma once
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/cuda/vm/Kernel.h"
#include "tests/cuda/vm/Syntax.h"

namespace tenc::ptx {

/// A variable that has an address.
struct Storage {
  Space space = Space::Global;
  uint64_t address = 0, bytes = 0, align = 1;
  bool dynamic = false;  // behind the shared memory that is known
};
using Storages = std::map<std::string, Storage>;

class Symbols {
 public:
  struct Register {
    Slot slot = kNoSlot;
    uint8_t bits = 0;  // 1 of a predicate
  };

  /// `module`: variables of the module; shared ones get their place in the kernel when they are first used.
  Symbols(Kernel& kernel, const Storages& module) : kernel_(kernel), module_(module), scopes_(1) {}

  void open() { scopes_.emplace_back(); }
  void close() { scopes_.pop_back(); }
  void declare(const syntax::Registers& r, uint32_t line);
  void declare(const syntax::Variable& v);
  void declareParameters(const std::vector<syntax::Variable>& parameters);
  /// Of a variable; null for a name that is none.
  const Storage* storageOf(const std::string& name);
  /// A name of a function that is inlined stands for a variable of the caller.
  void bind(const std::string& formal, const std::string& actual, uint32_t line);

  /// Null where the name is not a register.
  const Register* registerOf(const std::string& name);
  const Parameter* parameterOf(const std::string& name) const;
  /// Where the value of an operand is found, in so many bytes (0: a predicate). A register may be wider or narrower:
  /// the caller looks after that.
  Slot valueOf(const syntax::Operand& o, uint8_t bytes, uint32_t line);
  Slot constant(uint64_t value, uint8_t bytes);
  Slot newRegister(uint8_t bits);

  /// Places dynamic shared memory, when everything else is known.
  void finish();

 private:
  Slot newConstant(uint64_t value, uint8_t bytes);
  struct Scope {
    std::unordered_map<std::string, Register> names;
    std::unordered_map<std::string, uint8_t> ranges;  // "%r" of %r<9>: bits
  };
  void placeShared(Storage& s);
  Slot special(const std::string& name, uint32_t line);

  Kernel& kernel_;
  const Storages& module_;
  std::vector<Scope> scopes_;
  Storages variables_;
  std::map<std::string, Parameter> parameters_;
  std::map<std::string, Slot> specials_;
  std::map<std::pair<uint64_t, uint8_t>, Slot> constants_;
  std::vector<std::pair<Slot, uint8_t>> dynamic_;  // constants that are the address of dynamic shared memory
  uint32_t predicates_ = 0;
  Slot predicateRow_ = 0;
};

}  // namespace tenc::ptx
