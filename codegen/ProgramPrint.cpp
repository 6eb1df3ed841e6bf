#include <sstream>

#include "codegen/Codegen.h"

namespace tenc::codegen {

namespace {

class Printer {
 public:
  explicit Printer(const abi::Program& p) : p_(p) {}

  std::string run() {
    for (size_t i = 0; i < p_.devices.size(); ++i) {
      out_ << "device " << i << ' ' << p_.devices[i].name << " arena " << p_.devices[i].arenaBytes << '\n';
    }
    for (size_t i = 0; i < p_.buffers.size(); ++i) {
      const abi::Buffer& b = p_.buffers[i];
      if (b.bytes)
        out_ << "m" << i << " device " << b.device << (b.inFile ? " in file" : "") << " at " << b.offset << " bytes "
             << b.bytes << '\n';
    }
    block(p_.steps, 0);
    return out_.str();
  }

 private:
  void line(int depth, std::string_view text) { out_ << std::string(static_cast<size_t>(depth) * 2, ' ') << text; }

  void arg(abi::BufferId buffer, uint64_t byteOffset) {
    out_ << " m" << buffer;
    if (byteOffset) out_ << '+' << byteOffset;
  }
  void arg(const abi::KernelArg& a) { arg(a.buffer, a.byteOffset); }
  void arg(const abi::TensorRef& t) { arg(t.buffer, t.byteOffset); }
  void args(const abi::Text& text) {
    for (const auto& v : text.values) arg(v.tensor);
  }
  void swaps(const std::vector<abi::Swap>& list) {
    for (const auto& [a, b] : list) out_ << " swap m" << a << " m" << b;
  }

  void block(const abi::Block& steps, int depth) {
    for (const abi::Step& s : steps) std::visit([&](const auto& what) { step(what, depth); }, s.what);
  }
  void block(std::string_view name, const abi::Block& steps, int depth) {
    line(depth, name);
    out_ << ":\n";
    block(steps, depth + 1);
  }

  void step(const abi::Launch& s, int depth) {
    line(depth, "launch ");
    out_ << s.kernel << ' ' << p_.kernels[s.kernel].name;
    for (const auto& a : s.args) arg(a);
    if (!s.scalars.empty()) out_ << " scalars";
    for (abi::BufferId b : s.scalars) out_ << " m" << b;
    out_ << '\n';
  }
  void moved(std::string_view name, const abi::KernelArg& to, const abi::KernelArg& from, uint64_t bytes, int depth) {
    line(depth, name);
    arg(to);
    out_ << " <-";
    arg(from);
    out_ << " bytes " << bytes << '\n';
  }
  void step(const abi::Transfer& s, int depth) { moved("transfer", s.to, s.from, s.bytes, depth); }
  void step(const abi::Copy& s, int depth) { moved("copy", s.to, s.from, s.bytes, depth); }

  void step(const abi::For& s, int depth) {
    line(depth, "for");
    out_ << " m" << s.lo << " m" << s.hi << " m" << s.by << " iv m" << s.induction;
    swaps(s.swaps);
    out_ << '\n';
    if (!s.body.empty()) block("body", s.body, depth);
  }
  void step(const abi::While& s, int depth) {
    line(depth, "while");
    swaps(s.swaps);
    out_ << '\n';
    block("condition", s.condition, depth);
    line(depth, "while");
    out_ << " m" << s.goesOn << '\n';
    if (!s.body.empty()) block("body", s.body, depth);
  }
  void step(const abi::If& s, int depth) {
    line(depth, "if");
    out_ << " m" << s.condition << '\n';
    if (!s.then.empty()) block("body", s.then, depth);
    if (!s.otherwise.empty()) block("else", s.otherwise, depth);
  }

  void step(const abi::Print& s, int depth) {
    line(depth, "print");
    args(s.text);
    out_ << '\n';
  }
  void step(const abi::Assert& s, int depth) {
    line(depth, "assert");
    arg(s.condition);
    args(s.message);
    out_ << '\n';
  }
  void step(const abi::Trap& s, int depth) {
    line(depth, "trap " + s.what + " of");
    arg(s.result);
    out_ << " from";
    for (const abi::TensorRef& t : s.operands) arg(t);
    if (s.mask) {
      out_ << (s.selects ? " where" : " unless");
      arg(*s.mask);
    }
    out_ << '\n';
  }
  void step(const abi::Load& s, int depth) {
    line(depth, "load");
    args(s.path);
    arg(s.result);
    if (s.ahead) out_ << " ahead", arg(*s.ahead);
    out_ << '\n';
  }
  void step(const abi::ReadAhead& s, int depth) {
    line(depth, "read_ahead if");
    arg(s.wanted);
    args(s.path);
    arg(s.result);
    out_ << '\n';
  }
  void step(const abi::EndReadAhead& s, int depth) {
    line(depth, "end_read_ahead");
    arg(s.ahead);
    out_ << '\n';
  }
  void step(const abi::BringIn& s, int depth) {
    line(depth, "bring_in if");
    arg(s.wanted);
    arg(s.table);
    out_ << " rows";
    arg(s.rows);
    if (s.count) out_ << " count " << s.count;
    out_ << '\n';
  }
  void step(const abi::ReadRows& s, int depth) {
    line(depth, "read_rows");
    arg(s.table);
    out_ << " rows";
    arg(s.rows);
    arg(s.result);
    out_ << '\n';
  }
  void step(const abi::Save& s, int depth) {
    line(depth, "save");
    for (const auto& t : s.tensors) arg(t);
    args(s.path);
    out_ << '\n';
  }
  void step(const abi::Seed& s, int depth) {
    line(depth, "seed");
    arg(s.seed);
    if (s.draws) arg(*s.draws);
    out_ << '\n';
  }
  void step(const abi::RngNext& s, int depth) {
    line(depth, "rng_next");
    arg(s.seed);
    arg(s.draw);
    out_ << '\n';
  }
  void step(const abi::Time& s, int depth) {
    line(depth, "time");
    arg(s.result);
    out_ << '\n';
  }
  void step(const abi::Bench& s, int depth) {
    line(depth, "bench\n");
    if (!s.body.empty()) block("body", s.body, depth);
  }

  const abi::Program& p_;
  std::ostringstream out_;
};

}  // namespace

std::string print(const abi::Program& p) { return Printer(p).run(); }

}  // namespace tenc::codegen
