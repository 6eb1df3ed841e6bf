// Comma-separated numbers: one row a line, an optional first line of column names.
#include <charconv>
#include <cmath>
#include <cstring>

#include "runtime/io/Formats.h"

namespace tenc::rt::format {
namespace {

bool readAll(std::FILE* f, std::string& text) {
  const auto size = fileSize(f);
  if (!size) return false;
  text.resize(*size);
  return std::fseek(f, 0, SEEK_SET) == 0 && std::fread(text.data(), 1, *size, f) == *size;
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r')) s.remove_suffix(1);
  return s;
}

bool number(std::string_view cell, double& v) {
  if (!cell.empty() && cell.front() == '+') cell.remove_prefix(1);
  const auto r = std::from_chars(cell.data(), cell.data() + cell.size(), v);
  return r.ec == std::errc() && r.ptr == cell.data() + cell.size();
}

/// Calls row(cells) for each line that is not blank; stops when it returns false.
template <typename F>
void eachRow(std::string_view text, F row) {
  std::vector<std::string_view> cells;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    cells.clear();
    while (true) {
      const size_t comma = line.find(',');
      cells.push_back(trimmed(line.substr(0, comma)));
      if (comma == std::string_view::npos) break;
      line.remove_prefix(comma + 1);
    }
    if (!row(cells)) return;
  }
}

bool isHeading(const std::vector<std::string_view>& cells) {
  double v;
  for (auto c : cells)
    if (!number(c, v)) return true;
  return false;
}

}  // namespace

std::optional<FileHeader> csvHeader(std::FILE* f, std::string& error) {
  std::string text;
  if (!readAll(f, text)) {
    error = "cannot be read";
    return std::nullopt;
  }
  int64_t rows = 0, columns = -1, line = 0;
  eachRow(text, [&](const std::vector<std::string_view>& cells) {
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
  if (!readAll(f, text)) {
    error = "cannot be read";
    return false;
  }
  int64_t at = 0, line = 0;
  const int64_t n = *elements(shape);
  auto* bytes = static_cast<std::byte*>(out);
  const int size = dtypeSize(dtype);
  auto store = [&](double v) {
    std::byte* p = bytes + at * size;
    auto put = [&](auto x) { std::memcpy(p, &x, sizeof x); };
    switch (dtype) {
      case 0: put(floatToHalf(static_cast<float>(v))); break;
      case 1: put(floatToBfloat(static_cast<float>(v))); break;
      case 2: put(static_cast<float>(v)); break;
      case 3: put(v); break;
      case 12: put(static_cast<uint8_t>(v != 0)); break;
      default: {
        // Integer columns hold integers; wider than 2^53 they are read from the text below.
        const uint64_t wrapped = v < 0 ? static_cast<uint64_t>(static_cast<int64_t>(v)) : static_cast<uint64_t>(v);
        std::memcpy(p, &wrapped, static_cast<size_t>(size));
      }
    }
    ++at;
  };
  eachRow(text, [&](const std::vector<std::string_view>& cells) {
    if (++line == 1 && isHeading(cells)) return true;
    for (auto cell : cells) {
      double v = 0;
      if (!number(cell, v)) {
        error =
            "has `" + std::string(cell.substr(0, 40)) + "` in row " + std::to_string(line) + ", which is not a number";
        return false;
      }
      if (dtype >= 4 && dtype < 12 && (v != std::trunc(v) || std::fabs(v) > 0x1p63)) {
        error = "has `" + std::string(cell.substr(0, 40)) + "` in row " + std::to_string(line) + ", which is no " +
                std::string(dtypeName(dtype));
        return false;
      }
      if (at == n) {
        error = "has more elements than its declared type";
        return false;
      }
      store(v);
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
