#include <sstream>

#include "codegen/Codegen.h"

namespace tenc::codegen {

namespace {

using abi::Step;

class Printer {
 public:
  explicit Printer(const abi::Program& p) : p_(p) {}

  std::string run() {
    for (size_t i = 0; i < p_.devices.size(); ++i) {
      out_ << "device " << i << ' ' << p_.devices[i].name << " arena " << p_.devices[i].arenaBytes << '\n';
    }
    for (size_t i = 0; i < p_.buffers.size(); ++i) {
      const abi::Buffer& b = p_.buffers[i];
      if (b.bytes) out_ << "m" << i << " device " << b.device << " at " << b.offset << " bytes " << b.bytes << '\n';
    }
    steps(p_.steps, 0);
    return out_.str();
  }

 private:
  void arg(const abi::KernelArg& a) {
    out_ << " m" << a.buffer;
    if (a.byteOffset) out_ << '+' << a.byteOffset;
  }

  void steps(const std::vector<Step>& list, int depth) {
    for (const Step& s : list) step(s, depth);
  }

  void block(std::string_view name, const std::vector<Step>& list, int depth) {
    out_ << std::string(static_cast<size_t>(depth) * 2, ' ') << name << ":\n";
    steps(list, depth + 1);
  }

  void step(const Step& s, int depth) {
    constexpr std::string_view kNames[] = {"launch", "transfer", "copy", "for",  "while",    "if",   "print",
                                           "assert", "load",     "save", "seed", "rng_next", "time", "bench"};
    out_ << std::string(static_cast<size_t>(depth) * 2, ' ') << kNames[static_cast<size_t>(s.kind)];
    switch (s.kind) {
      case Step::Kind::Launch:
        out_ << ' ' << s.kernel << ' ' << p_.kernels[s.kernel].name;
        for (const auto& a : s.args) arg(a);
        if (!s.scalars.empty()) out_ << " scalars";
        for (abi::BufferId b : s.scalars) out_ << " m" << b;
        break;
      case Step::Kind::Transfer:
      case Step::Kind::Copy:
        arg(s.dst);
        out_ << " <-";
        arg(s.src);
        out_ << " bytes " << s.bytes;
        break;
      case Step::Kind::For: out_ << " m" << s.lo << " m" << s.hi << " m" << s.by << " iv m" << s.iv; break;
      case Step::Kind::If: out_ << " m" << s.cond; break;
      default: break;
    }
    for (const auto& t : s.tensors) arg({t.buffer, t.byteOffset});
    for (const auto& [a, b] : s.swaps) out_ << " swap m" << a << " m" << b;
    out_ << '\n';
    if (s.kind == Step::Kind::While) {
      block("condition", s.condition, depth);
      out_ << std::string(static_cast<size_t>(depth) * 2, ' ') << "while m" << s.cond << '\n';
    }
    if (!s.body.empty()) block("body", s.body, depth);
    if (!s.other.empty()) block("else", s.other, depth);
  }

  const abi::Program& p_;
  std::ostringstream out_;
};

}  // namespace

std::string print(const abi::Program& p) { return Printer(p).run(); }

}  // namespace tenc::codegen
