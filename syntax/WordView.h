// The tokens around a word of another language, as helps look at them.
#pragma once
#include <string>

#include "syntax/SyntaxView.h"

namespace tenc::syntax {

class WordView : public SyntaxView {
 public:
  WordView(const SyntaxPlace& place, const Token& word)
      : SyntaxView(place),
        word_(word),
        at0_(static_cast<ssize_t>(word.getTokenIndex()) - static_cast<ssize_t>(place.at.getTokenIndex()) + 1) {}

  /// The `n`th token behind the word; null behind the last.
  const Token* behindWord(ssize_t n) const { return ahead(at0_ + n); }
  bool is(ssize_t n, size_t type) const { return behindWord(n) && behindWord(n)->getType() == type; }
  std::string textOf(ssize_t n) const { return behindWord(n) ? behindWord(n)->getText() : ""; }
  Span wordSpan() const { return span(word_); }

 protected:
  const Token& word_;
  const ssize_t at0_;  ///< of the word, as `ahead` counts
};

}  // namespace tenc::syntax
