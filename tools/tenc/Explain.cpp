// `tenc explain E0301` and `tenc explain softmax`: the pages of docs/errors, built in, and the table of operations.
#include <algorithm>
#include <cctype>
#include <cstdio>

#include "frontend/Frontend.h"
#include "frontend/StdModules.h"
#include "support/Text.h"
#include "syntax/Familiar.h"
#include "syntax/Tokens.h"
#include "tools/tenc/Commands.h"
#include "tools/tenc/Keywords.h"
#include "tools/tenc/ModuleDocs.h"
#include "tools/tenc/NearestWord.h"

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

bool printKeyword(std::string_view word) {
  const Keyword* k = keyword(word);
  // `np.shape` and `nn.size` are none of values.
  const std::string_view head = word.substr(0, word.rfind('.') == std::string_view::npos ? 0 : word.rfind('.'));
  const syntax::Familiar* prefix = syntax::familiarName(head.substr(0, head.find('.')));
  const bool isPath = (prefix && prefix->prefix) || frontend::stdModule(std::string(head));
  if (!k && !isPath) k = member(word);
  if (k != nullptr) std::printf("%s\n    %s\n", std::string(k->form).c_str(), std::string(k->doc).c_str());
  return k != nullptr;
}

bool printErrorPage(std::string_view code) {
  std::string wanted(code);
  std::ranges::transform(wanted, wanted.begin(), [](unsigned char c) { return std::toupper(c); });
  for (unsigned i = 0; i < kErrorPageCount; ++i) {
    if (wanted != kErrorPages[i].code) continue;
    std::fputs(kErrorPages[i].text, stdout);
    return true;
  }
  return false;
}

namespace {

/// A module, or what one declares.
bool printModule(SourceManager& sources, const std::string& name) {
  ModuleDocs modules(sources);
  std::string text = modules.documentation(name);
  if (text.empty()) text = modules.overview(name);
  std::fputs(text.c_str(), stdout);
  return !text.empty();
}

/// The word that was meant; empty where none is near.
std::string nearestWord(SourceManager& sources, const std::string& word, std::string_view code) {
  NearestName nearCode(code);
  NearestWord near(word);
  for (int i = 0; i < static_cast<int>(Code::Count); ++i) nearCode.consider(info(static_cast<Code>(i)).name);
  if (!nearCode.best().empty()) return nearCode.best();
  for (const frontend::OpDoc& op : frontend::operations()) near.consider(op.name);
  for (const std::string_view keyword : syntax::keywords()) near.consider(keyword);
  ModuleDocs modules(sources);
  const size_t dot = word.find('.');
  for (const std::string_view module : frontend::stdModuleNames()) {
    near.consider(module);
    if (dot == std::string::npos || word.substr(0, dot) != module) continue;
    for (const std::string& n : modules.names(std::string(module))) near.consider(std::string(module) + "." + n);
  }
  return near.best();
}

}  // namespace

int explainCommand(Session& session, const CommandLine& line) {
  if (printOperation(line.input) || printKeyword(line.input) || printModule(session.sources(), line.input)) return 0;
  if (printErrorPage(line.input) || printForeign(line.input)) return 0;
  std::string wanted = line.input;
  std::transform(wanted.begin(), wanted.end(), wanted.begin(), [](unsigned char c) { return std::toupper(c); });
  const std::string near = nearestWord(session.sources(), line.input, wanted);
  std::fprintf(stderr, "tenc: nothing is called %s", forTerminal(line.input).c_str());
  if (!near.empty()) std::fprintf(stderr, "; did you mean %s?", near.c_str());
  std::string modules;
  for (const std::string_view module : frontend::stdModuleNames()) modules += " " + std::string(module);
  // Codes are listed for what may be meant as one.
  const bool isCode = wanted.size() > 1 && (wanted[0] == 'E' || wanted[0] == 'W') &&
                      std::all_of(wanted.begin() + 1, wanted.end(), [](unsigned char c) { return std::isdigit(c); });
  std::fprintf(stderr, "\n`tenc explain ops` lists the operations. The modules are%s%s\n", modules.c_str(),
               isCode ? ", and the codes:" : "");
  if (!isCode) return static_cast<int>(Outcome::Usage);
  for (int i = 0; i < static_cast<int>(Code::Count); ++i) {
    const CodeInfo& code = info(static_cast<Code>(i));
    std::fprintf(stderr, "  %s  %s\n", std::string(code.name).c_str(), std::string(code.title).c_str());
  }
  return static_cast<int>(Outcome::Usage);
}

}  // namespace tenc::tool
