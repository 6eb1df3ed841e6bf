// Diagnostics as text: header, position, source excerpt with labels, notes, help with the mended line.
#include <algorithm>
#include <map>

#include "support/Diagnostics.h"
#include "support/Text.h"
#include "support/TextOrder.h"

namespace tenc {
namespace {

constexpr uint32_t kTabWidth = 4;
constexpr uint32_t kMaxColumns = 140;  ///< wider lines are clipped around what is marked
constexpr uint32_t kContextColumns = 40;
constexpr uint32_t kLongLine = 2000;    ///< bytes; of a longer line only the part around a mark is looked at
constexpr uint32_t kBytesBefore = 600;  ///< of that part, before the mark
constexpr size_t kMostShown = 100;      ///< diagnostics of one run
constexpr std::string_view kClipped = "...";

enum class Style { Error, Warning, Gutter, Note, Help, Bold };

class Painter {
 public:
  explicit Painter(bool colour) : colour_(colour) {}
  std::string operator()(Style style, std::string_view text) const {
    if (!colour_ || text.empty()) return std::string(text);
    return std::string(escape(style)) + std::string(text) + "\x1b[0m";
  }

 private:
  static std::string_view escape(Style style) {
    switch (style) {
      case Style::Error: return "\x1b[1;31m";
      case Style::Warning: return "\x1b[1;33m";
      case Style::Gutter: return "\x1b[1;34m";
      case Style::Note: return "\x1b[1;32m";
      case Style::Help: return "\x1b[1;36m";
      case Style::Bold: return "\x1b[1m";
    }
    return "";
  }
  bool colour_;
};

/// A source line as a terminal shows it: tabs expanded, control characters and bad bytes replaced.
struct DisplayLine {
  std::vector<std::string> cells;  ///< one a column; the second column of a wide character is empty
  std::vector<uint32_t> columnOf;  ///< by byte offset in the line, with one entry past the end

  explicit DisplayLine(std::string_view text) {
    for (size_t i = 0; i < text.size();) {
      const CodePoint c = decodeUtf8(text, i);
      for (uint32_t b = 0; b < c.bytes; ++b) columnOf.push_back(static_cast<uint32_t>(cells.size()));
      const std::string_view bytes = text.substr(i, c.bytes);
      if (c.value == '\t') {
        do cells.emplace_back(" ");
        while (cells.size() % kTabWidth != 0);
      } else if (isHiddenInTerminal(c)) {
        cells.emplace_back(kReplacement);
      } else if (c.width == 0 && !cells.empty()) {
        cells.back() += bytes;
      } else {
        cells.emplace_back(bytes);
        if (c.width == 2) cells.emplace_back();
      }
      i += c.bytes;
    }
    columnOf.push_back(static_cast<uint32_t>(cells.size()));
  }
  uint32_t column(uint32_t byte) const { return columnOf[std::min<size_t>(byte, columnOf.size() - 1)]; }
};

bool isContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// The part of a source line that is shown.
struct LinePart {
  std::string_view text;
  uint32_t first = 0;  ///< byte of the line at which it begins
  bool cutLeft = false, cutRight = false;
};

/// The part around byte `at`, cut between code points; a short line is whole.
LinePart partAround(std::string_view line, uint32_t at) {
  if (line.size() <= kLongLine) return {line};
  size_t from = at > kBytesBefore ? std::min<size_t>(at - kBytesBefore, line.size()) : 0;
  size_t to = std::min<size_t>(from + kLongLine, line.size());
  while (from > 0 && from < line.size() && isContinuation(line[from])) ++from;
  while (to < line.size() && to > from && isContinuation(line[to])) --to;
  return {line.substr(from, to - from), static_cast<uint32_t>(from), from > 0, to < line.size()};
}

/// A marked range of one line: bytes at first, columns when the part that is shown is known; end > begin.
struct Mark {
  uint32_t begin, end;
  bool primary;
  std::string label;
};

std::string oneLine(std::string_view text) {
  std::string out(text);
  std::replace(out.begin(), out.end(), '\n', ' ');
  std::replace(out.begin(), out.end(), '\r', ' ');
  return forTerminal(out);
}

/// Characters with the style of each, built cell by cell so that labels can be laid over connectors.
class Canvas {
 public:
  void put(size_t row, size_t column, std::string_view text, Style style) {
    if (rows_.size() <= row) rows_.resize(row + 1);
    for (size_t i = 0; i < text.size();) {
      const CodePoint c = decodeUtf8(text, i);
      if (rows_[row].size() <= column) rows_[row].resize(column + 1, Cell{" ", Style::Bold});
      rows_[row][column++] = {std::string(text.substr(i, c.bytes)), style};
      i += c.bytes;
    }
  }
  size_t rows() const { return rows_.size(); }
  std::string line(size_t row, const Painter& paint) const {
    std::string out, run;
    Style style = Style::Bold;
    const auto flush = [&] {
      const size_t blanks = run.find_first_not_of(' ');
      out += blanks == std::string::npos ? run : run.substr(0, blanks) + paint(style, run.substr(blanks));
      run.clear();
    };
    for (const Cell& cell : rows_[row]) {
      if (cell.style != style && cell.text != " ") flush(), style = cell.style;
      run += cell.text;
    }
    flush();
    return out;
  }

 private:
  struct Cell {
    std::string text;
    Style style;
  };
  std::vector<std::vector<Cell>> rows_;
};

class Renderer {
 public:
  Renderer(const SourceManager& sources, const RenderOptions& options) : sources_(sources), paint_(options.colour) {}

  std::string render(const Diagnostic& d) {
    out_.clear();
    const bool error = d.severity() == Severity::Error;
    primaryStyle_ = error ? Style::Error : Style::Warning;
    out_ += paint_(primaryStyle_, std::string(error ? "error[" : "warning[") + std::string(info(d.code).name) + "]");
    out_ += paint_(Style::Bold, ": " + oneLine(d.message)) + "\n";
    gutter_ = gutterWidth(d);
    excerpts(d);
    for (const Note& note : d.notes) {
      out_ += paint_(Style::Note, "note") + ": " + forTerminal(note.text) + "\n";
      if (known(note.span)) arrow("-->", note.span);
    }
    for (const Help& help : d.helps) {
      if (help.alternative) continue;
      out_ += paint_(Style::Help, "help") + ": " + forTerminal(help.text) + "\n";
      if (!help.edits.empty() && !help.mustRemove) mended(help);
    }
    return std::move(out_);
  }

 private:
  bool known(Span s) const { return s.valid() && s.file < sources_.size(); }

  /// The width of the largest line number shown.
  size_t gutterWidth(const Diagnostic& d) const {
    int64_t largest = 1;
    const auto see = [&](Span s) {
      if (known(s)) largest = std::max<int64_t>(largest, sources_.file(s.file).position(std::max(s.begin, s.end)).line);
    };
    see(d.span);
    for (const Label& l : d.labels) see(l.span);
    for (const Help& h : d.helps) {
      int64_t shift = 0;
      for (const Edit& e : editsOf(h)) {
        shift += addedLines(e);
        largest = std::max<int64_t>(largest, sources_.file(e.span.file).position(e.span.end).line + shift);
        see(e.span);
      }
    }
    return std::to_string(largest).size();
  }

  /// Those in the file of the first, in order.
  std::vector<Edit> editsOf(const Help& help) const {
    std::vector<Edit> edits;
    for (const Edit& e : help.edits)
      if (known(e.span) && e.span.file == help.edits.front().span.file) edits.push_back(e);
    std::stable_sort(edits.begin(), edits.end(),
                     [](const Edit& a, const Edit& b) { return a.span.begin < b.span.begin; });
    return edits;
  }

  /// How many lines more there are after an edit; below 0 for fewer.
  int64_t addedLines(const Edit& e) const {
    const SourceFile& file = sources_.file(e.span.file);
    const auto lines = [&](uint32_t at) { return static_cast<int64_t>(file.position(at).line); };
    return std::count(e.replacement.begin(), e.replacement.end(), '\n') - (lines(e.span.end) - lines(e.span.begin));
  }

  void arrow(std::string_view arrow, Span s) {
    const LineColumn at = sources_.file(s.file).position(s.begin);
    out_ += std::string(gutter_, ' ') + paint_(Style::Gutter, arrow) + " " + forTerminal(sources_.file(s.file).name()) +
            ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + "\n";
  }

  void margin(std::string_view number, std::string_view text) {
    std::string line = paint_(Style::Gutter, std::string(number) + std::string(gutter_ - number.size(), ' ') + " |");
    if (!text.empty()) line += " " + std::string(text);
    while (line.back() == ' ') line.pop_back();
    out_ += line + "\n";
  }

  /// One excerpt a file; that of the primary span comes first.
  void excerpts(const Diagnostic& d) {
    std::map<uint32_t, std::vector<std::pair<Label, bool>>> others;
    std::vector<std::pair<Label, bool>> here;
    if (known(d.span)) here.push_back({{d.span, d.label}, true});
    for (const Label& l : d.labels) {
      if (!known(l.span)) continue;
      (l.span.file == d.span.file ? here : others[l.span.file]).push_back({l, false});
    }
    if (!here.empty()) {
      arrow("-->", d.span);
      excerpt(d.span.file, here);
    }
    for (const auto& [file, labels] : others) {
      arrow(":::", labels.front().first.span);
      excerpt(file, labels);
    }
  }

  void excerpt(uint32_t fileId, const std::vector<std::pair<Label, bool>>& labels) {
    const SourceFile& file = sources_.file(fileId);
    std::map<uint32_t, std::vector<Mark>> lines;
    for (const auto& [label, primary] : labels) addMarks(file, label, primary, lines);
    margin("", "");
    uint32_t previous = 0;
    for (auto& [number, marks] : lines) {
      if (previous != 0 && number == previous + 2) {
        const LinePart between = partAround(file.line(number - 1), 0);
        margin(std::to_string(number - 1), clipped(between, DisplayLine(between.text), 0, kMaxColumns));
      } else if (previous != 0 && number > previous + 1) {
        out_ += paint_(Style::Gutter, "...") + "\n";
      }
      markedLine(number, file.line(number), marks);
      previous = number;
    }
  }

  /// A span over several lines becomes a mark at its first line and a labelled one at its last.
  static void addMarks(const SourceFile& file, const Label& label, bool primary,
                       std::map<uint32_t, std::vector<Mark>>& lines) {
    const uint32_t size = static_cast<uint32_t>(file.text().size());
    const uint32_t begin = std::min(label.span.begin, size);
    const uint32_t end = std::clamp(label.span.end, begin, size);
    const uint32_t first = file.position(begin).line;
    const uint32_t last = end > begin ? file.position(end - 1).line : first;
    const auto mark = [&](uint32_t line, uint32_t from, uint32_t to, const std::string& text) {
      lines[line].push_back({from - file.lineStart(line), to - file.lineStart(line), primary, text});
    };
    const std::string text = oneLine(label.text);
    if (first == last) return mark(first, begin, end, text);
    const auto lineEnd = static_cast<uint32_t>(file.lineStart(first) + file.line(first).size());
    mark(first, begin, lineEnd, "");
    const std::string_view tail = file.line(last);
    const size_t indent = tail.find_first_not_of(" \t");
    const uint32_t from = file.lineStart(last) + static_cast<uint32_t>(indent == std::string_view::npos ? 0 : indent);
    mark(last, std::min(from, end - 1), end, text);
  }

  /// Columns [from, to) of a line, with dots where something is cut off.
  static std::string clipped(const LinePart& part, const DisplayLine& line, uint32_t from, uint32_t to) {
    std::string out;
    const auto size = static_cast<uint32_t>(line.cells.size());
    if (from > 0 || part.cutLeft) out += kClipped;
    for (uint32_t i = from; i < std::min(to, size); ++i) out += line.cells[i];
    if (to < size || part.cutRight) out += kClipped;
    return out;
  }

  /// The first column to show of a line that is too wide, so that column `anchor` is seen.
  static uint32_t firstColumn(size_t width, uint32_t anchor) {
    if (width <= kMaxColumns) return 0;
    return anchor > kMaxColumns - kContextColumns ? anchor - kContextColumns : 0;
  }

  void markedLine(uint32_t number, std::string_view text, std::vector<Mark>& marks) {
    const uint32_t anchor = std::min_element(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) {
                              return a.primary != b.primary ? a.primary : a.begin < b.begin;
                            })->begin;
    const LinePart part = partAround(text, anchor);
    const DisplayLine line(part.text);
    const auto column = [&](uint32_t byte) { return byte < part.first ? 0 : line.column(byte - part.first); };
    const uint32_t from = firstColumn(line.cells.size(), column(anchor));
    const uint32_t to = std::min(static_cast<uint32_t>(line.cells.size()), from + kMaxColumns);
    margin(std::to_string(number), clipped(part, line, from, to));
    const uint32_t shift = from > 0 || part.cutLeft ? static_cast<uint32_t>(kClipped.size()) : 0;
    std::vector<Mark> visible;
    for (Mark m : marks) {
      if (m.begin > part.first + part.text.size() || m.end < part.first) continue;
      m.begin = column(m.begin);
      m.end = std::max(column(m.end), m.begin + 1);
      if (m.begin > to || m.end < from) continue;
      m.begin = std::max(m.begin, from) - from + shift;
      m.end = std::max(std::min(m.end, to + 1) - from + shift, m.begin + 1);
      visible.push_back(std::move(m));
    }
    const Canvas canvas = layOut(visible);
    for (size_t row = 0; row < canvas.rows(); ++row) margin("", canvas.line(row, paint_));
  }

  /// Underlines, the rightmost label behind them, the other labels hanging below from right to left.
  Canvas layOut(std::vector<Mark>& marks) const {
    Canvas canvas;
    // Wide marks are drawn first, so that what lies inside them stays visible.
    std::stable_sort(marks.begin(), marks.end(),
                     [](const Mark& a, const Mark& b) { return a.end - a.begin > b.end - b.begin; });
    for (const Mark& m : marks) canvas.put(0, m.begin, std::string(m.end - m.begin, m.primary ? '^' : '-'), style(m));
    std::stable_sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) { return a.begin < b.begin; });
    uint32_t right = 0;
    for (const Mark& m : marks) right = std::max(right, m.end);
    std::vector<const Mark*> hanging;
    for (const Mark& m : marks)
      if (!m.label.empty()) hanging.push_back(&m);
    if (!hanging.empty() && hanging.back()->end == right) {
      canvas.put(0, right + 1, hanging.back()->label, style(*hanging.back()));
      hanging.pop_back();
    }
    for (size_t row = 1; !hanging.empty(); ++row) {
      for (const Mark* m : hanging) canvas.put(row, m->begin, "|", style(*m));
      if (row == 1) continue;
      canvas.put(row, hanging.back()->begin, hanging.back()->label, style(*hanging.back()));
      hanging.pop_back();
    }
    return canvas;
  }
  Style style(const Mark& m) const { return m.primary ? primaryStyle_ : Style::Gutter; }

  /// The lines that the edits touch, as they would read after them.
  void mended(const Help& help) {
    const std::vector<Edit> edits = editsOf(help);
    if (edits.empty()) return;
    const SourceFile& file = sources_.file(edits.front().span.file);
    margin("", "");
    uint32_t previous = 0;
    int64_t shift = 0;  // lines that the edits above have added
    for (size_t i = 0; i < edits.size();) {
      const uint32_t first = file.position(edits[i].span.begin).line;
      uint32_t last = first;
      std::string text;
      const uint32_t start = file.lineStart(first), edited = edits[i].span.begin;
      uint32_t at = start;
      if (edited - start > kLongLine) {
        at = edited - kBytesBefore;
        while (at < edited && isContinuation(file.text()[at])) ++at;
      }
      LinePart part{{}, at - start, at > start, false};
      const uint32_t anchor = edited - at;
      int64_t added = 0;
      for (; i < edits.size() && file.position(edits[i].span.begin).line <= last; ++i) {
        const Edit& e = edits[i];
        if (e.span.begin < at) continue;  // overlaps the edit before it
        added += addedLines(e);
        text += file.text().substr(at, e.span.begin - at);
        text += e.replacement;
        at = std::max(e.span.begin, std::min(e.span.end, static_cast<uint32_t>(file.text().size())));
        last = file.position(at).line;
      }
      auto end = static_cast<uint32_t>(file.lineStart(last) + file.line(last).size());
      if (end > at && end - at > kLongLine) {
        end = at + kBytesBefore;
        while (end > at && isContinuation(file.text()[end])) --end;
        part.cutRight = true;
      }
      if (at < end) text += file.text().substr(at, end - at);
      if (previous != 0 && first > previous + 1) out_ += paint_(Style::Gutter, "...") + "\n";
      int64_t number = first + shift;
      for (size_t from = 0; from <= text.size(); ++number) {
        const size_t newline = std::min(text.find('\n', from), text.size());
        const DisplayLine line(std::string_view(text).substr(from, newline - from));
        const uint32_t left = from == 0 ? firstColumn(line.cells.size(), line.column(anchor)) : 0;
        margin(std::to_string(number), clipped(part, line, left, left + kMaxColumns));
        from = newline + 1;
      }
      previous = last;
      shift += added;
    }
  }

  const SourceManager& sources_;
  Painter paint_;
  Style primaryStyle_ = Style::Error;
  size_t gutter_ = 1;
  std::string out_;
};

}  // namespace

std::string render(const Diagnostics& d, const SourceManager& sources, const RenderOptions& options) {
  std::string out;
  Renderer renderer(sources, options);
  size_t shown = 0;
  for (const Diagnostic* diagnostic : inSourceOrder(d)) {
    if (shown == kMostShown) break;
    if (shown++ > 0) out += "\n";
    out += renderer.render(*diagnostic);
  }
  const size_t more = d.all().size() + d.dropped() - shown;
  if (more > 0) out += "\n" + std::to_string(more) + " more diagnostics are not shown\n";
  return out;
}

}  // namespace tenc
