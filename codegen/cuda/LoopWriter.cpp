// Loop kernels as CUDA C++: what a thread does with its outer points, stage by stage.
#include <algorithm>

#include "codegen/KernelShape.h"
#include "codegen/cuda/FlatPlan.h"
#include "codegen/cuda/KernelWriters.h"
#include "codegen/cuda/LoopVariables.h"
#include "codegen/cuda/OnlineWriter.h"
#include "codegen/cuda/RowVectors.h"
#include "codegen/cuda/TeamReducer.h"

namespace tenc::codegen::cuda {
namespace {

using Family = Schedule::Family;
using Names = std::vector<std::string>;

constexpr int64_t kTileBytes = 16384;        // what is read together, of one buffer
constexpr int64_t kManyThreads = 132 * 512;  // of which each needs few loads under way

class LoopWriter {
 public:
  LoopWriter(const Kernel& kernel, const Schedule& schedule, Module& module, KernelNames names)
      : kernel_(kernel),
        schedule_(schedule),
        out_(module.text),
        scalars_(module.text, module.tables),
        team_(out_, scalars_, schedule),
        names_(std::move(names)),
        rows_(out_, kernel, schedule),
        shift_(rows_.shift()),
        inRegisters_(schedule.unrolled ? threadsOwn(kernel) : std::vector<bool>(kernel.buffers.size())) {}

  std::string write() {
    bool shared = declareShared();
    team_.declare(kernel_.reductions, positions());
    shared = shared || (!kernel_.reductions.empty() && teams() && !(isRows() && schedule_.inWarps()));
    openPoints();
    for (uint32_t r = 0; r < kernel_.reductions.size(); ++r) {
      const std::string name = out_.fresh("r");
      names_.reduced.push_back(name + team_.mine());
      out_.line(std::string(registerType(reprOf(kernel_.reductions[r].result))) + " " + name + team_.each() + ";");
    }
    const std::optional<OnlineSum> once = isRows() && !schedule_.unrolled ? onlineSum(kernel_) : std::nullopt;
    for (size_t i = 0; i < kernel_.stages.size(); ++i) {
      const Stage& s = kernel_.stages[i];
      if (teams() && readsStored(s)) team_.wait();
      if (once && once->stage == i)
        OnlineWriter(out_, scalars_, team_, kernel_, schedule_, rows_, names_).write(*once), ++i;
      else
        stage(s);
    }
    if (shared) team_.wait();  // before the next point uses the block's memory
    out_.close();
    return scalars_.missing();
  }

 private:
  bool isRows() const { return schedule_.family == Family::Rows; }
  bool teams() const { return schedule_.team > 1; }

  bool declareShared() {
    bool any = false;
    for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
      const Buffer& buffer = kernel_.buffers[b];
      if (buffer.role != Buffer::Role::Scratch || inRegisters_[b]) continue;
      out_.line("__shared__ __align__(16) " + std::string(memoryType(buffer.dtype)) + " " + names_.buffers[b] + "[" +
                decimal(buffer.elements) + "];");
      any = true;
    }
    return any;
  }

  /// Whether other threads of the team may have stored what the stage loads.
  bool readsStored(const Stage& s) const {
    return std::any_of(s.exprs.begin(), s.exprs.end(), [&](const Expr& e) {
      return e.kind == Expr::Kind::Load && kernel_.buffers[e.access.buffer].role != Buffer::Role::Input &&
             !inRegisters_[e.access.buffer];
    });
  }

  /// How positions are held while threads exchange them.
  Repr positions() {
    for (const Stage& s : kernel_.stages)
      for (uint32_t r : s.reductions) {
        const ScalarReducer reducer = StageWriter(out_, scalars_, kernel_, s, names_, {}).reducer(r);
        if (reducer.isArg() && reducer.positions() == Repr::I64) return Repr::I64;
      }
    return Repr::I32;
  }

  /// Whether loops of later stages, which all threads of a team share, read what the stage reduces.
  bool isReadInLoops(const Stage& s) const {
    const auto reads = [&](const Expr& e) {
      return e.kind == Expr::Kind::Reduced &&
             std::find(s.reductions.begin(), s.reductions.end(), e.index) != s.reductions.end();
    };
    return std::any_of(&s + 1, kernel_.stages.data() + kernel_.stages.size(), [&](const Stage& later) {
      return !isSerial(kernel_, later) && trips(later.innerLo, later.innerHi) > 1 &&
             std::any_of(later.exprs.begin(), later.exprs.end(), reads);
    });
  }

  /// The loop over a thread's outer points, and their variables.
  void openPoints() {
    std::vector<int64_t> extents = kernel_.outer;
    const int lanes = isRows() ? 1 : schedule_.vector;
    if (lanes > 1) extents.back() /= lanes;
    int64_t points = 1;
    for (int64_t n : extents) points *= n;
    const bool narrow = points < (int64_t{1} << 31) - int64_t{schedule_.threads} * schedule_.blocks;
    const std::string type = narrow ? "int" : "long long", block = narrow ? "blockIdx.x" : "(long long)blockIdx.x",
                      grid = narrow ? "gridDim.x" : "(long long)gridDim.x";
    if (isRows()) {
      out_.line("const int lane = threadIdx.x" +
                (schedule_.team < static_cast<int>(schedule_.threads) ? " % " + decimal(schedule_.team) + ";" : ";"));
      if (schedule_.inWarps()) {
        const uint32_t mask = schedule_.team == 32 ? ~0u : (1u << schedule_.team) - 1;
        out_.line("const unsigned mask = " + decimal(mask) + "u" +
                  (schedule_.team < 32
                       ? " << (threadIdx.x % 32 / " + decimal(schedule_.team) + " * " + decimal(schedule_.team) + ");"
                       : ";"));
      }
    }
    const int64_t side = isRows()                              ? schedule_.threads / schedule_.team
                         : schedule_.family == Family::Columns ? 32
                                                               : schedule_.threads;
    std::string own = "threadIdx.x";
    if (isRows()) own = side == 1 ? "0" : "threadIdx.x / " + decimal(schedule_.team);
    if (schedule_.family == Family::Columns) own = "0";
    out_.line("#pragma unroll 1");
    out_.open("for (" + type + " point = " + block + (side == 1 ? "" : " * " + decimal(side)) +
              (own == "0" ? "" : " + " + own) + "; point < " + decimal(points) + "; point += " + grid +
              (side == 1 ? "" : " * " + decimal(side)) + ")");
    std::string number = "point";
    if (schedule_.family == Family::Columns) {  // all threads of the block stay together
      out_.line("const bool inside = point + (" + type + ")(threadIdx.x % 32) < " + decimal(points) + ";");
      out_.line("const " + type + " column = inside ? point + threadIdx.x % 32 : 0;");
      number = "column";
    }
    names_.outer = decodePoint(out_, number, type, extents, {}, lanes);
    first_ = names_.outer;
    if (shift_) {  // how many elements lie between where vectors start and the row does
      std::string inside;
      const Stage& s = kernel_.stages[shift_->stage];
      const std::string start = StageWriter(out_, scalars_, kernel_, s, names_, {"0"}).position(shift_->like, inside);
      out_.line("const int shift = (unsigned)(" + start + ") % " + decimal(shift_->width) + "u;");
    }
    if (lanes > 1) lane_ = names_.outer.back() = out_.fresh("i");
  }

  /// `for` over a thread's points of one vector.
  void openLanes() {
    team_.openLanes();
    if (!lane_.empty()) out_.line("const auto " + lane_ + " = " + first_.back() + " + v;");
  }

  void stage(const Stage& s) {
    const int64_t inner = trips(s.innerLo, s.innerHi);
    const bool serial = isSerial(kernel_, s), loops = !serial && inner > 1;
    const std::string box = StageWriter(out_, scalars_, kernel_, s, firstNames(), {}).inBox();
    if (schedule_.unrolled && loops) keep(s);
    out_.open("");
    std::vector<Held> held;
    for (uint32_t r : s.reductions)
      held.push_back(team_.hold(StageWriter(out_, scalars_, kernel_, s, names_, {}).reducer(r)));
    if (inner > 0 && box != "false") {
      std::string condition = box;
      auto also = [&](const std::string& more) { condition = condition == "true" ? more : condition + " && " + more; };
      if (teams() && !loops) also(isRows() ? "lane == 0" : "threadIdx.x < 32");
      if (schedule_.family == Family::Columns) also("inside");
      const bool always = condition == "true";
      if (!always) out_.open("if (" + condition + ")");
      if (serial)
        serially(s, held);
      else if (schedule_.unrolled && loops)
        unrolled(s, inner, held);
      else
        together(s, inner, held);
      if (!always) out_.close();
    }
    const bool toAll = isReadInLoops(s);
    if (teams() && loops) team_.across(held, s.reductions, toAll);
    for (size_t i = 0; i < held.size(); ++i) {
      if (teams() && !loops) team_.fromFirst(held[i], s.reductions[i], toAll);
      openLanes();
      const Scalar result = held[i].reducer.result(team_.now(held[i]));
      out_.line(names_.reduced[s.reductions[i]] + " = " + CudaScalars::text(result) + ";");
      team_.closeLanes();
    }
    out_.close();
  }

  /// Names with the first of a thread's points.
  KernelNames firstNames() const {
    KernelNames n = names_;
    n.outer = first_;
    return n;
  }

  /// Trips of a loop whose loads are under way together: more where few threads have any. What stores is left alone,
  /// as the next loads would wait for it.
  int ahead(const Stage& s) const {
    if (!s.stores.empty()) return 1;
    const bool few = int64_t{schedule_.blocks} * schedule_.threads < kManyThreads;
    int trips = few ? (isRows() ? 32 : kColumnLoads) / schedule_.vector : schedule_.vector < 4 ? 8 : 4;
    while (trips > 1 && trips * schedule_.vector * costOf(s) > kLongCode) trips /= 2;
    return std::max(trips, 1);
  }

  /// All inner points in any order: of a team's threads each takes every so manyth.
  void together(const Stage& s, int64_t inner, const std::vector<Held>& held) {
    const int vector = isRows() ? rows_.width(inner > 1) : 1;
    const int64_t groups = shift_ && inner > 1 ? shift_->groups() : inner / vector;
    const std::string t = out_.fresh("t"), type(rows_.type(s));
    if (inner > 1) {
      out_.line("#pragma unroll " + decimal(ahead(s)));
      const std::string from = !teams() ? "0" : isRows() ? "lane" : "(int)threadIdx.x / 32";
      const int64_t team = schedule_.team;
      if (groups % team == 0) {
        const std::string c = out_.fresh("c");
        out_.open("for (" + type + " " + c + " = 0; " + c + " < " + decimal(groups / team) + "; ++" + c + ")");
        out_.line("const " + type + " " + t + " = " + (teams() ? c + " * " + decimal(team) + " + " + from : c) + ";");
      } else {
        out_.open("for (" + type + " " + t + " = " + from + "; " + t + " < " + decimal(groups) + "; " + t +
                  " += " + decimal(team) + ")");
      }
    }
    const Names names = rows_.point(s, inner > 1 ? t : "0", inner > 1);
    if (shift_ && inner > 1) rows_.edges("true", "true", names);
    compute(s, names, inner > 1, rows_.vectors(s, inner > 1, names), held);
    if (inner > 1) out_.close();
  }

  /// Inner points one after the other, in row-major order.
  void serially(const Stage& s, const std::vector<Held>& held) {
    Names names;
    for (size_t i = 0; i < s.innerLo.size(); ++i) {
      names.push_back(out_.fresh("i"));
      out_.line("#pragma unroll 1");
      out_.open("for (" + std::string(rows_.type(s)) + " " + names[i] + " = " + decimal(s.innerLo[i]) + "; " +
                names[i] + " < " + decimal(s.innerHi[i]) + "; ++" + names[i] + ")");
    }
    compute(s, names, false, rows_.vectors(s, false, names), held);
    for (size_t i = 0; i < s.innerLo.size(); ++i) out_.close();
  }

  /// What is computed at each of a thread's points, whose first one has these names; then the stores of vectors.
  void compute(const Stage& s, const Names& names, bool loops, StageVectors vectors, const std::vector<Held>& held) {
    const KernelNames firstOfPoints = firstNames();
    StageWriter first(out_, scalars_, kernel_, s, firstOfPoints, names);
    vectors.load(out_, first);
    if (shift_ && loops &&
        schedule_.unrolled) {  // of which vectors are not whole is known, but for the first and the last
      computeEach(s, names, loops, vectors, held, true);
    } else if (shift_ && loops) {  // nearly all vectors are whole, and need no bounds
      out_.open("if (!early && !late)");
      computeEach(s, names, loops, vectors, held, false);
      out_.otherwise();
      computeEach(s, names, loops, vectors, held, true);
      out_.close();
    } else {
      computeEach(s, names, loops, vectors, held, false);
    }
    vectors.store(out_, first);
  }

  /// `bounded`: points outside of the row are passed over.
  void computeEach(const Stage& s, const Names& names, bool loops, const StageVectors& vectors,
                   const std::vector<Held>& held, bool bounded) {
    Names mine = names;
    const bool lanes = rows_.width(loops) > 1;
    const CudaText::Place loop = out_.here();
    if (isRows() && lanes) {
      out_.line("#pragma unroll");
      out_.open("for (int v = 0; v < " + decimal(schedule_.vector) + "; ++v)");
      mine.back() = out_.fresh("i");
      out_.line("const " + std::string(rows_.type(s)) + " " + mine.back() + " = " + names.back() + " + v;");
      if (bounded) out_.line("if (" + rows_.outside(mine.back()) + ") continue;");
    } else if (!isRows()) {
      openLanes();
    }
    StageWriter point(out_, scalars_, kernel_, s, names_, mine);
    vectors.give(point);
    if (lanes && !shift_)
      point.setLanes({vectorVariable(kernel_, schedule_, s), isRows() ? names.back() : first_.back(), schedule_.vector,
                      nullptr, loop});
    for (size_t i = 0; i < held.size(); ++i) {
      const Reduction& r = kernel_.reductions[s.reductions[i]];
      if (!r.running) continue;
      const Accumulated before = team_.now(held[i]);
      const Scalar kept = scalars_.named(CudaScalars::text(before.value), before.value.repr);
      const Accumulated after = held[i].reducer.merge({kept, {}}, {point.value(r.value), {}});
      point.setRunning(s.reductions[i], r.exclusive ? kept : after.value);
      team_.assign(held[i], after);
    }
    point.body();
    for (size_t i = 0; i < held.size(); ++i)
      if (!kernel_.reductions[s.reductions[i]].running)
        team_.merge(held[i], point.term(held[i].reducer, s.reductions[i]));
    if (isRows() && lanes)
      out_.close();
    else if (!isRows())
      team_.closeLanes();
  }

  /// What a thread keeps of its part of a row, for later stages.
  struct Kept {
    const Access* access;
    const Stage* stage;
    std::string name;
  };

  /// The array for an access, of a stage with these inner points; null when there is none.
  const Kept* kept(const Stage& s, const Access& a) const {
    for (const Kept& k : kept_)
      if (k.access->buffer == a.buffer && k.access->offset == a.offset && k.access->strides == a.strides &&
          k.stage->innerLo == s.innerLo && k.stage->innerHi == s.innerHi)
        return &k;
    return nullptr;
  }

  /// Declares arrays for what the stage loads in vectors, and for what it puts in scratch rows.
  void keep(const Stage& s) {
    loading_.clear();
    const auto declare = [&](const Access& a) {
      if (!rows_.has(s, a) || kept(s, a) != nullptr) return false;
      kept_.push_back({&a, &s, out_.fresh("x")});
      out_.line(StageVectors::type(kernel_, a.buffer, schedule_.vector) + " " + kept_.back().name + "[" +
                decimal(rows_.chunks(s)) + "];");
      return true;
    };
    for (const Expr& e : s.exprs)
      if (e.kind == Expr::Kind::Load && declare(e.access)) loading_.push_back(kept_.size() - 1);
    for (const Store& st : s.stores)
      if (inRegisters_[st.access.buffer]) declare(st.access);
  }

  /// A thread's part of a row, a vector at a time; only of the last ones some threads have none. What only `reads` has
  /// no branch for these, which would keep loads apart: they read the last vector.
  void openChunk(const Stage& s, Names& names, bool reads) {
    out_.line("#pragma unroll");
    out_.open("for (int c = 0; c < " + decimal(rows_.chunks(s)) + "; ++c)");
    const std::string t = out_.fresh("t"), of = "c * " + decimal(schedule_.team) + " + lane",
                      last = decimal(rows_.groups(s) - 1), ends = "c == " + decimal(rows_.chunks(s) - 1);
    const bool all = rows_.groups(s) % schedule_.team == 0;
    out_.line("const int " + t + " = " + (all || !reads ? of : ends + " ? min(" + of + ", " + last + ") : " + of) +
              ";");
    if (!all && !reads) out_.line("if (" + ends + " && " + t + " > " + last + ") break;");
    names = rows_.point(s, t, true);
    if (shift_)
      rows_.edges("c == 0", "c >= " + decimal(shift_->extent / (int64_t{schedule_.team} * schedule_.vector)), names);
  }

  /// Loads with the block's neighbouring threads in neighbouring rows, which the tile gives to their own threads.
  void loadTogether(const Stage& s, const Kept& k) {
    const ir::DType dtype = kernel_.buffers[k.access->buffer].dtype;
    const auto bytes = static_cast<int64_t>(ir::byteSize(dtype));
    const int64_t rows = schedule_.beside, team = schedule_.team, groups = rows_.groups(s), chunks = rows_.chunks(s);
    const int64_t some = std::clamp<int64_t>(kTileBytes / (bytes * schedule_.threads), 1, chunks);
    // Lanes write some elements of each row: rows are that far apart in banks.
    const int64_t pad = bytes == 2 ? 2 : 4;
    const std::string tile = out_.fresh("tile"), row = out_.fresh("row"), other = out_.fresh("i");
    out_.line("__shared__ " + std::string(memoryType(dtype)) + " " + tile + "[" + decimal(rows) + "][" +
              decimal(some * team + pad) + "];");
    out_.line("const int " + row + " = threadIdx.x / " + decimal(team) + ", " + other + " = threadIdx.x % " +
              decimal(rows) + ";");
    const std::string column = "threadIdx.x / " + decimal(rows);
    KernelNames names = names_;
    names.outer.back() = "(" + names_.outer.back() + " - " + row + " + " + other + ")";
    const auto each = [&](int64_t from, const auto& body) {
      out_.line("#pragma unroll");
      out_.open("for (int c = 0; c < " + decimal(std::min(some, chunks - from)) + "; ++c)");
      body();
      out_.close();
    };
    for (int64_t from = 0; from < chunks; from += some) {
      out_.line("__syncthreads();");  // what was there has been read
      each(from, [&] {
        const std::string t = out_.fresh("t"), at = "(" + decimal(from) + " + c) * " + decimal(team) + " + " + column;
        // Without a branch, which would keep loads apart: those behind the end read the last element.
        out_.line("const int " + t + " = " +
                  (groups % team == 0 ? at : "min(" + at + ", " + decimal(groups - 1) + ")") + ";");
        const Names inner = decodePoint(out_, t, "int", RowVectors::extents(s, 1), s.innerLo, 1);
        StageWriter load(out_, scalars_, kernel_, s, names, inner);
        out_.line(tile + "[" + other + "][c * " + decimal(team) + " + " + column + "] = *(" + load.address(*k.access) +
                  ");");
      });
      out_.line("__syncthreads();");
      each(from, [&] {
        out_.line(k.name + "[" + decimal(from) + " + c].at[0] = " + tile + "[" + row + "][c * " + decimal(team) +
                  " + lane];");
      });
    }
  }

  /// All inner points in unrolled loops: the loads of a thread first.
  void unrolled(const Stage& s, int64_t, const std::vector<Held>& held) {
    Names names;
    std::vector<size_t> own;
    for (size_t i : loading_)
      if (schedule_.beside > 0 && isAcrossRows(kernel_, s, *kept_[i].access))
        loadTogether(s, kept_[i]);
      else
        own.push_back(i);
    if (!own.empty()) {
      openChunk(s, names, true);
      const StageVectors vectors = rows_.vectors(s, true, names);
      StageWriter at(out_, scalars_, kernel_, s, names_, names);
      for (size_t i : own)
        out_.line(kept_[i].name + "[c] = " +
                  vectors.loaded(StageVectors::type(kernel_, kept_[i].access->buffer, schedule_.vector),
                                 at.address(*kept_[i].access)) +
                  ";");
      out_.close();
    }
    openChunk(s, names, false);
    StageVectors vectors(kernel_, s, vectorVariable(kernel_, schedule_, s), schedule_.vector);
    if (shift_) rows_.shift(vectors, names);
    for (ExprId id = 0; id < s.exprs.size(); ++id) {
      const Expr& e = s.exprs[id];
      if (e.kind != Expr::Kind::Load || !rows_.has(s, e.access)) continue;
      if (const Kept* k = kept(s, e.access)) vectors.loadFrom(id, k->name + "[c]");
    }
    for (size_t i = 0; i < s.stores.size(); ++i)
      if (inRegisters_[s.stores[i].access.buffer]) vectors.keepIn(i, kept(s, s.stores[i].access)->name + "[c]");
    compute(s, names, true, std::move(vectors), held);
    out_.close();
    // Others may change what is not an input, and a box leaves points out.
    std::erase_if(kept_, [&](const Kept& k) {
      return !inRegisters_[k.access->buffer] &&
             (kernel_.buffers[k.access->buffer].role != Buffer::Role::Input || !coversAll(kernel_, s));
    });
  }

  const Kernel& kernel_;
  const Schedule& schedule_;
  CudaText& out_;
  CudaScalars scalars_;
  TeamReducer team_;
  KernelNames names_;
  Names first_;       ///< outer variables of the first of a thread's points
  std::string lane_;  ///< of each of them, the last outer variable; empty where a thread has one
  RowVectors rows_;
  const std::optional<RowShift>& shift_;  ///< of rows that start anywhere
  const std::vector<bool> inRegisters_;   ///< scratch buffers
  std::vector<Kept> kept_;
  std::vector<size_t> loading_;  ///< of these what the stage at hand loads
};

}  // namespace

std::string writeLoopKernel(const Kernel& kernel, const Schedule& schedule, Module& module, const KernelNames& names) {
  return LoopWriter(kernel, schedule, module, names).write();
}

}  // namespace tenc::codegen::cuda
