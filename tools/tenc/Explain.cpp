// `tenc explain E0301` and `tenc explain softmax`: the pages of docs/errors, built in, and the table of operations.
#include <algorithm>
#include <cctype>
#include <cstdio>

#include "frontend/Frontend.h"
#include "frontend/StdModules.h"
#include "ir/DeviceTable.h"
#include "support/Text.h"
#include "syntax/Familiar.h"
#include "syntax/ForeignCalls.h"
#include "syntax/Tokens.h"
#include "tools/tenc/Commands.h"
#include "tools/tenc/Keywords.h"
#include "tools/tenc/ModuleDocs.h"

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
  NearestName nearCode(code), near(word);
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

/// A row as an example: "`xlogy(x, y)` is written `where(x == 0.0, 0.0, x * log(y))`".
std::string exampleOf(const syntax::ForeignCall& row) {
  std::string_view left = row.call.substr(row.call.find('(') + 1);
  left.remove_suffix(left.ends_with(')') ? 1 : 0);
  std::vector<syntax::ForeignArgument> given;
  std::string call(row.name());
  while (!left.empty()) {
    const size_t comma = left.find(", ");
    std::string_view written = left.substr(0, comma);
    left.remove_prefix(comma == left.npos ? left.size() : comma + 2);
    const bool isNeeded = written.starts_with('!');
    const size_t equals = written.find('=');
    const bool isLeftOut =
        written.starts_with('-') || written.starts_with('*') || (equals != written.npos && !isNeeded);
    if (isLeftOut) continue;
    const bool isNamed = isNeeded || written.starts_with(':');
    while (!written.empty() && std::string_view("!+:%1").find(written[0]) != std::string_view::npos)
      written.remove_prefix(1);
    const std::string name(written.substr(0, written.find('=')));
    syntax::ForeignArgument a;
    a.text = equals == std::string_view::npos ? name : std::string(written.substr(written.find('=') + 1));
    a.name = isNamed ? name : "";
    a.number = true;
    a.rank = given.empty() ? row.rank : -1;
    call += (given.empty() ? "(" : ", ") + (isNamed ? name + "=" : "") + a.text;
    given.push_back(std::move(a));
  }
  call += given.empty() ? "()" : ")";
  const auto text = syntax::rewritten(row, given, ir::DeviceTable::accelerator());
  return text ? "`" + call + "` is written `" + *text + "`" : "it is written in another way";
}

/// What is said of calls of a name: `np.fft.rfft`, `fft`.
bool printForeignCall(const std::string& name, const std::string& word) {
  const size_t dot = name.rfind('.', name.size() - word.size() - 2);
  std::vector<const syntax::ForeignCall*> rows;
  for (const std::string& path : {name.size() > word.size() ? name.substr(dot + 1) : word, word, word + "." + word})
    if (rows.empty()) rows = syntax::foreignCalls(path);
  if (rows.empty() || (rows[0]->help.empty() && rows[0]->text.empty())) return false;
  const std::string help(rows[0]->help);
  std::printf("`%s` is not TL: %s\n", forTerminal(name).c_str(),
              help.empty() ? exampleOf(*rows[0]).c_str() : help.c_str());
  return true;
}

}  // namespace

bool printForeign(const std::string& name) {
  const std::string word = name.substr(name.rfind('.') + 1);
  const syntax::Familiar* module = syntax::familiarName(name.substr(0, name.find('.')));
  if (word != name && module && module->prefix && printOperation(word)) return true;  // np.dot
  const syntax::Familiar* known = syntax::familiarName(word);
  if (!known) known = syntax::familiarOption(word);
  if (!known) known = syntax::familiarWord(word);
  if (!known)
    if (printForeignCall(name, word)) return true;
  if (!known || (known->replacement.empty() && known->help.empty())) return false;
  const std::string replacement(known->replacement);
  std::printf("`%s` is not TL: %s\n", forTerminal(name).c_str(),
              replacement.empty() ? std::string(known->help).c_str() : ("it is written `" + replacement + "`").c_str());
  if (replacement.empty()) return true;
  std::printf("\n");
  if (!printOperation(replacement)) printKeyword(replacement);
  return true;
}

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
