// The list of moves as text, as JSON, and compared with an earlier one.
#include <algorithm>
#include <charconv>
#include <map>

#include "support/Text.h"
#include "tools/tenc/TransferList.h"

namespace tenc::tool {
namespace {

LineColumn positionOf(const TransferRow& r, const SourceManager& sources) {
  const bool known = r.span.valid() && r.span.file < sources.size();
  return known ? sources.file(r.span.file).position(r.span.begin) : LineColumn{0, 0};
}

std::string atText(const TransferRow& r, const SourceManager& sources) {
  const LineColumn p = positionOf(r, sources);
  return p.line ? std::to_string(p.line) + ":" + std::to_string(p.column) : "_";
}

std::string movesText(int64_t n) { return std::to_string(n) + (n == 1 ? " move, " : " moves, "); }

/// "6 moves, 1044 bytes + 4096*epochs bytes"
std::string amount(const Direction& d) {
  std::string text = (d.atMost ? "at most " : "") + movesText(d.moves) + std::to_string(d.bytes) + " bytes";
  for (const auto& [symbol, bytes] : d.symbolic) text += " + " + std::to_string(bytes) + "*" + symbol + " bytes";
  return text + (d.unknown ? ", and those whose number is not known" : "");
}

void add(Direction& d, uint64_t bytes, const Times& times) {
  if (!times.known) {
    d.unknown = true;
    return;
  }
  d.atMost |= times.atMost;
  const uint64_t all = bytes * static_cast<uint64_t>(times.factor);
  if (times.plain()) {
    d.moves += times.factor;
    d.bytes += all;
    return;
  }
  auto same =
      std::find_if(d.symbolic.begin(), d.symbolic.end(), [&](const auto& s) { return s.first == times.symbols; });
  if (same == d.symbolic.end())
    d.symbolic.emplace_back(times.symbols, all);
  else
    same->second += all;
}

void merge(Direction& into, const Direction& d) {
  into.moves += d.moves;
  into.bytes += d.bytes;
  into.unknown |= d.unknown;
  into.atMost |= d.atMost;
  for (const auto& [symbol, bytes] : d.symbolic) add(into, bytes, {1, symbol, true, d.atMost});
}

/// A line of `transfersJson`: an object of texts, numbers and truth values, as text each.
std::optional<std::map<std::string, std::string>> flatObject(std::string_view line) {
  std::map<std::string, std::string> fields;
  size_t at = 0;
  const auto skip = [&] {
    while (at < line.size() && (line[at] == ' ' || line[at] == '\t' || line[at] == '\r')) ++at;
  };
  const auto eat = [&](char c) {
    skip();
    if (at == line.size() || line[at] != c) return false;
    ++at;
    return true;
  };
  const auto text = [&](std::string& out) {
    if (!eat('"')) return false;
    for (; at < line.size() && line[at] != '"'; ++at) {
      if (line[at] == '\\') ++at;
      if (at == line.size()) return false;
      out += line[at];  // an escape stands for itself here: texts are only compared with each other
    }
    return eat('"');
  };
  if (!eat('{')) return std::nullopt;
  while (!eat('}')) {
    if (!fields.empty() && !eat(',')) return std::nullopt;
    std::string key, value;
    if (!text(key) || !eat(':')) return std::nullopt;
    skip();
    if (at < line.size() && line[at] == '"') {
      if (!text(value)) return std::nullopt;
    } else {
      while (at < line.size() && line[at] != ',' && line[at] != '}' && line[at] != ' ') value += line[at++];
      if (value.empty()) return std::nullopt;
    }
    fields[key] = value;
  }
  skip();
  return at == line.size() ? std::optional(fields) : std::nullopt;
}

/// What makes two rows the same move in two versions of a script: lines may have shifted.
std::string keyOf(std::string_view name, std::string_view from, std::string_view to, std::string_view why) {
  return std::string(name) + "\n" + std::string(from) + "\n" + std::string(to) + "\n" + std::string(why);
}

/// Moves by key and by direction.
struct Sums {
  std::map<std::string, Direction> byKey;
  std::map<std::pair<std::string, std::string>, Direction> byDirection;

  void add(const std::string& name, const std::string& from, const std::string& to, const std::string& why,
           uint64_t bytes, const Times& times) {
    tool::add(byKey[keyOf(name, from, to, why)], bytes, times);
    tool::add(byDirection[{from, to}], bytes, times);
  }
};

bool isMore(const Direction& now, const Direction& before) {
  if (now.moves > before.moves || now.bytes > before.bytes || (now.unknown && !before.unknown)) return true;
  return std::any_of(now.symbolic.begin(), now.symbolic.end(), [&](const auto& s) {
    const auto same =
        std::find_if(before.symbolic.begin(), before.symbolic.end(), [&](const auto& b) { return b.first == s.first; });
    return same == before.symbolic.end() || s.second > same->second;
  });
}

/// The sums of an earlier list; false with `error` when `text` is none.
bool readSums(const std::string& text, Sums& sums, std::string& error) {
  size_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto fail = [&] {
      error = "line " + std::to_string(number) + " is not what `tenc transfers --json` writes";
      return false;
    };
    auto fields = flatObject(line);
    if (!fields) return fail();
    if (!fields->contains("name")) continue;  // a total
    const auto integer = [&](const char* key, auto& out) {
      const std::string& s = (*fields)[key];
      const auto [last, status] = std::from_chars(s.data(), s.data() + s.size(), out);
      return status == std::errc() && last == s.data() + s.size();
    };
    uint64_t bytes = 0;
    Times times;
    times.symbols = (*fields)["symbols"];
    times.known = (*fields)["known"] == "true";
    times.atMost = (*fields)["at_most"] == "true";
    if (!integer("bytes", bytes) || !integer("factor", times.factor) || times.factor < 0 || !fields->contains("known"))
      return fail();
    if ((*fields)["copies"] == "true")
      sums.add((*fields)["name"], (*fields)["from"], (*fields)["to"], (*fields)["why"], bytes, times);
  }
  return true;
}

}  // namespace

std::string Times::text() const {
  if (!known) return "?";
  const std::string most = atMost ? "<=" : "";
  if (symbols.empty()) return most + std::to_string(factor);
  return most + (factor == 1 ? "" : std::to_string(factor) + "*") + symbols;
}

std::vector<Direction> directions(const std::vector<TransferRow>& rows) {
  std::vector<Direction> list;
  for (const TransferRow& r : rows) {
    if (!r.copies) continue;
    auto d =
        std::find_if(list.begin(), list.end(), [&](const Direction& x) { return x.from == r.from && x.to == r.to; });
    if (d == list.end()) d = list.insert(list.end(), Direction{r.from, r.to, 0, 0, {}, false, false});
    add(*d, r.bytes, r.times);
  }
  return list;
}

std::string printTransfers(const std::vector<TransferRow>& rows, const SourceManager& sources) {
  std::vector<std::vector<std::string>> cells;
  if (!rows.empty()) cells.push_back({"line", "name", "bytes", "from", "", "to", "times", "why", "type"});
  for (const TransferRow& r : rows) {
    cells.push_back({atText(r, sources), r.name, r.copies ? std::to_string(r.bytes) : "free", r.from, "->", r.to,
                     r.times.text(), r.why, r.type});
  }
  std::vector<size_t> widths(9, 0);
  for (const auto& row : cells)
    for (size_t i = 0; i + 1 < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string out;
  for (const auto& row : cells) {
    for (size_t i = 0; i + 1 < row.size(); ++i) out += row[i] + std::string(widths[i] - row[i].size() + 1, ' ');
    out += row.back() + "\n";
  }
  Direction all;
  const std::vector<Direction> each = directions(rows);
  for (const Direction& d : each) merge(all, d);
  // The arrow without blanks: a total is no row.
  if (each.size() > 1)
    for (const Direction& d : each) out += d.from + "->" + d.to + ": " + amount(d) + "\n";
  return out + "total: " + amount(all) + "\n";
}

std::string transfersJson(const std::vector<TransferRow>& rows, const SourceManager& sources) {
  std::string out;
  const auto truth = [](bool b) { return std::string(b ? "true" : "false"); };
  for (const TransferRow& r : rows) {
    const LineColumn p = positionOf(r, sources);
    const std::string file = p.line ? std::string(sources.file(r.span.file).name()) : "";
    out += "{\"file\": " + jsonQuote(file) + ", \"line\": " + std::to_string(p.line) +
           ", \"column\": " + std::to_string(p.column) + ", \"name\": " + jsonQuote(r.name) +
           ", \"type\": " + jsonQuote(r.type) + ", \"bytes\": " + std::to_string(r.bytes) +
           ", \"from\": " + jsonQuote(r.from) + ", \"to\": " + jsonQuote(r.to) +
           ", \"times\": " + (r.times.plain() ? std::to_string(r.times.factor) : jsonQuote(r.times.text())) +
           ", \"factor\": " + std::to_string(r.times.factor) + ", \"symbols\": " + jsonQuote(r.times.symbols) +
           ", \"known\": " + truth(r.times.known) + ", \"at_most\": " + truth(r.times.atMost) +
           ", \"copies\": " + truth(r.copies) + ", \"in_loop\": " + truth(r.inLoop) + ", \"why\": " + jsonQuote(r.why) +
           "}\n";
  }
  for (const Direction& d : directions(rows)) {
    std::string more;
    for (const auto& [symbol, bytes] : d.symbolic)
      more += (more.empty() ? "" : " + ") + std::to_string(bytes) + "*" + symbol;
    out += "{\"from\": " + jsonQuote(d.from) + ", \"to\": " + jsonQuote(d.to) +
           ", \"moves\": " + std::to_string(d.moves) + ", \"total_bytes\": " + std::to_string(d.bytes) +
           ", \"more\": " + jsonQuote(more) + ", \"unknown\": " + truth(d.unknown) + "}\n";
  }
  return out;
}

std::string transfersAdded(const std::vector<TransferRow>& rows, const SourceManager& sources,
                           const std::string& before, std::string& error) {
  Sums old, now;
  if (!readSums(before, old, error)) return {};
  for (const TransferRow& r : rows)
    if (r.copies) now.add(r.name, r.from, r.to, r.why, r.bytes, r.times);
  std::string out;
  for (const auto& [ends, sum] : now.byDirection) {
    const Direction& was = old.byDirection[ends];
    if (!isMore(sum, was)) continue;
    out += "more moves " + ends.first + "->" + ends.second + ": " + amount(sum) + "; before " + amount(was) + "\n";
    for (const TransferRow& r : rows) {
      if (!r.copies || r.from != ends.first || r.to != ends.second) continue;
      const std::string key = keyOf(r.name, r.from, r.to, r.why);
      const auto known = old.byKey.find(key);
      if (known != old.byKey.end() && !isMore(now.byKey[key], known->second)) continue;
      out += "  " + atText(r, sources) + " " + r.name + " " + std::to_string(r.bytes) + " bytes, " + r.times.text() +
             " times, " + r.why + ": " + (known == old.byKey.end() ? "new" : "before " + amount(known->second)) + "\n";
    }
  }
  return out;
}

}  // namespace tenc::tool
