#include "syntax/Familiar.h"

#include <algorithm>

namespace tenc::syntax {

namespace {

const Familiar* findIn(std::span<const Familiar> list, std::string_view name) {
  const auto f = std::find_if(list.begin(), list.end(), [&](const Familiar& x) { return x.name == name; });
  return f == list.end() ? nullptr : &*f;
}

}  // namespace

const Familiar* familiarName(std::string_view name) { return findIn(familiarNames(), name); }

std::span<const FamiliarCall> familiarCalls(std::string_view name) {
  const Familiar* row = familiarName(name);
  if (!row) return {};
  const auto end = std::find_if(row->calls.begin(), row->calls.end(), [](const auto& c) { return c.operands == 0; });
  return {row->calls.begin(), end};
}

const Familiar* familiarOption(std::string_view name) { return findIn(familiarOptions(), name); }
const Familiar* familiarWord(std::string_view word) { return findIn(familiarWords(), word); }
const Familiar* familiarCharacter(std::string_view text) {
  const Familiar* whole = findIn(familiarCharacters(), text);
  return whole || text.empty() ? whole : findIn(familiarCharacters(), text.substr(0, 1));
}

std::string_view familiarMisuse(std::string_view name, FamiliarMisuse::Kind kind) {
  const std::span<const FamiliarMisuse> all = familiarMisuses();
  const auto m = std::find_if(all.begin(), all.end(), [&](auto& x) { return x.kind == kind && x.name == name; });
  return m == all.end() ? std::string_view() : m->help;
}

bool meansNothing(const Familiar& option, std::string_view value) {
  if (option.nothing) return true;
  const Familiar* known = familiarName(value);  // `False`
  return !option.nothingAs.empty() && (value == option.nothingAs || (known && known->replacement == option.nothingAs));
}

std::string_view formHelp(Form form) { return familiarForms()[static_cast<size_t>(form)].help; }

}  // namespace tenc::syntax
