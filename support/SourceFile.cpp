#include "support/SourceFile.h"

#include <algorithm>

namespace tenc {
namespace {

constexpr uint32_t kBlock = 1024;

/// Continuation bytes (10xxxxxx) belong to the code point before them.
bool isContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

Span Span::cover(Span a, Span b) {
  if (!a.valid()) return b;
  if (!b.valid() || a.file != b.file) return a;
  return {a.file, std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

SourceFile::SourceFile(std::string name, std::string text, uint32_t firstLine)
    : name_(std::move(name)), text_(std::move(text)), firstLine_(firstLine) {
  starts_.push_back(0);
  uint32_t points = 0;
  const std::string_view all = text_;
  for (size_t i = 0; i < all.size(); i += kBlock) {
    codePointsBefore_.push_back(points);
    const std::string_view block = all.substr(i, kBlock);
    points += static_cast<uint32_t>(block.size()) -
              static_cast<uint32_t>(std::count_if(block.begin(), block.end(), isContinuation));
  }
  codePointsBefore_.push_back(points);
  for (size_t i = all.find('\n'); i != std::string_view::npos; i = all.find('\n', i + 1))
    starts_.push_back(static_cast<uint32_t>(i + 1));
}

LineColumn SourceFile::position(uint32_t offset) const {
  offset = std::min(offset, static_cast<uint32_t>(text_.size()));
  auto next = std::upper_bound(starts_.begin(), starts_.end(), offset);
  const auto index = static_cast<uint32_t>(next - starts_.begin()) - 1;
  return {firstLine_ + index, codePoints(offset) - codePoints(starts_[index]) + 1};
}

uint32_t SourceFile::codePoints(uint32_t offset) const {
  uint32_t count = codePointsBefore_[offset / kBlock];
  for (uint32_t i = offset / kBlock * kBlock; i < offset; ++i)
    if (!isContinuation(text_[i])) ++count;
  return count;
}

std::string_view SourceFile::line(uint32_t line) const {
  const uint32_t begin = lineStart(line);
  uint32_t end = line < lastLine() ? lineStart(line + 1) - 1 : static_cast<uint32_t>(text_.size());
  if (end > begin && text_[end - 1] == '\r') --end;
  return std::string_view(text_).substr(begin, end - begin);
}

uint32_t SourceManager::add(std::string name, std::string text, uint32_t firstLine) {
  files_.push_back(std::make_unique<SourceFile>(std::move(name), std::move(text), firstLine));
  return static_cast<uint32_t>(files_.size() - 1);
}

std::string_view SourceManager::text(Span s) const {
  if (!s.valid() || s.file >= files_.size()) return {};
  const std::string_view all = files_[s.file]->text();
  const size_t begin = std::min<size_t>(s.begin, all.size());
  return all.substr(begin, std::max<size_t>(s.end, begin) - begin);
}

}  // namespace tenc
