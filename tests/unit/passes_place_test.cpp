// Placement (P1 to P6) on IR built by hand: where values live, which moves are inserted and which mistakes are found.
#include <gtest/gtest.h>

#include <functional>

#include "ir/Ir.h"
#include "passes/Passes.h"
#include "support/InternalError.h"

namespace tenc {
namespace {

using ir::Builder;
using ir::DType;
using ir::Func;
using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Type;
using ir::Value;

Type f32(ir::Dims shape = {4}) { return {DType::F32, std::move(shape), {}}; }

class PlaceTest : public ::testing::Test {
 protected:
  PlaceTest() {
    text_ = std::string(400, ' ');
    sources_.add("t.tl", text_);
    main_ = m_.addFunc("main");
    m_.devices.push_back({"gpu", {"cuda:0", "cpu"}, {}, "cuda:0"});
  }

  /// Each op gets a span of its own so that diagnostics are told apart.
  Builder at(Region* r) {
    Builder b(r);
    uint32_t begin = next_++;
    b.setLoc(m_.addLoc(Span{0, begin, begin + 1}));
    return b;
  }
  Value* ones(Region* r, ir::Dims shape = {4}, std::string name = {}) {
    Value* one = at(r).scalar(DType::F32, 1);
    Value* v = at(r).makeTyped(OpKind::Fill, {one}, {f32(shape)}, {{"shape", shape}})->result();
    v->name = std::move(name);
    return v;
  }
  Value* add(Region* r, Value* a, Value* b) { return at(r).makeTyped(OpKind::Add, {a, b}, {{a->type}})->result(); }
  Value* sum(Region* r, Value* a) {
    return at(r).makeTyped(OpKind::Sum, {a}, {f32({})}, {{"axes", std::vector<int64_t>{0}}})->result();
  }
  Value* to(Region* r, Value* v, std::string device) {
    return at(r)
        .makeTyped(OpKind::To, {v}, {v->type}, {{"device", std::move(device)}, {"cause", std::string("to")}})
        ->result();
  }
  Value* samePlace(Region* r, Value* fresh, Value* old) {
    return at(r).makeTyped(OpKind::SamePlace, {fresh, old}, {fresh->type}, {{"what", std::string("v")}})->result();
  }
  Op* on(Region* r, std::string device, const std::function<std::vector<Value*>(Region*)>& body) {
    Op* op = at(r).makeTyped(OpKind::On, {}, {}, {{"device", std::move(device)}});
    Region* inner = at(r).addRegion(op);
    std::vector<Value*> yields = body(inner);
    for (Value* v : yields) op->addResult(v->type);
    at(inner).makeTyped(OpKind::Yield, yields, {});
    return op;
  }
  Op* forLoop(Region* r, const std::vector<Value*>& carried,
              const std::function<std::vector<Value*>(Region*, std::vector<Value*>)>& body) {
    std::vector<Value*> operands = {at(r).scalarInt(DType::I64, 0), at(r).scalarInt(DType::I64, 3),
                                    at(r).scalarInt(DType::I64, 1)};
    std::vector<Type> types;
    for (Value* v : carried) operands.push_back(v), types.push_back(v->type);
    Op* op = at(r).makeTyped(OpKind::For, operands, types);
    Region* inner = at(r).addRegion(op);
    inner->addArg({DType::I64, {}, {}}, "i");
    std::vector<Value*> args;
    for (Value* v : carried) args.push_back(inner->addArg(v->type, v->name));
    at(inner).makeTyped(OpKind::Yield, body(inner, args), {});
    return op;
  }
  void print(Region* r, Value* v, const std::string& format = {}) {
    at(r).makeTyped(OpKind::Print, {v}, {},
                    {{"pieces", std::vector<std::string>{"", ""}}, {"formats", std::vector<std::string>{format}}});
  }
  Op* call(Region* r, Func* f, std::vector<Value*> args) {
    return at(r).makeTyped(OpKind::Call, std::move(args), f->resultTypes, {{"callee", f->name}});
  }
  Func* function(const std::string& name, const std::vector<std::string>& params, std::string result,
                 const std::function<Value*(Region*, std::vector<Value*>)>& body) {
    Func* f = m_.addFunc(name);
    f->signature = name;
    f->paramPlaces = params;
    f->resultPlaces = {std::move(result)};
    std::vector<Value*> args;
    for (size_t i = 0; i < params.size(); ++i) args.push_back(f->body->addArg(f32(), "p" + std::to_string(i)));
    Value* v = body(f->body.get(), args);
    f->resultTypes = {v->type};
    at(f->body.get()).makeTyped(OpKind::Return, {v}, {});
    return f;
  }

  bool place() {
    at(body()).makeTyped(OpKind::Return, {}, {});
    passes::Context c;
    c.diags = &diags_;
    c.sources = &sources_;
    c.machine.set("cuda", 2);
    bool ok = passes::place(m_, c);
    if (ok) {
      passes::minimalMoves(m_, c);
      EXPECT_TRUE(passes::verifyPlaced(m_, c)) << render(diags_, sources_) << ir::print(m_);
    }
    return ok;
  }
  Region* body() { return main_->body.get(); }
  std::vector<std::string> codes() {
    std::vector<std::string> out;
    for (const Diagnostic& d : diags_.all()) out.emplace_back(info(d.code).name);
    return out;
  }
  /// "x cpu gpu to" of each transfer, in order.
  std::vector<std::string> transfers() {
    std::vector<std::string> out;
    for (const auto& f : m_.funcs) collect(*f->body, out);
    return out;
  }
  static void collect(const Region& r, std::vector<std::string>& out) {
    for (const auto& op : r.ops) {
      if (op->kind == OpKind::Transfer)
        out.push_back((op->operand(0)->name.empty() ? "_" : op->operand(0)->name) + " " +
                      op->operand(0)->type.place.device + " " + op->result()->type.place.device + " " +
                      op->stringAttr("cause"));
      for (const auto& inner : op->regions) collect(*inner, out);
    }
  }

  SourceManager sources_;
  std::string text_;
  ir::Module m_;
  Func* main_;
  Diagnostics diags_;
  uint32_t next_ = 1;
};

using Strings = std::vector<std::string>;

TEST_F(PlaceTest, CreationFollowsTheInnermostAnnotation) {
  Value* x = ones(body());
  Op* block = on(body(), "gpu", [&](Region* r) { return std::vector<Value*>{ones(r)}; });
  print(body(), x, "@");
  print(body(), block->result(), "@");
  ASSERT_TRUE(place());
  EXPECT_EQ(x->type.place.device, "cpu");
  Strings texts;
  for (const auto& op : body()->ops)
    if (op->kind == OpKind::Print) texts.push_back(op->stringsAttr("pieces")[0]);
  EXPECT_EQ(texts, (Strings{"cpu", "cuda:0"}));
  EXPECT_TRUE(transfers().empty());
}

TEST_F(PlaceTest, OperandsOnDifferentDevices) {
  Value* x = ones(body(), {4}, "x");
  Value* w = on(body(), "gpu", [&](Region* r) { return std::vector<Value*>{ones(r)}; })->result();
  Value* y = add(body(), x, w);
  add(body(), y, w);  // has had its error
  EXPECT_FALSE(place());
  EXPECT_EQ(codes(), Strings{"E0301"});
  EXPECT_EQ(diags_.all()[0].notes.size(), 2u);
  EXPECT_NE(diags_.all()[0].helps[0].text.find("16 bytes) to gpu"), std::string::npos);
}

TEST_F(PlaceTest, OnlyWhatStandsForTheSourceHasErrors) {
  Value* a = ones(body(), {4}, "a");
  Value* b = to(body(), a, "gpu");
  add(body(), a, b)->op->origin = "grad";
  EXPECT_THROW(place(), InternalError);
  EXPECT_TRUE(codes().empty());
}

TEST_F(PlaceTest, WhatFollowsFromAnErrorIsNone) {
  Value* a = ones(body(), {4}, "a");
  Value* b = to(body(), a, "gpu");
  add(body(), a, b)->op->origin = "grad";
  add(body(), a, b);
  EXPECT_FALSE(place());
  EXPECT_EQ(codes(), Strings{"E0301"});
}

TEST_F(PlaceTest, OneMoveIntoARegionBeforeItsLoop) {
  Value* x = ones(body(), {4}, "x");
  on(body(), "gpu", [&](Region* r) {
    Value* acc = ones(r, {});
    acc->name = "acc";
    Op* loop = forLoop(r, {acc}, [&](Region* l, std::vector<Value*> args) {
      return std::vector<Value*>{samePlace(l, add(l, args[0], sum(l, add(l, x, x))), args[0])};
    });
    loop->result()->name = "acc";
    print(r, loop->result());
    return std::vector<Value*>{};
  });
  ASSERT_TRUE(place());
  EXPECT_EQ(transfers(), (Strings{"x cpu gpu annotation", "acc gpu cpu print"}));
  EXPECT_EQ(body()->ops.back()->kind, OpKind::Return);
}

TEST_F(PlaceTest, SameDestinationTwiceAndThereAndBackAreOneMove) {
  Value* x = ones(body(), {4}, "x");
  Value* a = to(body(), x, "gpu");
  Value* b = to(body(), x, "gpu");
  Value* c = to(body(), a, "cpu");
  add(body(), a, b);
  add(body(), c, x);
  print(body(), a);
  ASSERT_TRUE(place());
  EXPECT_EQ(transfers(), Strings{"x cpu gpu to"});
}

TEST_F(PlaceTest, HostScalarsMixAndDeviceScalarsDoNot) {
  Value* x = ones(body(), {4}, "x");
  Value* w = to(body(), x, "gpu");
  Value* onHost = at(body()).broadcastTo(sum(body(), x), {4});
  add(body(), w, onHost);
  Value* onGpu = at(body()).makeTyped(OpKind::Broadcast, {sum(body(), w)}, {f32()}, {{"shape", ir::Dims{4}}})->result();
  add(body(), x, onGpu);
  EXPECT_FALSE(place());
  EXPECT_EQ(codes(), Strings{"E0301"});
}

TEST_F(PlaceTest, ScalarVariableTakesTheFirstPlace) {
  Value* w = to(body(), ones(body()), "gpu");
  Value* total = at(body()).scalar(DType::F32, 0);
  total->name = "total";
  Op* loop = forLoop(body(), {total}, [&](Region* l, std::vector<Value*> args) {
    return std::vector<Value*>{samePlace(l, add(l, args[0], sum(l, w)), args[0])};
  });
  ASSERT_TRUE(place());
  EXPECT_EQ(loop->result()->type.place.device, "gpu");
  EXPECT_EQ(transfers().size(), 1u) << "the literal is no transfer";
}

TEST_F(PlaceTest, AssignmentKeepsTheDevice) {
  Value* x = ones(body(), {4}, "x");
  Value* w = to(body(), x, "gpu");
  samePlace(body(), w, x);
  EXPECT_FALSE(place());
  EXPECT_EQ(codes(), Strings{"E0302"});
}

TEST_F(PlaceTest, AssignmentToAnOuterVariableInsideARegion) {
  Value* v = ones(body(), {4}, "v");
  Op* block = on(body(), "gpu", [&](Region* r) {
    Value* first = samePlace(r, to(r, add(r, v, v), "cpu"), v);
    Value* again = samePlace(r, to(r, add(r, first, first), "cpu"), first);  // enters again: `v` is bound outside
    return std::vector<Value*>{again};
  });
  add(body(), block->result(), v);
  ASSERT_TRUE(place()) << render(diags_, sources_);
  // The way back in finds the value where it was computed, and then nobody wants the first one on cpu.
  EXPECT_EQ(transfers(), (Strings{"v cpu gpu annotation", "_ gpu cpu to"}));
}

TEST_F(PlaceTest, RegionDoesNotMoveAnOuterVariable) {
  Value* v = ones(body(), {4}, "v");
  on(body(), "gpu", [&](Region* r) {
    Op* loop = forLoop(r, {v}, [&](Region* l, std::vector<Value*> args) {
      return std::vector<Value*>{samePlace(l, add(l, args[0], args[0]), args[0])};
    });
    return std::vector<Value*>{loop->result()};
  });
  EXPECT_FALSE(place());
  EXPECT_EQ(codes(), Strings{"E0302"});
}

TEST_F(PlaceTest, VariableBoundInsideARegionFromAnOuterValue) {
  Value* x = ones(body(), {4}, "x");
  on(body(), "gpu", [&](Region* r) {
    Value* v =
        at(r)
            .makeTyped(OpKind::To, {x}, {x->type}, {{"device", std::string("gpu")}, {"cause", std::string("enter")}})
            ->result();
    return std::vector<Value*>{samePlace(r, add(r, v, v), v)};  // { var v = x; v = v + v; v }
  });
  ASSERT_TRUE(place()) << render(diags_, sources_);
  EXPECT_EQ(transfers(), Strings{"x cpu gpu annotation"});
}

TEST_F(PlaceTest, BranchesAgree) {
  Value* x = ones(body(), {4}, "x");
  Value* w = to(body(), x, "gpu");
  Value* c = at(body()).makeTyped(OpKind::Lt, {sum(body(), x), sum(body(), x)}, {{DType::Bool, {}, {}}})->result();
  Op* branch = at(body()).makeTyped(OpKind::If, {c}, {f32()});
  for (Value* v : {x, w}) at(at(body()).addRegion(branch)).makeTyped(OpKind::Yield, {v}, {});
  EXPECT_FALSE(place());
  EXPECT_EQ(codes(), Strings{"E0301"});
}

TEST_F(PlaceTest, DeviceComparisonsChooseABranch) {
  Value* x = ones(body(), {4}, "x");
  Value* c =
      at(body()).makeTyped(OpKind::DeviceEq, {x}, {{DType::Bool, {}, {}}}, {{"device", std::string("cpu")}})->result();
  Op* branch = at(body()).makeTyped(OpKind::If, {c}, {f32()});
  Region* yes = at(body()).addRegion(branch);
  at(yes).makeTyped(OpKind::Yield, {add(yes, x, x)}, {});
  Region* no = at(body()).addRegion(branch);
  at(no).makeTyped(OpKind::Yield, {to(no, x, "cuda:7")}, {});  // is not there, and is not asked for
  print(body(), branch->result());
  ASSERT_TRUE(place());
  for (const auto& op : body()->ops) EXPECT_NE(op->kind, OpKind::If);
}

TEST_F(PlaceTest, MissingDevice) {
  to(body(), ones(body()), "cuda:7");
  EXPECT_FALSE(place());
  EXPECT_EQ(codes(), Strings{"E0304"});
}

TEST_F(PlaceTest, FunctionsAreSpecialisedPerDevice) {
  Func* twice = function("twice", {""}, "", [&](Region* r, std::vector<Value*> p) { return add(r, p[0], ones(r)); });
  Value* x = ones(body(), {4}, "x");
  Op* a = call(body(), twice, {x});
  Op* b = call(body(), twice, {to(body(), x, "gpu")});
  Op* c = call(body(), twice, {x});
  ASSERT_TRUE(place());
  EXPECT_EQ(a->result()->type.place.device, "cpu");
  EXPECT_EQ(b->result()->type.place.device, "gpu");
  EXPECT_EQ(a->stringAttr("callee"), c->stringAttr("callee"));
  EXPECT_NE(a->stringAttr("callee"), b->stringAttr("callee"));
  EXPECT_EQ(m_.funcs.size(), 3u);
}

TEST_F(PlaceTest, ArgumentsOfOneFunctionAgree) {
  Func* f = function("f", {"", ""}, "", [&](Region* r, std::vector<Value*> p) { return add(r, p[0], p[1]); });
  Value* x = ones(body(), {4}, "x");
  call(body(), f, {x, to(body(), x, "gpu")});
  EXPECT_FALSE(place());
  EXPECT_EQ(codes(), Strings{"E0301"});
}

TEST_F(PlaceTest, SignaturesCheckAndNeverMove) {
  Func* onGpu = function("on_gpu", {"gpu"}, "", [&](Region* r, std::vector<Value*> p) { return add(r, p[0], p[0]); });
  Func* home = function("home", {""}, "cpu", [&](Region*, std::vector<Value*> p) { return p[0]; });
  Value* x = ones(body(), {4}, "x");
  call(body(), onGpu, {x});
  call(body(), home, {to(body(), x, "gpu")});
  EXPECT_FALSE(place());
  EXPECT_EQ(codes(), (Strings{"E0303", "E0303"}));
}

TEST_F(PlaceTest, DeviceVariables) {
  Func* meet = function("meet", {"$D", "$E"}, "$E",
                        [&](Region* r, std::vector<Value*> p) { return add(r, to(r, p[0], "$E"), p[1]); });
  Value* x = ones(body(), {4}, "x");
  Op* c = call(body(), meet, {to(body(), x, "gpu"), x});
  ASSERT_TRUE(place()) << render(diags_, sources_);
  EXPECT_EQ(c->result()->type.place.device, "cpu");
}

TEST_F(PlaceTest, CallWithoutPlacedArgumentsRunsWhereItStands) {
  Func* make = function("make", {}, "", [&](Region* r, const std::vector<Value*>&) { return ones(r); });
  Op* block = on(body(), "gpu", [&](Region* r) { return std::vector<Value*>{call(r, make, {})->result()}; });
  print(body(), block->result());
  ASSERT_TRUE(place());
  EXPECT_EQ(transfers(), Strings{"_ gpu cpu print"});
}

TEST_F(PlaceTest, NameWithoutFallbackIsAnotherName) {
  m_.devices.push_back({"first", {"cuda:0"}, {}, "cuda:0"});
  Value* a = to(body(), ones(body()), "first");
  Value* b = on(body(), "cuda:0", [&](Region* r) { return std::vector<Value*>{ones(r)}; })->result();
  add(body(), a, b);
  EXPECT_TRUE(place());
}

}  // namespace
}  // namespace tenc
