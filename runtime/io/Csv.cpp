// Comma-separated numbers: one row a line, an optional first line of column names; cells may be in quotes.
#include <algorithm>

#include "runtime/io/Bytes.h"
#include "runtime/io/Decimal.h"
#include "runtime/io/Formats.h"

namespace tenc::rt::format {
namespace {

bool readAll(std::FILE* f, std::string& text, std::string& error) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";  // of byte order, which UTF-8 does not need
  const auto file = FileBytes::of(f);
  text.resize(file ? file->size() : 0);
  if (!file || !file->read(0, std::as_writable_bytes(std::span(text)))) {
    error = "cannot be read";
    return false;
  }
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
    error = "is text in UTF-16, and not in UTF-8";
    return false;
  }
  if (text.starts_with(kMark)) text.erase(0, kMark.size());
  return true;
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r')) s.remove_suffix(1);
  return s;
}

/// Takes the first cell off `line`, with the comma behind it. One in quotes may hold commas; its quotes go. `closed`:
/// false when its quote does not end.
std::string_view takeCell(std::string_view& line, bool& more, bool& closed) {
  size_t quoted = 0;  // where the closing quote is
  std::string_view cell = line;
  if (line.starts_with('"')) {
    quoted = line.find('"', 1);
    while (quoted != std::string_view::npos && line.substr(quoted + 1).starts_with('"'))
      quoted = line.find('"', quoted + 2);
    closed = closed && quoted != std::string_view::npos;
    if (quoted == std::string_view::npos) quoted = 0;
  }
  const size_t comma = line.find(',', quoted);
  more = comma != std::string_view::npos;
  cell = trimmed(line.substr(0, comma));
  line.remove_prefix(more ? comma + 1 : line.size());
  line = trimmed(line);
  if (quoted > 0 && quoted + 1 == cell.size()) cell = trimmed(cell.substr(1, quoted - 1));
  return cell;
}

/// Calls row(cells) for each line that is not blank; stops when it returns false. A cell in quotes ends in its line.
template <typename F>
void eachRow(std::string_view text, std::string& error, F row) {
  std::vector<std::string_view> cells;
  int64_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of("\r\n"), text.size());
    std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    cells.clear();
    ++number;
    bool closed = true;
    for (bool more = true; more;) cells.push_back(takeCell(line, more, closed));
    if (!closed) error = "has a quote that is not closed in row " + std::to_string(number);
    if (!closed || !row(cells)) return;
  }
}

/// Whether a cell is none that a number was meant by, as `1_000` and `0x10` are, which are wrong.
bool isName(std::string_view cell) {
  constexpr std::string_view kNumberStarts = "0123456789+-.";
  return !cell.empty() && kNumberStarts.find(cell.front()) == std::string_view::npos && !Decimal::of(cell);
}

bool isHeading(const std::vector<std::string_view>& cells) { return std::any_of(cells.begin(), cells.end(), isName); }

}  // namespace

std::optional<FileHeader> csvHeader(std::FILE* f, std::string& error) {
  std::string text;
  if (!readAll(f, text, error)) return std::nullopt;
  int64_t rows = 0, columns = -1, line = 0;
  eachRow(text, error, [&](const std::vector<std::string_view>& cells) {
    if (++line == 1 && isHeading(cells)) {
      columns = static_cast<int64_t>(cells.size());
      return true;
    }
    if (columns < 0) columns = static_cast<int64_t>(cells.size());
    if (columns != static_cast<int64_t>(cells.size())) {
      error = "has " + std::to_string(cells.size()) + " columns in row " + std::to_string(line) + ", and " +
              std::to_string(columns) + " before";
      return false;
    }
    ++rows;
    return true;
  });
  if (!error.empty()) return std::nullopt;
  return FileHeader{2, {rows, std::max<int64_t>(columns, 0)}, 0, false, false};
}

bool csvLoad(std::FILE* f, uint8_t dtype, const std::vector<int64_t>& shape, void* out, std::string& error) {
  std::string text;
  if (!readAll(f, text, error)) return false;
  int64_t at = 0, line = 0;
  const int64_t n = *elements(shape);
  auto* bytes = static_cast<std::byte*>(out);
  const int size = dtypeSize(dtype);
  eachRow(text, error, [&](const std::vector<std::string_view>& cells) {
    if (++line == 1 && isHeading(cells)) return true;
    for (auto cell : cells) {
      const auto says = [&](std::string_view what) {
        error = "has " + (cell.empty() ? "an empty cell" : "`" + std::string(cell.substr(0, 40)) + "`") + " in row " +
                std::to_string(line) + ", which is " + std::string(what);
        return false;
      };
      if (at == n) {
        error = "has more elements than its declared type";
        return false;
      }
      switch (parseElement(cell, dtype, bytes + at++ * size)) {
        case Parsed::Stored: break;
        case Parsed::NoNumber: return says("not a number");
        case Parsed::NoValue: return says("no " + std::string(dtypeName(dtype)));
      }
    }
    return true;
  });
  if (error.empty() && at != n) error = "has fewer elements than its declared type";
  return error.empty();
}

bool csvSave(std::FILE* f, const TensorView& t) {
  const int64_t columns = t.shape.size() == 2 ? t.shape[1] : 1;
  const int64_t n = *elements(t.shape);
  const auto* p = static_cast<const std::byte*>(t.data);
  for (int64_t i = 0; i < n; ++i) {
    std::string cell = formatScalar(t.dtype, p + i * dtypeSize(t.dtype), "");
    if (t.dtype == 12) cell = cell == "true" ? "1" : "0";
    cell += (i + 1) % columns == 0 ? '\n' : ',';
    if (std::fwrite(cell.data(), 1, cell.size(), f) != cell.size()) return false;
  }
  return true;
}

}  // namespace tenc::rt::format
