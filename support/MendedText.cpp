#include "support/MendedText.h"

#include <algorithm>
#include <map>

namespace tenc {

namespace {

bool isInserted(const Edit& e) { return e.span.begin == e.span.end; }

/// Whether an insertion has an order among others at its place: a line of its own, or what opens or closes brackets.
bool isNested(std::string_view text) {
  const auto opens = [](char c) { return c == '(' || c == '[' || c == '{'; };
  const auto closes = [](char c) { return c == ')' || c == ']' || c == '}'; };
  return text.ends_with('\n') || std::ranges::count_if(text, opens) != std::ranges::count_if(text, closes);
}

/// How edits at one place follow each other, which is nested as brackets are: of what ends there the one that began
/// last comes first, of what begins there the one that ends last.
class OrderAtPlace {
 public:
  explicit OrderAtPlace(const std::vector<OwnedEdit>& edits) {
    for (const OwnedEdit& e : edits) {
      const uint32_t at = e.edit.span.begin;
      const auto [it, isNew] = around_.try_emplace(e.finding, Around{at, at});
      it->second = {std::min(it->second.first, at), std::max(it->second.last, at)};
    }
  }
  bool operator()(const OwnedEdit& a, const OwnedEdit& b) const {
    const uint32_t at = a.edit.span.begin;
    if (at != b.edit.span.begin) return at < b.edit.span.begin;
    const int first = rank(a), second = rank(b);
    if (first != second) return first < second;
    const Around &x = around_.at(a.finding), &y = around_.at(b.finding);
    if (first == kEnds) return x.first != y.first ? x.first > y.first : a.finding > b.finding;
    if (first == kBegins && x.last != y.last) return x.last > y.last;
    return a.finding < b.finding;
  }

 private:
  struct Around {
    uint32_t first, last;
  };
  enum Rank : uint8_t { kLine, kEnds, kAlone, kBegins, kReplaces };
  Rank rank(const OwnedEdit& e) const {
    if (!isInserted(e.edit)) return kReplaces;
    if (e.edit.replacement.ends_with('\n')) return kLine;  // `import nn` stands in front of what its line gets
    const Around& around = around_.at(e.finding);
    const bool ends = around.first < e.edit.span.begin, begins = e.edit.span.begin < around.last;
    return ends && !begins ? kEnds : begins && !ends ? kBegins : kAlone;
  }

  std::map<size_t, Around> around_;
};

}  // namespace

const Help* mendOf(const Diagnostic& d, uint32_t file) {
  if (d.severity() != Severity::Error || d.span.file != file) return nullptr;
  const auto mends = [](const Help& h) { return !h.edits.empty() && !h.alternative && !h.mustRemove; };
  const auto h = std::ranges::find_if(d.helps, mends);
  const auto inFile = [&](const Edit& e) { return e.span.file == file; };
  return h != d.helps.end() && std::ranges::all_of(h->edits, inFile) ? &*h : nullptr;
}

bool areApart(const Edit& a, const Edit& b) {
  if (a.span == b.span && isInserted(a))
    return a.replacement != b.replacement && (isNested(a.replacement) || isNested(b.replacement));
  if (a.span == b.span) return false;
  // What is put in front of a part says something of that part, as `let` does.
  const auto leads = [](const Edit& e, const Edit& other) {
    return isInserted(e) && !e.replacement.ends_with('\n') && e.span.begin == other.span.begin;
  };
  if (leads(a, b) || leads(b, a)) return false;
  // So does what an edit leaves in front of that part: `var ` in place of the lines above.
  const auto leavesWord = [](const Edit& e, const Edit& inserted) {
    return isInserted(inserted) && !inserted.replacement.ends_with('\n') && e.span.end == inserted.span.begin &&
           e.replacement.ends_with(' ');
  };
  if (leavesWord(a, b) || leavesWord(b, a)) return false;
  return a.span.end <= b.span.begin || b.span.end <= a.span.begin;
}

void MendedText::apply(std::vector<OwnedEdit> edits) {
  std::stable_sort(edits.begin(), edits.end(), OrderAtPlace(edits));
  // From the last on, so that the places of those before stay what they are.
  for (auto e = edits.rbegin(); e != edits.rend(); ++e) apply(*e);
}

uint32_t MendedText::originalOf(uint32_t at) const {
  uint32_t original = at;
  for (const Change& c : changes_) {
    const auto end = static_cast<uint32_t>(c.at + c.text.size());
    if (end <= at) original = at - end + c.end;
  }
  return original;
}

bool MendedText::meets(const Change& c, const Edit& e) const {
  const auto end = static_cast<uint32_t>(c.at + c.text.size());
  if (c.at < e.span.end && e.span.begin < end) return true;
  // Where both begin at one place, or one of them is empty there, their order would not be known.
  const bool touches = c.at <= e.span.end && e.span.begin <= end;
  return touches && (c.at == end || c.begin == originalOf(e.span.begin));
}

void MendedText::unite(size_t a, size_t b) {
  a = groupOf(a);
  b = groupOf(b);
  group_[std::max(a, b)] = std::min(a, b);
}

size_t MendedText::groupOf(size_t finding) const {
  while (finding < group_.size() && group_[finding] != finding) finding = group_[finding];
  return finding;
}

void MendedText::apply(const OwnedEdit& owned) {
  for (size_t i = group_.size(); i <= owned.finding; ++i) group_.push_back(i);
  const Edit& e = owned.edit;
  Change made{originalOf(e.span.begin), originalOf(e.span.end), "", owned.finding};
  uint32_t begin = e.span.begin, end = e.span.end;
  for (const Change& c : changes_) {
    if (!meets(c, e)) continue;
    begin = std::min(begin, c.at);
    end = std::max(end, static_cast<uint32_t>(c.at + c.text.size()));
    unite(c.finding, owned.finding);
  }
  const auto first = std::find_if(changes_.begin(), changes_.end(), [&](const Change& c) { return meets(c, e); });
  if (first != changes_.end()) {
    const auto last = std::find_if(changes_.rbegin(), changes_.rend(), [&](const Change& c) { return meets(c, e); });
    made.begin = begin == first->at ? first->begin : made.begin;
    made.end = end == last->at + last->text.size() ? last->end : made.end;
  }
  made.text = now_.substr(begin, e.span.begin - begin) + e.replacement + now_.substr(e.span.end, end - e.span.end);
  std::erase_if(changes_, [&](const Change& c) { return meets(c, e); });
  // What was removed has its place before what is put there behind it.
  const auto place = std::find_if(changes_.begin(), changes_.end(), [&](const Change& c) {
    return c.at > begin || (c.at == begin && c.begin >= made.begin);
  });
  changes_.insert(place, std::move(made));
  now_.replace(e.span.begin, e.span.end - e.span.begin, e.replacement);
  uint32_t at = 0, from = 0;  // what stands behind has moved
  for (Change& c : changes_) {
    at += c.begin - from;
    c.at = at;
    at += static_cast<uint32_t>(c.text.size());
    from = c.end;
  }
}

Span MendedText::inOriginal(Span s) const {
  Span found{s.file, originalOf(s.begin), originalOf(s.end)};
  for (const Change& c : changes_) {
    const auto end = static_cast<uint32_t>(c.at + c.text.size());
    if (c.at <= s.begin && s.begin < end) found.begin = c.begin;
    if (c.at < s.end && s.end <= end) found.end = c.end;
  }
  return found;
}

std::vector<Edit> MendedText::editsOf(size_t group, uint32_t file) const {
  std::vector<Edit> edits;
  for (const Change& c : changes_)
    if (groupOf(c.finding) == group) edits.push_back({Span{file, c.begin, c.end}, c.text});
  return edits;
}

}  // namespace tenc
