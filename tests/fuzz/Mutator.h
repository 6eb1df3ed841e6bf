// Broken variants of good inputs: tokens, lines and bytes deleted, repeated, spliced and replaced, deep nesting, huge
// numbers, bytes that are no UTF-8, truncation.
#pragma once
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace tenc::fuzz {

/// Good inputs of one kind, and the words that occur in them.
struct Corpus {
  std::vector<std::string> inputs;
  std::vector<std::string> words;  ///< names, numbers and signs of text inputs; frequent ones stand often
  void add(std::string input, bool text);
};

/// Makes the same variant for the same seed and corpus.
class Mutator {
 public:
  Mutator(const Corpus& corpus, uint64_t seed) : corpus_(corpus), random_(seed) {}
  /// A variant of a program or module.
  std::string text();
  /// A variant of a binary file.
  std::string bytes();
  size_t below(size_t n) { return n == 0 ? 0 : std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
  bool chance(double p) { return std::uniform_real_distribution<double>(0, 1)(random_) < p; }

 private:
  std::string pick();
  std::string window(const std::string& input);
  void mutateTokens(std::vector<std::string>& tokens);
  void mutateLines(std::string& text);
  void mutateBytes(std::string& text);
  void nest(std::vector<std::string>& tokens);
  std::string number();

  const Corpus& corpus_;
  std::mt19937_64 random_;
};

/// The pieces of a text: names, numbers, strings, blanks, newlines and single signs; joined they give the text again.
std::vector<std::string> tokensOf(std::string_view text);

}  // namespace tenc::fuzz
