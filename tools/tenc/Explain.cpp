// `tenc explain E0301` and `tenc explain softmax`: the pages of docs/errors, built in, and the table of operations.
#include <algorithm>
#include <cstdio>

#include "frontend/Frontend.h"
#include "support/Text.h"
#include "tools/tenc/Commands.h"

namespace tenc::tool {

/// One page of docs/errors; the table is made by the build (cmake/EmbedPages.cmake).
struct ErrorPage {
  const char* code;
  const char* text;
};
extern const ErrorPage kErrorPages[];
extern const unsigned kErrorPageCount;

bool printOperation(std::string_view name) {
  for (const frontend::OpDoc& op : frontend::operations()) {
    if (op.name != name && name != "ops") continue;
    std::printf("%.*s\n    %.*s\n", static_cast<int>(op.signature.size()), op.signature.data(),
                static_cast<int>(op.doc.size()), op.doc.data());
    if (!op.dtypes.empty()) std::printf("    of %.*s\n", static_cast<int>(op.dtypes.size()), op.dtypes.data());
    if (op.name == name) return true;
  }
  return name == "ops";
}

int explainCommand(const CommandLine& line) {
  if (printOperation(line.input)) return 0;
  std::string wanted = line.input;
  std::transform(wanted.begin(), wanted.end(), wanted.begin(), [](unsigned char c) { return std::toupper(c); });
  for (unsigned i = 0; i < kErrorPageCount; ++i) {
    if (wanted != kErrorPages[i].code) continue;
    std::fputs(kErrorPages[i].text, stdout);
    return 0;
  }
  NearestName nearCode(wanted), nearOperation(line.input);
  for (int i = 0; i < static_cast<int>(Code::Count); ++i) nearCode.consider(info(static_cast<Code>(i)).name);
  for (const frontend::OpDoc& op : frontend::operations()) nearOperation.consider(op.name);
  const std::string& near = nearCode.best().empty() ? nearOperation.best() : nearCode.best();
  std::fprintf(stderr, "tenc: there is no diagnostic or operation %s", line.input.c_str());
  if (!near.empty()) std::fprintf(stderr, "; did you mean %s?", near.c_str());
  std::fputs("\n`tenc explain ops` lists the operations. The codes are:\n", stderr);
  for (int i = 0; i < static_cast<int>(Code::Count); ++i) {
    const CodeInfo& code = info(static_cast<Code>(i));
    std::fprintf(stderr, "  %s  %s\n", std::string(code.name).c_str(), std::string(code.title).c_str());
  }
  return static_cast<int>(Outcome::Usage);
}

}  // namespace tenc::tool
