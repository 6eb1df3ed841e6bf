#include "support/Diagnostics.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <tuple>

#include "support/InternalError.h"

namespace tenc {

std::string applyEdits(std::string_view text, std::vector<Edit> edits) {
  std::stable_sort(edits.begin(), edits.end(),
                   [](const Edit& a, const Edit& b) { return a.span.begin < b.span.begin; });
  std::string out;
  uint32_t from = 0;
  for (const Edit& e : edits) {
    out += text.substr(from, e.span.begin - from);
    out += e.replacement;
    from = e.span.end;
  }
  return out + std::string(text.substr(from));
}
namespace {

constexpr size_t kMostMessage = 1000;  // bytes: a name in it may be as long as the source

constexpr CodeInfo kCodes[] = {
#define TENC_DIAGNOSTIC(code, severity, title) {#code, Severity::severity, title},
#include "support/DiagnosticKinds.def"
};

}  // namespace

const CodeInfo& info(Code code) { return kCodes[static_cast<size_t>(code)]; }

Code codeNamed(std::string_view name) {
  for (size_t i = 0; i < static_cast<size_t>(Code::Count); ++i)
    if (kCodes[i].name == name) return static_cast<Code>(i);
  return Code::Count;
}

Diagnostics::Builder Diagnostics::report(Code code, Span span, std::string message) {
  if (message.size() > kMostMessage) {
    size_t end = kMostMessage;
    while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0) == 0x80) --end;
    message.resize(end);
    message += "...";
  }
  for (const Diagnostic& d : list_) {
    if (d.code == code && d.span == span && d.message == message) {
      dropped_ = {};
      return {dropped_, info(code).severity};
    }
  }
  if (list_.size() >= kMostKept) {
    ++droppedCount_;
    if (info(code).severity == Severity::Error) ++errors_;
    dropped_ = {};
    return {dropped_, info(code).severity};
  }
  Diagnostic d{};
  d.code = code;
  d.span = span;
  d.message = std::move(message);
  if (d.severity() == Severity::Error) ++errors_;
  list_.push_back(std::move(d));
  return {list_.back(), info(code).severity};
}

Diagnostics::Builder::operator ErrorGiven() const {
  if (severity_ != Severity::Error) throw InternalError("a warning stands for no error");
  return {};
}

ErrorGiven Diagnostics::given(std::string_view what) const {
  if (errors_ == 0) throw InternalError(std::string(what) + ", and no error says why");
  return {};
}

namespace {
size_t errorsIn(std::span<const Diagnostic> list) {
  return static_cast<size_t>(
      std::ranges::count_if(list, [](const Diagnostic& d) { return d.severity() == Severity::Error; }));
}
}  // namespace

std::vector<Diagnostic> Diagnostics::take(size_t first) {
  const auto from = list_.begin() + static_cast<long>(first);
  std::vector<Diagnostic> taken(std::make_move_iterator(from), std::make_move_iterator(list_.end()));
  list_.erase(from, list_.end());
  errors_ -= errorsIn(taken);
  return taken;
}

void Diagnostics::add(std::vector<Diagnostic> list) {
  errors_ += errorsIn(list);
  list_.insert(list_.end(), std::make_move_iterator(list.begin()), std::make_move_iterator(list.end()));
}

void Diagnostics::clear() {
  list_.clear();
  errors_ = droppedCount_ = 0;
}

std::vector<const Diagnostic*> inSourceOrder(const Diagnostics& d) {
  std::vector<const Diagnostic*> sorted;
  for (const Diagnostic& diagnostic : d.all()) sorted.push_back(&diagnostic);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic* a, const Diagnostic* b) {
    // kNone + 1 wraps to 0.
    return std::tuple(a->span.file + 1, a->span.begin) < std::tuple(b->span.file + 1, b->span.begin);
  });
  return sorted;
}

}  // namespace tenc
