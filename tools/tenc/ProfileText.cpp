// Profiles as a table and as JSON.
#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

#include "support/Text.h"
#include "tools/tenc/Profile.h"

namespace tenc::tool {
namespace {

[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

std::string lineText(const LineProfile& l, const SourceManager& sources) {
  if (l.file == Span::kNone) return "";
  std::string text(sources.file(l.file).line(l.line));
  text.erase(0, std::min(text.find_first_not_of(" \t"), text.size()));
  constexpr size_t kMost = 60;
  if (text.size() > kMost) {
    size_t end = kMost - 3;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    text = text.substr(0, end) + "...";
  }
  return text;
}

std::string bytesText(double bytes) { return formatBytes(static_cast<uint64_t>(std::llround(bytes))); }

std::string shareText(const LineProfile& l) {
  return roofShare(l) > 0 && !l.atLeast ? formatted("%.0f %%", roofShare(l) * 100) : "-";
}

}  // namespace

std::string placeText(const LineProfile& l, const SourceManager& sources) {
  return l.file == Span::kNone ? "(elsewhere)" : sources.file(l.file).name() + ":" + std::to_string(l.line);
}

double roofShare(const LineProfile& l) { return l.seconds > 0 ? l.ideal / l.seconds : 0; }

std::string formatSeconds(double s) {
  if (s < 999.5e-9) return formatted("%.3g ns", s * 1e9);
  if (s < 999.5e-6) return formatted("%.3g us", s * 1e6);
  if (s < 0.9995) return formatted("%.3g ms", s * 1e3);
  return formatted(s < 100 ? "%.3g s" : "%.0f s", s);
}

std::string formatCount(double n) {
  constexpr const char* kUnits[] = {"", " k", " M", " G", " T", " P"};
  size_t unit = 0;
  for (; n >= 999.5 && unit + 1 < std::size(kUnits); ++unit) n /= 1000;
  return formatted("%.3g", n) + kUnits[unit];
}

std::string profileTable(const Profile& p, const SourceManager& sources) {
  std::string text =
      formatted("%9s %6s %8s %10s %9s %9s  %s\n", "time", "share", "runs", "bytes", "FLOP", "roofline", "line");
  size_t widest = 0;
  for (const LineProfile& l : p.lines) widest = std::max(widest, placeText(l, sources).size());
  for (const LineProfile& l : p.lines) {
    const std::string more = l.atLeast ? ">" : "";
    std::string row =
        formatted("%9s %4.0f %% %8llu %10s %9s %9s  %-*s  ", formatSeconds(l.seconds).c_str(),
                  p.seconds > 0 ? l.seconds / p.seconds * 100 : 0, static_cast<unsigned long long>(l.runs),
                  (more + bytesText(l.bytes)).c_str(), (more + formatCount(l.flops)).c_str(), shareText(l).c_str(),
                  static_cast<int>(widest), placeText(l, sources).c_str()) +
        lineText(l, sources);
    while (row.back() == ' ') row.pop_back();
    text += row + "\n";
    for (const CallProfile& c : l.calls) {
      const double roof = c.seconds > 0 && !l.atLeast ? c.ideal / c.seconds : 0;
      text += formatted("%9s %4.0f %% %8s %10s %9s %9s    %s\n", formatSeconds(c.seconds).c_str(),
                        p.seconds > 0 ? c.seconds / p.seconds * 100 : 0, "", (more + bytesText(c.bytes)).c_str(),
                        (more + formatCount(c.flops)).c_str(),
                        (roof > 0 ? formatted("%.0f %%", roof * 100) : std::string("-")).c_str(), c.callee.c_str());
    }
  }
  text += formatted("%9s  in all\n", formatSeconds(p.seconds).c_str());
  if (p.roof.levels.empty()) return text;
  text += formatted(
      "this machine, %d thread%s: %sFLOP/s of f32; %s/s from memory, %s/s from the nearest cache\n", p.roof.threads,
      p.roof.threads == 1 ? "" : "s", (formatCount(p.roof.flops) + (p.roof.flops < 999.5 ? " " : "")).c_str(),
      bytesText(p.roof.levels.back().bandwidth).c_str(), bytesText(p.roof.levels.front().bandwidth).c_str());
  return text;
}

std::string profileJson(const Profile& p, const SourceManager& sources) {
  std::string text = formatted("{\"seconds\": %.9g, \"machine\": {\"threads\": %d, \"flops\": %.6g, \"bandwidth\": [",
                               p.seconds, p.roof.threads, p.roof.flops);
  for (size_t i = 0; i < p.roof.levels.size(); ++i)
    text += formatted("%s{\"bytes\": %llu, \"per_second\": %.6g}", i > 0 ? ", " : "",
                      static_cast<unsigned long long>(p.roof.levels[i].bytes), p.roof.levels[i].bandwidth);
  text += "]}, \"lines\": [";
  for (size_t i = 0; i < p.lines.size(); ++i) {
    const LineProfile& l = p.lines[i];
    text += i > 0 ? ",\n  " : "\n  ";
    text += l.file == Span::kNone
                ? std::string("{\"file\": null, \"line\": null")
                : "{\"file\": " + jsonQuote(sources.file(l.file).name()) + ", \"line\": " + std::to_string(l.line);
    text +=
        formatted(", \"seconds\": %.9g, \"runs\": %llu, \"bytes\": %.0f, \"flops\": %.0f, \"roofline\": ", l.seconds,
                  static_cast<unsigned long long>(l.runs), l.bytes, l.flops);
    text += l.ideal > 0 && !l.atLeast ? formatted("%.4g", roofShare(l)) : "null";
    text += formatted(", \"at_least\": %s, \"calls\": [", l.atLeast ? "true" : "false");
    for (size_t c = 0; c < l.calls.size(); ++c) {
      const CallProfile& call = l.calls[c];
      text += (c > 0 ? ", " : "") + std::string("{\"callee\": ") + jsonQuote(call.callee) +
              formatted(", \"seconds\": %.9g, \"bytes\": %.0f, \"flops\": %.0f}", call.seconds, call.bytes, call.flops);
    }
    text += "]}";
  }
  return text + "\n]}\n";
}

}  // namespace tenc::tool
