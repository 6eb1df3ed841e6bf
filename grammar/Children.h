// How the generated parser finds the children of a node. ANTLR's own functions ask every child for its type twice with
// dynamic_cast, a quarter of the time of building our tree; no context class of this grammar has others derived from
// it.
#pragma once
#include <antlr4-runtime.h>

#include <typeinfo>
#include <vector>

namespace tenc::grammar {

/// The child number `i`, from 0, of those whose rule has the context class `Rule`; null when there are fewer.
template <typename Rule>
Rule* childOf(const antlr4::ParserRuleContext& parent, size_t i) {
  for (antlr4::tree::ParseTree* child : parent.children)
    if (typeid(*child) == typeid(Rule) && i-- == 0) return static_cast<Rule*>(child);
  return nullptr;
}

template <typename Rule>
std::vector<Rule*> childrenOf(const antlr4::ParserRuleContext& parent) {
  std::vector<Rule*> found;
  for (antlr4::tree::ParseTree* child : parent.children)
    if (typeid(*child) == typeid(Rule)) found.push_back(static_cast<Rule*>(child));
  return found;
}

/// The child number `i`, from 0, of the tokens of this type; null when there are fewer.
inline antlr4::tree::TerminalNode* tokenOf(const antlr4::ParserRuleContext& parent, size_t type, size_t i) {
  using namespace antlr4::tree;
  for (ParseTree* child : parent.children) {
    if (typeid(*child) != typeid(TerminalNodeImpl) && typeid(*child) != typeid(ErrorNodeImpl)) continue;
    auto* node = dynamic_cast<TerminalNode*>(child);
    if (node->getSymbol()->getType() == type && i-- == 0) return node;
  }
  return nullptr;
}

}  // namespace tenc::grammar
