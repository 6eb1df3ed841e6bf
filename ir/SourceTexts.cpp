#include "ir/SourceTexts.h"

#include <array>

namespace tenc::ir {

std::string_view name(SourceText::Kind kind) {
  static constexpr std::array<std::string_view, 13> kNames = {"other",  "name",       "member", "literal", "device",
                                                              "call",   "index",      "list",   "tuple",   "operator",
                                                              "update", "assignment", "return"};
  return kNames[static_cast<size_t>(kind)];
}

size_t SourceTexts::add(SourceText text) {
  all_.push_back(std::move(text));
  return all_.size() - 1;
}

const SourceText* SourceTexts::find(Span span) const {
  if (!span.valid()) return nullptr;
  for (; indexed_ < all_.size(); ++indexed_) {
    if (const auto [number, fresh] = index_.add(all_[indexed_].span); fresh) *number = indexed_;
  }
  const size_t* number = index_.find(span);
  return number ? &all_[*number] : nullptr;
}

const SourceText* SourceTexts::named(std::string_view name, Span span) const {
  const SourceText* first = nullptr;
  for (const SourceText& t : all_) {
    const bool isName = t.kind == SourceText::Kind::Name || t.kind == SourceText::Kind::Member;
    if (!isName || t.name != name || t.span.file != span.file) continue;
    if (t.span.begin < span.begin || t.span.end > span.end) continue;
    if (!first || t.span.begin < first->span.begin) first = &t;
  }
  return first;
}

}  // namespace tenc::ir
