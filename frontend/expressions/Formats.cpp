// Strings with holes, and what print and assert say.
#include "frontend/expressions/Formats.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/expressions/Expressions.h"
#include "frontend/names/Devices.h"
#include "frontend/values/Numbers.h"
#include "frontend/values/Tensors.h"
#include "ir/Scalar.h"
#include "runtime/io/Io.h"

namespace tenc::frontend {

namespace {
using ir::DType;

constexpr size_t kIndent = 4;  // of the elements of a tree

struct Element {
  DType dtype = DType::I64;
  unsigned char bytes[8] = {};
};

/// The bits of a compile-time number or bool as its dtype.
Element elementOf(const Val& v) {
  Element e;
  auto put = [&e](auto x) { std::memcpy(e.bytes, &x, sizeof x); };
  e.dtype = v.is(Val::Kind::Bool) ? DType::Bool : v.dtype;
  if (v.is(Val::Kind::Bool)) {
    put(static_cast<uint8_t>(v.boolean));
    return e;
  }
  put(ir::isFloat(e.dtype) ? ir::floatBits(e.dtype, asFloat(v, e.dtype))
                           : static_cast<uint64_t>(static_cast<int64_t>(v.integer)));
  return e;
}

std::string packText(const Val& v) {
  std::string s = "[";
  for (size_t i = 0; i < v.elems.size(); ++i) s += (i ? ", " : "") + toString(v.elems[i].integer);
  return s + "]";
}

class Writer {
 public:
  Writer(Context& context, Tensors& tensors, Devices& devices)
      : context_(context), tensors_(tensors), devices_(devices) {
    parts.pieces.emplace_back();
  }

  void text(std::string_view s) { parts.pieces.back() += s; }

  void operand(ir::Value* v, std::string format, Span written) {
    parts.operands.push_back(v);
    parts.written.push_back({written, ""});
    parts.formats.push_back(std::move(format));
    parts.pieces.emplace_back();
  }

  /// Whether the text of a value goes on below its first line.
  static bool severalLines(const Val& v) {
    switch (v.kind) {
      case Val::Kind::Tensor: return v.tensor->type.rank() > 0;
      case Val::Kind::Array: return true;
      case Val::Kind::Tuple:
      case Val::Kind::List:
      case Val::Kind::Sequence:
      case Val::Kind::Struct: return std::any_of(v.elems.begin(), v.elems.end(), severalLines);
      default: return false;
    }
  }

  void value(const Val& v, const std::string& format, Span formatSpan) {
    switch (v.kind) {
      case Val::Kind::None:
      case Val::Kind::Poison: parts.ok = false; return;
      case Val::Kind::Tensor:
        if ((format == rt::kTextFormat && v.tensor->type.dtype == DType::U8 && v.tensor->type.rank() == 1) ||
            check(v.tensor->type.dtype, format, formatSpan)) {
          const bool inTree = depth_ > 0 && v.tensor->type.rank() > 0;
          operand(v.tensor, inTree ? rt::indentFormat(depth_ * kIndent) : format, v.span);
        }
        return;
      case Val::Kind::Int:
      case Val::Kind::Float:
      case Val::Kind::Bool: {
        if (v.is(Val::Kind::Int) && tensors_.settle(v).poison()) {
          parts.ok = false;
          return;
        }
        Element e = elementOf(v);
        if (check(e.dtype, format, formatSpan)) {
          text(rt::formatScalar(static_cast<uint8_t>(e.dtype), e.bytes, format));
        }
        return;
      }
      case Val::Kind::Array: {
        Val settled = tensors_.settle(v);
        if (settled.is(Val::Kind::Array))
          parts.ok = false;
        else
          value(settled, format, formatSpan);
        return;
      }
      default: break;
    }
    if (v.is(Val::Kind::String) || v.isChoice()) {
      string(v, format, formatSpan);
      return;
    }
    if (!format.empty()) {
      bad(formatSpan, describe(v) + " takes no format");
      return;
    }
    switch (v.kind) {
      case Val::Kind::Format: holes(v); return;
      case Val::Kind::DType: text(ir::name(v.dtype)); return;
      case Val::Kind::Pack: text(packText(v)); return;
      case Val::Kind::Device:
        if (v.device.of)
          operand(v.device.of, "@", v.span);
        else if (v.device.name.starts_with("$"))
          parts.ok = !context_.notYet(v.span, "printing a device variable").poison();
        else
          text(devices_.actualDevice(v.device.name));
        return;
      case Val::Kind::Tuple: sequence(v, "(", v.elems.size() == 1 ? ",)" : ")"); return;
      case Val::Kind::List:
      case Val::Kind::Sequence: sequence(v, "[", "]"); return;
      case Val::Kind::Struct: structure(v); return;
      case Val::Kind::Function:
        if (inTree_) {  // a layer of a network
          text(v.fn && !v.fn->name.empty() ? v.fn->name : "|...|");
          return;
        }
        [[fallthrough]];
      default:
        context_.error(Code::E0203, v.span,
                       v.is(Val::Kind::Unit) ? "this gives no value to print" : describe(v) + " cannot be printed");
        parts.ok = false;
    }
  }

  void holes(const Val& v) {
    size_t hole = 0;
    for (const ast::StringPiece& p : *v.pieces) {
      if (p.hole)
        value(v.elems[hole++], p.format, p.formatSpan);
      else
        text(p.text);
    }
  }

  FormatParts parts;

 private:
  void string(const Val& v, const std::string& format, Span formatSpan) {
    if (const std::string why = rt::checkTextFormat(format); !why.empty()) {
      bad(formatSpan, why);
      return;
    }
    if (v.is(Val::Kind::String)) {
      text(rt::formatString(v.text, format));
      return;
    }
    std::vector<std::string> texts = rt::choiceTexts(v.text);
    for (std::string& t : texts) t = rt::formatString(t, format);
    operand(v.elems[0].tensor, rt::choiceFormat(texts), v.span);
  }

  void sequence(const Val& v, std::string_view open, std::string_view close) {
    tree(v, open, close, [](size_t) { return std::string(); });
  }

  void structure(const Val& v) {
    const bool onLines = severalLines(v);
    tree(v, (v.info ? v.info->text : std::string("struct")) + (onLines ? " {" : " { "), onLines ? "}" : " }",
         [&v](size_t i) {
           return v.info && v.info->decl ? v.info->decl->stmt->fields[i].name.text + ": " : std::string();
         });
  }

  /// On one line; an element to a line where one of them takes several.
  template <class NameOf>
  void tree(const Val& v, std::string_view open, std::string_view close, const NameOf& nameOf) {
    const bool onLines = severalLines(v), around = std::exchange(inTree_, true);
    text(open);
    depth_ += onLines;
    for (size_t i = 0; i < v.elems.size(); ++i) {
      if (i) text(onLines ? "," : ", ");
      if (onLines) text("\n" + std::string(depth_ * kIndent, ' '));
      text(nameOf(i));
      value(v.elems[i], "", v.span);
    }
    depth_ -= onLines;
    inTree_ = around;
    if (onLines) text("\n" + std::string(depth_ * kIndent, ' '));
    text(onLines && close == ",)" ? ")" : close);
  }

  void bad(Span span, std::string message) {
    context_.error(Code::E0211, span, std::move(message))
        .note("formats are as in Python: `.3f`, `8.2e`, `>10`, `,`, `.1%`");
    parts.ok = false;
  }

  bool check(DType t, const std::string& format, Span span) {
    std::string why = rt::checkFormat(static_cast<uint8_t>(t), format);
    if (!why.empty()) bad(span, why);
    return why.empty();
  }

  Context& context_;
  Tensors& tensors_;
  Devices& devices_;
  bool inTree_ = false;
  size_t depth_ = 0;  ///< of the trees whose elements stand on lines of their own
};
}  // namespace

Val Formats::formatString(const ast::Expr& e) {
  Val v;
  v.kind = Val::Kind::Format;
  v.span = e.span;
  v.pieces = &e.pieces;
  for (const ast::StringPiece& p : e.pieces) {
    if (p.hole) v.elems.push_back(expressions_.evalSettled(*p.hole));
  }
  // Formats are checked here, once, so that a string that nobody prints is checked too.
  Writer w(context_, tensors_, devices_);
  w.holes(v);
  if (!w.parts.ok) return context_.lost();
  constexpr size_t kMostText = 1 << 20;
  if (w.parts.operands.empty() && w.parts.pieces[0].size() > kMostText)
    return context_.fail(Code::E0208, e.span, "a string of more than 1 MiB");
  if (w.parts.operands.empty()) return Val::ofString(w.parts.pieces[0], e.span);
  return v;
}

FormatParts Formats::formatParts(const std::vector<Val>& values, Span span, std::string_view between) {
  Writer w(context_, tensors_, devices_);
  for (size_t i = 0; i < values.size(); ++i) {
    if (i) w.text(between);
    w.value(values[i], "", values[i].span.valid() ? values[i].span : span);
  }
  return std::move(w.parts);
}

FormatParts Formats::sidesParts(const std::vector<Val>& sides) {
  Writer w(context_, tensors_, devices_);
  w.text("left is ");
  w.value(sides[0], "", sides[0].span);
  w.text(", right is ");
  w.value(sides[1], "", sides[1].span);
  return std::move(w.parts);
}

}  // namespace tenc::frontend
