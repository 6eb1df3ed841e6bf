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

/// The name of the function whose arguments are being typed; empty where no bracket of a call is open.
std::string_view calledIn(std::string_view typed) {
  int depth = 0;
  for (size_t i = typed.size(); i-- > 0;) {
    const char c = typed[i];
    if (c == ')' || c == ']' || c == '}') ++depth;
    if (c != '(' && c != '[' && c != '{') continue;
    if (depth-- == 0) return c == '(' ? lastWord(typed.substr(0, i)) : std::string_view();
  }
  return {};
}

bool isWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// The names of parameters in a signature: `sum(x; axis: ints?)`, `fn f[N](x: f32[N], static k: i64 = 1) -> f32[N]`.
std::vector<std::string> parametersIn(std::string_view signature) {
  std::vector<std::string> names;
  int depth = 0;
  bool inside = false, atName = false;
  for (size_t i = 0; i < signature.size(); ++i) {
    const char c = signature[i];
    const bool separates = inside && depth == 1 && (c == ',' || c == ';');
    if (c == '(' && depth == 0) inside = atName = true;
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (inside && depth == 0) break;
    if (separates) atName = true;
    if (!atName || !isWordCharacter(c)) continue;
    size_t end = i;
    while (end < signature.size() && isWordCharacter(signature[end])) ++end;
    const std::string_view name = signature.substr(i, end - i);
    i = end - 1;
    if (name == "static") continue;
    names.emplace_back(name);
    atName = false;
  }
  return names;
}

/// The module of `import nn: lin`, where names of it are typed; empty elsewhere.
std::string importedFrom(std::string_view typed) {
  const size_t colon = typed.find(':');
  if (!startsWithWord(typed, "import") || colon == std::string_view::npos) return "";
  return std::string(trimmed(typed.substr(6, colon - 6)));
}

}  // namespace

/// What arguments of a call may be named.
std::vector<std::string> Shell::optionsOf(std::string_view function) {
  std::vector<std::string> names;
  if (function.empty()) return names;
  const auto addAll = [&](std::string_view signature) {
    for (std::string& name : parametersIn(signature)) names.push_back(std::move(name));
  };
  const std::string own = names_.documentation(std::string(function));
  for (const std::string_view line : tool::linesOf(own))
    if (line.starts_with("fn ")) addAll(line);
  const std::string_view name = function.substr(function.rfind('.') + 1);  // of a method, too
  for (const frontend::OpDoc& op : frontend::operations())
    if (own.empty() && op.name == name) addAll(op.signature);
  return names;
}

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
    if (const auto dtype = names_.dtypeOf(path))
      for (const std::string_view name : frontend::methodsOf(*dtype)) add(base + std::string(name));
    for (const std::string& f : names_.functionsOf(path)) add(base + f);
  } else if (!word.empty()) {
    for (const std::string_view k : syntax::keywords()) add(k);
    for (const std::string_view k : kWords) add(k);
    for (const std::string& n : state_.names()) add(n);
    for (const frontend::OpDoc& op : frontend::operations()) add(op.name);
    if (line.ends_with('(') || line.ends_with(','))
      for (const std::string& p : optionsOf(calledIn(line))) add(p + ": ");
    if (line == ":doc" || line == "?")
      for (const std::string_view m : frontend::stdModuleNames()) add(m);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace tenc::repl
