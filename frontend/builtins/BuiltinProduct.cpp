// Products: matmul and its relatives, einsum, traces and powers of matrices.
#include <algorithm>
#include <map>

#include "frontend/Context.h"
#include "frontend/builtins/Builtin.h"
#include "frontend/expressions/Operands.h"
#include "frontend/expressions/Operators.h"
#include "frontend/values/Evaluator.h"
#include "frontend/values/PlacingOps.h"
#include "frontend/values/Tensors.h"

namespace tenc::frontend {

using ir::Dims;
using ir::DType;
using ir::OpKind;

namespace {

struct Pair {
  ir::Value* a = nullptr;
  ir::Value* b = nullptr;
};

/// Operands a and b of one dtype that is no bool.
std::optional<Pair> pair(BuiltinCall& k) {
  auto t = commonDType(k.context, {k["a"], k["b"]}, k.span, k.row.name);
  if (!t) return std::nullopt;
  Pair p{k.tensor("a", t), k.tensor("b", t)};
  if (!p.a || !p.b) return std::nullopt;
  if (*t == DType::Bool) {
    k.fail(Code::E0201, "`" + std::string(k.row.name) + "` takes numbers, not bool");
    return std::nullopt;
  }
  return p;
}

Val misfit(BuiltinCall& k, const Pair& p) {
  return k.fail(Code::E0202, "operands of `" + std::string(k.row.name) + "` do not fit: " + ir::toString(p.a->type) +
                                 " and " + ir::toString(p.b->type));
}

Val matmul(BuiltinCall& k) { return k.operators.binary("@", k["a"], k["b"], k.span, k.span); }

Val dot(BuiltinCall& k) {
  auto p = pair(k);
  if (!p) return k.lost();
  int64_t m = p->a->type.rank(), n = p->b->type.rank();
  if (m == 0 || n == 0) return k.result(k.c.mul(p->a, p->b));
  int64_t axis = std::max<int64_t>(n - 2, 0);
  if (p->a->type.shape[m - 1] != p->b->type.shape[axis]) return misfit(k, *p);
  return k.result(k.c.tensordot(p->a, p->b, {m - 1}, {axis}));
}

Val outer(BuiltinCall& k) {
  auto p = pair(k);
  if (!p) return k.lost();
  return k.result(k.c.mul(k.c.reshape(p->a, {p->a->type.size(), 1}), k.c.reshape(p->b, {1, p->b->type.size()})));
}

/// Operands a and b broadcast to one shape, and an axis of it; reports when they are none.
struct Vectors {
  ir::Value* a = nullptr;
  ir::Value* b = nullptr;
  int64_t axis = 0;
  int64_t lengths[2] = {};  ///< of a and b along the axis, as they were given
};
std::optional<Vectors> vectors(BuiltinCall& k) {
  auto p = pair(k);
  if (!p || !k.checkRank(p->a, 1) || !k.checkRank(p->b, 1)) return std::nullopt;
  auto shape = ir::broadcastShapes(p->a->type.shape, p->b->type.shape);
  if (!shape) {
    misfit(k, *p);
    return std::nullopt;
  }
  auto axis = k.axis("axis", static_cast<int64_t>(shape->size()));
  if (!axis) return std::nullopt;
  const auto length = [&](const ir::Value* v) {
    const int64_t at = v->type.rank() - static_cast<int64_t>(shape->size()) + *axis;
    return at < 0 ? 1 : v->type.shape[static_cast<size_t>(at)];
  };
  return Vectors{k.c.broadcastTo(p->a, *shape), k.c.broadcastTo(p->b, *shape), *axis, {length(p->a), length(p->b)}};
}

Val vecdot(BuiltinCall& k) {
  const auto v = vectors(k);
  if (!v) return k.lost();
  return k.result(k.c.cast(k.c.reduce(OpKind::Sum, k.c.mul(v->a, v->b), {v->axis}, false), v->a->type.dtype));
}

Val tensordot(BuiltinCall& k) {
  auto p = pair(k);
  if (!p) return k.lost();
  int64_t m = p->a->type.rank(), n = p->b->type.rank();
  Dims left, right;
  const Val axes = k.value("axes");
  if (axes.is(Val::Kind::Int)) {
    auto count = k.evaluator.constInt(axes, "`axes`");
    if (!count) return k.lost();
    if (*count < 0 || *count > m || *count > n) return misfit(k, *p);
    for (int64_t i = 0; i < *count; ++i) left.push_back(m - *count + i), right.push_back(i);
  } else {
    if (axes.elems.size() != 2)
      return k.failAt("axes", Code::E0204, "`axes` is a number of dims or a pair of lists of axes");
    auto a = k.evaluator.constInts(axes.elems[0], "an axis"), b = k.evaluator.constInts(axes.elems[1], "an axis");
    if (!a || !b) return k.lost();
    if (a->size() != b->size()) return k.failAt("axes", Code::E0204, "`axes` names different numbers of axes");
    for (size_t i = 0; i < a->size(); ++i) {
      auto x = k.evaluator.constAxis(Val::ofInt((*a)[i], axes.span), m),
           y = k.evaluator.constAxis(Val::ofInt((*b)[i], axes.span), n);
      if (!x || !y) return k.lost();
      bool twice = std::find(left.begin(), left.end(), *x) != left.end() ||
                   std::find(right.begin(), right.end(), *y) != right.end();
      if (twice) return k.failAt("axes", Code::E0204, "`axes` names an axis twice");
      left.push_back(*x), right.push_back(*y);
    }
  }
  for (size_t i = 0; i < left.size(); ++i) {
    if (p->a->type.shape[left[i]] != p->b->type.shape[right[i]]) return misfit(k, *p);
  }
  return k.result(k.c.tensordot(p->a, p->b, left, right));
}

/// An einsum's subscripts: letters of each operand and of the result; the dims of `...` are digits from the right.
struct EinsumSpec {
  std::vector<std::string> in;
  std::string out;
  bool implicit = true;
};

std::optional<EinsumSpec> readSpec(BuiltinCall& k, const std::string& text) {
  EinsumSpec spec;
  spec.in.emplace_back();
  std::string* into = &spec.in[0];
  auto bad = [&](const std::string& why) {
    k.context.error(Code::E0204, k["spec"].span, "the subscripts \"" + text + "\" cannot be read: " + why);
    return std::nullopt;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    char ch = text[i];
    if (ch == ' ') continue;
    if (ch == ',' && spec.implicit) {
      into = &spec.in.emplace_back();
    } else if (ch == '-' && i + 1 < text.size() && text[i + 1] == '>' && spec.implicit) {
      spec.implicit = false;
      into = &spec.out;
      ++i;
    } else if (text.compare(i, 3, "...") == 0) {
      if (into->find('.') != std::string::npos) return bad("`...` occurs twice in one operand");
      into->push_back('.');
      i += 2;
    } else if ((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z')) {
      into->push_back(ch);
    } else {
      return bad(std::string("`") + ch + "` is not an index");
    }
  }
  return spec;
}

/// Replaces the `.` of an operand of `rank` by one digit a dim.
bool expandEllipsis(std::string& letters, int64_t rank, int64_t& most) {
  size_t at = letters.find('.');
  auto named = static_cast<int64_t>(letters.size()) - (at != std::string::npos);
  if (at == std::string::npos) return named == rank;
  int64_t n = rank - named;
  if (n < 0 || n > 9) return false;
  std::string digits;
  for (int64_t i = n; i > 0; --i) digits.push_back(static_cast<char>('0' + i));
  letters.replace(at, 1, digits);
  most = std::max(most, n);
  return true;
}

Val einsum(BuiltinCall& k) {
  auto text = k.evaluator.constString(k["spec"], "the subscripts");
  if (!text) return k.lost();
  auto spec = readSpec(k, *text);
  if (!spec) return k.lost();
  std::vector<Val> given;
  for (const Val* v : k.args.rest) given.push_back(*v);
  if (given.size() != spec->in.size()) {
    return k.fail(Code::E0204, "the subscripts name " + std::to_string(spec->in.size()) + " operands, but " +
                                   std::to_string(given.size()) + (given.size() == 1 ? " is given" : " are given"));
  }
  auto t = commonDType(k.context, given, k.span, k.row.name);
  if (!t) return k.lost();
  if (*t == DType::Bool) return k.fail(Code::E0201, "`einsum` takes numbers, not bool");
  std::vector<ir::Value*> operands;
  std::map<char, int64_t> size;
  int64_t most = 0;
  for (size_t i = 0; i < given.size(); ++i) {
    ir::Value* x = k.tensors.tensorOf(given[i], t);
    if (!x) return k.lost();
    const auto letters =
        spec->in[i].size() - static_cast<size_t>(std::count(spec->in[i].begin(), spec->in[i].end(), '.'));
    if (!expandEllipsis(spec->in[i], x->type.rank(), most)) {
      return k.fail(Code::E0202, "operand " + std::to_string(i + 1) + " of the subscripts \"" + *text + "\" has " +
                                     std::to_string(letters) + " letters, and it is " + ir::toString(x->type));
    }
    for (size_t d = 0; d < spec->in[i].size(); ++d) {
      int64_t& n = size.try_emplace(spec->in[i][d], 1).first->second;
      int64_t m = x->type.shape[d];
      if (n != 1 && m != 1 && n != m) {
        return k.fail(Code::E0202, std::string("dim `") + spec->in[i][d] + "` of \"" + *text + "\" is " +
                                       std::to_string(n) + " and " + std::to_string(m));
      }
      if (n == 1) n = m;
    }
    operands.push_back(x);
  }
  // The result: as written, or the dims of `...` and then the letters that stand once, in order.
  std::string digits;
  for (int64_t i = most; i > 0; --i) digits.push_back(static_cast<char>('0' + i));
  if (spec->implicit) {
    std::map<char, int> times;
    for (const std::string& s : spec->in) {
      for (char ch : s) ++times[ch];
    }
    spec->out = digits;
    for (auto [ch, n] : times) {
      if (n == 1 && !(ch >= '0' && ch <= '9')) spec->out.push_back(ch);
    }
  } else if (size_t at = spec->out.find('.'); at != std::string::npos) {
    spec->out.replace(at, 1, digits);
  }
  for (size_t i = 0; i < spec->out.size(); ++i) {
    if (!size.contains(spec->out[i]) || spec->out.find(spec->out[i], i + 1) != std::string::npos) {
      return k.fail(Code::E0204, "the result of \"" + *text + "\" must name dims of the operands, each once");
    }
  }
  // One that is summed before it meets another may be a number by then.
  std::vector<ir::OperandText> written;
  for (const Val& v : given) written.push_back({v.span, ""});
  k.placing.checkOperands(operands, std::move(written), k.row.name, k.span);
  // A dim of 1 against a longer one is left out; so are all of its places in this operand.
  for (size_t i = 0; i < operands.size(); ++i) {
    Dims shape;
    std::string left;
    bool alone = true;
    for (size_t d = 0; d < spec->in[i].size(); ++d) {
      char ch = spec->in[i][d];
      int64_t m = operands[i]->type.shape[d];
      if (m == 1 && size[ch] != 1) {
        alone = spec->in[i].find(ch) == d && spec->in[i].find(ch, d + 1) == std::string::npos;
        if (!alone)
          return k.fail(Code::E0202, "a repeated dim of \"" + *text + "\" is 1 and " + std::to_string(size[ch]));
        continue;
      }
      left.push_back(ch);
      shape.push_back(m);
    }
    spec->in[i] = left;
    operands[i] = k.c.reshape(operands[i], shape);
  }
  return k.result(k.c.einsum(operands, spec->in, spec->out));
}

Val cross(BuiltinCall& k) {
  const auto v = vectors(k);
  if (!v) return k.lost();
  // A vector of one does not stand for three equal components: the dims in front broadcast, the axis does not.
  for (const int64_t length : v->lengths) {
    if (length != 3)
      return k.fail(Code::E0202, "`cross` needs 3 elements along its axis, not " + std::to_string(length));
  }
  return k.result(k.c.cross(v->a, v->b, v->axis));
}

constexpr BuiltinRow kRows[] = {
    {"matmul(a, b)", "Matrix product, as `a @ b`.", matmul},
    {"dot(a, b)", "NumPy's dot: the last dim of a with the last but one of b.", dot},
    {"outer(a, b)", "All products of the elements of two vectors.", outer},
    {"vecdot(a, b; axis: -1)", "Sum of products along an axis.", vecdot},
    {"tensordot(a, b; axes: 2)", "Sum of products over several axes.", tensordot},
    {"einsum(spec, ...)", "Einstein summation, as \"ij,jk->ik\".", einsum},
    {"cross(a, b; axis: -1)", "Cross product of vectors of 3.", cross},
};

}  // namespace

std::span<const BuiltinRow> productBuiltins() { return kRows; }

}  // namespace tenc::frontend
