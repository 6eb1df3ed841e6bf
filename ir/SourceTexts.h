// What the source writes where: facts about its expressions, which travel with the IR so that no pass and no tool reads
// the text itself to word a message or to mend a line.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "support/SourceFile.h"
#include "support/SpanMap.h"

namespace tenc::ir {

/// One piece of the source: an expression, the sign of an operator, or an assignment.
struct SourceText {
  enum class Kind : uint8_t {
    Other,
    Name,    ///< `x`
    Member,  ///< `m.w`
    Literal,
    Device,      ///< `cuda:1`, also after the `@` of an annotation
    Call,        ///< `f(x)`, `x.f()`
    Index,       ///< `x[i]`
    List,        ///< `[a, b]`
    Tuple,       ///< `(a, b)`
    Operator,    ///< the sign alone: `+`
    Update,      ///< the sign of an assignment that updates: `+=`
    Assignment,  ///< a whole statement `x[i] = v`
    Return,      ///< a statement that may return from its function
  };
  Span span;
  Kind kind = Kind::Other;
  bool postfix = false;  ///< `.f(x)` may follow it without parentheses
  std::string name;      ///< Name, Member, Device: as written; Call: what is called, without the path before it
  Span whole{};          ///< Operator, Update: the operation with its operands; Device: the device without the `@`
  Span move{};           ///< Call: the `.to(d)` at its end
  Span variable{};       ///< of the first value of a `var` that says nothing of a device: the statement
  bool operator==(const SourceText&) const = default;
};
std::string_view name(SourceText::Kind kind);  ///< "name", "call", "update"

/// The texts of a module by their spans.
class SourceTexts {
 public:
  /// The frontend adds each span once; of two the first is found.
  size_t add(SourceText text);
  SourceText& operator[](size_t index) { return all_[index]; }
  const std::deque<SourceText>& all() const { return all_; }
  /// Null when nothing is known. Not for several threads at once: the first search makes an index.
  const SourceText* find(Span span) const;
  /// The first name or member of that name inside `span`; null when there is none.
  const SourceText* named(std::string_view name, Span span) const;

 private:
  std::deque<SourceText> all_;
  mutable SpanMap<size_t> index_;
  mutable size_t indexed_ = 0;  ///< so many of `all_` are in the index
};

}  // namespace tenc::ir
