// The textual form of the IR; Parser.cpp reads it back. Its grammar is at the head of Parser.cpp.
#include <algorithm>
#include <unordered_map>

#include "ir/Ir.h"
#include "ir/Text.h"

namespace tenc::ir {
namespace {

std::string deviceName(const std::string& device) {
  const bool plain = !device.empty() &&
                     std::all_of(device.begin(), device.end(), [](char c) { return isNameChar(c) || c == ':'; }) &&
                     device.back() != ':';
  return plain ? device : quoted(device);
}

std::string functionName(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), isNameChar) ? name : quoted(name);
}

std::string typeText(const Type& t) {
  std::string s(name(t.dtype));
  if (!t.shape.empty()) s += toString(t.shape);
  if (!t.place.isFree()) s += " @" + deviceName(t.place.device);
  return s;
}

template <class Range, class F>
std::string joined(const Range& range, F text) {
  std::string s;
  for (const auto& item : range) {
    if (!s.empty()) s += ", ";
    s += text(item);
  }
  return s;
}

std::string dataText(const std::vector<std::byte>& data, const Type& t) {
  const auto count = static_cast<int64_t>(data.size()) / byteSize(t.dtype);
  std::string s;
  if (count > kMostPrintedElements) {
    static constexpr std::string_view kHex = "0123456789abcdef";
    s = "hex\"";
    s.reserve(data.size() * 2 + 8);
    for (std::byte b : data) {
      s += kHex[static_cast<size_t>(b) >> 4];
      s += kHex[static_cast<size_t>(b) & 15];
    }
    return s + "\"";
  }
  for (int64_t i = 0; i < count; ++i) {
    uint64_t bits = 0;
    for (int b = byteSize(t.dtype); b-- > 0;) {
      bits = bits << 8 | static_cast<uint64_t>(data[static_cast<size_t>(i * byteSize(t.dtype) + b)]);
    }
    if (i) s += ", ";
    s += elementText(t.dtype, bits);
  }
  return "[" + s + "]";
}

class Printer {
 public:
  Printer(const Module* module, bool withSpans) : module_(module), withSpans_(withSpans) {}

  std::string take() { return std::move(out_); }

  void module() {
    if (module_->defaultDevice != DeviceTable::kHost)
      out_ += "default_device " + deviceName(module_->defaultDevice) + "\n";
    for (const DeviceDecl& d : module_->devices) {
      out_ += "device " + deviceName(d.name) + " =";
      for (size_t i = 0; i < d.choices.size(); ++i) out_ += (i ? " or " : " ") + deviceName(d.choices[i]);
      if (!d.actual.empty()) out_ += " actual " + deviceName(d.actual);
      out_ += "\n";
    }
    if (withSpans_)
      for (const SourceText& t : module_->texts->all()) sourceText(t);
    for (const auto& f : module_->funcs) {
      if (!out_.empty()) out_ += "\n";
      func(*f);
    }
  }

  void func(const Func& f) {
    names_.clear();
    taken_.clear();
    next_ = 0;
    out_ += "func @" + functionName(f.name) + "(" + arguments(*f.body) + ")";
    if (!f.resultTypes.empty()) out_ += " -> (" + joined(f.resultTypes, typeText) + ")";
    const auto named = [](const std::string& s) { return !s.empty(); };
    if (std::any_of(f.paramPlaces.begin(), f.paramPlaces.end(), named) ||
        std::any_of(f.resultPlaces.begin(), f.resultPlaces.end(), named)) {
      out_ += " places(" + joined(f.paramPlaces, quoted) + ") -> (" + joined(f.resultPlaces, quoted) + ")";
    }
    if (!f.ownDevice.empty()) out_ += " device(" + quoted(f.ownDevice) + ")";
    if (!f.signature.empty()) out_ += " signature(" + quoted(f.signature) + ")";
    if (f.source != f.name) out_ += " source(" + quoted(f.source) + ")";
    if (f.kind == Func::Kind::Case) out_ += " case";
    if (withSpans_ && f.span.valid()) out_ += " loc(" + spanText(f.span) + ")";
    out_ += " {\n";
    depth_ = 1;
    ops(*f.body);
    out_ += "}\n";
  }

 private:
  /// The printed name: the hint, made different by #1, #2, ...; values without a hint are numbered.
  const std::string& nameOf(const Value* v) {
    auto [it, isNew] = names_.try_emplace(v);
    if (!isNew) return it->second;
    std::string hint;
    for (char c : v->name) hint += isNameChar(c) ? c : '_';
    if (hint.empty()) return it->second = "%" + std::to_string(next_++);
    if (hint[0] >= '0' && hint[0] <= '9') hint.insert(hint.begin(), '_');
    const uint32_t n = taken_[hint]++;
    return it->second = n == 0 ? "%" + hint : "%" + hint + "#" + std::to_string(n);
  }

  std::string arguments(const Region& r) {
    return joined(r.args, [&](const auto& a) { return nameOf(a.get()) + ": " + typeText(a->type); });
  }

  void ops(const Region& r) {
    for (const auto& op : r.ops) {
      out_.append(2 * depth_, ' ');
      opText(*op);
      out_ += "\n";
    }
  }

  void opText(const Op& op) {
    if (!op.results.empty()) out_ += joined(op.results, [&](const auto& r) { return nameOf(r.get()); }) + " = ";
    out_ += op.info().mnemonic;
    for (size_t i = 0; i < op.operandCount(); ++i) {
      out_ += i ? ", " : " ";
      out_ += op.operand(i) != nullptr ? nameOf(op.operand(i)) : "%<null>";
    }
    if (!op.attrs().empty()) {
      out_ += " {" + joined(op.attrs(), [&](const auto& a) { return a.first + " = " + attrText(op, a.second); }) + "}";
    }
    if (!op.results.empty()) {
      out_ += " : " + joined(op.results, [](const auto& r) { return typeText(r->type); });
    }
    for (const auto& region : op.regions) {
      out_ += " {";
      if (!region->args.empty()) out_ += " (" + arguments(*region) + ")";
      out_ += "\n";
      ++depth_;
      ops(*region);
      --depth_;
      out_.append(2 * depth_, ' ');
      out_ += "}";
    }
    if (withSpans_ && module_ != nullptr) location(op.loc);
  }

  std::string attrText(const Op& op, const Attr& a) {
    struct Visitor {
      const Op& op;
      std::string operator()(int64_t v) const { return std::to_string(v); }
      std::string operator()(double v) const { return floatText(v); }
      std::string operator()(bool v) const { return v ? "true" : "false"; }
      std::string operator()(const std::string& v) const { return quoted(v); }
      std::string operator()(const std::vector<int64_t>& v) const { return toString(v); }
      std::string operator()(const std::vector<std::string>& v) const { return "[" + joined(v, quoted) + "]"; }
      std::string operator()(DType v) const { return std::string(name(v)); }
      std::string operator()(const Data& v) const {
        return v == nullptr || op.results.empty() ? "[]" : dataText(*v, op.result()->type);
      }
    };
    return std::visit(Visitor{op}, a);
  }

  /// Bytes of a source text: file:begin:end.
  static std::string spanText(Span s) {
    if (!s.valid()) return "unknown";
    return std::to_string(s.file) + ":" + std::to_string(s.begin) + ":" + std::to_string(s.end);
  }

  void sourceText(const SourceText& t) {
    out_ += "text " + spanText(t.span) + " " + std::string(name(t.kind));
    if (!t.name.empty()) out_ += " " + quoted(t.name);
    if (t.postfix) out_ += " postfix";
    if (t.whole.valid()) out_ += " whole " + spanText(t.whole);
    if (t.move.valid()) out_ += " move " + spanText(t.move);
    if (t.variable.valid()) out_ += " var " + spanText(t.variable);
    out_ += "\n";
  }

  void location(Loc loc) {
    if (loc.index == 0) return;
    const auto place = [&](Loc at) {
      return spanText(module_->span(at)) + (at.half == Half::None ? "" : " ") + std::string(name(at.half));
    };
    out_ += " loc(" + place(loc);
    const auto operand = [](const OperandText& o) {
      return spanText(o.span) + (o.leaf.empty() ? "" : " " + quoted(o.leaf));
    };
    const std::vector<OperandText>& operands = module_->loc(loc).operands;
    if (!operands.empty()) out_ += " of " + joined(operands, operand);
    for (Loc at = loc; module_->loc(at).caller.index != 0; at = module_->loc(at).caller) {
      out_ += " in " + quoted(module_->loc(at).callee) + " at " + place(module_->loc(at).caller);
    }
    out_ += ")";
  }

  const Module* module_;
  bool withSpans_;
  std::string out_;
  size_t depth_ = 0;
  std::unordered_map<const Value*, std::string> names_;
  std::unordered_map<std::string, uint32_t> taken_;
  uint32_t next_ = 0;
};

}  // namespace

std::string print(const Module& m, bool withSpans) {
  Printer p(&m, withSpans);
  p.module();
  return p.take();
}

}  // namespace tenc::ir
