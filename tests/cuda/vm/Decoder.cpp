#include "tests/cuda/vm/Decoder.h"

#include <algorithm>

#include "tests/cuda/vm/Form.h"
#include "tests/cuda/vm/Handlers.h"
#include "tests/cuda/vm/Lexer.h"

namespace tenc::ptx {
namespace {

constexpr uint32_t kDeepestCall = 16;
constexpr const char* kEnd = "(end)";  // of a function: no label of the text has this name

class Decoder {
 public:
  Decoder(const syntax::Module& m, const syntax::Function& f, const Storages& storages,
          std::map<std::string, uint32_t>& opcodes)
      : module_(m), kernel_(std::make_unique<Kernel>()), symbols_(*kernel_, storages), opcodes_(opcodes) {
    kernel_->name = f.name;
    kernel_->maxThreads = f.maxThreads;
    symbols_.declareParameters(f.parameters);
    body(f);
    Instruction end;
    end.handler = executeReturn;
    end.cls = Class::Helper;
    kernel_->code.push_back(end);
    kernel_->origins.push_back({"the end of the kernel", f.line, 0});
    symbols_.finish();
    watchRegisters(*kernel_);
    for (const auto& [pc, label, line] : branches_) kernel_->code[pc].target = place(label, line);
    for (const auto& [table, name, prefix, line] : tables_) {
      auto labels = targets_.find(prefix + name);
      if (labels == targets_.end()) throw PtxError(line, "unknown table of labels " + name);
      for (const std::string& l : labels->second) kernel_->branchTables[table].push_back(place(prefix + l, line));
    }
  }

  std::unique_ptr<Kernel> take() { return std::move(kernel_); }

 private:
  struct Branch {
    size_t pc;
    std::string label;
    uint32_t line;
  };
  struct Table {
    size_t index;
    std::string name, prefix;
    uint32_t line;
  };

  uint32_t place(const std::string& label, uint32_t line) const {
    auto at = labels_.find(label);
    if (at == labels_.end()) throw PtxError(line, "unknown label " + label);
    return at->second;
  }
  uint32_t here() const { return static_cast<uint32_t>(kernel_->code.size()); }

  void body(const syntax::Function& f) {
    symbols_.open();
    for (const auto& s : f.body) std::visit([&](const auto& x) { statement(x, f); }, s);
    symbols_.close();
  }

  void statement(const syntax::OpenScope&, const syntax::Function&) { symbols_.open(); }
  void statement(const syntax::CloseScope&, const syntax::Function&) { symbols_.close(); }
  void statement(const syntax::Registers& r, const syntax::Function& f) { symbols_.declare(r, f.line); }
  void statement(const syntax::Variable& v, const syntax::Function&) { symbols_.declare(v); }
  void statement(const syntax::Label& l, const syntax::Function&) { labels_[prefix_ + l.name] = here(); }
  void statement(const syntax::BranchTargets& t, const syntax::Function&) { targets_[prefix_ + t.name] = t.labels; }

  void statement(const syntax::Instruction& i, const syntax::Function&) {
    std::string opcode;
    for (const std::string& part : i.opcode) opcode += (opcode.empty() ? "" : ".") + part;
    Form f(i, symbols_, *kernel_);
    if (f.name() == "wgmma" && module_.target != "sm_90a") throw PtxError(i.line, "wgmma is an instruction of sm_90a");
    if (f.name() == "call") {
      call(f);
    } else if (!control(f)) {
      if (Family family = familyOf(f.name()))
        family(f);
      else
        decodeArithmetic(f);
    }
    bool known = f.out.handler;
    if (!known) f.out.handler = executeUnsupported;
    ++opcodes_[(known ? "" : kUnknownOpcode) + opcode];
    f.emit();
  }

  bool control(Form& f) {
    const std::string& name = f.name();
    f.out.cls = Class::Branch;
    if (name == "bra") {
      branch(f, prefix_ + f.operand(0).name);
    } else if (name == "brx") {
      f.from(0, 4);
      f.out.target = static_cast<uint32_t>(kernel_->branchTables.size());
      f.out.handler = executeIndexedBranch;
      tables_.push_back({kernel_->branchTables.size(), f.operand(1).name, prefix_, f.text.line});
      kernel_->branchTables.emplace_back();
    } else if (name == "ret" && depth_ > 0) {
      branch(f, prefix_ + kEnd);
    } else if (name == "ret" || name == "exit") {
      f.out.handler = executeReturn;
    } else if (name == "trap") {
      f.out.handler = executeTrap;
    } else if (name == "prefetch" || name == "prefetchu" || name == "nanosleep" || name == "discard" ||
               name == "applypriority") {
      f.out.cls = Class::Other;
      f.out.handler = executeNothing;
    } else {
      f.out.cls = Class::Other;
      return false;
    }
    return true;
  }

  void branch(Form& f, const std::string& label) {
    f.out.handler = executeBranch;
    branches_.push_back({kernel_->code.size(), label, f.text.line});
  }

  /// Inlines a function: its parameters and results are the caller's variables.
  void call(Form& f) {
    using Kind = syntax::Operand::Kind;
    bool returns = f.operand(0).kind == Kind::Group;
    const std::string& name = f.operand(returns).name;
    if (name == "__assertfail") {
      f.out.handler = executeTrap;
      return;
    }
    if (name == "cudaGraphSetConditional") {
      setCondition(f);
      return;
    }
    auto callee = std::find_if(module_.functions.begin(), module_.functions.end(),
                               [&](const syntax::Function& c) { return c.name == name && c.isDefined && !c.isKernel; });
    if (callee == module_.functions.end() || depth_ == kDeepestCall) return;
    auto bind = [&](const std::vector<syntax::Variable>& formal, size_t n) {
      static const std::vector<syntax::Operand> none;
      const auto& actual = n < f.operands() && f.operand(n).kind == Kind::Group ? f.operand(n).elements : none;
      if (formal.size() != actual.size()) throw PtxError(f.text.line, "wrong number of arguments: " + f.text.text);
      for (size_t a = 0; a < formal.size(); ++a) symbols_.bind(formal[a].name, actual[a].name, f.text.line);
    };
    if (returns) bind(callee->results, 0);
    bind(callee->parameters, returns + size_t{1});
    std::string outer = prefix_;
    std::string inner = "call " + std::to_string(++calls_) + " ";
    if (f.out.guard != kNoSlot) {  // those for whom the guard does not hold jump over it
      Form skip(f.text, symbols_, *kernel_);
      skip.out.guardNegated = !skip.out.guardNegated;
      skip.out.cls = Class::Branch;
      branch(skip, inner + kEnd);
      skip.emit();
    }
    prefix_ = inner;
    ++depth_;
    body(*callee);
    --depth_;
    prefix_ = outer;
    labels_[inner + kEnd] = here();
    f.out.cls = Class::Branch;
    f.out.handler = executeNothing;
  }

  /// A function of the driver.
  void setCondition(Form& f) {
    const std::vector<syntax::Operand>& actual = f.operand(1).elements;
    if (actual.size() != 2) throw PtxError(f.text.line, "wrong number of arguments: " + f.text.text);
    const auto place = [&](size_t n) {
      const Storage* s = symbols_.storageOf(actual[n].name);
      if (!s || s->space != Space::Local) throw PtxError(f.text.line, "unknown argument " + actual[n].name);
      return static_cast<int64_t>(s->address);
    };
    f.out.offset = place(0);
    f.out.offset2 = place(1);
    f.out.cls = Class::Other;
    f.out.handler = executeSetCondition;
  }

  const syntax::Module& module_;
  std::unique_ptr<Kernel> kernel_;
  Symbols symbols_;
  std::map<std::string, uint32_t>& opcodes_;
  std::string prefix_;  // of labels of the call that is inlined
  uint32_t depth_ = 0, calls_ = 0;
  std::map<std::string, uint32_t> labels_;
  std::map<std::string, std::vector<std::string>> targets_;
  std::vector<Branch> branches_;
  std::vector<Table> tables_;
};

}  // namespace

std::unique_ptr<Kernel> decode(const syntax::Module& module, const syntax::Function& kernel, const Storages& storages,
                               std::map<std::string, uint32_t>& opcodes) {
  return Decoder(module, kernel, storages, opcodes).take();
}

}  // namespace tenc::ptx
