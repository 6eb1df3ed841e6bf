// Reads the textual form of the IR (.tir):
//
//   module  = {"default_device" NAME | "device" NAME "=" NAME {"or" NAME} ["actual" NAME] | text | func}
//   text    = "text" span KIND [STRING] ["postfix"] ["whole" span] ["move" span] ["var" span]
//   func    = "func" "@" NAME "(" args ")" ["->" "(" types ")"] ["places" "(" strings ")" "->" "(" strings ")"]
//             ["device" "(" STRING ")"] ["signature" "(" STRING ")"] ["source" "(" STRING ")"] ["case"] [loc]
//             "{" {op} "}"
//   args    = [VALUE ":" type {"," VALUE ":" type}]
//   type    = DTYPE ["[" INT {"," INT} "]"] ["@" NAME]
//   op      = [VALUE {"," VALUE} "="] MNEMONIC [VALUE {"," VALUE}] [attrs] [":" types] {region} [loc]
//   attrs   = "{" NAME "=" attr {"," NAME "=" attr} "}"
//   region  = "{" ["(" args ")"] {op} "}"
//   loc     = "loc" "(" span ["of" span [STRING] {"," span [STRING]}] {"in" STRING "at" span} ")"
//   span = FILE ":" BEGIN ":" END | "unknown"
//
// VALUE is %name, %name#2 or %7; elements of constants are decimal or 0x bits; `//` starts a comment.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "ir/Attributes.h"
#include "ir/Ir.h"
#include "ir/Scalar.h"
#include "ir/Text.h"

namespace tenc::ir {
namespace {

constexpr int kMostNesting = 500;

class Parser {
 public:
  Parser(const SourceManager& sources, uint32_t file, Diagnostics& diags)
      : text_(sources.file(file).text()), file_(file), diags_(diags), module_(std::make_unique<Module>()) {}

  std::unique_ptr<Module> run() {
    module();
    if (failed_) return nullptr;
    return std::move(module_);
  }

 private:
  // ---- characters and tokens

  void skip() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
        ++at_;
      } else if (c == '/' && at_ + 1 < text_.size() && text_[at_ + 1] == '/') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else {
        return;
      }
    }
  }

  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool fail(std::string message) { return fail(std::move(message), at_); }
  bool fail(std::string message, size_t begin) {
    if (!failed_) {
      const auto b = static_cast<uint32_t>(std::min(begin, text_.size()));
      const auto e = static_cast<uint32_t>(std::max<size_t>(std::min(at_, text_.size()), b));
      diags_.report(Code::E0101, Span{file_, b, e}, std::move(message));
    }
    failed_ = true;
    return false;
  }

  bool accept(std::string_view symbol) {
    skip();
    if (!text_.substr(at_).starts_with(symbol)) return false;
    // A word must end where the symbol ends.
    if (isNameChar(symbol.back()) && at_ + symbol.size() < text_.size() && isNameChar(text_[at_ + symbol.size()])) {
      return false;
    }
    at_ += symbol.size();
    return true;
  }
  bool expect(std::string_view symbol) { return accept(symbol) || fail("expected `" + std::string(symbol) + "`"); }

  /// A run of name characters; with `colons` also ':' (device names).
  std::string_view word(bool colons = false) {
    skip();
    const size_t begin = at_;
    while (at_ < text_.size() && (isNameChar(text_[at_]) || (colons && text_[at_] == ':'))) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  bool string(std::string& out) {
    if (peek() != '"') return fail("expected a string");
    const size_t begin = at_++;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] != '\\') {
        out += text_[at_];
        continue;
      }
      const char c = ++at_ < text_.size() ? text_[at_] : '\0';
      if (c == 'n') {
        out += '\n';
      } else if (c == 't') {
        out += '\t';
      } else if (c == 'x' && at_ + 2 < text_.size()) {
        unsigned value = 0;
        const char* first = text_.data() + at_ + 1;
        if (std::from_chars(first, first + 2, value, 16).ptr != first + 2) return fail("bad escape");
        out += static_cast<char>(value);
        at_ += 2;
      } else if (c == '"' || c == '\\') {
        out += c;
      } else {
        return fail("bad escape");
      }
    }
    if (at_ >= text_.size()) return fail("string without end", begin);
    ++at_;
    return true;
  }

  /// A plain or quoted name.
  bool nameText(std::string& out, bool colons = false) {
    if (peek() == '"') return string(out);
    out = word(colons);
    return !out.empty() || fail("expected a name");
  }

  bool strings(std::vector<std::string>& out, std::string_view close) {
    while (!accept(close)) {
      if (!out.empty() && !expect(",")) return false;
      out.emplace_back();
      if (!string(out.back())) return false;
    }
    return true;
  }

  bool integer(int64_t& out) {
    skip();
    const char* first = text_.data() + at_;
    auto [end, error] = std::from_chars(first, text_.data() + text_.size(), out);
    if (error != std::errc()) return fail("expected an integer");
    at_ += static_cast<size_t>(end - first);
    return true;
  }

  bool integers(std::vector<int64_t>& out) {
    while (!accept("]")) {
      if (!out.empty() && !expect(",")) return false;
      if (!integer(out.emplace_back())) return false;
    }
    return true;
  }

  // ---- types and values

  bool type(Type& out) {
    const std::string_view w = word();
    const auto dtype = dtypeNamed(w);
    if (!dtype) return fail("expected a type", at_ - w.size());
    out.dtype = *dtype;
    if (accept("[")) {
      const size_t begin = at_;
      if (!integers(out.shape)) return false;
      const auto count = elementCount(out.shape);
      if (out.shape.size() > kMaxRank || !count || *count > (int64_t{1} << 62) / byteSize(out.dtype)) {
        return fail("bad shape", begin);
      }
    }
    return !accept("@") || nameText(out.place.device, true);
  }

  bool types(std::vector<Type>& out) {
    do {
      if (!type(out.emplace_back())) return false;
    } while (accept(","));
    return true;
  }

  /// The text after %, and the hint in it: numbers and #n suffixes are the printer's.
  bool valueName(std::string& full) {
    if (!expect("%")) return false;
    const size_t begin = at_;
    while (at_ < text_.size() && (isNameChar(text_[at_]) || text_[at_] == '#')) ++at_;
    full = text_.substr(begin, at_ - begin);
    return !full.empty() || fail("expected the name of a value");
  }
  static std::string hint(const std::string& full) {
    if (full[0] >= '0' && full[0] <= '9') return {};
    return full.substr(0, full.find('#'));
  }

  bool define(const std::string& full, Value* v, size_t begin) {
    return values_.emplace(full, v).second || fail("`%" + full + "` is defined twice", begin);
  }

  bool use(std::vector<Value*>& out) {
    std::string full;
    const size_t begin = at_;
    if (!valueName(full)) return false;
    auto it = values_.find(full);
    if (it == values_.end()) return fail("`%" + full + "` is not defined before its use", begin);
    out.push_back(it->second);
    return true;
  }

  bool arguments(Region& region) {
    while (!accept(")")) {
      if (!region.args.empty() && !expect(",")) return false;
      skip();
      const size_t begin = at_;
      std::string full;
      Type t;
      if (!valueName(full) || !expect(":") || !type(t)) return false;
      if (!define(full, region.addArg(std::move(t), hint(full)), begin)) return false;
    }
    return true;
  }

  // ---- attributes

  /// Elements of a constant as they are written; they get their dtype when the result type is known.
  struct Elements {
    std::vector<std::string> texts;
    std::optional<std::string> hex;
    size_t begin = 0;
  };

  bool elements(Elements& out) {
    skip();
    out.begin = at_;
    if (accept("hex")) return string(out.hex.emplace());
    if (!expect("[")) return false;
    while (!accept("]")) {
      if (!out.texts.empty() && !expect(",")) return false;
      skip();
      const size_t begin = at_;
      while (at_ < text_.size() && (isNameChar(text_[at_]) || text_[at_] == '-' || text_[at_] == '+')) ++at_;
      if (begin == at_) return fail("expected an element");
      out.texts.emplace_back(text_.substr(begin, at_ - begin));
    }
    return true;
  }

  bool data(const Elements& e, const Type& t, Data& out) {
    const auto size = static_cast<size_t>(byteSize(t.dtype));
    auto bytes = std::make_shared<std::vector<std::byte>>();
    if (e.hex) {
      if (e.hex->size() % 2 != 0) return fail("odd number of hexadecimal digits", e.begin);
      bytes->reserve(e.hex->size() / 2);
      for (size_t i = 0; i < e.hex->size(); i += 2) {
        unsigned value = 0;
        const char* first = e.hex->data() + i;
        if (std::from_chars(first, first + 2, value, 16).ptr != first + 2)
          return fail("bad hexadecimal digit", e.begin);
        bytes->push_back(static_cast<std::byte>(value));
      }
    } else {
      bytes->resize(e.texts.size() * size);
      for (size_t i = 0; i < e.texts.size(); ++i) {
        const auto bits = elementBits(t.dtype, e.texts[i]);
        if (!bits) return fail("`" + e.texts[i] + "` is no " + std::string(name(t.dtype)), e.begin);
        storeBits(bytes->data(), t.dtype, static_cast<int64_t>(i), *bits);
      }
    }
    out = std::move(bytes);
    return true;
  }

  bool list(std::string_view kind, Attr& out) {
    if (peek() == '"' || (kind == "strings" && peek() == ']')) {
      std::vector<std::string> v;
      if (!strings(v, "]")) return false;
      out = std::move(v);
      return true;
    }
    std::vector<int64_t> v;
    if (!integers(v)) return false;
    out = std::move(v);
    return true;
  }

  bool numberAttr(std::string_view kind, Attr& out) {
    skip();
    const size_t begin = at_;
    while (at_ < text_.size() && (isNameChar(text_[at_]) || text_[at_] == '-' || text_[at_] == '+')) ++at_;
    const std::string_view w = text_.substr(begin, at_ - begin);
    if (const auto t = dtypeNamed(w)) {
      out = *t;
      return true;
    }
    if (kind == "float" || w.find_first_of(".ein") != std::string_view::npos) {
      double f = 0;
      auto [end, error] = std::from_chars(w.data(), w.data() + w.size(), f);
      if (error != std::errc() || end != w.data() + w.size()) return fail("expected an attribute value", begin);
      out = f;
      return true;
    }
    at_ = begin;
    int64_t i = 0;
    if (!integer(i)) return false;
    out = i;
    return true;
  }

  bool attribute(std::string_view kind, Attr& out) {
    if (accept("[")) return list(kind, out);
    if (peek() == '"') {
      std::string s;
      if (!string(s)) return false;
      out = std::move(s);
      return true;
    }
    if (accept("true")) {
      out = true;
      return true;
    }
    if (accept("false")) {
      out = false;
      return true;
    }
    return numberAttr(kind, out);
  }

  /// Whether the `{` ahead opens attributes: a name and `=` follow.
  bool attributesAhead() {
    if (peek() != '{') return false;
    const size_t begin = at_++;
    const bool yes = !word().empty() && peek() == '=';
    at_ = begin;
    return yes;
  }

  bool attributes(Op& op, std::optional<Elements>& constant) {
    at_ += 1;
    do {
      std::string key;
      if (!nameText(key) || !expect("=")) return false;
      std::string_view kind;
      for (const AttrSpec& spec : attrSpecs(op.kind)) {
        if (spec.name == key) kind = spec.kind;
      }
      Attr value;
      if (kind == "data") {
        if (!elements(constant.emplace())) return false;
        constantKey_ = key;
        value = Data{};
      } else if (!attribute(kind, value)) {
        return false;
      }
      op.set(key, std::move(value));
    } while (accept(","));
    return expect("}");
  }

  // ---- locations

  bool span(Span& out) {
    if (accept("unknown")) return true;
    int64_t file = 0;
    int64_t begin = 0;
    int64_t end = 0;
    if (!integer(file) || !expect(":") || !integer(begin) || !expect(":") || !integer(end)) return false;
    out = Span{static_cast<uint32_t>(file), static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
    return true;
  }

  Half half() {
    if (accept(name(Half::Forward))) return Half::Forward;
    return accept(name(Half::Backward)) ? Half::Backward : Half::None;
  }

  bool location(Loc& out) {
    std::vector<LocData> chain(1);
    if (!expect("(") || !span(chain[0].span)) return false;
    std::vector<Half> halves = {half()};
    if (accept("of")) {
      do {
        OperandText& operand = chain[0].operands.emplace_back();
        if (!span(operand.span) || (peek() == '"' && !string(operand.leaf))) return false;
      } while (accept(","));
    }
    while (accept("in")) {
      if (!string(chain.back().callee) || !expect("at") || !span(chain.emplace_back().span)) return false;
      halves.push_back(half());
    }
    Loc caller;
    for (size_t i = chain.size(); i-- > 0;) {
      chain[i].caller = caller;
      caller = module_->addLoc(chain[i]);
      caller.half = halves[i];
    }
    out = caller;
    return expect(")");
  }

  // ---- ops, functions, module

  bool op(Region& region) {
    skip();
    const size_t begin = at_;
    std::vector<std::pair<std::string, size_t>> resultNames;
    if (peek() == '%') {
      do {
        skip();
        const size_t start = at_;
        std::string full;
        if (!valueName(full)) return false;
        resultNames.emplace_back(std::move(full), start);
      } while (accept(","));
      if (!expect("=")) return false;
    }
    const std::string_view mnemonic = word();
    const auto kind = opNamed(mnemonic);
    if (!kind) return fail("there is no op `" + std::string(mnemonic) + "`", at_ - mnemonic.size());
    std::vector<Value*> operands;
    if (peek() == '%') {
      do {
        if (!use(operands)) return false;
      } while (accept(","));
    }
    Builder builder(&region);
    Op* made = builder.makeTyped(*kind, std::move(operands), {});
    std::optional<Elements> constant;
    if (attributesAhead() && !attributes(*made, constant)) return false;
    std::vector<Type> resultTypes;
    if (accept(":") && !types(resultTypes)) return false;
    if (resultTypes.size() != resultNames.size()) {
      return fail(std::to_string(resultNames.size()) + " results and " + std::to_string(resultTypes.size()) + " types",
                  begin);
    }
    if (constant) {
      Data bytes;
      if (resultTypes.empty()) return fail("a constant needs a type", begin);
      if (!data(*constant, resultTypes[0], bytes)) return false;
      made->set(constantKey_, std::move(bytes));
    }
    while (peek() == '{') {
      if (!nestedRegion(builder, *made)) return false;
    }
    for (size_t i = 0; i < resultNames.size(); ++i) {
      Value* result = made->addResult(std::move(resultTypes[i]), hint(resultNames[i].first));
      if (!define(resultNames[i].first, result, resultNames[i].second)) return false;
    }
    if (accept("loc")) return location(made->loc);
    made->loc = module_->addLoc(Span{file_, static_cast<uint32_t>(begin), static_cast<uint32_t>(at_)});
    return true;
  }

  bool nestedRegion(Builder& builder, Op& parent) {
    if (++nesting_ > kMostNesting) return fail("regions are nested too deeply");
    at_ += 1;
    Region* region = builder.addRegion(&parent);
    if (accept("(") && !arguments(*region)) return false;
    while (!accept("}")) {
      if (!op(*region)) return false;
    }
    --nesting_;
    return true;
  }

  bool function() {
    values_.clear();
    std::string name;
    const size_t begin = at_;
    if (!expect("@") || !nameText(name)) return false;
    if (module_->find(name) != nullptr) return fail("function `" + name + "` is defined twice", begin);
    Func* f = module_->addFunc(name);
    if (!expect("(") || !arguments(*f->body)) return false;
    if (accept("->")) {
      if (!expect("(")) return false;
      if (!accept(")") && (!types(f->resultTypes) || !expect(")"))) return false;
    }
    if (accept("places")) {
      if (!expect("(") || !strings(f->paramPlaces, ")") || !expect("->") || !expect("(") ||
          !strings(f->resultPlaces, ")")) {
        return false;
      }
    }
    f->paramPlaces.resize(f->body->args.size());
    f->resultPlaces.resize(f->resultTypes.size());
    if (accept("device") && (!expect("(") || !string(f->ownDevice) || !expect(")"))) return false;
    if (accept("signature") && (!expect("(") || !string(f->signature) || !expect(")"))) return false;
    if (accept("source")) {
      f->source.clear();
      if (!expect("(") || !string(f->source) || !expect(")")) return false;
    }
    if (accept("case")) f->kind = Func::Kind::Case;
    f->span = Span{file_, static_cast<uint32_t>(begin), static_cast<uint32_t>(at_)};
    if (accept("loc") && (!expect("(") || !span(f->span) || !expect(")"))) return false;
    if (!expect("{")) return false;
    while (!accept("}")) {
      if (peek() == '\0') return fail("expected `}`");
      if (!op(*f->body)) return false;
    }
    return true;
  }

  bool device() {
    DeviceDecl d;
    skip();
    const size_t begin = at_;
    if (!nameText(d.name, true) || !expect("=")) return false;
    do {
      if (!nameText(d.choices.emplace_back(), true)) return false;
    } while (accept("or"));
    d.span = Span{file_, static_cast<uint32_t>(begin), static_cast<uint32_t>(at_)};
    if (accept("actual") && !nameText(d.actual, true)) return false;
    module_->devices.push_back(std::move(d));
    return true;
  }

  bool sourceText() {
    constexpr std::array kKinds = {SourceText::Kind::Other,    SourceText::Kind::Name,   SourceText::Kind::Member,
                                   SourceText::Kind::Literal,  SourceText::Kind::Device, SourceText::Kind::Call,
                                   SourceText::Kind::Index,    SourceText::Kind::List,   SourceText::Kind::Tuple,
                                   SourceText::Kind::Operator, SourceText::Kind::Update, SourceText::Kind::Assignment,
                                   SourceText::Kind::Return};
    SourceText t;
    if (!span(t.span)) return false;
    const auto kind = std::find_if(kKinds.begin(), kKinds.end(), [&](SourceText::Kind k) { return accept(name(k)); });
    if (kind == kKinds.end()) return fail("expected what kind of text it is");
    t.kind = *kind;
    if (peek() == '"' && !string(t.name)) return false;
    t.postfix = accept("postfix");
    if (accept("whole") && !span(t.whole)) return false;
    if (accept("move") && !span(t.move)) return false;
    if (accept("var") && !span(t.variable)) return false;
    module_->texts->add(std::move(t));
    return true;
  }

  void module() {
    while (!failed_ && peek() != '\0') {
      if (accept("func")) {
        function();
      } else if (accept("text")) {
        sourceText();
      } else if (accept("device")) {
        device();
      } else if (accept("default_device")) {
        nameText(module_->defaultDevice, true);
      } else {
        fail("expected `func`, `device`, `default_device` or `text`");
      }
    }
  }

  std::string_view text_;
  uint32_t file_;
  Diagnostics& diags_;
  std::unique_ptr<Module> module_;
  size_t at_ = 0;
  bool failed_ = false;
  int nesting_ = 0;
  std::string constantKey_;
  std::unordered_map<std::string, Value*> values_;
};

}  // namespace

std::unique_ptr<Module> parse(const SourceManager& sources, uint32_t file, Diagnostics& diags) {
  return Parser(sources, file, diags).run();
}

}  // namespace tenc::ir
