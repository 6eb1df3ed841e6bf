// How the parser and the builder of our tree find the children of a node. ANTLR's own functions ask every child for its
// type twice with dynamic_cast, a quarter of the time of building our tree; no context class of this grammar has others
// derived from it.
#pragma once
#include <antlr4-runtime.h>

#include <typeinfo>
#include <vector>

namespace tenc::grammar {

/// Whether the node is of this very class. A class has one name in a program that is linked statically, so that names
/// need not be read.
template <typename Node>
bool isExactly(const antlr4::tree::ParseTree& node) {
  return typeid(node).name() == typeid(Node).name();
}

/// The node as one of the rule whose context class is `Rule`; null for any other.
template <typename Rule>
Rule* as(antlr4::tree::ParseTree* node) {
  return isExactly<Rule>(*node) ? static_cast<Rule*>(node) : nullptr;
}

/// The node as a token; null for that of a rule.
inline antlr4::tree::TerminalNode* tokenAt(antlr4::tree::ParseTree* node) {
  const bool token = isExactly<antlr4::tree::TerminalNodeImpl>(*node) || isExactly<antlr4::tree::ErrorNodeImpl>(*node);
  return token ? static_cast<antlr4::tree::TerminalNode*>(node) : nullptr;
}

/// The node as that of a rule; null for a token.
inline antlr4::ParserRuleContext* ruleAt(antlr4::tree::ParseTree* node) {
  return tokenAt(node) ? nullptr : static_cast<antlr4::ParserRuleContext*>(node);
}

/// The child number `i`, from 0, of those whose rule has the context class `Rule`; null when there are fewer.
template <typename Rule>
Rule* childOf(const antlr4::ParserRuleContext& parent, size_t i) {
  for (antlr4::tree::ParseTree* child : parent.children)
    if (isExactly<Rule>(*child) && i-- == 0) return static_cast<Rule*>(child);
  return nullptr;
}

template <typename Rule>
std::vector<Rule*> childrenOf(const antlr4::ParserRuleContext& parent) {
  std::vector<Rule*> found;
  for (antlr4::tree::ParseTree* child : parent.children)
    if (isExactly<Rule>(*child)) found.push_back(static_cast<Rule*>(child));
  return found;
}

/// The child number `i`, from 0, of the tokens of this type; null when there are fewer.
inline antlr4::tree::TerminalNode* tokenOf(const antlr4::ParserRuleContext& parent, size_t type, size_t i) {
  for (antlr4::tree::ParseTree* child : parent.children) {
    antlr4::tree::TerminalNode* node = tokenAt(child);
    if (node && node->getSymbol()->getType() == type && i-- == 0) return node;
  }
  return nullptr;
}

}  // namespace tenc::grammar
