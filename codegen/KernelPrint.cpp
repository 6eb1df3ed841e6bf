#include <bit>
#include <charconv>
#include <concepts>
#include <unordered_map>

#include "codegen/Kernel.h"

namespace tenc::codegen {

namespace {

/// What an ostream would do, several times faster: every kernel of a program is written for its key.
struct Text {
  std::string text;

  Text& operator<<(std::string_view s) {
    text += s;
    return *this;
  }
  Text& operator<<(char c) {
    text += c;
    return *this;
  }
  template <std::integral T>
  Text& operator<<(T v) {
    return number(v, 10);
  }
  Text& operator<<(double v) {
    char digits[32];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, v, std::chars_format::general, 6).ptr);
    return *this;
  }
  template <std::integral T>
  Text& number(T v, int base) {
    char digits[24];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, v, base).ptr);
    return *this;
  }
};

void printList(Text& out, const std::vector<int64_t>& list) {
  out << '[';
  for (size_t i = 0; i < list.size(); ++i) out << (i ? ", " : "") << list[i];
  out << ']';
}

void printBox(Text& out, const std::vector<int64_t>& lo, const std::vector<int64_t>& hi) {
  out << '[';
  for (size_t i = 0; i < lo.size(); ++i) out << (i ? ", " : "") << lo[i] << ".." << hi[i];
  out << ']';
}

void printAccess(Text& out, const Access& a) {
  out << 'b' << a.buffer << '[' << a.offset;
  for (size_t v = 0; v < a.strides.size(); ++v) {
    if (a.strides[v] != 0) out << " + " << a.strides[v] << "*i" << v;
  }
  for (const Access::Term& t : a.terms) {
    out << " + " << t.stride << "*%" << t.index;
    if (t.extent < 0) continue;
    out << (t.fromEnd ? "{<" : "{0..") << t.extent << ", size " << t.size << ", fault " << t.fault;
    if (t.axis != 0) out << ", axis " << t.axis;
    out << '}';
  }
  out << ']';
}

std::string_view reductionName(Reduction::Kind k) {
  constexpr std::string_view kNames[] = {"sum", "prod", "max", "min", "any", "all", "argmax", "argmin"};
  return kNames[static_cast<size_t>(k)];
}

void printExpr(Text& out, const Expr& e) {
  auto args = [&] {
    for (ExprId a : e.args) out << " %" << a;
  };
  switch (e.kind) {
    case Expr::Kind::Op:
      out << ir::opInfo(e.op).mnemonic;
      args();
      if (ir::opInfo(e.op).has(ir::Trait::CanFault) && ir::isInt(e.dtype)) out << " fault " << e.fault;
      break;
    case Expr::Kind::Constant: (out << "constant 0x").number(e.bits, 16); break;
    case Expr::Kind::LoopVar: out << 'i' << e.index; break;
    case Expr::Kind::Scalar: out << "scalar " << e.index; break;
    case Expr::Kind::Load:
      out << "load ";
      printAccess(out, e.access);
      break;
    case Expr::Kind::Running: out << "running " << e.index; break;
    case Expr::Kind::Reduced: out << "reduced " << e.index; break;
    case Expr::Kind::Random:
      out << ir::opInfo(e.op).mnemonic;
      args();
      break;
  }
  out << " : " << ir::name(e.dtype);
}

void printStage(Text& out, const Kernel& k, const Stage& s) {
  out << "  stage outer ";
  printBox(out, s.outerLo, s.outerHi);
  if (!s.innerLo.empty()) {
    out << " inner ";
    printBox(out, s.innerLo, s.innerHi);
  }
  if (s.ordered) out << " ordered";
  out << '\n';
  for (size_t i = 0; i < s.exprs.size(); ++i) {
    out << "    %" << i << " = ";
    printExpr(out, s.exprs[i]);
    out << '\n';
  }
  for (uint32_t r : s.reductions) {
    const Reduction& red = k.reductions[r];
    out << "    reduce " << r << " = " << reductionName(red.kind) << " %" << red.value;
    if (red.position != kNoExpr) out << " at %" << red.position;
    if (red.running) out << " running";
    if (red.exclusive) out << " exclusive";
    if (red.chunk != 0) out << " chunk " << red.chunk;
    if (red.ordered) out << " ordered";
    out << " in " << ir::name(red.accumulator) << " : " << ir::name(red.result) << '\n';
  }
  for (const Store& st : s.stores) {
    out << "    store ";
    printAccess(out, st.access);
    out << " = %" << st.value << '\n';
  }
}

void printMatrix(Text& out, std::string_view name, const MatrixView& m) {
  out << "  " << name << " b" << m.buffer << " offset " << m.offset << " batch ";
  printList(out, m.batch);
  out << " row " << m.row << " col " << m.col;
  if (m.block != 0) out << " in blocks of " << m.block << " by " << m.acrossBlocks;
  out << '\n';
}

struct PrintAttr {
  Text& out;
  void operator()(int64_t v) { out << v; }
  void operator()(double v) { out << std::bit_cast<uint64_t>(v); }
  void operator()(bool v) { out << (v ? '1' : '0'); }
  void operator()(const std::string& v) { out << v.size() << ':' << v; }
  void operator()(const std::vector<int64_t>& v) { printList(out, v); }
  void operator()(const std::vector<std::string>& v) {
    for (const std::string& s : v) (*this)(s);
  }
  void operator()(ir::DType v) { out << ir::name(v); }
  void operator()(const ir::Data& v) {
    if (v) out << std::string_view(reinterpret_cast<const char*>(v->data()), v->size());
  }
};

/// Its types and options, which are all that its code depends on.
void printRoutine(Text& out, const ir::Op& op) {
  out << "  routine " << op.info().mnemonic;
  auto type = [&](const ir::Value* v) {
    out << ' ' << ir::name(v->type.dtype);
    printList(out, v->type.shape);
  };
  for (const ir::Value* v : op.operands()) type(v);
  for (const auto& [name, value] : op.attrs()) {
    if (name.find('.') != std::string::npos) continue;  // for people
    out << ' ' << name << '=';
    std::visit(PrintAttr{out}, value);
  }
  out << " ->";
  for (const auto& v : op.results) type(v.get());
  out << '\n';
}

void printAttention(Text& out, const Kernel& k) {
  const Attention& a = k.attention;
  out << "  attention " << ir::name(k.reductions[0].result) << " of " << ir::name(a.operands) << " batch ";
  printList(out, a.batch);
  out << " queries " << a.queries << " keys " << a.keys << " depth " << a.depth << " width " << a.width;
  out << (a.causal ? " causal" : "") << (a.zero ? " zero" : "") << '\n';
  printMatrix(out, "q", a.q);
  printMatrix(out, "k", a.k);
  printMatrix(out, "v", a.v);
  out << "  scores %" << a.score << '\n';
  printStage(out, k, a.scores);
  if (k.kind == Kernel::Kind::AttentionGradient) return;
  if (a.totals) printMatrix(out, "totals", *a.totals);
  printStage(out, k, a.epilogue);
}

void printAttentionGradient(Text& out, const Kernel& k) {
  const AttentionGradient& g = k.gradient;
  printAttention(out, k);
  printMatrix(out, "cotangent", g.cotangent);
  printMatrix(out, "totals", g.totals);
  printMatrix(out, "deltas", g.deltas);
  out << "  slope %" << g.slope << '\n';
  printStage(out, k, g.slopes);
  for (const auto& [name, result] : {std::pair{"q", &g.q}, {"k", &g.k}, {"v", &g.v}}) {
    out << "  gradient by " << name << (result->wanted ? "" : ": none") << '\n';
    if (result->wanted) printStage(out, k, result->epilogue);
  }
}

void printBody(Text& out, const Kernel& k) {
  constexpr std::string_view kRoles[] = {"in", "out", "inout", "scratch"};
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    const Buffer& b = k.buffers[i];
    out << "  b" << i << ' ' << kRoles[static_cast<size_t>(b.role)] << ' ' << ir::name(b.dtype) << " x " << b.elements
        << '\n';
  }
  for (size_t i = 0; i < k.scalars.size(); ++i) out << "  scalar " << i << ' ' << ir::name(k.scalars[i]) << '\n';
  if (k.kind == Kernel::Kind::Product) {
    const Product& p = k.product;
    out << "  product " << ir::name(p.dtype);
    if (p.operands != p.dtype) out << " of " << ir::name(p.operands);
    if (k.reductions[0].result != p.dtype) out << " rounded to " << ir::name(k.reductions[0].result);
    out << " batch ";
    printList(out, p.batch);
    out << " m " << p.m << " n " << p.n << " k " << p.k << (p.mirrored ? " mirrored\n" : "\n");
    for (const Product::Sum& s : p.sums) out << "  sum " << s.extent << " a " << s.a << " b " << s.b << '\n';
    auto window = [&](const ir::WindowDim& w, size_t var) {
      out << " at i" << var << ": 0 <= " << w.stride << "*i" << var << " + " << w.dilation << "*trip - " << w.lo
          << " < " << w.extent << '\n';
    };
    for (const Product::Edge& e : p.edges) {
      out << "  edge sum " << e.sum;
      window(e.window, e.var);
    }
    if (p.depthwise) {
      out << "  depthwise rows";
      window(p.depthwise->rows, p.depthwise->rowVar);
      out << "  depthwise columns";
      window(p.depthwise->columns, p.batch.size() + 1);
    }
    printMatrix(out, "a", p.a);
    printMatrix(out, "b", p.b);
    printStage(out, k, p.epilogue);
    return;
  }
  if (k.kind == Kernel::Kind::Attention) return printAttention(out, k);
  if (k.kind == Kernel::Kind::AttentionGradient) return printAttentionGradient(out, k);
  if (k.kind == Kernel::Kind::Native) return;
  if (k.kind == Kernel::Kind::TensorLoop) {
    for (const Kernel& part : k.parts) {
      out << "  part " << part.name << '\n';
      printBody(out, part);
    }
    return;
  }
  if (k.kind == Kernel::Kind::Routine) return printRoutine(out, *k.routine);
  out << "  outer ";
  printList(out, k.outer);
  out << '\n';
  for (const Stage& s : k.stages) printStage(out, k, s);
}

/// The ops of a region with their values numbered in the order in which they appear.
void printRegion(Text& out, const ir::Region& r, std::unordered_map<const ir::Value*, size_t>& numbers) {
  auto define = [&](const ir::Value& v) {
    numbers.emplace(&v, numbers.size());
    out << ' ' << ir::name(v.type.dtype);
    printList(out, v.type.shape);
  };
  out << '{';
  for (const auto& a : r.args) define(*a);
  for (const auto& op : r.ops) {
    out << '\n' << op->info().mnemonic;
    for (const ir::Value* v : op->operands()) out << " %" << numbers.at(v);
    for (const auto& [name, value] : op->attrs()) {
      if (name.find('.') != std::string::npos) continue;  // for people
      out << ' ' << name << '=' << value.index() << ':';
      std::visit(PrintAttr{out}, value);
    }
    for (const auto& v : op->results) define(*v);
    for (const auto& inner : op->regions) printRegion(out, *inner, numbers);
  }
  out << '}';
}

}  // namespace

std::string print(const Kernel& k) {
  constexpr std::string_view kKinds[] = {"loop",      "product",           "native", "tensor loop", "routine",
                                         "attention", "attention gradient"};
  Text out;
  out << "kernel " << kKinds[static_cast<size_t>(k.kind)] << ' ' << k.name << '\n';
  if (!k.error.empty()) out << "  error: " << k.error << '\n';
  printBody(out, k);
  if (k.runs != 1) out << "  runs " << k.runs << '\n';
  return std::move(out.text);
}

std::string codeKey(const Kernel& k) {
  Text out;
  out << static_cast<int>(k.kind) << '\n';
  printBody(out, k);
  const ir::Op* region = k.kind == Kernel::Kind::Native ? k.native : k.tensorLoop;
  if (region != nullptr) {
    for (int32_t o : k.bufferOperand) out << o << ' ';
    for (int32_t r : k.bufferResult) out << r << ' ';
    for (uint32_t s : k.scalarOperand) out << s << ' ';
    for (const auto& [least, most] : k.held) out << least << ".." << most << ' ';
    std::unordered_map<const ir::Value*, size_t> numbers;
    for (const auto& r : region->regions) printRegion(out, *r, numbers);
  }
  return std::move(out.text);
}

}  // namespace tenc::codegen
