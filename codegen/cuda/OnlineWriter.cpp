#include "codegen/cuda/OnlineWriter.h"

#include <algorithm>

#include "codegen/cuda/FlatPlan.h"
#include "codegen/cuda/StageVectors.h"

namespace tenc::codegen::cuda {

using Names = std::vector<std::string>;

void OnlineWriter::write(const OnlineSum& o) {
  constexpr int64_t kMostValues = 16, kMostVectors = 8;
  const Stage& s = kernel_.stages[o.stage];
  const int64_t groups = rows_.groups(s), vector = schedule_.vector, team = schedule_.team;
  int64_t some = std::min(std::clamp<int64_t>(kMostValues / vector, 1, kMostVectors), (groups + team - 1) / team);
  while (some > 1 && some * vector * costOf(s) > kLongCode) some /= 2;
  out_.open("");
  const Held most = team_.hold(StageWriter(out_, scalars_, kernel_, s, names_, {}).reducer(o.maximum)),
             sum = team_.hold(
                 StageWriter(out_, scalars_, kernel_, kernel_.stages[o.stage + 1], names_, {}).reducer(o.sum));
  const std::string base = out_.fresh("base");
  const auto take = [&](const std::string& number, bool bounded) {
    const std::string values = this->values(s, o.value, number, some, bounded);
    const std::string top = out_.fresh("top"), count = decimal(some * vector);
    out_.line("float " + top + " = " + most.value + ";");
    out_.line("#pragma unroll");
    out_.line("for (int v = 0; v < " + count + "; ++v) " + top + " = tenc_maximum(" + top + ", " + values + "[v]);");
    // Where nothing but -inf has come, it weighs nothing.
    out_.line("const float " + base + " = " + (o.finite ? "fabsf(" + top + ")" : "-" + top) +
              " == __int_as_float(0x7f800000) ? 0.0f : " + top + ";");
    out_.line(sum.value + " *= tenc_weight(" + most.value + " - " + base + ");");
    out_.line("#pragma unroll");
    out_.line("for (int v = 0; v < " + count + "; ++v) " + sum.value + " += tenc_weight(" + values + "[v] - " + base +
              ");");
    out_.line(most.value + " = " + top + ";");
  };
  if (const int64_t whole = groups / (team * some); whole > 0) {
    const std::string c = out_.fresh("c");
    out_.line("#pragma unroll 1");
    out_.open("for (" + std::string(rows_.type(s)) + " " + c + " = 0; " + c + " < " + decimal(whole) + "; ++" + c +
              ")");
    take(c + " * " + decimal(team * some) + " + lane", false);
    out_.close();
  }
  if (const int64_t done = groups / (team * some) * (team * some); done < groups) {
    out_.open("");
    take(decimal(done) + " + lane", true);
    out_.close();
  }
  const std::string own = out_.fresh("own");
  out_.line("const float " + own + " = " + most.value + ";");
  team_.across(most, o.maximum);
  out_.line("const float " + base + " = " +
            (o.finite ? "fabsf(" + most.value + ") == __int_as_float(0x7f800000) ? 0.0f : " : "") + most.value + ";");
  out_.line(sum.value + " *= tenc_weight(" + own + " - " + base + ");");
  team_.across(sum, o.sum);
  for (const auto& [held, number] : {std::pair(most, o.maximum), std::pair(sum, o.sum)})
    out_.line(names_.reduced[number] + " = " + CudaScalars::text(held.reducer.result(team_.now(held))) + ";");
  out_.close();
}

std::string OnlineWriter::values(const Stage& s, ExprId value, const std::string& number, int64_t some, bool bounded) {
  const std::string values = out_.fresh("e"), t = out_.fresh("t"), none = "__uint_as_float(0xff800000)",
                    type(rows_.type(s)), cast(type == "int" ? "" : "(long long)"),
                    last = cast + decimal(rows_.groups(s) - 1);
  const int vector = schedule_.vector;
  out_.line("float " + values + "[" + decimal(some * vector) + "];");
  std::vector<std::pair<ExprId, std::string>> loads;
  for (ExprId id = 0; id < s.exprs.size(); ++id) {
    const Expr& e = s.exprs[id];
    if (e.kind != Expr::Kind::Load || vector == 1 || !rows_.has(s, e.access)) continue;
    loads.emplace_back(id, out_.fresh("x"));
    out_.line(StageVectors::type(kernel_, e.access.buffer, vector) + " " + loads.back().second + "[" + decimal(some) +
              "];");
  }
  const auto each = [&](const auto& body) {
    out_.line("#pragma unroll");
    out_.open("for (int u = 0; u < " + decimal(some) + "; ++u)");
    const std::string at = cast + number + " + u * " + decimal(schedule_.team);
    out_.line("const " + type + " " + t + " = " + (bounded ? "min(" + at + ", " + last + ")" : at) + ";");
    if (bounded) out_.line("const bool there = " + at + " <= " + last + ";");
    const Names names = rows_.point(s, t, true);
    if (rows_.shift()) rows_.edges("true", "true", names);
    body(names);
    out_.close();
  };
  if (!loads.empty())
    each([&](const Names& names) {
      const StageVectors vectors = rows_.vectors(s, true, names);
      StageWriter first(out_, scalars_, kernel_, s, names_, names);
      for (const auto& [id, array] : loads) {
        const Access& a = s.exprs[id].access;
        out_.line(array + "[u] = " + vectors.loaded(StageVectors::type(kernel_, a.buffer, vector), first.address(a)) +
                  ";");
      }
    });
  each([&](const Names& names) {
    StageVectors vectors(kernel_, s, vectorVariable(kernel_, schedule_, s), vector);
    for (const auto& [id, array] : loads) vectors.loadFrom(id, array + "[u]");
    out_.line("#pragma unroll");
    out_.open("for (int v = 0; v < " + decimal(vector) + "; ++v)");
    Names mine = names;
    mine.back() = out_.fresh("i");
    const std::string element = values + "[u * " + decimal(vector) + " + v]";
    out_.line("const " + type + " " + mine.back() + " = " + names.back() + " + v;");
    if (rows_.shift()) {
      out_.line(element + " = " + none + ";");
      out_.line("if (" + rows_.outside(mine.back()) + ") continue;");
    }
    StageWriter point(out_, scalars_, kernel_, s, names_, mine);
    vectors.give(point);
    const std::string x = CudaScalars::text(point.value(value));
    out_.line(element + " = " + (bounded ? "there ? " + x + " : " + none : x) + ";");
    out_.close();
  });
  return values;
}

}  // namespace tenc::codegen::cuda
