#include "tests/cuda/vm/Parser.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <utility>

namespace tenc::ptx {
namespace syntax {

uint32_t bytesOf(const std::string& type) {
  size_t digit = type.find_first_of("0123456789");
  if (digit == type.npos || digit == 0 || type.find_first_not_of("bufst") != digit) return 0;
  uint32_t bits = 0;
  auto [end, error] = std::from_chars(type.data() + digit, type.data() + type.size(), bits);
  std::string_view rest(end, type.data() + type.size() - end);
  if (error != std::errc() || bits % 8 || bits > 128 || (!rest.empty() && rest != "x2")) return 0;
  return bits / 8 * (rest.empty() ? 1 : 2);
}

}  // namespace syntax

namespace {

using namespace syntax;
using Kind = Operand::Kind;

std::vector<std::string> cutAtDots(std::string_view opcode) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= opcode.size();) {
    size_t end = std::min(opcode.find('.', begin), opcode.size());
    parts.emplace_back(opcode.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), tokens_(tokenize(text)) {}

  Module module() {
    Module m;
    while (!atEnd()) {
      uint32_t line = peek().line;
      if (accept(".target")) {
        m.target = take().text;
        skipLine(line);
      } else if (accept(".version") || accept(".address_size") || accept(".pragma")) {
        skipLine(line);
      } else if (accept(".file")) {
        uint32_t n = static_cast<uint32_t>(number());
        m.files[n] = take().text;
        skipLine(line);
      } else if (peek().is(".visible") || peek().is(".extern") || peek().is(".weak") || peek().is(".common")) {
        take();
      } else if (accept(".section")) {
        skipSection();
      } else if (peek().is(".entry") || peek().is(".func")) {
        m.functions.push_back(function());
      } else if (peek().is(".global") || peek().is(".shared") || peek().is(".const")) {
        m.variables.push_back(variable());
        expect(";");
      } else {
        fail("unexpected '" + std::string(peek().text) + "' between declarations");
      }
    }
    return m;
  }

 private:
  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  bool atEnd() const { return peek().kind == Token::Kind::End; }
  Token take() {
    if (atEnd()) fail("the text ends too early");
    return tokens_[at_++];
  }
  bool accept(std::string_view t) {
    bool is = peek().is(t);
    at_ += is;
    return is;
  }
  void expect(std::string_view t) {
    if (!accept(t)) fail("expected '" + std::string(t) + "', found '" + std::string(peek().text) + "'");
  }
  [[noreturn]] void fail(const std::string& what) const { throw PtxError(peek().line, what); }

  /// What is left of a directive that ends with its line.
  void skipLine(uint32_t line) {
    while (!atEnd() && peek().line == line) ++at_;
  }
  void skipSection() {
    while (!accept("{")) take();
    while (!accept("}")) take();
  }

  uint64_t number() {
    bool minus = accept("-");
    Token t = take();
    if (t.kind != Token::Kind::Number) fail("expected a number, found '" + std::string(t.text) + "'");
    std::string s(t.text);
    uint64_t v = 0;
    if (s.size() > 2 && s[0] == '0' && std::string_view("fFdD").find(s[1]) != std::string_view::npos) {
      v = std::strtoull(s.c_str() + 2, nullptr, 16);
      if (minus) v ^= s.size() > 10 ? uint64_t{1} << 63 : uint64_t{1} << 31;
      return v;
    }
    if (s.find('.') != s.npos) return std::bit_cast<uint64_t>(std::strtod(s.c_str(), nullptr) * (minus ? -1 : 1));
    if (s.size() > 2 && s[0] == '0' && (s[1] == 'b' || s[1] == 'B')) {
      v = std::strtoull(s.c_str() + 2, nullptr, 2);
    } else {
      v = std::strtoull(s.c_str(), nullptr, 0);
    }
    return minus ? 0 - v : v;
  }

  std::vector<Operand> operandsUntil(std::string_view end) {
    std::vector<Operand> all;
    if (accept(end)) return all;
    do all.push_back(operand());
    while (accept(","));
    expect(end);
    return all;
  }

  Operand operand() {
    Operand o;
    if (accept("{")) {
      o.kind = Kind::List;
      o.elements = operandsUntil("}");
    } else if (accept("(")) {
      o.kind = Kind::Group;
      o.elements = operandsUntil(")");
    } else if (accept("[")) {
      o.kind = Kind::Address;
      if (peek().kind == Token::Kind::Word) o.name = take().text;
      if (o.name.empty()) o.offset = static_cast<int64_t>(number());
      while (!accept("]")) {
        bool minus = accept("-");
        if (!minus) expect("+");
        int64_t v = static_cast<int64_t>(number());
        o.offset += minus ? -v : v;
      }
    } else if (accept("!")) {
      o = operand();
      o.negated = !o.negated;
    } else if (peek().kind == Token::Kind::Word) {
      o.name = take().text;
      if (peek().is("|")) {
        Operand pair;
        pair.kind = Kind::Pair;
        pair.elements.push_back(o);
        while (accept("|")) pair.elements.push_back(operand());
        return pair;
      }
    } else {
      o.kind = Kind::Number;
      o.number = number();
    }
    return o;
  }

  /// Words with a type and a name: ".align 4 .b8 x[24]", ".param .u64 .ptr .global .align 1 p".
  Variable variable() {
    Variable v;
    v.line = peek().line;
    v.space = take().text.substr(1);
    uint64_t width = 1;
    bool pointer = false;
    while (peek().kind == Token::Kind::Word && peek().text[0] == '.') {
      std::string word(take().text.substr(1));
      if (word == "align") {
        uint64_t n = number();
        if (!pointer) v.align = n;  // behind .ptr it is the alignment of what it points to
      } else if (word == "ptr") {
        pointer = true;
      } else if (word == "v2" || word == "v4") {
        width = word == "v2" ? 2 : 4;
      } else if (bytesOf(word)) {
        v.type = word;
        v.elementBytes = bytesOf(word);
      }
    }
    v.name = take().text;
    v.elements = width;
    while (accept("[")) {
      if (peek().is("]"))
        v.unsized = true;
      else
        v.elements *= number();
      expect("]");
    }
    v.align = std::max(v.align, v.elementBytes * width);
    if (accept("=")) values(v.values);
    return v;
  }

  void values(std::vector<Variable::Value>& all) {
    if (accept("{")) {
      do values(all);
      while (accept(","));
      expect("}");
      return;
    }
    Variable::Value v;
    if (accept("generic")) {
      expect("(");
      v.symbol = take().text;
      if (accept("+")) v.bits = number();
      expect(")");
    } else if (peek().kind == Token::Kind::Word) {
      v.symbol = take().text;
      if (accept("+")) v.bits = number();
    } else {
      v.bits = number();
    }
    all.push_back(v);
  }

  std::vector<Variable> parameters() {
    std::vector<Variable> all;
    if (!accept("(")) return all;
    if (accept(")")) return all;
    do all.push_back(variable());
    while (accept(","));
    expect(")");
    return all;
  }

  Function function() {
    Function f;
    f.line = peek().line;
    f.isKernel = take().is(".entry");
    if (!f.isKernel) f.results = parameters();
    f.name = take().text;
    f.parameters = parameters();
    while (!peek().is("{") && !peek().is(";")) {
      bool threads = peek().is(".maxntid") || peek().is(".reqntid");
      take();
      if (threads) {
        f.maxThreads = static_cast<uint32_t>(number());
        while (accept(",")) f.maxThreads *= static_cast<uint32_t>(number());
      }
    }
    f.isDefined = accept("{");
    if (f.isDefined)
      body(f.body);
    else
      expect(";");
    return f;
  }

  void body(std::vector<Statement>& to) {
    for (int depth = 1; depth > 0;) {
      if (accept("{")) {
        ++depth;
        to.emplace_back(OpenScope{});
      } else if (accept("}")) {
        if (--depth > 0) to.emplace_back(CloseScope{});
      } else if (!accept(";")) {
        statement(to);
      }
    }
  }

  void statement(std::vector<Statement>& to) {
    const Token& t = peek();
    if (t.is(".loc")) {
      uint32_t line = take().line;
      number();
      sourceLine_ = static_cast<uint32_t>(number());
      skipLine(line);
    } else if (accept(".reg")) {
      to.emplace_back(registers());
    } else if (t.is(".shared") || t.is(".local") || t.is(".param")) {
      to.emplace_back(variable());
      expect(";");
    } else if (accept(".pragma")) {
      pragma();
    } else if (t.kind == Token::Kind::Word && peek(1).is(":")) {
      std::string name(take().text);
      take();
      if (accept(".branchtargets")) {
        BranchTargets targets{name, {}};
        do targets.labels.emplace_back(take().text);
        while (accept(","));
        expect(";");
        to.emplace_back(std::move(targets));
      } else {
        to.emplace_back(Label{name});
      }
    } else if (t.kind == Token::Kind::Word || t.is("@")) {
      to.emplace_back(instruction());
    } else {
      fail("unexpected '" + std::string(t.text) + "' in a function");
    }
  }

  Registers registers() {
    Registers r;
    r.type = take().text.substr(1);
    do {
      Registers::Name n;
      n.name = take().text;
      if (accept("<")) {
        n.count = static_cast<uint32_t>(number());
        expect(">");
      }
      r.names.push_back(n);
    } while (accept(","));
    expect(";");
    return r;
  }

  /// Compilers fill gaps in vectors of loads, and say so of the load that follows: "used_bytes_mask 4095".
  void pragma() {
    constexpr std::string_view kUsed = "used_bytes_mask ";
    while (!accept(";")) {
      const std::string text(take().text);
      if (const size_t at = text.find(kUsed); at != text.npos)
        usedBytes_ = static_cast<uint32_t>(std::strtoul(text.c_str() + at + kUsed.size(), nullptr, 0));
    }
  }

  Instruction instruction() {
    Instruction i;
    i.usedBytes = std::exchange(usedBytes_, 0);
    uint32_t begin = peek().offset;
    i.line = peek().line;
    i.sourceLine = sourceLine_;
    if (accept("@")) {
      i.guardNegated = accept("!");
      i.guard = take().text;
    }
    i.opcode = cutAtDots(take().text);
    if (!peek().is(";")) {
      do i.operands.push_back(operand());
      while (accept(","));
    }
    i.text = std::string(text_.substr(begin, peek().offset - begin));
    for (char& c : i.text) {
      if (c == '\n' || c == '\t') c = ' ';
    }
    expect(";");
    return i;
  }

  std::string_view text_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  uint32_t sourceLine_ = 0, usedBytes_ = 0;
};

}  // namespace

syntax::Module parse(std::string_view text) { return Parser(text).module(); }

}  // namespace tenc::ptx
