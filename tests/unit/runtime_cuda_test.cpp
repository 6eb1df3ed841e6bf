// Streams of GPUs on the fake driver: copies and kernels in queues of their own give what they would give in order,
// each wait between two queues is needed, and what goes on at the same time does. The kernels are PTX.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/Call.h"
#include "runtime/cuda/CudaDevice.h"

namespace tenc::rt {
namespace {

using abi::Access;
using abi::BufferId;

/// to[i] = from[i] + 1, of u32, for 64 threads; the same after a while; and a loop that ends when something is
/// reported.
constexpr const char* kPtx = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry plus(.param .u64 from, .param .u64 to, .param .u64 block, .param .u64 order) {
  .reg .b32 %r<3>; .reg .b64 %d<6>;
  ld.param.u64 %d1, [from]; ld.param.u64 %d2, [to];
  mov.u32 %r1, %tid.x; mul.wide.u32 %d3, %r1, 4;
  add.s64 %d4, %d1, %d3; add.s64 %d5, %d2, %d3;
  ld.global.u32 %r2, [%d4]; add.u32 %r2, %r2, 1; st.global.u32 [%d5], %r2;
  ret;
}
.visible .entry slow(.param .u64 from, .param .u64 to, .param .u64 block, .param .u64 order) {
  .reg .b32 %r<4>; .reg .b64 %d<6>; .reg .pred %p<2>;
  ld.param.u64 %d1, [from]; ld.param.u64 %d2, [to];
  mov.u32 %r3, 0;
AGAIN:
  add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 400000; @%p1 bra AGAIN;
  mov.u32 %r1, %tid.x; mul.wide.u32 %d3, %r1, 4;
  add.s64 %d4, %d1, %d3; add.s64 %d5, %d2, %d3;
  ld.global.u32 %r2, [%d4]; add.u32 %r2, %r2, 1; st.global.u32 [%d5], %r2;
  ret;
}
.visible .entry loop(.param .u64 from, .param .u64 to, .param .u64 block, .param .u64 order) {
  .reg .b32 %r<2>; .reg .b64 %d<2>; .reg .pred %p<2>;
  ld.param.u64 %d1, [block];
AGAIN:
  ld.volatile.global.u32 %r1, [%d1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra AGAIN;
  ret;
})";
enum Kernel : uint32_t { kPlus, kSlow, kLoop };

enum Mode { kEager, kLazy, kRandom, kAsync };
constexpr size_t kCount = 64;
constexpr uint64_t kBytes = kCount * 4;
using Values = std::array<uint32_t, kCount>;

Values all(uint32_t value) {
  Values v;
  v.fill(value);
  return v;
}

void* library() {
  static void* const handle = [] {
    setenv("TENC_VM_DEVICES", "2", 1);
    setenv("TENC_LIBCUDA", TENC_CUDA_VM, 1);
    return dlopen(TENC_CUDA_VM, RTLD_NOW | RTLD_LOCAL);
  }();
  return handle;
}
template <class R, class... A>
R control(const char* name, A... arguments) {
  return reinterpret_cast<R (*)(A...)>(dlsym(library(), name))(arguments...);
}
void setMode(Mode m, uint64_t seed) { control<void>("tencVmSetMode", static_cast<int>(m), seed); }
int dropWait(int nth) { return control<int>("tencVmDropWait", nth); }

/// Two GPUs with buffers 0 to 3 and 4 to 7, whose memory is all sevens.
class Streams {
 public:
  explicit Streams(bool traced = false) {
    library();
    auto p = std::make_shared<abi::Program>();
    p->devices = {{"cpu", 0}, {"cuda:0", 0}, {"cuda:1", 0}};
    p->images.push_back({"compute_90", {}, kPtx});
    for (const char* name : {"plus", "slow", "loop"})
      p->kernels.push_back(
          {name, abi::DeviceCode{0, name, {1, 1, 1}, {name[0] == 'l' ? 1u : 64u, 1, 1}, 0}, {}, {}, 0});
    for (uint32_t d : {1u, 2u}) {
      for (int i = 0; i < 4; ++i) {
        p->buffers.push_back({d, p->devices[d].arenaBytes, kBytes});
        p->devices[d].arenaBytes += kBytes;
      }
      const auto first = static_cast<BufferId>(p->buffers.size() - 4);
      for (BufferId b = first; b < first + 4; ++b) p->steps.push_back({abi::Transfer{{b, 0}, {b, 0}, kBytes}});
      for (uint32_t k : {kPlus, kSlow, kLoop})
        p->steps.push_back({abi::Launch{k, d, {{first, 0, Access::Read}, {first + 1, 0, Access::Write}}, {}}});
    }
    std::string error;
    program_ = LoadedProgram::load(p, error);
    EXPECT_TRUE(program_) << error;
    for (uint32_t d : {1u, 2u}) {
      devices_.push_back(makeCudaDevice({"cuda", p->devices[d].name}, {}, error));
      EXPECT_TRUE(devices_.back()) << error;
      OpenFailure failure;
      streams_.push_back(devices_.back()->open({program_.get(), d}, failure));
      EXPECT_TRUE(streams_.back()) << failure.text;
      streams_.back()->begin({&call, nullptr, false, traced});
    }
    const Values sevens = all(7);
    for (BufferId b = 0; b < 8; ++b) in(b, sevens);
    rest();
    waits = -1;
    dropWait(0);
  }

  Stream& of(BufferId b) { return *streams_[b / 4]; }
  std::byte* at(BufferId b) { return of(b).address(b); }
  Ticket in(BufferId to, const Values& from) { return of(to).copyIn(at(to), from.data(), kBytes, ++order_); }
  Ticket out(Values& to, BufferId from) { return of(from).copyOut(to.data(), at(from), kBytes, ++order_); }
  void launch(BufferId from, BufferId to, Kernel k = kPlus) {
    const DeviceArg args[] = {{at(from), Access::Read, {at(from), kBytes}}, {at(to), Access::Write, {at(to), kBytes}}};
    of(to).launch(program_->kernels()[k], args, {}, ++order_);
    of(to).handOver();
  }
  void move(BufferId from, BufferId to) { of(to).receive(at(to), of(from), at(from), kBytes, ++order_); }
  /// From here on no wait is the scenario's.
  void rest() {
    waits = waits < 0 ? dropWait(0) : waits;
    for (const auto& s : streams_) {
      s->wait(s->last());
      EXPECT_FALSE(s->stopped()) << s->stopped()->bug;
    }
  }
  /// What a buffer holds when all is done.
  uint32_t read(BufferId b) {
    rest();
    Values v = all(0);
    of(b).wait(out(v, b));
    return std::count(v.begin(), v.end(), v[0]) == static_cast<long>(kCount) ? v[0] : ~0u;
  }

  CallControl call;
  int waits = -1;  ///< of queues for each other, before all was first at rest

 private:
  std::shared_ptr<const LoadedProgram> program_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Stream>> streams_;
  uint64_t order_ = 0;
};

/// Commands, and whether what came out is what it has to be.
struct Scenario {
  const char* name;
  int waits;  ///< of queues for each other, that it takes at least
  bool (*run)(Streams&);
};

constexpr Scenario kScenarios[] = {
    {"a kernel reads what is copied in", 1,
     [](Streams& s) {
       const Values ones = all(1);
       s.in(0, ones);
       s.launch(0, 1);
       return s.read(1) == 2;
     }},
    {"a kernel writes over what is copied in", 1,
     [](Streams& s) {
       const Values ones = all(1);
       s.in(1, ones);
       s.launch(0, 1);
       return s.read(1) == 8;
     }},
    {"what a kernel wrote is copied out", 1,
     [](Streams& s) {
       Values got = all(0);
       s.launch(0, 1);
       s.of(1).wait(s.out(got, 1));
       return got == all(8);
     }},
    {"what a kernel reads is copied over", 1,
     [](Streams& s) {
       const Values ones = all(1);
       s.launch(0, 1);
       s.in(0, ones);
       s.of(0).wait(s.of(0).last());
       return s.read(1) == 8 && s.read(0) == 1;
     }},
    {"a kernel writes over what is copied out", 1,
     [](Streams& s) {
       Values got = all(0);
       const Ticket t = s.out(got, 1);
       s.launch(0, 1);
       s.of(1).wait(s.of(1).last());
       s.of(1).wait(t);
       return got == all(7);
     }},
    {"in after out", 1,
     [](Streams& s) {
       const Values ones = all(1);
       Values got = all(0), more = all(0);
       s.out(more, 2);
       s.out(got, 0);
       s.in(0, ones);
       return s.read(0) == 1 && got == all(7);
     }},
    {"out after in", 1,
     [](Streams& s) {
       const Values ones = all(1);
       Values got = all(0);
       s.in(0, ones);
       s.of(0).wait(s.out(got, 0));
       return got == all(1);
     }},
    {"batch after batch", 8,
     [](Streams& s) {
       const Values batches[] = {all(1), all(2), all(3), all(4)};
       std::array<Values, 4> got{};
       for (size_t i = 0; i < 4; ++i) {
         s.in(0, batches[i]);
         s.launch(0, 1);
         s.launch(1, 2);
         s.out(got[i], 2);
       }
       s.rest();
       bool good = true;
       for (uint32_t i = 0; i < 4; ++i) good = good && got[i] == all(i + 3);
       return good;
     }},
    {"to another GPU, and on", 2,
     [](Streams& s) {
       s.launch(0, 1);
       s.move(1, 4);
       s.launch(4, 5);
       return s.read(5) == 9;
     }},
    {"what goes to another GPU is written over", 1,
     [](Streams& s) {
       s.launch(0, 1);
       s.move(0, 4);
       s.launch(1, 0);
       s.rest();
       return s.read(4) == 7 && s.read(0) == 9;
     }},
    {"what another GPU still reads comes anew", 2,
     [](Streams& s) {
       const Values ones = all(1);
       s.launch(4, 5);
       s.in(0, ones);
       s.move(0, 4);
       s.rest();
       return s.read(5) == 8 && s.read(4) == 1;
     }},
};

std::vector<std::pair<Mode, uint64_t>> orders(uint64_t seeds) {
  std::vector<std::pair<Mode, uint64_t>> all = {{kEager, 1}, {kLazy, 1}, {kAsync, 1}};
  for (uint64_t seed = 1; seed <= seeds; ++seed) all.emplace_back(kRandom, seed);
  return all;
}
constexpr uint64_t kFew = 6, kMany = 200;  // orders: where every one has to be right, and where one has to be wrong

class CudaStreams : public ::testing::Test {
 protected:
  void TearDown() override {
    dropWait(0);
    setMode(kEager, 1);
    for (const char* v : {"TENC_VM_FAIL", "TENC_VM_PEERS"}) unsetenv(v);
  }
};

TEST_F(CudaStreams, GiveWhatOneQueueWouldGive) {
  for (const auto& [mode, seed] : orders(kFew)) {
    for (const Scenario& scenario : kScenarios) {
      Streams s;
      setMode(mode, seed);
      EXPECT_TRUE(scenario.run(s)) << scenario.name << ", mode " << mode << ", seed " << seed;
    }
  }
}

TEST_F(CudaStreams, NeedEachWait) {
  for (const Scenario& scenario : kScenarios) {
    int waits = 1;
    for (int nth = 1; nth <= waits; ++nth) {
      bool shows = false;
      for (const auto& [mode, seed] : orders(kMany)) {
        if (mode == kEager || mode == kAsync) continue;
        Streams s;
        setMode(mode, seed);
        dropWait(nth);
        shows = !scenario.run(s) || shows;
        s.rest();
        waits = s.waits;
        if (shows) break;
      }
      EXPECT_TRUE(shows) << scenario.name << ": wait " << nth << " of " << waits;
    }
    EXPECT_GE(waits, scenario.waits) << scenario.name;
  }
}

// More copies than the ring has room for, none of which is waited for before all are made.
TEST_F(CudaStreams, TheRingGoesRound) {
  for (const auto& [mode, seed] : orders(1)) {
    Streams s;
    setMode(mode, seed);
    std::vector<Values> from(300), to(300);
    for (uint32_t i = 0; i < from.size(); ++i) {
      from[i] = all(i);
      s.in(0, from[i]);
      s.launch(0, 1);
      s.out(to[i], 1);
    }
    s.rest();
    for (uint32_t i = 0; i < from.size(); ++i) ASSERT_EQ(to[i], all(i + 1)) << i << ", mode " << mode;
  }
}

TEST_F(CudaStreams, GoOnWithoutPinnedMemory) {
  library();
  setenv("TENC_VM_FAIL", "cuMemHostAlloc=2", 1);
  for (const auto& [mode, seed] : orders(kFew)) {
    for (const Scenario& scenario : kScenarios) {
      Streams s;
      setMode(mode, seed);
      EXPECT_TRUE(scenario.run(s)) << scenario.name << ", mode " << mode;
    }
  }
}

/// Of the first device that has copies from another one; empty where none has.
std::string peerCopies() {
  const std::string text = control<const char*>("tencVmCounters", 1);
  for (size_t at = text.find("peer copies "); at != text.npos; at = text.find("peer copies ", at + 1))
    if (text[at + 12] != '0') return text.substr(at, text.find('\n', at) - at);
  return "";
}

TEST_F(CudaStreams, CopyToPeersDirectlyOrThroughTheHost) {
  for (const char* peers : {"1", "0"}) {
    library();
    setenv("TENC_VM_PEERS", peers, 1);
    for (const auto& [mode, seed] : orders(kFew)) {
      Streams s;
      setMode(mode, seed);
      control<const char*>("tencVmCounters", 1);
      s.launch(0, 1);
      s.move(1, 4);
      s.launch(4, 5);
      EXPECT_EQ(s.read(5), 9u) << peers << ", mode " << mode;
      EXPECT_EQ(peerCopies(), *peers == '1' ? "peer copies 1" : "") << "mode " << mode;
    }
  }
}

TEST_F(CudaStreams, AnInterruptEndsALoopInAKernel) {
  for (Mode mode : {kLazy, kRandom, kAsync}) {
    Streams s;
    setMode(mode, 1);
    s.launch(0, 1, kLoop);
    s.call.interrupt();
    s.rest();  // which is no fault, either
  }
}

TEST_F(CudaStreams, TracesShowCopiesBesideKernels) {
  Streams s(/*traced=*/true);
  setMode(kAsync, 1);
  const Values ones = all(1);
  s.launch(0, 1, kSlow);
  s.in(0, ones);  // while the kernel reads what was there
  s.rest();
  CallTrace trace;
  s.of(0).trace(trace);
  ASSERT_GE(trace.events.size(), 3u);
  const TraceEvent &kernel = trace.events.end()[-3], &copy = trace.events.end()[-2];
  EXPECT_EQ(kernel.device + ": " + kernel.name, "cuda:0 kernels: slow");
  EXPECT_EQ(copy.device + ": " + copy.name, "cuda:0 copies in: copy of 256 bytes");
  EXPECT_LT(kernel.begin, copy.end);
  EXPECT_LT(copy.end, kernel.end);
  EXPECT_GE(trace.events.back().begin, kernel.end);  // the copy on the device
  EXPECT_EQ(s.read(1), 8u);
  EXPECT_EQ(s.read(0), 1u);
}

}  // namespace
}  // namespace tenc::rt
