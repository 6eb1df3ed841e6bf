// Fields of structs, elements of tuples, names in modules, and the members that every tensor has.
#include "frontend/expressions/Members.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/Context.h"
#include "frontend/builtins/Builtin.h"
#include "frontend/builtins/BuiltinNames.h"
#include "frontend/habits/GradientCuts.h"
#include "frontend/habits/Idioms.h"
#include "frontend/habits/ListLength.h"
#include "frontend/names/Names.h"
#include "frontend/names/Suggest.h"
#include "frontend/names/Unit.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"
#include "ir/PlaceAttributes.h"
#include "ir/build/Compose.h"
#include "support/Quote.h"
#include "syntax/Familiar.h"

namespace tenc::frontend {

namespace {
using Kind = Val::Kind;
}  // namespace

namespace {
std::string lowered(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// Whether a built-in takes a tensor and needs nothing else.
bool takesOne(std::string_view name) {
  const BuiltinRow* row = builtinRow(name);
  if (!row || row->signature.parameters().empty()) return false;
  const auto parameters = row->signature.parameters();
  return parameters[0].kind == Parameter::Kind::Any &&
         std::ranges::all_of(parameters.subspan(1), [](const Parameter& p) { return p.optional; });
}
}  // namespace

Val Members::fieldOf(const Val& base, std::string_view name, Span span) {
  const std::string text(name);
  switch (base.kind) {
    case Kind::None:
    case Kind::Poison: return context_.lost();
    case Kind::Module: {
      if (auto v = names_.lookupGlobal(*base.module, name, span)) return *v;
      std::vector<std::string> names;
      for (const auto& [n, s] : base.module->declared) names.push_back(n);
      for (const auto& [n, f] : base.module->functions) names.push_back(n);
      for (const auto& [n, from] : base.module->names) names.push_back(n);
      auto d = context_.error(Code::E0206, span, "module `" + base.module->name + "` has no `" + text + "`");
      const std::string layer = text + "_layer";
      const std::string stem = text.ends_with("_layer") ? text.substr(0, text.size() - 6) : "";
      if (std::find(names.begin(), names.end(), layer) != names.end())
        d.help("`" + layer + "` makes the layer; the operation has no prefix", {{span, layer}});
      else if (std::find(names.begin(), names.end(), stem) != names.end())
        d.help("did you mean `" + stem + "`?", {{span, stem}});
      else if (const std::string other = respelled(name, names); !other.empty())
        d.help("did you mean `" + other + "`?", {{span, other}});
      else if (const std::string builtin = lowered(text); isBuiltin(builtin))
        d.help("`" + builtin + "` is built in: it has no prefix");
      else if (const std::string near = nearest(name, names); !near.empty())
        d.help("did you mean `" + near + "`?", {{span, near}});
      else if (const syntax::Familiar* known = syntax::familiarName(text); known && !known->help.empty())
        d.help(std::string(known->help));
      return d;
    }
    case Kind::Struct: {
      std::vector<std::string> names;
      const auto& fields = base.info->decl->stmt->fields;
      for (size_t i = 0; i < fields.size(); ++i) {
        if (fields[i].name.text == name) return base.elems[i];
        names.push_back(fields[i].name.text);
      }
      if (auto v = memberOfTensor(base, name, span)) return *v;
      const auto method = names_.lookupGlobal(*base.info->decl->unit, text, span);
      auto d = context_.error(Code::E0206, span, describe(base) + " has no field `" + text + "`");
      if (method && method->is(Kind::Function))
        d.help("a method is called: `." + text + "(...)`, in a pipe too; as a value it is `|x| m." + text + "(x)`");
      else if (auto weight = weightOfLinear(base, name, span))
        d.help(weight->text, weight->edits);
      else if (std::string near = nearest(name, names); !near.empty())
        d.help("did you mean `" + near + "`?", {{span, near}});
      else if (std::string shorter = shortened(text, names); !shorter.empty())  // `m.weight` of a field `w`
        d.help("did you mean `" + shorter + "`?", {{span, shorter}});
      else if (name == "shape" || name == "size")  // `len(cfg)` of a dictionary
        d.help("a struct has no length: " + fieldsText(names));
      else
        d.help(fieldsText(names));
      return d;
    }
    case Kind::Tuple:
    case Kind::Pack:
    case Kind::List:
    case Kind::Sequence:
      if (text == "size") return Val::ofInt(static_cast<Int>(base.elems.size()), span);
      if (!base.is(Kind::List) && !base.is(Kind::Sequence) && !text.empty() &&
          std::isdigit(static_cast<unsigned char>(text[0]))) {
        const size_t i = text.size() > 6 ? base.elems.size() : std::stoul(text);
        if (i < base.elems.size()) return base.elems[i];
        return context_.fail(Code::E0206, span,
                             "there are " + std::to_string(base.elems.size()) + " elements, and no element " + text);
      }
      break;
    default: break;
  }
  Val settled = base.isNumber() || base.is(Kind::Array) || base.is(Kind::Bool) ? tensors_.materialise(base) : base;
  if (settled.poison()) return settled;
  if (auto v = memberOfTensor(settled, name, span)) return *v;
  auto d = context_.error(Code::E0206, span, describe(base) + " has no member `" + text + "`");
  const syntax::Familiar* foreign = syntax::familiarName(text);
  if (auto update = settled.is(Kind::Tensor) && text == "at" ? updatedAt(context_, span) : std::nullopt)
    d.help(update->text, update->edits);
  else if (auto part = partOfPair(context_, base, span, name))
    d.help(part->text, part->edits);
  else if (settled.is(Kind::Tensor) && text == "data") {
    const Help data = dataOfTensor(context_, span);
    d.help(data.text, data.edits);
  } else if (settled.is(Kind::Tensor) && foreign && foreign->replacement.empty() && !foreign->help.empty() &&
             takesOne(text))
    d.help(std::string(foreign->help));  // `x.grad`
  else if (settled.is(Kind::Tensor) && takesOne(text))
    d.help("`" + text + "` is a function, which is called", {{Span{span.file, span.end, span.end}, "()"}});
  else if (settled.is(Kind::Tensor))
    suggest(d, text, span, {"shape", "ndim", "size", "dtype", "device", "T"}, foreign, Among::Few);
  else if (auto length = lengthOfList(context_, span))
    d.help(length->text, length->edits);
  return d;
}

ir::Value* Members::placeOfTree(const Val& tree, std::vector<ir::Value*> leaves, Span span) {
  const std::vector<std::string> pinned = pinnedLeaves(tree);
  std::vector<ir::Value*> own;  // those that are where the tree is
  std::vector<ir::OperandText> written;
  size_t next = 0;
  mapLeaves(tree, [&](const Val& leaf, const std::string& path, bool) {
    if (!leaf.is(Val::Kind::Tensor)) return leaf;
    if (next >= pinned.size() || pinned[next].empty()) {
      own.push_back(leaf.tensor);
      written.push_back({tree.span, path});
    }
    ++next;
    return leaf;
  });
  if (own.empty()) own = std::move(leaves);
  if (own.size() > 1 && context_.body.builder) {
    const bool quotable = tree.span.valid() && isQuotable(context_.sources, tree.span);
    const std::string what = quotable ? quote(context_.sources, tree.span) : "this value";
    context_.at(span, std::move(written));
    context_.b()
        .makeTyped(ir::OpKind::OnePlace, own, {}, {{"what", "the parts of " + what}})
        ->set(ir::kAsksForPlace, true);
    context_.at(span);
  }
  return own[0];
}

std::optional<Val> Members::memberOfTensor(const Val& base, std::string_view name, Span span) {
  if (name != "shape" && name != "ndim" && name != "size" && name != "dtype" && name != "device" && name != "T") {
    return std::nullopt;
  }
  if (base.isTree()) {
    std::vector<ir::Value*> leaves;
    if (name != "device" || !leavesOf(base, leaves) || leaves.empty()) return std::nullopt;
    return Val::ofDevice({"", placeOfTree(base, std::move(leaves), span)}, span);
  }
  if (!base.is(Val::Kind::Tensor) && !base.isNumber() && !base.is(Val::Kind::Bool) && !base.is(Val::Kind::Array)) {
    return std::nullopt;
  }
  ir::Value* x = tensors_.tensorOf(base);
  if (!x) return context_.lost();
  if (name == "shape") return Val::ofPack(x->type.shape, span);
  if (name == "ndim") return Val::ofInt(x->type.rank(), span);
  if (name == "size") return Val::ofInt(x->type.size(), span);
  if (name == "dtype") return Val::ofDType(x->type.dtype, span);
  if (name == "device") return Val::ofDevice({"", x}, span);
  if (x->type.rank() < 2) return Val::ofTensor(x, span);
  context_.at(span);
  return Val::ofTensor(ir::Compose(context_.b()).swapAxes(x, x->type.rank() - 2, x->type.rank() - 1), span);
}

}  // namespace tenc::frontend
