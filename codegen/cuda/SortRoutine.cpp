#include "codegen/cuda/SortRoutine.h"

#include <algorithm>

#include "codegen/cuda/RoutineTexts.h"

namespace tenc::codegen::cuda {
namespace {

using ir::DType;
using ir::OpKind;

constexpr int64_t kMostThreads = 256, kMostBlocks = 65536;
constexpr int64_t kBlocksWithMemory = 256;  // with memory of the device for each: more than run at a time on most GPUs
// Of a row that several blocks sort: a pass is three launches, which take as long as one block does for some thousand
// elements. Fewer elements a block fill fewer sectors of each digit.
constexpr int64_t kLeastWide = 32768, kElementsOfBlock = 8192, kWideBlocks = 264;
constexpr int64_t kTile = 2048;  // elements that a block ranks at a time
constexpr int64_t kWarpsOfBest = 4;

enum Step : size_t { Begin, Count, Scan, Scatter, Finish, kSteps };

struct Plan {
  enum class Form : uint8_t { Best, Short, Select, Long, Wide } form = Form::Long;
  int64_t rows = 0, n = 0, k = 0;
  int64_t length = 0;    ///< of rows in shared memory: a power of two
  int64_t together = 1;  ///< rows of a block
  uint32_t threads = kMostThreads, blocks = 1;
  int64_t share = 1;       ///< Wide: blocks of a row
  int64_t chunk = 0;       ///< Wide: elements of a block
  uint64_t pairBytes = 0;  ///< of a key and a place in memory of the device
  bool isNarrow() const { return n < int64_t{1} << 31; }
  uint64_t placeBytes() const { return isNarrow() ? 4 : 8; }
};

uint32_t blocksFor(int64_t items, int64_t most) { return static_cast<uint32_t>(std::clamp<int64_t>(items, 1, most)); }

/// Several blocks a row, where few rows are long.
bool isWide(Plan& p) {
  p.share = std::min(p.n / kElementsOfBlock, kWideBlocks / std::max<int64_t>(p.rows, 1));
  if (p.n < kLeastWide || p.share < 2) return false;
  const int64_t tiles = (p.n + kTile - 1) / kTile;
  p.chunk = (tiles + p.share - 1) / p.share * kTile;
  p.share = (p.n + p.chunk - 1) / p.chunk;
  return true;
}

/// A warp a row, where a lane has each of the first k: of short rows, and of long ones if there are enough of them.
bool isFewOfMany(const Plan& p, int64_t mostShort) {
  constexpr int64_t kMostBest = 32, kLeastRow = 64, kManyRows = 1056;
  return p.k >= 1 && p.k <= kMostBest && p.n >= kLeastRow && p.isNarrow() && (p.n <= mostShort || p.rows >= kManyRows);
}

Plan planOf(const ir::Op& op) {
  const ir::Type& x = op.operand(0)->type;
  const int64_t width = ir::byteSize(x.dtype);
  const int64_t mostShort = width == 8 ? 2048 : 4096, mostSelected = 1024;
  Plan p;
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
    const int64_t pairs = p.together * p.length / 2;
    p.threads = static_cast<uint32_t>(std::clamp<int64_t>(pairs, 32, pairs > 1024 ? 1024 : 256));
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
  p.pairBytes = (width == 8 ? 8 : 4) + p.placeBytes();
  if (isWide(p)) {
    p.form = Plan::Form::Wide;
    p.blocks = static_cast<uint32_t>(p.rows * p.share);
    return p;
  }
  p.blocks = blocksFor(p.rows, kBlocksWithMemory);
  return p;
}

/// Begin, a pass for each byte of an element, Finish.
std::vector<uint32_t> launchesOf(const ir::Op& op) {
  std::vector<uint32_t> launches{Begin};
  for (int64_t pass = 0; pass < ir::byteSize(op.operand(0)->type.dtype); ++pass)
    for (const uint32_t step : {Count, Scan, Scatter}) launches.push_back(step);
  launches.push_back(Finish);
  return launches;
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

void writeWide(const Plan& p, CudaText& out, const std::string& row, const Results& results, const std::string& work,
               size_t step) {
  out.line("typedef tenc_wide<order_of, " + std::string(p.isNarrow() ? "unsigned" : "unsigned long long") + "> wide;");
  out.line("const wide w = {" + row + ", (unsigned char*)" + work + ", " + decimal(p.rows) + ", " + decimal(p.n) +
           ", " + decimal(p.chunk) + ", " + decimal(p.share) + "};");
  switch (step) {
    case Begin: return out.line("tenc_wide_begin(w);");
    case Count: return out.line("tenc_wide_count(w);");
    case Scan: return out.line("tenc_wide_scan(w);");
    case Scatter: return out.line("tenc_wide_scatter(w);");
    default:
      return out.line("tenc_wide_finish(w, " + decimal(p.k) + ", " + results.values + ", " + results.places + ");");
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
  const uint64_t pairs = 2 * p.pairBytes * static_cast<uint64_t>(p.n);
  if (p.form != Plan::Form::Wide) {
    plan.workspaceBytes = p.blocks * pairs;
    return plan;
  }
  constexpr uint64_t kDigits = 256, kState = 20;
  plan.workspaceBytes =
      static_cast<uint64_t>(p.rows) * (pairs + kDigits * static_cast<uint64_t>(p.share) * p.placeBytes() + kState);
  plan.functions.assign(kSteps, plan.schedule);
  plan.functions[Begin].blocks = 1;
  plan.functions[Scan].blocks = static_cast<uint32_t>(p.rows);
  plan.launches = launchesOf(op);
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
      call = "tenc_sort_long<order_of, unsigned" + std::string(p.isNarrow() ? ">" : " long long>") + "(faults, ";
      break;
    case Plan::Form::Wide: module.need(kWideSortText); return writeWide(p, out, row, results, work, function);
  }
  out.line(call + row + ", " + decimal(p.rows) + ", " + decimal(p.n) + ", " + decimal(p.k) + ", " + results.values +
           ", " + results.places + (p.pairBytes > 0 ? ", " + work : "") + ");");
}

std::string describeSort(const ir::Op& op) {
  const Plan p = planOf(op);
  switch (p.form) {
    case Plan::Form::Best: return "a row a warp, the first of it one a lane";
    case Plan::Form::Short: return "rows in shared memory";
    case Plan::Form::Select: return "the first of a row each";
    case Plan::Form::Long: return "a row each, digit by digit";
    case Plan::Form::Wide:
      return decimal(p.share) + " a row, digit by digit, in " + decimal(launchesOf(op).size()) + " launches";
  }
  return "";
}

}  // namespace tenc::codegen::cuda
