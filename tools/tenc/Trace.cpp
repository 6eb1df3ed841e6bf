#include "tools/tenc/Trace.h"

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "tools/tenc/WholeFile.h"

namespace tenc::tool {
namespace {

std::string quoted(std::string_view text) {
  std::string s = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') s += '\\';
    s += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return s + "\"";
}

/// One complete event; times in ns of the steady clock, shown in us since `zero`.
void event(std::FILE* f, bool& first, std::string_view name, const char* row, int64_t zero, int64_t begin, int64_t end,
           std::string_view source) {
  const std::string args = source.empty() ? "" : ", \"args\": {\"source\": " + quoted(source) + "}";
  std::fprintf(
      f, "%s{\"name\": %s, \"cat\": \"%s\", \"ph\": \"X\", \"ts\": %.3f, \"dur\": %.3f, \"pid\": 1, \"tid\": \"%s\"%s}",
      first ? "" : ",\n", quoted(name).c_str(), row, static_cast<double>(begin - zero) * 1e-3,
      static_cast<double>(end - begin) * 1e-3, row, args.c_str());
  first = false;
}

}  // namespace

bool writeTrace(const std::string& path, const Timings& timings, const rt::CallTrace& run, std::string& error) {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* f = open_memstream(&text, &size);
  if (!f) return error = std::strerror(errno), false;
  int64_t zero = run.events.empty() ? INT64_MAX : run.events.front().begin;
  for (const Timings::Entry& e : timings.entries()) zero = std::min(zero, e.begin);
  bool first = true;
  std::fputs("{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n", f);
  for (const Timings::Entry& e : timings.entries())
    event(f, first, e.stage, "stages", zero, e.begin, e.begin + static_cast<int64_t>(e.ms * 1e6), "");
  for (const rt::TraceEvent& e : run.events) event(f, first, e.name, e.device.c_str(), zero, e.begin, e.end, e.source);
  std::fprintf(f, "\n], \"otherData\": {\"left out\": %" PRIu64 "}}\n", run.leftOut);
  const bool good = std::fclose(f) == 0;
  const std::unique_ptr<char, void (*)(void*)> owner(text, std::free);
  if (!good) return error = std::strerror(errno), false;
  return writeWhole(path, {text, size}, error);
}

}  // namespace tenc::tool
