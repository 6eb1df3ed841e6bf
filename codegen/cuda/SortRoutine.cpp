#include "codegen/cuda/SortRoutine.h"

#include <algorithm>

#include "codegen/cuda/RoutineTexts.h"

namespace tenc::codegen::cuda {
namespace {

using ir::DType;
using ir::OpKind;

constexpr int64_t kMostThreads = 256, kMostBlocks = 65536;
constexpr int64_t kBlocksWithMemory = 256;  // with memory of the device for each: more than run at a time on most GPUs
constexpr int64_t kWarpsOfBest = 4;
constexpr int64_t kMostItems = 16;     // of a thread that sorts by digits: more fill more sectors of each digit
constexpr int64_t kPairsOfThread = 8;  // of a bitonic network
constexpr uint64_t kDigits = 256;

struct Plan {
  enum class Form : uint8_t { Best, Short, Select, Long, Wide } form = Form::Long;
  int64_t rows = 0, n = 0, k = 0;
  int64_t length = 0;    ///< of rows in shared memory: a power of two
  int64_t together = 1;  ///< rows of a block
  uint32_t threads = kMostThreads, blocks = 1;
  bool placed = false;  ///< places are results
  int64_t width = 4;    ///< bytes of an element
  bool isNarrow() const { return n < int64_t{1} << 31; }
  WideSort wide() const { return {rows, n, width, placed}; }
};

uint32_t blocksFor(int64_t items, int64_t most) { return static_cast<uint32_t>(std::clamp<int64_t>(items, 1, most)); }

/// Several blocks a row, where few rows are long.
bool isWide(const Plan& p) {
  constexpr int64_t kLeast = 32768, kMostRows = 132;
  return p.n >= kLeast && p.rows <= kMostRows;
}

/// A warp a row, where a lane has each of the first k: of short rows, and of long ones if there are enough of them.
bool isFewOfMany(const Plan& p, int64_t mostShort) {
  constexpr int64_t kMostBest = 32, kLeastRow = 64, kManyRows = 1056;
  return p.k >= 1 && p.k <= kMostBest && p.n >= kLeastRow && p.isNarrow() && (p.n <= mostShort || p.rows >= kManyRows);
}

Plan planOf(const ir::Op& op) {
  const ir::Type& x = op.operand(0)->type;
  Plan p;
  p.width = ir::byteSize(x.dtype);
  p.placed = op.kind != OpKind::Sort;
  const int64_t mostShort = p.width == 8 ? 2048 : 4096, mostSelected = 1024;
  p.n = x.shape.back();
  p.rows = 1;
  for (size_t d = 0; d + 1 < x.shape.size(); ++d) p.rows *= x.shape[d];
  p.k = op.kind == OpKind::TopK ? op.intAttr("k") : p.n;
  if (isFewOfMany(p, mostShort)) {
    p.form = Plan::Form::Best;
    p.threads = kWarpsOfBest * 32;
    p.blocks = blocksFor((p.rows + kWarpsOfBest - 1) / kWarpsOfBest, kMostBlocks);
    return p;
  }
  if (p.n <= mostShort) {
    p.form = Plan::Form::Short;
    p.length = 1;
    while (p.length < p.n) p.length *= 2;
    while (p.together * p.length < 512 && p.together < p.rows) p.together *= 2;
    p.threads = static_cast<uint32_t>(std::clamp<int64_t>(p.together * p.length / kPairsOfThread, 32, 512));
    p.blocks = blocksFor((p.rows + p.together - 1) / p.together, kMostBlocks);
    return p;
  }
  if (p.k <= mostSelected && p.isNarrow()) {
    p.form = Plan::Form::Select;
    p.length = 1;
    while (p.length < p.k) p.length *= 2;
    p.blocks = blocksFor(p.rows, kMostBlocks);
    return p;
  }
  if (isWide(p)) {
    p.form = Plan::Form::Wide;
    p.blocks = static_cast<uint32_t>(p.rows * p.wide().share());
    return p;
  }
  p.blocks = blocksFor(p.rows, kBlocksWithMemory);
  return p;
}

/// The bits of an element as unsigned numbers: their type, the kind of tenc_order, and infinity's.
std::string orderOf(const ir::Op& op) {
  const DType t = op.operand(0)->type.dtype;
  const int64_t width = ir::byteSize(t);
  const char* element = width == 1   ? "unsigned char"
                        : width == 2 ? "unsigned short"
                        : width == 4 ? "unsigned"
                                     : "unsigned long long";
  const char* infinity = t == DType::F64    ? "0x7ff0000000000000ull"
                         : t == DType::F32  ? "0x7f800000ull"
                         : t == DType::BF16 ? "0x7f80ull"
                         : t == DType::F16  ? "0x7c00ull"
                                            : "0ull";
  const bool descending = op.boolAttr(op.kind == OpKind::TopK ? "largest" : "descending");
  return "tenc_order<" + std::string(element) + ", " + (width == 8 ? "unsigned long long" : "unsigned") + ", " +
         (ir::isFloat(t)    ? "2"
          : ir::isSigned(t) ? "1"
                            : "0") +
         ", " + infinity + ", " + (descending ? "true" : "false") + ">";
}

/// The results as arguments: values, places; null where there is none.
struct Results {
  std::string values, places;
  Results(const ir::Op& op, const KernelNames& names) : values("(order_of::element*)0"), places("(long long*)0") {
    if (op.kind == OpKind::ArgSort)
      places = "(long long*)" + names.buffers[1];
    else
      values = "(order_of::element*)" + names.buffers[1];
    if (op.kind == OpKind::TopK) places = "(long long*)" + names.buffers[2];
  }
};

void writeWide(const Plan& p, Module& module, const std::string& row, const Results& results, const std::string& work,
               size_t step) {
  p.wide().declare(module, row, work, p.width - 1);
  CudaText& out = module.text;
  switch (step) {
    case WideSort::Begin: return out.line("tenc_wide_begin(w);");
    case WideSort::Count: return out.line("tenc_wide_count(w);");
    case WideSort::Scan: return out.line("tenc_wide_scan(w);");
    default:
      return out.line("tenc_wide_move(w, (" + std::string(p.isNarrow() ? "unsigned" : "unsigned long long") + ")" +
                      decimal(p.k) + ", " + results.values + ", " + results.places + ");");
  }
}

}  // namespace

bool isSort(const ir::Op& op) {
  return op.kind == OpKind::Sort || op.kind == OpKind::ArgSort || op.kind == OpKind::TopK;
}

LaunchPlan planSort(const ir::Op& op) {
  const Plan p = planOf(op);
  LaunchPlan plan;
  plan.schedule.blocks = p.blocks;
  plan.schedule.threads = p.threads;
  if (p.form == Plan::Form::Long)
    plan.workspaceBytes =
        p.blocks * 2 * static_cast<uint64_t>(p.n * (p.width + (p.placed ? (p.isNarrow() ? 4 : 8) : 0)));
  if (p.form != Plan::Form::Wide) return plan;
  plan.workspaceBytes = p.wide().bytes();
  plan.functions = p.wide().functions();
  plan.launches = WideSort::launches(p.width);
  return plan;
}

void writeSort(const ir::Op& op, Module& module, const KernelNames& names, const std::string& work, size_t function) {
  const Plan p = planOf(op);
  module.need(kSortText);
  CudaText& out = module.text;
  out.line("typedef " + orderOf(op) + " order_of;");
  const std::string row = "(const order_of::element*)" + names.buffers[0];
  const Results results(op, names);
  std::string call;
  switch (p.form) {
    case Plan::Form::Best: call = "tenc_best<order_of, " + decimal(p.threads / 32) + ">("; break;
    case Plan::Form::Short:
      call = "tenc_sort_short<order_of, " + decimal(p.length) + ", " + decimal(p.together) + ", " + decimal(p.threads) +
             ">(";
      break;
    case Plan::Form::Select: call = "tenc_select<order_of, " + decimal(p.length) + ">(faults, "; break;
    case Plan::Form::Long:
      module.need(kDigitSortText);
      call = "tenc_sort_long<order_of, " + std::string(p.placed ? "true, " : "false, ") +
             decimal(p.width == 8 ? kMostItems / 2 : kMostItems) + ", unsigned" + (p.isNarrow() ? "" : " long long") +
             ">(faults, ";
      break;
    case Plan::Form::Wide: return writeWide(p, module, row, results, work, function);
  }
  out.line(call + row + ", " + decimal(p.rows) + ", " + decimal(p.n) + ", " + decimal(p.k) + ", " + results.values +
           ", " + results.places + (p.form == Plan::Form::Long ? ", " + work : "") + ");");
}

std::string describeSort(const ir::Op& op) {
  const Plan p = planOf(op);
  switch (p.form) {
    case Plan::Form::Best: return "a row a warp, the first of it one a lane";
    case Plan::Form::Short: return "rows in shared memory";
    case Plan::Form::Select: return "the first of a row each";
    case Plan::Form::Long: return "a row each, digit by digit";
    case Plan::Form::Wide:
      return decimal(p.wide().share()) + " a row, digit by digit, in " + decimal(WideSort::launches(p.width).size()) +
             " launches";
  }
  return "";
}

// Small tiles where there are few, so that all multiprocessors have one.
int64_t WideSort::items() const {
  constexpr int64_t kTiles = 264, kLeastItems = 4;
  int64_t items = width == 8 ? kMostItems / 2 : kMostItems;
  while (items > kLeastItems && rows * n < kTiles * kMostThreads * items) items /= 2;
  return items;
}

int64_t WideSort::chunk() const {
  constexpr int64_t kMostShare = 1056;  // of all rows: as many as a GPU holds at a time
  const int64_t tile = kMostThreads * items(), tiles = (n + tile - 1) / tile;
  const int64_t most = std::clamp<int64_t>(kMostShare / std::max<int64_t>(rows, 1), 1, std::max<int64_t>(tiles, 1));
  return (tiles + most - 1) / most * tile;
}

int64_t WideSort::share() const { return (n + chunk() - 1) / chunk(); }

uint64_t WideSort::bytes() const {
  constexpr uint64_t kState = 32;
  const uint64_t place = isNarrow() ? 4 : 8, elements = 2 * static_cast<uint64_t>(n),
                 counts = kDigits * static_cast<uint64_t>(share() + 1);
  return static_cast<uint64_t>(rows) *
         (counts * place + kState + elements * (static_cast<uint64_t>(width) + (placed ? place : 0)));
}

std::vector<Schedule> WideSort::functions() const {
  constexpr int64_t kScanBlocks = 32;  // of a row
  Schedule all;
  all.threads = kMostThreads;
  all.blocks = static_cast<uint32_t>(rows * share());
  std::vector<Schedule> functions(kSteps, all);
  functions[Begin].blocks = 1;
  // Each waits at several barriers for a tile, but has 128 registers.
  functions[Move].resident = 2;
  functions[Scan].blocks = static_cast<uint32_t>(rows * kScanBlocks);
  return functions;
}

std::vector<uint32_t> WideSort::launches(int64_t digits) {
  std::vector<uint32_t> launches{Begin};
  for (int64_t pass = 0; pass < digits; ++pass)
    for (const uint32_t step : {Count, Scan, Move}) launches.push_back(step);
  return launches;
}

void WideSort::declare(Module& module, const std::string& row, const std::string& work, int64_t ends) const {
  module.need(kSortText);
  module.need(kDigitSortText);
  module.need(kWideSortText);
  CudaText& out = module.text;
  out.line("typedef tenc_wide<order_of, " + std::string(placed ? "true, " : "false, ") + decimal(items()) +
           ", unsigned" + (isNarrow() ? "" : " long long") + "> wide;");
  out.line("const wide w = {" + row + ", (unsigned char*)" + work + ", " + decimal(rows) + ", " + decimal(n) + ", " +
           decimal(chunk()) + ", " + decimal(share()) + ", " + (ends < 0 ? "~0u" : decimal(ends)) + "};");
}

}  // namespace tenc::codegen::cuda
