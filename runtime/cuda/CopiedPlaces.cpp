#include "runtime/cuda/CopiedPlaces.h"

#include <algorithm>

#include "runtime/io/Io.h"

namespace tenc::rt::cuda {
namespace {

class Finder {
 public:
  Finder(const abi::Program& program, uint32_t device, Pointer memory)
      : p_(program), device_(device), memory_(memory) {}

  void look(const abi::Block& steps, bool inLoop) {
    for (const abi::Step& s : steps)
      std::visit(abi::Overloaded{[&](const abi::Transfer& t) {
                                   add(t.to.buffer, t.to.byteOffset, t.bytes, inLoop);
                                   add(t.from.buffer, t.from.byteOffset, t.bytes, inLoop);
                                 },
                                 [&](const abi::Load& l) {
                                   auto bytes = static_cast<uint64_t>(dtypeSize(l.result.dtype));
                                   for (const int64_t d : l.result.shape) bytes *= static_cast<uint64_t>(d);
                                   add(l.result.buffer, l.result.byteOffset, bytes, inLoop);
                                 },
                                 [&](const abi::For& f) { look(f.body, true); },
                                 [&](const abi::While& w) {
                                   look(w.condition, true);
                                   look(w.body, true);
                                 },
                                 [&](const abi::If& i) {
                                   look(i.then, inLoop);
                                   look(i.otherwise, inLoop);
                                 },
                                 [&](const abi::Bench& b) { look(b.body, true); }, [](const auto&) {}},
                 s.what);
  }
  std::vector<Touch> found() {
    inLoops_.insert(inLoops_.end(), others_.begin(), others_.end());
    std::vector<Touch> once;
    for (const Touch& t : inLoops_)
      if (std::none_of(once.begin(), once.end(), [&](const Touch& o) { return o.begin == t.begin && o.end == t.end; }))
        once.push_back(t);
    return once;
  }

 private:
  void add(abi::BufferId b, uint64_t offset, uint64_t bytes, bool inLoop) {
    const abi::Buffer& buffer = p_.buffers[b];
    if (buffer.device != device_ || bytes == 0 || inLoops_.size() + others_.size() >= kMany) return;
    const Pointer begin = memory_ + buffer.offset + offset;
    (inLoop ? inLoops_ : others_).push_back({begin, begin + bytes, false});
  }

  static constexpr size_t kMany = 4096;
  const abi::Program& p_;
  const uint32_t device_;
  const Pointer memory_;
  std::vector<Touch> inLoops_, others_;
};

}  // namespace

std::vector<Touch> copiedPlaces(const abi::Program& program, uint32_t device, Pointer memory) {
  Finder finder(program, device, memory);
  finder.look(program.steps, false);
  return finder.found();
}

}  // namespace tenc::rt::cuda
