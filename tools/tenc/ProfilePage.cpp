// A profile as one page of HTML that loads nothing: figures to the left of the highlighted source.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "support/Text.h"
#include "syntax/Tokens.h"
#include "tools/tenc/Profile.h"

namespace tenc::tool {
namespace {

constexpr const char* kStyle = R"css(
:root { color-scheme: light dark; --bg: #fbfbfa; --fg: #24292f; --soft: #6e7781; --rule: #e2e4e8; --bar: #f2b66d;
  --hot: #d1495b; --good: #2a9d6f; --panel: #ffffff; --kw: #8250df; --str: #0a6847; --num: #0550ae; --com: #848d97; }
@media (prefers-color-scheme: dark) { :root { --bg: #14171c; --fg: #d6dae0; --soft: #8b949e; --rule: #2b3038;
  --bar: #8a5a1c; --hot: #ff7b8a; --good: #4cc38a; --panel: #1a1e24; --kw: #c297ff; --str: #7ee2b8; --num: #79b8ff;
  --com: #768390; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--fg); font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 78rem; margin: 0 auto; padding: 1.5rem 1.5rem 4rem; }
h1 { font-size: 1.45rem; margin: 0 0 .2rem; }
h2 { font-size: 1.05rem; margin: 2.2rem 0 .6rem; font-family: ui-monospace, "DejaVu Sans Mono", monospace; }
.sub { color: var(--soft); margin: 0; }
.cards { display: flex; flex-wrap: wrap; gap: .8rem; margin: 1.2rem 0 0; }
.card { background: var(--panel); border: 1px solid var(--rule); border-radius: 8px; padding: .55rem 1rem; }
.card b { display: block; font-size: 1.15rem; font-weight: 600; }
.card span { color: var(--soft); font-size: .82rem; }
.code { background: var(--panel); border: 1px solid var(--rule); border-radius: 8px; overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font: 13px/1.55 ui-monospace, "DejaVu Sans Mono", monospace; }
th { position: sticky; top: 0; background: var(--panel); color: var(--soft); font-weight: 500; text-align: right;
  padding: .45rem .6rem; border-bottom: 1px solid var(--rule); }
th:last-child { text-align: left; }
td { padding: 0 .6rem; white-space: pre; text-align: right; }
td.n { color: var(--soft); border-left: 1px solid var(--rule); user-select: none; }
td.s { text-align: left; width: 100%; }
td.t { min-width: 8.5rem; background: linear-gradient(var(--bar), var(--bar)) no-repeat left center / calc(var(--p) * 1%) 80%; }
td.r { min-width: 6.5rem; }
.meter { display: inline-block; width: 2.6rem; height: .5rem; border-radius: 3px; background: var(--rule); vertical-align: middle;
  margin-right: .5rem; overflow: hidden; }
.meter i { display: block; height: 100%; background: var(--hot); }
.meter i.good { background: var(--good); }
tr:target td.s, tr:hover td.s { background: color-mix(in srgb, var(--bar) 18%, transparent); }
.kw { color: var(--kw); } .str { color: var(--str); } .num { color: var(--num); } .com { color: var(--com); font-style: italic; }
a { color: inherit; text-decoration-color: var(--soft); text-underline-offset: 2px; }
.note { color: var(--soft); font-size: .85rem; max-width: 60rem; margin-top: 2rem; }
)css";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string number(const char* format, double v) {
  char text[64];
  std::snprintf(text, sizeof text, format, v);
  return text;
}

const char* classOf(syntax::TextToken::Kind kind) {
  using Kind = syntax::TextToken::Kind;
  switch (kind) {
    case Kind::Keyword: return "kw";
    case Kind::String: return "str";
    case Kind::Number: return "num";
    case Kind::Comment: return "com";
    default: return "";
  }
}

/// The lines of a source with its tokens marked.
std::vector<std::string> highlighted(std::string_view text) {
  std::vector<std::string> lines(1);
  const auto add = [&](std::string_view part, const char* name) {
    for (size_t begin = 0;;) {
      const size_t end = std::min(part.find('\n', begin), part.size());
      const std::string piece = escaped(part.substr(begin, end - begin));
      if (!piece.empty()) {
        lines.back() += *name ? "<span class=\"" + std::string(name) + "\">" + piece + "</span>" : piece;
      }
      if (end == part.size()) return;
      lines.emplace_back();
      begin = end + 1;
    }
  };
  size_t at = 0;
  for (const syntax::TextToken& t : syntax::tokens(text)) {
    add(text.substr(at, t.begin - at), "");
    add(text.substr(t.begin, t.end - t.begin), classOf(t.kind));
    at = t.end;
  }
  add(text.substr(at), "");
  if (lines.back().empty() && lines.size() > 1) lines.pop_back();
  return lines;
}

std::string bytesText(double bytes) { return formatBytes(static_cast<uint64_t>(std::llround(bytes))); }

std::string card(const std::string& figure, const std::string& what) {
  return "<div class=\"card\"><b>" + figure + "</b><span>" + what + "</span></div>\n";
}

std::string anchor(const LineProfile& l) { return "f" + std::to_string(l.file) + "-" + std::to_string(l.line); }

std::string figures(const LineProfile& l, double total) {
  const double share = total > 0 ? l.seconds / total * 100 : 0;
  const std::string more = l.atLeast ? "&gt;" : "";
  std::string cells = "<td class=\"t\" style=\"--p:" + number("%.2f", share) + "\">" + number("%.1f %%  ", share) +
                      formatSeconds(l.seconds) + "</td><td>" + (l.runs > 0 ? std::to_string(l.runs) : "") +
                      "</td><td>" + more + bytesText(l.bytes) + "</td><td>" + more + formatCount(l.flops) +
                      "</td><td class=\"r\">";
  if (l.ideal > 0 && !l.atLeast) {
    const double roof = std::min(roofShare(l) * 100, 100.0);
    cells += "<span class=\"meter\"><i" + std::string(roof >= 50 ? " class=\"good\"" : "") +
             " style=\"width:" + number("%.0f", roof) + "%\"></i></span>" + number("%3.0f %%", roofShare(l) * 100);
  }
  return cells + "</td>";
}

/// A row for each function of the library that a line calls, where these are several.
std::string callRows(const LineProfile& l, double total) {
  std::string text;
  for (const CallProfile& c : l.calls) {
    LineProfile part;
    part.seconds = c.seconds, part.bytes = c.bytes, part.flops = c.flops, part.ideal = c.ideal;
    part.atLeast = l.atLeast;
    text += "<tr>" + figures(part, total) + "<td class=\"n\"></td><td class=\"s\">    " + escaped(c.callee) +
            "</td></tr>\n";
  }
  return text;
}

std::string sourceTable(uint32_t id, const std::map<uint32_t, const LineProfile*>& costs, const Profile& p,
                        const SourceManager& sources) {
  const SourceFile& file = sources.file(id);
  std::string text = "<h2>" + escaped(file.name()) +
                     "</h2>\n<div class=\"code\"><table>\n<thead><tr><th>time</th><th>runs</th><th>bytes</th>"
                     "<th>FLOP</th><th>roofline</th><th></th><th>source</th></tr></thead>\n<tbody>\n";
  const std::vector<std::string> lines = highlighted(file.text());
  for (uint32_t i = 0; i < lines.size(); ++i) {
    const uint32_t line = file.firstLine() + i;
    const auto cost = costs.find(line);
    text += cost == costs.end() ? "<tr class=\"cold\"><td></td><td></td><td></td><td></td><td></td>"
                                : "<tr id=\"" + anchor(*cost->second) + "\">" + figures(*cost->second, p.seconds);
    text += "<td class=\"n\">" + std::to_string(line) + "</td><td class=\"s\">" + lines[i] + "</td></tr>\n";
    if (cost != costs.end()) text += callRows(*cost->second, p.seconds);
  }
  return text + "</tbody></table></div>\n";
}

/// The lines that took most, with the source behind them.
std::string hottest(const Profile& p, const SourceManager& sources) {
  constexpr size_t kMost = 8;
  std::string text =
      "<h2>where the time went</h2>\n<div class=\"code\"><table>\n<thead><tr><th>time</th><th>runs</th><th>bytes</th>"
      "<th>FLOP</th><th>roofline</th><th></th><th>source</th></tr></thead>\n<tbody>\n";
  for (size_t i = 0; i < std::min(p.lines.size(), kMost); ++i) {
    const LineProfile& l = p.lines[i];
    text += "<tr>" + figures(l, p.seconds) + "<td class=\"n\">";
    if (l.file == Span::kNone) {
      text += "</td><td class=\"s\">elsewhere</td></tr>\n";
      continue;
    }
    const std::string_view line = sources.file(l.file).line(l.line);
    text += "<a href=\"#" + anchor(l) + "\">" + std::to_string(l.line) + "</a></td><td class=\"s\">" +
            highlighted(line.substr(std::min(line.find_first_not_of(" \t"), line.size()))).front() + "</td></tr>\n" +
            callRows(l, p.seconds);
  }
  return text + "</tbody></table></div>\n";
}

}  // namespace

std::string profilePage(const Profile& p, const SourceManager& sources, const std::string& script) {
  double bytes = 0, flops = 0, ideal = 0;
  std::map<uint32_t, std::map<uint32_t, const LineProfile*>> files;
  for (const LineProfile& l : p.lines) {
    bytes += l.bytes;
    flops += l.flops;
    ideal += l.ideal;
    if (l.file != Span::kNone) files[l.file][l.line] = &l;
  }
  std::string text = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Profile of " +
                     escaped(script) +
                     "</title>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<style>" +
                     kStyle + "</style>\n</head>\n<body>\n<main>\n<h1>Profile of " + escaped(script) +
                     "</h1>\n<p class=\"sub\">measured by <code>tenc profile</code></p>\n<div class=\"cards\">\n";
  text += card(formatSeconds(p.seconds), "in all steps of the program");
  text += card(bytesText(bytes), "read and written by them");
  text += card(formatCount(flops), "floating-point operations");
  if (p.seconds > 0 && !p.gpu) text += card(number("%.0f %%", ideal / p.seconds * 100), "of this machine's roofline");
  if (!p.roof.levels.empty()) {
    text += card(formatCount(p.roof.flops) + "FLOP/s", "peak in f32, " + std::to_string(p.roof.threads) + " threads");
    text += card(bytesText(p.roof.levels.back().bandwidth) + "/s", "from memory");
  }
  text += "</div>\n" + hottest(p, sources);
  for (const auto& [file, costs] : files) text += sourceTable(file, costs, p, sources);
  return text +
         "<p class=\"note\">A kernel that comes from several lines is divided among them: arithmetic counts for the "
         "line that writes it, bytes for the line that reads an operand first or makes a result, and time in the "
         "proportion in which the roofline allows for these. Bytes are those that a kernel has to move at least. The "
         "roofline is the least time for so much arithmetic and so many bytes, by what was measured before the run; "
         "the "
         "column says how near a line came to it. Work of functions of the standard library counts for the line that "
         "calls them.</p>\n</main>\n</body>\n</html>\n";
}

}  // namespace tenc::tool
