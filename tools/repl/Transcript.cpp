#include "tools/repl/Transcript.h"

#include <map>

#include "tools/repl/KeptState.h"

namespace tenc::repl {

void Transcript::add(const SourceManager& sources, const ast::File& entry, Last last) {
  Entry e;
  e.text = std::string(sources.file(entry.source).text());
  if (last != Last::Statement && !entry.statements.empty()) {
    const Span at = entry.statements.back()->span;
    if (last == Last::Shown) {
      e.text.insert(at.end, ")");
      e.text.insert(at.begin, "print(");
    } else {
      e.text.erase(at.begin, at.end - at.begin);
    }
  }
  for (const auto& s : entry.statements) {
    if (const std::string key = declarationKey(*s); !key.empty())
      e.declared.push_back({key, s->span.begin, s->span.end});
  }
  while (!e.text.empty() && e.text.back() == '\n') e.text.pop_back();
  entries_.push_back(std::move(e));
}

std::string Transcript::script() const {
  std::map<std::string, const Declared*> latest;
  for (const Entry& e : entries_)
    for (const Declared& d : e.declared) latest[d.key] = &d;
  std::string all;
  for (const Entry& e : entries_) {
    std::string text = e.text;
    bool shorter = false;
    for (auto d = e.declared.rbegin(); d != e.declared.rend(); ++d) {
      if (latest[d->key] == &*d) continue;
      text.erase(d->begin, d->end - d->begin);
      shorter = true;
    }
    if ((shorter || text.empty()) && text.find_first_not_of(" \t\n;") == std::string::npos) continue;
    all += text + "\n";
  }
  return all;
}

}  // namespace tenc::repl
