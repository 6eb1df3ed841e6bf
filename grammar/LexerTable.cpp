// Build tool: the automaton of the generated lexer as a table. ANTLR's runtime builds it lazily, character by
// character, anew in each process, which was half of a cold parse.
//   tenc_lexer_table OUT.h
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "grammar/TLLexer.h"

namespace {

using namespace antlr4;
using atn::ATNState;
using atn::Transition;

constexpr size_t kSymbols = 128;  // of ByteStream
constexpr size_t kMostCalls = 8;  // of fragments in fragments

/// A place in the lexer's network: the token rule that was chosen, the state, and where the called fragments go on.
using Configuration = std::tuple<size_t, ATNState*, std::vector<ATNState*>>;
struct ByNumber {
  static auto key(const Configuration& p) {
    std::vector<size_t> numbers{std::get<0>(p), std::get<1>(p)->stateNumber};
    for (const ATNState* s : std::get<2>(p)) numbers.push_back(s->stateNumber);
    return numbers;
  }
  bool operator()(const Configuration& a, const Configuration& b) const { return key(a) < key(b); }
};
using Configurations = std::set<Configuration, ByNumber>;

/// Adds `p` and all that follows without reading.
void close(const Configuration& p, Configurations& to) {
  if (!to.insert(p).second) return;
  const auto& [token, state, calls] = p;
  if (state->getStateType() == ATNState::RULE_STOP) {
    if (calls.empty()) return;
    std::vector<ATNState*> rest(calls.begin(), calls.end() - 1);
    return close({token, calls.back(), std::move(rest)}, to);
  }
  for (const Transition* t : state->transitions) {
    switch (t->getSerializationType()) {
      case Transition::RULE: {
        std::vector<ATNState*> deeper = calls;
        deeper.push_back(static_cast<const atn::RuleTransition*>(t)->followState);
        if (deeper.size() > kMostCalls) throw std::runtime_error("a recursive token has no table");
        close({token, t->target, std::move(deeper)}, to);
        break;
      }
      case Transition::EPSILON:
      case Transition::ACTION: close({token, t->target, calls}, to); break;
      case Transition::PREDICATE:
      case Transition::PRECEDENCE: throw std::runtime_error("a token with a condition has no table");
      default: break;
    }
  }
}

/// The token that ends here: of those that match, the one that the grammar names first. 0 is none.
size_t accepted(const Configurations& places) {
  for (const auto& [token, state, calls] : places)
    if (state->getStateType() == ATNState::RULE_STOP && calls.empty()) return token;
  return 0;
}

struct Automaton {
  std::vector<std::vector<size_t>> next;  ///< by state and symbol; 0 is the state that nothing leaves
  std::vector<size_t> token;              ///< by state
};

Automaton build(const atn::ATN& net) {
  Configurations start;
  for (const Transition* t : net.modeToStartState.at(0)->transitions)
    close({net.ruleToTokenType.at(t->target->ruleIndex), t->target, {}}, start);
  std::map<Configurations, size_t> numbers{{Configurations{}, 0}, {start, 1}};
  std::vector<Configurations> states{{}, start};
  Automaton a;
  for (size_t s = 0; s < states.size(); ++s) {
    a.token.push_back(accepted(states[s]));
    auto& row = a.next.emplace_back();
    for (size_t symbol = 0; symbol < kSymbols; ++symbol) {
      Configurations to;
      for (const auto& [token, state, calls] : states[s])
        for (const Transition* t : state->transitions)
          if (t->matches(symbol, Lexer::MIN_CHAR_VALUE, Lexer::MAX_CHAR_VALUE)) close({token, t->target, calls}, to);
      auto [at, fresh] = numbers.emplace(to, states.size());
      if (fresh) states.push_back(to);
      row.push_back(at->second);
    }
  }
  if (net.modeToStartState.size() != 1) throw std::runtime_error("a lexer with modes has no table");
  if (a.token[1] != 0) throw std::runtime_error("a token may be empty");
  for (size_t symbol = 0; symbol < kSymbols; ++symbol)
    if (a.token[a.next[1][symbol]] == 0) throw std::runtime_error("a character is no token by itself");
  return a;
}

/// By token type: the channel, or -1 for what is skipped.
std::vector<int> channels(const atn::ATN& net) {
  std::vector<int> out(net.maxTokenType + 1, 0);
  for (const ATNState* s : net.states) {
    for (const Transition* t : s->transitions) {
      if (t->getSerializationType() != Transition::ACTION) continue;
      const auto& action = *net.lexerActions.at(static_cast<const atn::ActionTransition*>(t)->actionIndex);
      int& channel = out.at(net.ruleToTokenType.at(s->ruleIndex));
      switch (action.getActionType()) {
        case atn::LexerActionType::SKIP: channel = -1; break;
        case atn::LexerActionType::CHANNEL:
          channel = static_cast<const atn::LexerChannelAction&>(action).getChannel();
          break;
        default: throw std::runtime_error("an action of a token has no table");
      }
    }
  }
  return out;
}

template <typename T>
void write(std::ofstream& out, const char* type, const char* name, const std::vector<T>& values) {
  out << "inline constexpr " << type << ' ' << name << "[] = {";
  for (size_t i = 0; i < values.size(); ++i) out << (i % 24 == 0 ? "\n    " : " ") << values[i] << ',';
  out << "};\n";
}

void writeTable(const char* path) {
  TLLexer::init();
  ANTLRInputStream nothing;
  TLLexer lexer(&nothing);
  const atn::ATN& net = lexer.getATN();
  const Automaton a = build(net);

  // Symbols that no state tells apart are one class.
  std::map<std::vector<size_t>, size_t> classes;
  std::vector<size_t> classOf;
  for (size_t symbol = 0; symbol < kSymbols; ++symbol) {
    std::vector<size_t> column;
    for (const auto& row : a.next) column.push_back(row[symbol]);
    classOf.push_back(classes.emplace(std::move(column), classes.size()).first->second);
  }
  std::vector<size_t> next(a.next.size() * classes.size());
  for (size_t s = 0; s < a.next.size(); ++s)
    for (size_t symbol = 0; symbol < kSymbols; ++symbol) next[s * classes.size() + classOf[symbol]] = a.next[s][symbol];

  std::ofstream out(path);
  out << "// Generated from grammar/TL.g4 by grammar/LexerTable.cpp.\n#pragma once\n#include <cstddef>\n"
         "#include <cstdint>\n\nnamespace tenc::grammar {\n\n";
  out << "/// State 0 is the end, state 1 the start. A token ends in the last state on the way that has a type.\n";
  out << "inline constexpr size_t kLexerClasses = " << classes.size() << ";\n";
  write(out, "uint8_t", "kLexerClass", classOf);
  write(out, "uint16_t", "kLexerNext", next);
  write(out, "uint8_t", "kLexerToken", a.token);
  write(out, "int8_t", "kLexerChannel", channels(net));
  out << "\n}  // namespace tenc::grammar\n";
  if (!out.flush()) throw std::runtime_error(std::string("cannot write ") + path);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::runtime_error("usage: tenc_lexer_table OUT.h");
    writeTable(argv[1]);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tenc_lexer_table: %s\n", e.what());
    return 1;
  }
}
