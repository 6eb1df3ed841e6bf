// What the parser makes of PTX text: declarations and statements as they are written, nothing resolved.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace tenc::ptx::syntax {

struct Operand {
  enum class Kind : uint8_t {
    Name,     // a register, variable, label or function
    Number,   // bits of an integer or a float
    Address,  // [name + offset], or [offset]
    List,     // {a, b}
    Pair,     // p|q
    Group     // (a, b) of a call
  };
  Kind kind = Kind::Name;
  bool negated = false;  // !p
  std::string name;
  uint64_t number = 0;
  int64_t offset = 0;
  std::vector<Operand> elements;
};

struct Instruction {
  std::string guard;  // predicate register, or empty
  bool guardNegated = false;
  std::vector<std::string> opcode;  // cut at dots
  std::vector<Operand> operands;
  std::string text;
  uint32_t line = 0;        // of the PTX
  uint32_t sourceLine = 0;  // of the CUDA source, by .loc; 0 where it is not known
  uint32_t usedBytes = 0;   // of a load, a bit each, where a pragma says that not all are
};

struct Label {
  std::string name;
};

struct Registers {
  std::string type;
  struct Name {
    std::string name;
    uint32_t count = 0;  // of %r<9>; 0 for a single register
  };
  std::vector<Name> names;
};

struct Variable {
  std::string space;  // "global", "shared", "local", "param", "const"
  std::string type;
  std::string name;
  uint64_t align = 1;
  uint64_t elementBytes = 1;
  uint64_t elements = 1;
  bool unsized = false;  // extern .shared x[]
  struct Value {
    std::string symbol;  // its address is added
    uint64_t bits = 0;
  };
  std::vector<Value> values;
  uint32_t line = 0;

  uint64_t bytes() const { return elementBytes * elements; }
};

struct BranchTargets {
  std::string name;
  std::vector<std::string> labels;
};

struct OpenScope {};
struct CloseScope {};

using Statement = std::variant<Instruction, Label, Registers, Variable, BranchTargets, OpenScope, CloseScope>;

struct Function {
  std::string name;
  bool isKernel = false;
  bool isDefined = false;
  std::vector<Variable> results, parameters;
  std::vector<Statement> body;
  uint32_t maxThreads = 0;  // .maxntid or .reqntid; 0 where there is none
  uint32_t line = 0;
};

struct Module {
  std::string target;  // "sm_90"
  std::map<uint32_t, std::string> files;
  std::vector<Variable> variables;
  std::vector<Function> functions;
};

/// Bytes of a value of a type such as "f32" or "bf16x2"; 0 of "pred" and of what is not a type.
uint32_t bytesOf(const std::string& type);

}  // namespace tenc::ptx::syntax
