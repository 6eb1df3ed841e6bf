#include "interp/Interp.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <new>
#include <unordered_map>

#include "interp/Tape.h"
#include "interp/TensorOps.h"
#include "interp/Trace.h"
#include "ir/CallAttributes.h"
#include "runtime/io/Io.h"
#include "runtime/io/NonFinite.h"

namespace tenc::interp {
namespace {

using ir::DType;
using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Trait;
using ir::Value;

Tensor scalar(DType t, Number x) {
  Tensor made = allocate({t, {}, {}});
  put(made, 0, x);
  return made;
}

int64_t wrappingSum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

rt::TensorView viewOf(const Tensor& t) { return {static_cast<uint8_t>(t.type.dtype), t.type.shape, t.data->data()}; }

/// State of the whole run; each call of a function has an Activation of its own.
struct RunState {
  RunState(const ir::Module& m, const Options& o)
      : module(m), options(o), files({o.fileRoot}), seed(o.seed), start(std::chrono::steady_clock::now()) {}
  const ir::Module& module;
  const Options& options;
  rt::FileReader files;
  uint64_t seed, draws = 0;
  std::optional<Stop> stop;
  Tape tape;
  std::chrono::steady_clock::time_point start;
};

class Activation {
 public:
  explicit Activation(RunState& state) : run_(state) {}

  /// The returned values; empty after a stop.
  std::vector<Tensor> call(const ir::Func& f, std::vector<Tensor> arguments) {
    bind(*f.body, std::move(arguments));
    return region(*f.body);
  }

 private:
  using Values = std::vector<Tensor>;

  // ---- environment

  void define(const Value* v, Tensor t) {
    t.type = v->type;
    env_[v] = std::move(t);
  }

  void bind(const Region& r, Values values) {
    for (size_t i = 0; i < r.args.size() && i < values.size(); ++i) define(r.args[i].get(), std::move(values[i]));
  }

  /// The value of an operand. A value that only `user` uses, and that was made in the same region, is given away, so
  /// that updates can be done in place.
  Tensor take(const Op& user, size_t i) {
    const Value* v = user.operand(i);
    auto it = env_.find(v);
    if (v->uses.size() == 1 && v->home() == user.parent) {
      Tensor t = std::move(it->second);
      env_.erase(it);
      return t;
    }
    return it->second;
  }

  const Tensor& get(const Op& user, size_t i) { return env_.find(user.operand(i))->second; }

  Values takeAll(const Op& op, size_t first = 0) {
    Values all;
    for (size_t i = first; i < op.operandCount(); ++i) all.push_back(take(op, i));
    return all;
  }

  bool fail(const Op& op, Code code, std::string message) {
    if (!run_.stop) run_.stop = Stop{code, std::move(message), op.loc, {}};
    return false;
  }

  // ---- running

  /// Runs to the terminator and returns its operands.
  Values region(const Region& r) {
    for (const auto& op : r.ops) {
      if (op->has(Trait::Terminator)) return takeAll(*op);
      if (!run(*op)) return {};
    }
    return {};
  }

  bool run(const Op& op) {
    if (run_.options.interrupted != nullptr && run_.options.interrupted->load(std::memory_order_relaxed))
      return fail(op, Code::E0901, "interrupted");
    switch (op.kind) {
      case OpKind::For: return forLoop(op);
      case OpKind::While: return whileLoop(op);
      case OpKind::If: return results(op, region(*op.regions[at(get(op, 0), 0).i ? 0 : 1]));
      case OpKind::On:
      case OpKind::Bench: return results(op, region(*op.regions[0]));
      case OpKind::Fused: bind(*op.regions[0], takeAll(op)); return results(op, region(*op.regions[0]));
      case OpKind::Call: return call(op);
      case OpKind::StopGradient: {
        Tensor stopped = take(op, 0);
        stopped.places = nullptr;
        define(op.result(), std::move(stopped));
        return true;
      }
      case OpKind::To:
      case OpKind::CheckPlace:
      case OpKind::SamePlace:
      case OpKind::Transfer: define(op.result(), take(op, 0)); return true;
      case OpKind::OnePlace:
      case OpKind::DecidedBranch: return true;
      case OpKind::DeviceEq: return deviceEq(op);
      case OpKind::Print: return print(op);
      case OpKind::Assert: return assertion(op);
      case OpKind::Trap: return trap(op);
      case OpKind::Load: return loadFile(op);
      case OpKind::ReadAhead:
        define(op.result(), allocate(op.result()->type));
        return true;  // loads read by themselves
      case OpKind::EndReadAhead:
      case OpKind::BringIn: return true;
      case OpKind::Save: return saveFile(op);
      case OpKind::Seed:
        run_.seed = static_cast<uint64_t>(at(get(op, 0), 0).i);
        run_.draws = op.operandCount() > 1 ? static_cast<uint64_t>(at(get(op, 1), 0).i) : 0;
        return true;
      case OpKind::RngNext:
        define(op.result(0), scalar(DType::U64, {0, static_cast<int64_t>(run_.seed)}));
        define(op.result(1), scalar(DType::U64, {0, static_cast<int64_t>(run_.draws)}));
        if (!op.boolAttr("peek")) ++run_.draws;
        return true;
      case OpKind::Time: {
        std::chrono::duration<double> since = std::chrono::steady_clock::now() - run_.start;
        define(op.result(), scalar(DType::F64, {since.count(), 0}));
        return true;
      }
      default: return compute(op);
    }
  }

  bool results(const Op& op, Values values) {
    if (run_.stop) return false;
    for (size_t i = 0; i < op.results.size(); ++i) define(op.result(i), std::move(values[i]));
    return true;
  }

  // ---- calls

  bool call(const Op& op) {
    if (op.hasAttr(ir::kOracle)) return differentiate(op);
    if (run_.tape.active() && op.hasAttr(ir::kRuleForward)) return callWithRule(op);
    const ir::Func* callee = run_.module.find(op.stringAttr("callee"));
    if (!callee) return fail(op, Code::E0190, "call of an unknown function");
    return results(op, callOf(run_, op, *callee, takeAll(op)));
  }

  /// Empty after a stop.
  static Values callOf(RunState& run, const Op& op, const ir::Func& callee, Values arguments) {
    Values values = Activation(run).call(callee, std::move(arguments));
    if (run.stop) run.stop->callers.emplace_back(op.loc, callee.signature);
    return values;
  }

  /// What ir/CallAttributes.h says of `kOracle`.
  bool differentiate(const Op& op) {
    Tape& tape = run_.tape;
    const ir::Func& f = *run_.module.find(op.stringAttr(ir::kOracle));
    Values arguments = takeAll(op), directions;
    const auto own = arguments.begin() + static_cast<std::ptrdiff_t>(f.body->args.size());
    directions.assign(own, arguments.end());
    arguments.erase(own, arguments.end());
    const bool forward = op.boolAttr(ir::kOracleForward);

    const int64_t begin = tape.begin();
    size_t inputs = 0;
    std::vector<Var> tangents;
    const ir::Dims &by = op.intsAttr(ir::kOracleArguments), &asked = op.intsAttr(ir::kOracleResults);
    for (size_t k = 0; k < by.size(); ++k) {
      Tensor& x = arguments[static_cast<size_t>(by[k])];
      std::vector<int64_t> places;
      for (int64_t i = 0; i < x.type.size(); ++i) {
        places.push_back(tape.input(varAt(x, i)).at);
        if (forward) tangents.push_back(varAt(directions[k], i));
      }
      inputs += places.size();
      setPlaces(x, std::move(places));
    }
    Values given = callOf(run_, op, f, std::move(arguments));
    tape.end();
    if (run_.stop) return false;

    std::vector<Var> derivatives;
    if (forward) {
      std::vector<int64_t> places;
      for (const int64_t r : asked) {
        const Tensor& y = given[static_cast<size_t>(r)];
        for (int64_t i = 0; i < y.type.size(); ++i) places.push_back(varAt(y, i).at);
      }
      derivatives = tape.forward(begin, tangents, places);
    } else {
      std::vector<std::pair<int64_t, Var>> seeds;
      for (size_t k = 0; k < asked.size(); ++k) {
        const Tensor& y = given[static_cast<size_t>(asked[k])];
        for (int64_t i = 0; i < y.type.size(); ++i)
          seeds.emplace_back(varAt(y, i).at, directions.empty() ? Var{1} : varAt(directions[k], i));
      }
      auto found = tape.reverse(begin, inputs, seeds);
      if (!found) return false;
      derivatives = std::move(*found);
    }
    const std::span<const Var> all(derivatives);
    size_t used = 0;
    for (size_t i = given.size(); i < op.results.size(); ++i) {
      const auto count = static_cast<size_t>(op.result(i)->type.size());
      given.push_back(tensorOf(op.result(i)->type, all.subspan(used, count)));
      used += count;
    }
    if (!tape.inUse()) {
      for (Tensor& t : given) t.places = nullptr;
      tape.clear();
    }
    return results(op, std::move(given));
  }

  static Tensor tensorOf(const ir::Type& type, std::span<const Var> elements) {
    Tensor t = allocate(type);
    std::vector<int64_t> places;
    for (size_t i = 0; i < elements.size(); ++i) {
      put(t, static_cast<int64_t>(i), {roundTo(type.dtype, elements[i].v), 0});
      places.push_back(elements[i].at);
    }
    setPlaces(t, std::move(places));
    return t;
  }

  /// A call with a rule of its own, while something is differentiated.
  bool callWithRule(const Op& op) {
    const ir::Func* forward = run_.module.find(op.stringAttr(ir::kRuleForward));
    const ir::Func* backward = run_.module.find(op.stringAttr(ir::kRuleBackward));
    if (!forward || !backward) return fail(op, Code::E0190, "call of an unknown function");
    const Values arguments = takeAll(op);
    const auto own = static_cast<size_t>(op.intAttr(ir::kRuleArguments));
    std::vector<Var> operands;
    for (size_t k = 0; k < own; ++k)
      for (int64_t i = 0; i < arguments[k].type.size(); ++i) operands.push_back(varAt(arguments[k], i));
    Values given = callOf(run_, op, *forward, arguments);
    if (run_.stop) return false;
    const auto end = given.begin() + static_cast<std::ptrdiff_t>(op.results.size());
    const Values saved(end, given.end()),
        captures(arguments.begin() + static_cast<std::ptrdiff_t>(own), arguments.end());
    given.erase(end, given.end());

    std::vector<Var> values;
    std::vector<ir::Type> types;
    for (const Tensor& y : given) {
      types.push_back(y.type);
      for (int64_t i = 0; ir::isFloat(y.type.dtype) && i < y.type.size(); ++i) values.push_back(varAt(y, i));
    }
    const auto pull = [&run = run_, &op, backward, saved, captures, types,
                       own](const std::vector<Var>& cotangents) -> std::optional<std::vector<Var>> {
      Values all = saved;
      const std::span<const Var> rest(cotangents);
      size_t used = 0;
      for (const ir::Type& t : types) {
        const bool has = ir::isFloat(t.dtype);
        all.push_back(has ? tensorOf(t, rest.subspan(used, static_cast<size_t>(t.size()))) : allocate(t));
        if (has) used += static_cast<size_t>(t.size());
      }
      all.insert(all.end(), captures.begin(), captures.end());
      const Values gradients = callOf(run, op, *backward, std::move(all));
      if (run.stop) return std::nullopt;
      std::vector<Var> found;
      for (size_t k = 0; k < own; ++k)
        for (int64_t i = 0; i < gradients[k].type.size(); ++i) found.push_back(varAt(gradients[k], i));
      return found;
    };
    const std::vector<Var> made = run_.tape.ruled(values, std::move(operands), pull);
    size_t used = 0;
    for (Tensor& y : given) {
      if (!ir::isFloat(y.type.dtype)) continue;
      std::vector<int64_t> places;
      for (int64_t i = 0; i < y.type.size(); ++i) places.push_back(made[used++].at);
      setPlaces(y, std::move(places));
    }
    return results(op, std::move(given));
  }

  // ---- ops

  /// Memory that cannot be had ends the program as it would when compiled.
  bool compute(const Op& op) {
    try {
      return computeInMemory(op);
    } catch (const std::bad_alloc&) {
      return fail(op, Code::E0320,
                  "memory for the result of `" + std::string(op.info().mnemonic) + "` could not be had");
    }
  }

  bool computeInMemory(const Op& op) {
    Values in = takeAll(op);
    if (const auto to = op.dtypeAttr("rounds"); to && op.has(Trait::Rounds)) {
      for (size_t i = 0; i < in.size() && i < 3; ++i) in[i] = rounded(in[i], *to);
    }
    // What goes on the tape is not overwritten.
    const Values kept = run_.tape.active() ? in : Values();
    if (op.has(Trait::Library)) {
      Values made;
      for (const auto& r : op.results) made.push_back(allocate(r->type));
      MaybeFailure failed = library(op, in, made);
      if (!failed) failed = trace(op, kept, made, run_.tape);
      if (failed) return fail(op, failed->code, failed->message);
      return results(op, std::move(made));
    }
    if (op.has(Trait::Product) && op.results.size() > 1) return products(op, in);
    const ir::Type& type = op.result()->type;
    const bool update = op.has(Trait::Scatters);
    Tensor out = update || op.kind == OpKind::Constant ? Tensor{type, nullptr} : allocate(type);
    MaybeFailure failure;
    if (op.has(Trait::Elementwise)) {
      failure = elementwise(op, in, out);
    } else if (op.has(Trait::Decomposed)) {
      failure = decomposed(op, in, out);
    } else if (op.has(Trait::Reduction)) {
      failure = reduction(op, in[0], out);
    } else if (op.has(Trait::Scans)) {
      scan(op, in, out);
    } else if (op.has(Trait::Structural)) {
      failure = structural(op, in, out);
    } else if (op.has(Trait::Gathers) || op.kind == OpKind::ReadRows || update) {
      failure = indexed(op, in, out);
    } else if (op.has(Trait::Random)) {
      random(op, in, out);
    } else {
      switch (op.kind) {
        case OpKind::Constant:
          out.data = std::make_shared<std::vector<std::byte>>(*std::get<ir::Data>(*op.find("value")));
          break;
        case OpKind::Iota: iota(op, out); break;
        case OpKind::Fill:
          for (int64_t i = 0; i < type.size(); ++i) put(out, i, at(in[0], 0));
          break;
        case OpKind::Matmul: matmul(in[0], in[1], out); break;
        default: failure = unknown(op);
      }
    }
    if (!failure) failure = trace(op, kept, std::span(&out, 1), run_.tape);
    if (failure) return fail(op, failure->code, failure->message);
    define(op.result(), std::move(out));
    return true;
  }

  /// Products of several results, which passes make behind derivatives.
  bool products(const Op& op, const Values& in) {
    Values made;
    for (const auto& r : op.results) made.push_back(allocate(r->type));
    switch (op.kind) {
      case OpKind::AttentionSaved: attention(op, in, made[0], &made[1]); break;
      case OpKind::AttentionGrad: attentionGradient(op, in, made); break;
      default: {
        const Failure failure = unknown(op);
        return fail(op, failure.code, failure.message);
      }
    }
    return results(op, std::move(made));
  }

  bool forLoop(const Op& op) {
    int64_t lo = at(get(op, 0), 0).i, hi = at(get(op, 1), 0).i, step = at(get(op, 2), 0).i;
    if (step == 0) return fail(op, Code::E0902, "the step of the loop is not positive");
    Values carried = takeAll(op, 3);
    const Region& body = *op.regions[0];
    // Counted, because the last sum may be beyond the largest integer.
    const bool up = step > 0;
    const uint64_t way = up ? static_cast<uint64_t>(hi) - static_cast<uint64_t>(lo)
                            : static_cast<uint64_t>(lo) - static_cast<uint64_t>(hi);
    const uint64_t stride = up ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
    uint64_t trips = (up ? lo < hi : lo > hi) ? ((way - 1) / stride + 1) : 0;
    for (int64_t i = lo; trips > 0; i = wrappingSum(i, step), --trips) {
      carried.insert(carried.begin(), scalar(DType::I64, {0, i}));
      bind(body, std::move(carried));
      carried = region(body);
      if (run_.stop) return false;
    }
    return results(op, std::move(carried));
  }

  bool whileLoop(const Op& op) {
    Values carried = takeAll(op);
    for (;;) {
      bind(*op.regions[0], carried);
      Values condition = region(*op.regions[0]);
      if (run_.stop) return false;
      if (!at(condition[0], 0).i) return results(op, std::move(carried));
      bind(*op.regions[1], std::move(carried));
      carried = region(*op.regions[1]);
      if (run_.stop) return false;
    }
  }

  // ---- devices

  std::string actualOf(const ir::Placement& p) {
    return p.isFree() ? "cpu" : std::string(run_.module.actual(p.device));
  }

  /// Before placement only the default device is known.
  bool deviceEq(const Op& op) {
    std::string a = actualOf(op.operand(0)->type.place);
    std::string b = op.operandCount() > 1 ? actualOf(op.operand(1)->type.place)
                                          : std::string(run_.module.actual(op.stringAttr("device")));
    define(op.result(), scalar(DType::Bool, {0, a == b}));
    return true;
  }

  // ---- effects

  void emit(const std::string& text) {
    if (run_.options.print)
      run_.options.print(text);
    else
      std::fwrite(text.data(), 1, text.size(), stdout);
  }

  /// Text pieces around operands; `devices` (set by placement) says where each was before a host read.
  std::string format(const Op& op) {
    const size_t first = op.firstTextOperand();
    const auto& pieces = op.stringsAttr("pieces");
    const auto& formats = op.stringsAttr("formats");
    const auto& devices = op.stringsAttr("devices");
    std::string text;
    for (size_t i = 0; i < pieces.size(); ++i) {
      text += pieces[i];
      if (first + i >= op.operandCount()) continue;
      const Tensor& t = get(op, first + i);
      std::string device = i < devices.size() ? devices[i] : actualOf(t.type.place);
      std::string wanted = i < formats.size() ? formats[i] : "";
      if (wanted == "@")
        text += device;
      else if (wanted == rt::kTextFormat)
        text.append(reinterpret_cast<const char*>(viewOf(t).data), viewOf(t).shape[0]);
      else if (t.type.shape.empty())
        text += rt::formatScalar(viewOf(t).dtype, t.data->data(), wanted);
      else
        text += rt::formatTensor(viewOf(t), device, wanted);
    }
    return text;
  }

  bool print(const Op& op) {
    emit(format(op) + op.printEnd());
    return true;
  }

  bool assertion(const Op& op) {
    if (at(get(op, 0), 0).i) return true;
    const std::string message = format(op);
    return fail(op, Code::E0903, message.empty() ? "assertion failed" : "assertion failed: " + message);
  }

  bool trap(const Op& op) {
    const rt::TensorView result = viewOf(get(op, 0));
    if (rt::isFinite(result)) return true;
    const size_t operands = op.operandCount() - (op.hasAttr("selects") ? 1 : 0);
    std::vector<rt::TensorView> from;
    for (size_t i = 1; i < operands; ++i) from.push_back(viewOf(get(op, i)));
    std::optional<rt::TensorView> mask;
    if (operands < op.operandCount()) mask = viewOf(get(op, operands));
    const std::string found = rt::findNonFinite({abi::originsNamed(op.stringAttr("relation")), op.intsAttr("axes"),
                                                 result, from, mask, op.boolAttr("selects")});
    return found.empty() || fail(op, Code::E0906, op.stringAttr("what") + " " + found);
  }

  std::string pathOf(const Op& op) { return op.hasAttr("pieces") ? format(op) : op.stringAttr("path"); }

  bool loadFile(const Op& op) {
    Tensor out = allocate(op.result()->type);
    std::string error;
    if (!run_.files.load({pathOf(op), op.stringAttr("format"), op.stringAttr("name")},
                         static_cast<uint8_t>(out.type.dtype), out.type.shape, out.data->data(), error))
      return fail(op, Code::E0904, error);
    define(op.result(), std::move(out));
    return true;
  }

  bool saveFile(const Op& op) {
    std::string error;
    std::vector<rt::NamedTensor> tensors;
    const auto& names = op.stringsAttr("names");
    for (size_t i = 0; i < op.firstTextOperand(); ++i) {
      tensors.push_back({i < names.size() ? names[i] : "", viewOf(get(op, i))});
    }
    if (rt::saveTensors(pathOf(op), op.stringAttr("format"), tensors, {run_.options.fileRoot}, error)) return true;
    return fail(op, Code::E0904, error);
  }

  RunState& run_;
  std::unordered_map<const Value*, Tensor> env_;
};

}  // namespace

Result run(const ir::Module& m, const ir::Func& f, const Options& options) {
  RunState state(m, options);
  Result result;
  result.values = Activation(state).call(f, options.arguments);
  result.stop = std::move(state.stop);
  if (result.stop) result.values.clear();
  return result;
}

}  // namespace tenc::interp
