// Every row of Ops.def, on every dtype that it accepts: made, verified, printed, parsed and printed again.
#include "ir/Ir.h"

#include <gtest/gtest.h>

#include "ir/Attributes.h"
#include "ir/Scalar.h"
#include "ir/Text.h"

namespace tenc::ir {
namespace {

std::vector<DType> allDTypes() {
  std::vector<DType> all;
  for (int i = 0; i < kDTypeCount; ++i) all.push_back(static_cast<DType>(i));
  return all;
}

/// A module with the function `main`, whose parameters are made on demand, and a function to call.
struct Maker {
  Module m;
  Func* main = m.addFunc("main");
  Region* body = main->body.get();
  Builder b{body};

  Value* param(DType t, Dims shape) { return body->addArg(Type{t, std::move(shape), {}}, "x"); }
  void finish() {
    b.make(OpKind::Return, {});
    main->paramPlaces.resize(body->args.size());
  }
};

Data bytes(size_t count) {
  auto data = std::make_shared<std::vector<std::byte>>(count);
  for (size_t i = 0; i < count; ++i) (*data)[i] = static_cast<std::byte>(i * 37 % 251);
  return data;
}

void yield(Region* r, std::vector<Value*> values) { Builder(r).make(OpKind::Yield, std::move(values)); }

/// Makes the op of a row whose operands and results are free to choose; false when `t` does not concern the op.
bool makeControl(Maker& k, OpKind kind, DType t) {
  Builder& b = k.b;
  const Type type{t, {2}, {}};
  Value* x = k.param(t, {2});
  switch (kind) {
    case OpKind::For: {
      Value* lo = b.scalarInt(DType::I64, 0);
      Op* op = b.makeTyped(kind, {lo, b.scalarInt(DType::I64, 4), b.scalarInt(DType::I64, 1), x}, {type});
      Region* r = b.addRegion(op);
      r->addArg(Type{DType::I64, {}, {}}, "i");
      yield(r, {r->addArg(type, "c")});
      return true;
    }
    case OpKind::While: {
      Op* op = b.makeTyped(kind, {x}, {type});
      Region* condition = b.addRegion(op);
      condition->addArg(type, "c");
      Builder(condition).make(OpKind::Condition, {k.param(DType::Bool, {})});
      Region* r = b.addRegion(op);
      yield(r, {r->addArg(type, "c")});
      return true;
    }
    case OpKind::If: {
      Op* op = b.makeTyped(kind, {k.param(DType::Bool, {})}, {type});
      yield(b.addRegion(op), {x});
      yield(b.addRegion(op), {x});
      return true;
    }
    case OpKind::On:
      yield(b.addRegion(b.makeTyped(kind, {}, {type}, {{"device", std::string("cuda:0")}})), {x});
      yield(b.addRegion(b.makeTyped(kind, {x}, {type}, {{"device", std::string()}})), {x});
      return true;
    case OpKind::Bench:
      yield(b.addRegion(b.makeTyped(kind, {}, {}, {{"name", std::string("a \"b\"\n")}})), {x});
      return true;
    case OpKind::Fused: {
      Op* op = b.makeTyped(kind, {x}, {type}, {{"kind", std::string("loop")}});
      Region* r = b.addRegion(op);
      yield(r, {r->addArg(type)});
      return true;
    }
    case OpKind::Call: {
      Func* f = k.m.addFunc("callee");
      f->resultTypes = {type};
      f->paramPlaces = {"cuda:0"};
      f->resultPlaces = {"$D"};
      f->ownDevice = "cuda:0";
      f->signature = "callee[N = 2]";
      Builder(f->body.get()).make(OpKind::Return, {f->body->addArg(type, "x")});
      b.makeTyped(kind, {x}, {type}, {{"callee", std::string("callee")}});
      return true;
    }
    case OpKind::Yield:
    case OpKind::Condition:
    case OpKind::Return: return true;  // in all of the above
    default: return false;
  }
}

bool makeEffect(Maker& k, OpKind kind, DType t) {
  Builder& b = k.b;
  using Strings = std::vector<std::string>;
  const Type type{t, {2, 3}, {}};
  switch (kind) {
    case OpKind::Print:
      b.make(kind, {k.param(t, {2})}, {{"pieces", Strings{"\xc3\xa9 \x01", ""}}, {"formats", Strings{".4f"}}});
      b.make(kind, {}, {{"pieces", Strings{"x"}}, {"formats", Strings{}}});
      return true;
    case OpKind::Assert:
      b.make(kind, {k.param(DType::Bool, {}), k.param(t, {})},
             {{"pieces", Strings{"a", "b"}}, {"formats", Strings{""}}});
      return true;
    case OpKind::Trap:
      b.make(kind, {k.param(DType::F32, {2}), k.param(t, {2})},
             {{"what", std::string("`log`")}, {"relation", std::string("elementwise")}});
      b.make(kind, {k.param(DType::F32, {2}), k.param(t, {2, 3}), k.param(DType::Bool, {2})},
             {{"what", std::string("`sum`")},
              {"relation", std::string("axes")},
              {"axes", ir::Dims{1}},
              {"selects", true}});
      return true;
    case OpKind::Load:
      b.makeTyped(kind, {}, {type}, {{"path", std::string("a/b.npy")}, {"format", std::string("npy")}});
      return true;
    case OpKind::ReadAhead:
      b.makeTyped(kind, {k.param(DType::Bool, {})}, {type},
                  {{"path", std::string("a/b.npy")}, {"format", std::string("npy")}});
      return true;
    case OpKind::BringIn:
      b.make(kind, {k.param(DType::Bool, {}), k.param(t, {9, 2}), k.param(DType::I64, {3})});
      b.make(kind, {k.param(DType::Bool, {}), k.param(t, {9, 2}), k.param(DType::I64, {})}, {{"count", int64_t{4}}});
      return true;
    case OpKind::ReadRows:
      b.make(kind, {k.param(t, {9, 2}), k.param(DType::I64, {3})}, {{"first", int64_t{2}}, {"count", int64_t{7}}});
      return true;
    case OpKind::Save:
      b.make(kind, {k.param(t, {2})},
             {{"path", std::string("x")}, {"format", std::string("npy")}, {"names", Strings{"w"}}});
      return true;
    case OpKind::Seed: b.make(kind, {k.param(isInt(t) ? t : DType::I64, {})}); return true;
    case OpKind::Constant:
      b.constant(type, bytes(static_cast<size_t>(type.bytes())));
      b.constant(Type{t, {64}, {}}, bytes(64u * static_cast<size_t>(byteSize(t))));
      b.constant(Type{t, {0, 3}, {}}, bytes(0));
      b.scalarInt(t, 1);
      return true;
    case OpKind::Fill: b.make(kind, {k.param(t, {})}, {{"shape", Dims{2, 0}}}); return true;
    case OpKind::RngNext:
    case OpKind::Time: b.make(kind, {}); return true;
    case OpKind::DeviceEq:
      b.make(kind, {k.param(t, {2}), k.param(t, {})});
      b.make(kind, {k.param(t, {2})}, {{"device", std::string("cuda:0")}});
      return true;
    case OpKind::To:
      b.make(kind, {k.param(t, {2}), k.param(t, {})}, {{"device", std::string()}, {"cause", std::string("to")}});
      return true;
    case OpKind::SamePlace:
      b.make(kind, {k.param(t, {2}), k.param(t, {3})}, {{"variable", std::string("v")}});
      return true;
    default: return false;
  }
}

bool makeIndexed(Maker& k, OpKind kind, DType t) {
  Builder& b = k.b;
  Value* x = k.param(t, {4, 5, 6});
  Value* i = k.param(DType::U8, {3});
  Value* start = k.param(DType::I32, {});
  switch (kind) {
    case OpKind::Gather: b.make(kind, {x, i, i}, {{"axes", Dims{2, 0}}, {"at", int64_t{1}}}); return true;
    case OpKind::DynamicSlice: b.make(kind, {x, start}, {{"axes", Dims{1}}, {"sizes", Dims{2}}}); return true;
    case OpKind::UpdateSlice:
      b.make(kind, {x, k.param(t, {2, 5, 1})}, {{"starts", Dims{3, 4, 0}}, {"steps", Dims{-1, -1, 1}}});
      return true;
    case OpKind::DynamicUpdate: b.make(kind, {x, k.param(t, {4, 2, 6}), start}, {{"axes", Dims{1}}}); return true;
    case OpKind::Scatter:
      b.make(kind, {x, k.param(t, {5, 3, 6}), i},
             {{"axes", Dims{0}}, {"at", int64_t{1}}, {"mode", std::string("max")}});
      return true;
    default: return false;
  }
}

bool makeStructural(Maker& k, OpKind kind, DType t) {
  Builder& b = k.b;
  Value* x = k.param(t, {2, 3});
  switch (kind) {
    case OpKind::Reshape: b.make(kind, {x}, {{"shape", Dims{6}}}); return true;
    case OpKind::Barrier: b.make(kind, {x}, {{"number", int64_t{1}}}); return true;
    case OpKind::Permute: b.make(kind, {x}, {{"perm", Dims{1, 0}}}); return true;
    case OpKind::Broadcast: b.make(kind, {x}, {{"shape", Dims{4, 2, 3}}}); return true;
    case OpKind::Slice:
      b.make(kind, {x}, {{"starts", Dims{0, 2}}, {"sizes", Dims{1, 2}}, {"steps", Dims{1, -2}}});
      return true;
    case OpKind::Pad: b.make(kind, {x, b.scalarInt(t, 0)}, {{"lo", Dims{1, 0}}, {"hi", Dims{0, 2}}}); return true;
    case OpKind::Concat: b.make(kind, {x, x, k.param(t, {2, 0})}, {{"axis", int64_t{1}}}); return true;
    case OpKind::Flip: b.make(kind, {x}, {{"axes", Dims{0}}}); return true;
    case OpKind::Matmul: b.make(kind, {k.param(t, {7, 2, 3}), k.param(t, {7, 3, 0})}); return true;
    case OpKind::Attention:
      b.make(kind,
             {k.param(t, {2, 5, 3}), k.param(t, {2, 7, 3}), k.param(t, {2, 7, 4}), b.scalar(t, 0.5),
              k.param(DType::Bool, {1, 5, 7})},
             {{"causal", true}});
      return true;
    case OpKind::AttentionSaved:
      b.make(kind, {k.param(t, {2, 5, 3}), k.param(t, {2, 7, 3}), k.param(t, {2, 7, 4}), b.scalar(t, 0.5)},
             {{"causal", true}, {"perm", Dims{1, 0, 2}}});
      return true;
    case OpKind::AttentionGrad: {
      Value *totals = k.param(DType::F32, {2, 5}), *deltas = k.param(DType::F32, {2, 5});
      b.make(kind, {k.param(t, {2, 5, 3}), k.param(t, {2, 7, 3}), k.param(t, {2, 7, 4}), b.scalar(t, 0.5),
                    k.param(t, {2, 5, 4}), totals, deltas, k.param(DType::Bool, {1, 5, 7})});
      return true;
    }
    case OpKind::Conv:
      b.make(kind, {k.param(t, {2, 4, 9, 7}), k.param(t, {6, 2, 3, 1})},
             {{"stride", Dims{2, 1}}, {"dilation", Dims{1, 2}}, {"groups", int64_t{2}}});
      return true;
    default: return false;
  }
}

/// The other rows: all operands of one type, attributes by name.
void makeUniform(Maker& k, OpKind kind, DType t) {
  std::vector<Value*> operands;
  const OpInfo& info = opInfo(kind);
  if (info.rule == ShapeRule::Created) {
    for (int i = 0; i < info.minOperands; ++i) operands.push_back(k.param(i < 2 ? DType::U64 : DType::I64, {}));
  } else {
    const Dims shape = info.rule == ShapeRule::Library ? Dims{2, 3, 3} : Dims{2, 3};
    for (int i = 0; i < info.minOperands; ++i) operands.push_back(k.param(t, shape));
    if (info.rule == ShapeRule::Scan && info.maxOperands == 2)
      operands.push_back(k.param(t, {2, 2}));  // a start a block
    if (info.rule == ShapeRule::Select) operands[0] = k.param(DType::Bool, {2, 3});
  }
  std::vector<Builder::NamedAttr> attrs;
  for (const AttrSpec& spec : attrSpecs(kind)) {
    if (spec.name == "axes") attrs.push_back({spec.name, Dims{1}});
    if (spec.name == "shape") attrs.push_back({spec.name, Dims{5, 2}});
    if (spec.name == "axis") attrs.push_back({spec.name, int64_t{1}});
    if (spec.name == "k") attrs.push_back({spec.name, int64_t{2}});
    if (spec.name == "dtype") attrs.push_back({spec.name, t});
    if (spec.kind == "float") attrs.push_back({spec.name, 1e-5});
    if (spec.kind == "bool") attrs.push_back({spec.name, true});
    if (spec.name == "block") attrs.push_back({spec.name, int64_t{2}});
    if (spec.name == "mode")
      attrs.push_back({spec.name, std::string("max")});
    else if (spec.name == "cause")
      attrs.push_back({spec.name, std::string("to")});
    else if (spec.kind == "string")
      attrs.push_back({spec.name, std::string("cuda:0")});
  }
  k.b.make(kind, operands, attrs);
}

bool accepted(OpKind kind, DType t) {
  if (kind == OpKind::RandomInt) return isInt(t);
  if (opInfo(kind).has(Trait::Control) || opInfo(kind).has(Trait::Terminator)) return true;
  if (kind == OpKind::Seed || kind == OpKind::RngNext || kind == OpKind::Time) return t == DType::I64;
  return acceptsDType(kind, t);
}

std::unique_ptr<Module> parsed(const std::string& text, std::string& errors) {
  SourceManager sources;
  Diagnostics diags;
  auto m = parse(sources, sources.add("test.tir", text), diags);
  for (const Diagnostic& d : diags.all()) errors += d.message + "\n";
  return m;
}

void expectRoundTrip(const Module& m, bool withSpans = false) {
  ASSERT_EQ(verify(m), "") << print(m);
  const std::string text = print(m, withSpans);
  std::string errors;
  auto again = parsed(text, errors);
  ASSERT_TRUE(again != nullptr) << errors << text;
  EXPECT_EQ(verify(*again), "") << text;
  EXPECT_EQ(print(*again, withSpans), text);
  EXPECT_EQ(print(*clone(m), withSpans), text);
}

class EveryOp : public testing::TestWithParam<int> {};

TEST_P(EveryOp, RoundTripsOnEveryDType) {
  const auto kind = static_cast<OpKind>(GetParam());
  int made = 0;
  for (DType t : allDTypes()) {
    if (!accepted(kind, t)) continue;
    SCOPED_TRACE(std::string(opInfo(kind).mnemonic) + " " + std::string(name(t)));
    Maker k;
    if (!makeControl(k, kind, t) && !makeEffect(k, kind, t) && !makeIndexed(k, kind, t) &&
        !makeStructural(k, kind, t)) {
      makeUniform(k, kind, t);
    }
    k.finish();
    expectRoundTrip(k.m);
    ++made;
  }
  EXPECT_GT(made, 0);
}

INSTANTIATE_TEST_SUITE_P(Ops, EveryOp, testing::Range(0, static_cast<int>(OpKind::Count)),
                         [](const auto& row) { return std::string(opInfo(static_cast<OpKind>(row.param)).mnemonic); });

TEST(Infer, RefusesDTypesByTraits) {
  const auto error = [](OpKind kind, const std::vector<Type>& of) {
    std::vector<const Type*> types;
    for (const Type& t : of) types.push_back(&t);
    return infer(kind, types, [](std::string_view) -> const Attr* { return nullptr; }).error;
  };
  EXPECT_EQ(error(OpKind::Sqrt, {{DType::I32, {2}, {}}}), "`sqrt` takes floats, not i32");
  EXPECT_EQ(error(OpKind::Matmul, {{DType::F32, {64, 784}, {}}, {DType::F32, {128, 10}, {}}}),
            "`matmul` needs inner dims that agree: 784 and 128");
  EXPECT_EQ(error(OpKind::Add, {{DType::F32, {2}, {}}, {DType::F32, {3}, {}}}),
            "`add` needs operands of one shape, not [2] and [3]");
  EXPECT_EQ(error(OpKind::Add, {{DType::Bool, {2}, {}}, {DType::Bool, {2}, {}}}), "`add` takes numbers, not bool");
  EXPECT_EQ(error(OpKind::Add, {{DType::F32, {2}, {}}}), "`add` takes 2 operands, not 1");
}

TEST(Infer, ProductsRoundF32To16BitsAlone) {
  const auto error = [](DType of, std::string_view attr, DType value) {
    const Type matrix = {of, {4, 4}, {}};
    const Attr given = value;
    return infer(OpKind::Matmul, std::vector<const Type*>{&matrix, &matrix},
                 [&](std::string_view name) { return name == attr ? &given : nullptr; })
        .error;
  };
  EXPECT_EQ(error(DType::F32, "rounds", DType::F16), "");
  EXPECT_EQ(error(DType::F32, "rounds", DType::F64), "`matmul` cannot round to f64");
  EXPECT_EQ(error(DType::F64, "rounds", DType::BF16), "`matmul` that rounds needs operands of f32, not f64");
  EXPECT_EQ(error(DType::BF16, "dtype", DType::F32), "");
  EXPECT_EQ(error(DType::I8, "dtype", DType::F32), "`matmul` of i8 cannot give f32");
}

TEST(Infer, ChecksSizesForOverflow) {
  EXPECT_EQ(elementCount(Dims{int64_t{1} << 31, int64_t{1} << 31}), int64_t{1} << 62);
  EXPECT_EQ(elementCount(Dims{int64_t{1} << 32, int64_t{1} << 31}), std::nullopt);
  EXPECT_EQ(elementCount(Dims{int64_t{1} << 62, int64_t{1} << 62, 0}), std::nullopt);
  EXPECT_EQ(elementCount(Dims{3, 0}), 0);
  EXPECT_EQ(elementCount(Dims{-1}), std::nullopt);
  EXPECT_EQ(broadcastShapes(Dims{3, 1}, Dims{4}), (Dims{3, 4}));
  EXPECT_EQ(broadcastShapes(Dims{0}, Dims{1}), Dims{0});
  EXPECT_EQ(broadcastShapes(Dims{2}, Dims{3}), std::nullopt);
}

TEST(Text, NamesDevicesLocationsAndFunctionsRoundTrip) {
  Maker k;
  k.m.devices.push_back({"gpu", {"cuda:0", "cpu"}, {}, "cpu"});
  k.m.defaultDevice = "cuda:1";
  Value* x = k.body->addArg(Type{DType::F32, {2}, {"cuda:0"}}, "m.w 1");
  Value* y = k.body->addArg(Type{DType::F32, {2}, {"gpu"}}, "m.w_1");
  Loc outer = k.m.addLoc(Span{0, 3, 9});
  outer.half = Half::Backward;
  k.b.setLoc(k.m.addLoc(LocData{Span{0, 20, 30}, outer, "f[N = 2]", {}}));
  k.b.make(OpKind::Add, {x, y});
  k.b.setLoc(k.m.addLoc(LocData{Span{0, 40, 41}, {}, {}, {{Span{0, 38, 39}, "fc.w"}, {Span{}, ""}}}));
  k.b.make(OpKind::Mul, {x, y});
  SourceText call{Span{0, 38, 49}, SourceText::Kind::Call, true, "to"};
  call.move = Span{0, 39, 49};
  k.m.texts->add(call);
  k.m.texts->add({Span{0, 40, 41}, SourceText::Kind::Update, false, {}, Span{0, 38, 50}});
  k.m.texts->add({Span{0, 60, 70}, SourceText::Kind::Return, false, {}});
  k.main->source = "nn.f";
  k.main->ownDevice = "gpu";
  k.main->span = Span{0, 1, 2};
  k.finish();
  k.main->paramPlaces = {"cpu", ""};
  expectRoundTrip(k.m);
  const std::string text = print(k.m, true);
  EXPECT_NE(text.find("loc(0:20:30 in \"f[N = 2]\" at 0:3:9 backward)"), std::string::npos) << text;
  EXPECT_NE(text.find("%m.w_1#1: f32[2] @gpu"), std::string::npos) << text;
  EXPECT_NE(text.find("text 0:38:49 call \"to\" postfix move 0:39:49\ntext 0:40:41 update whole 0:38:50\n"
                      "text 0:60:70 return\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("loc(0:40:41 of 0:38:39 \"fc.w\", unknown)"), std::string::npos) << text;
  expectRoundTrip(k.m, true);
}

TEST(Text, ElementsAreExact) {
  for (DType t : allDTypes()) {
    for (uint64_t bits = 0; bits < 65536; ++bits) {
      const uint64_t b = byteSize(t) == 1   ? bits & 0xff
                         : byteSize(t) == 2 ? bits
                                            : bits * 0x9e3779b97f4a7c15u >> (64 - 8 * byteSize(t));
      ASSERT_EQ(elementBits(t, elementText(t, b)), b) << name(t) << " " << elementText(t, b);
    }
  }
}

TEST(Text, RejectsWrongText) {
  for (const char* text : {"func", "func @f(", "func @f() { return %x }", "func @f() { %a = nonsense : f32 }",
                           "func @f() { %a = constant {value = [1, x]} : f32[2] }", "device = 3",
                           "func @f() -> (f32[-1]) { }", "func @f() { print {pieces = [\"a} }", "func @f() { %a, = }",
                           "func @f(%x: f32, %x: f32) { return }", "func @f() { return } func @f() { return }"}) {
    std::string errors;
    EXPECT_EQ(parsed(text, errors), nullptr) << text;
    EXPECT_NE(errors, "") << text;
  }
}

TEST(Verifier, FindsWhatIsWrong) {
  const auto wrong = [](const std::string& body) {
    std::string errors;
    auto m = parsed("func @main(%x: f32[2], %c: bool) {\n" + body + "\nreturn\n}", errors);
    return m == nullptr ? "parse: " + errors : verify(*m);
  };
  EXPECT_EQ(wrong("%y = add %x, %x : f32[2]"), "");
  EXPECT_NE(wrong("%y = add %x, %x : f32[3]").find("but makes f32[2]"), std::string::npos);
  EXPECT_NE(wrong("%y = add %x : f32[2]").find("has 1 operands"), std::string::npos);
  EXPECT_NE(wrong("%y = neg %x {shape = [2]} : f32[2]").find("unknown attribute"), std::string::npos);
  EXPECT_NE(wrong("%y = reshape %x : f32[2]").find("needs attribute `shape`"), std::string::npos);
  EXPECT_NE(wrong("%y = if %c : f32[2] { yield %x } { yield }").find("yielded values"), std::string::npos);
  EXPECT_NE(wrong("%y = if %c : f32[2] { %z = neg %x : f32[2] yield %z } { yield %z }").find("not defined before"),
            std::string::npos);
  EXPECT_NE(wrong("yield").find("before the end"), std::string::npos);
  EXPECT_NE(wrong("%y = call %x {callee = \"main\"} : f32[2]").find("has 1 operands"), std::string::npos);
  EXPECT_NE(wrong("%y = constant {value = [1.0]} : f32[2]").find("do not fill"), std::string::npos);
  std::string errors;
  auto loop = parsed("func @main() { call {callee = \"main\"} return }", errors);
  EXPECT_NE(verify(*loop).find("calls itself"), std::string::npos);
}

TEST(Module, KeepsUseLists) {
  Maker k;
  Value* x = k.param(DType::F32, {2});
  Op* a = k.b.make(OpKind::Add, {x, x});
  Op* n = k.b.make(OpKind::Neg, {a->result()});
  EXPECT_EQ(x->uses.size(), 2u);
  Value* y = k.param(DType::F32, {2});
  x->replaceAllUsesWith(y);
  EXPECT_TRUE(x->unused());
  EXPECT_EQ(y->uses.size(), 2u);
  a->setOperand(0, x);
  a->removeOperand(0);
  EXPECT_TRUE(x->unused());
  EXPECT_EQ(a->operandCount(), 1u);
  a->addOperand(x);
  n->moveBefore(a);
  EXPECT_EQ(k.body->ops.front().get(), n);
  EXPECT_NE(verify(k.m), "");
  a->moveBefore(n);
  n->erase();
  EXPECT_TRUE(a->result()->unused());
  k.finish();
  EXPECT_EQ(verify(k.m), "");
}

TEST(Module, DestroysInAnyOrder) {
  Maker k;
  Value* x = k.param(DType::F32, {});
  Op* inner = nullptr;
  {
    Op* branch = k.b.makeTyped(OpKind::If, {k.param(DType::Bool, {})}, {});
    Region* r = k.b.addRegion(branch);
    inner = Builder(r).make(OpKind::Neg, {x});
    // A use from outside, which the verifier would refuse.
    k.b.make(OpKind::Exp, {inner->result()});
    branch->erase();
  }
  EXPECT_TRUE(x->unused());
  EXPECT_EQ(k.body->ops.back()->operand(0), nullptr);
}

TEST(Scalar, ConvertsExactly) {
  EXPECT_EQ(floatBits(DType::F16, 1.0), 0x3c00u);
  EXPECT_EQ(floatBits(DType::F16, 65520.0), 0x7c00u);
  EXPECT_EQ(floatBits(DType::F16, 65519.99), 0x7bffu);
  EXPECT_EQ(floatBits(DType::F16, 0x1p-24), 1u);
  EXPECT_EQ(floatBits(DType::F16, 0x1p-25), 0u);
  EXPECT_EQ(floatBits(DType::F16, -0.0), 0x8000u);
  EXPECT_EQ(floatBits(DType::BF16, 1.00390625), 0x3f80u);
  EXPECT_EQ(floatBits(DType::BF16, 1.01171875), 0x3f82u);
  for (uint64_t bits = 0; bits < 65536; ++bits) {
    for (DType t : {DType::F16, DType::BF16}) {
      const double value = floatValue(t, bits);
      if (value == value) ASSERT_EQ(floatBits(t, value), bits);
    }
  }
  EXPECT_EQ(scalarFromFloat(DType::I8, 300).i, 127);
  EXPECT_EQ(scalarFromFloat(DType::I64, 1e30).i, INT64_MAX);
  EXPECT_EQ(scalarFromFloat(DType::U8, -3).u, 0u);
  EXPECT_EQ(scalarFromFloat(DType::U64, 1e30).u, UINT64_MAX);
  EXPECT_EQ(scalarFromInt(DType::U8, -1).u, 255u);
  EXPECT_EQ(castScalar(scalarOf(DType::U64, UINT64_MAX), DType::F32).f, 0x1p64);
  // Just above halfway between two f16 values, lost by rounding to f64 first.
  EXPECT_EQ(scalarFromInt(DType::BF16, (int64_t{257} << 54) + 1).f, static_cast<double>(int64_t{129} << 55));
}

}  // namespace
}  // namespace tenc::ir
