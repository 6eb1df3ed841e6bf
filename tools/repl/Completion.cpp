// What Tab offers.
#include <algorithm>
#include <array>
#include <filesystem>

#include "frontend/Frontend.h"
#include "frontend/StdModules.h"
#include "syntax/Tokens.h"
#include "tools/repl/Shell.h"
#include "tools/repl/Words.h"

namespace tenc::repl {

namespace {

/// Words that are no keywords of the grammar, and no operations.
constexpr std::array<std::string_view, 17> kWords = {"cpu", "cuda", "f16", "bf16", "f32", "f64", "i8",  "i16", "i32",
                                                     "i64", "u8",   "u16", "u32",  "u64", "nan", "inf", "pi"};

/// Files whose path begins with `typed`; folders end in a slash.
std::vector<std::string> filesLike(std::string_view typed) {
  const size_t slash = typed.rfind('/');
  const std::string folder(slash == std::string_view::npos ? "" : typed.substr(0, slash + 1));
  std::vector<std::string> found;
  std::error_code error;
  for (auto it = std::filesystem::directory_iterator(folder.empty() ? "." : folder, error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    std::error_code unknown;
    const std::string path = folder + it->path().filename().string() + (it->is_directory(unknown) ? "/" : "");
    if (path.starts_with(typed)) found.push_back(path);
  }
  return found;
}

/// The modules of the library and those in the folders where `import` looks.
std::vector<std::string> modules(const std::vector<std::string>& importPaths) {
  std::vector<std::string> found(frontend::stdModuleNames().begin(), frontend::stdModuleNames().end());
  std::vector<std::string> folders{"."};
  folders.insert(folders.end(), importPaths.begin(), importPaths.end());
  for (const std::string& folder : folders) {
    std::error_code error;
    for (auto it = std::filesystem::directory_iterator(folder, error);
         !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
      if (it->path().extension() == ".tl") found.push_back(it->path().stem().string());
    }
  }
  return found;
}

/// Whether the operation takes its operand first, which a call as a method puts before the dot: it is called x or a.
bool takesOperand(const frontend::OpDoc& op) {
  const std::string_view parameters = std::string_view(op.signature).substr(op.name.size());
  return parameters.starts_with("(x") || parameters.starts_with("(a,") || parameters.starts_with("(a)");
}

/// The module of `import nn: lin`, where names of it are typed; empty elsewhere.
std::string importedFrom(std::string_view typed) {
  const size_t colon = typed.find(':');
  if (!startsWithWord(typed, "import") || colon == std::string_view::npos) return "";
  return std::string(trimmed(typed.substr(6, colon - 6)));
}

}  // namespace

std::vector<std::string> Shell::complete(std::string_view typed) {
  const std::string_view word = lastWord(typed);
  const std::string_view line = trimmed(typed.substr(0, typed.size() - word.size()));
  std::vector<std::string> found;
  auto add = [&](std::string_view candidate) {
    if (candidate.starts_with(word)) found.emplace_back(candidate);
  };
  const size_t dot = word.rfind('.');
  if (typed.starts_with(":load ") || typed.starts_with(":save ")) {
    found = filesLike(word);
  } else if (word.starts_with(":")) {
    for (const std::string_view name : commandNames()) add(name);
  } else if (line == "import") {
    for (const std::string& m : modules(session_.options().importPaths)) add(m);
  } else if (const std::string module = importedFrom(trimmed(typed)); !module.empty()) {
    for (const std::string& n : names_.moduleNames(module)) add(n);
  } else if (dot != std::string_view::npos) {
    const std::string base(word.substr(0, dot + 1)), path = base.substr(0, dot);
    for (const std::string& m : names_.members(path)) add(base + m);
    if (names_.isNumeric(path))
      for (const frontend::OpDoc& op : frontend::operations())
        if (takesOperand(op)) add(base + std::string(op.name));
    for (const std::string& f : names_.functionsOf(path)) add(base + f);
  } else if (!word.empty()) {
    for (const std::string_view k : syntax::keywords()) add(k);
    for (const std::string_view k : kWords) add(k);
    for (const std::string& n : state_.names()) add(n);
    for (const frontend::OpDoc& op : frontend::operations()) add(op.name);
    if (line == ":doc" || line == "?")
      for (const std::string_view m : frontend::stdModuleNames()) add(m);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace tenc::repl
