// `tenc explain np.where`: names of other libraries, from the tables of foreign habits.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/DeviceTable.h"
#include "support/Text.h"
#include "syntax/Familiar.h"
#include "syntax/ForeignCalls.h"
#include "tools/tenc/Commands.h"

namespace tenc::tool {

namespace {

using Form = syntax::ForeignCall::Form;

/// What is said of a name: in words, and as calls with what is written in their place.
struct Told {
  std::string help;
  std::vector<std::pair<std::string, std::string>> examples;

  void add(std::string call, std::string text) {
    const auto isSame = [&](const auto& e) { return e.first == call || e.second == text; };
    if (std::ranges::none_of(examples, isSame)) examples.emplace_back(std::move(call), std::move(text));
  }
  bool hasCallOf(size_t arguments) const {
    return std::ranges::any_of(examples, [&](const auto& e) {
      return static_cast<size_t>(std::ranges::count(e.first, ',')) + 1 == arguments;
    });
  }
};

/// As Python writes it.
std::string inPython(std::string_view value) {
  return value == "true" ? "True" : value == "false" ? "False" : std::string(value);
}

/// A call that a row takes: with the parameters that it needs, and sizes where it takes any number of arguments.
std::optional<std::string> exampleOf(const syntax::ForeignCall& row, std::vector<syntax::ForeignArgument>& given) {
  std::string_view left = row.call.substr(row.call.find('(') + 1);
  left.remove_suffix(left.ends_with(')') ? 1 : 0);
  std::string receiver, inside;
  while (!left.empty()) {
    const size_t comma = left.find(", ");
    std::string_view written = left.substr(0, comma);
    left.remove_prefix(comma == left.npos ? left.size() : comma + 2);
    const bool isNeeded = written.starts_with('!'), isText = written.starts_with('"');
    const bool isSizes = written == "*" && row.text.find("{#*}") != row.text.npos;
    const size_t equals = written.find('=');
    if (isSizes) {
      for (const std::string_view size : {"2", "3"}) {
        given.push_back({.name = "", .text = std::string(size), .number = true});
        inside += (inside.empty() ? "" : ", ") + std::string(size);
      }
      continue;
    }
    if (written.starts_with('-') || written.starts_with('*') || (equals != written.npos && !isNeeded)) continue;
    const bool isTuple = written.starts_with('%');
    while (!written.empty() && std::string_view("!+:%12").find(written[0]) != std::string_view::npos)
      written.remove_prefix(1);
    const std::string name(written.substr(0, written.find('=')));
    const std::string value =
        equals == std::string_view::npos ? name : std::string(written.substr(written.find('=') + 1));
    // A letter is the table's own name for what is given by place.
    const bool isNamed = !isText && (isNeeded || row.call.find(":" + name) != row.call.npos) && name.size() > 1;
    syntax::ForeignArgument a{.name = isNamed ? name : "", .text = value, .number = true};
    a.rank = given.empty() ? row.rank : -1;
    if (!row.dtype.empty()) a.dtype = row.dtype;
    if (isTuple) a.parts = {name + "0", name + "1"};
    const std::string shown = isTuple ? "(" + name + "0, " + name + "1)" : inPython(value);
    const bool isReceiver = (row.form == Form::Method || row.form == Form::Array) && given.empty();
    if (isReceiver)
      receiver = shown + ".";
    else
      inside += (inside.empty() ? "" : ", ") + (isNamed ? name + "=" : "") + shown;
    given.push_back(std::move(a));
  }
  return receiver + std::string(row.name()) + "(" + inside + ")";
}

void tellRow(const syntax::ForeignCall& row, Told& told) {
  if (told.help.empty() && told.examples.empty()) told.help = row.help;  // later rows are of special arguments
  if (row.text.empty() || row.divides) return;
  std::vector<syntax::ForeignArgument> given;
  const auto call = exampleOf(row, given);
  const auto text = call ? syntax::rewritten(row, given, ir::DeviceTable::accelerator()) : std::nullopt;
  if (!text) return;
  const std::string instead(row.instead.empty() || row.instead == "-" ? "" : row.instead);
  const bool isPlain = std::ranges::all_of(given, [](const auto& a) { return a.name.empty(); });
  if (*text == "-" || !instead.empty() || (isPlain && row.rank < 0 && told.hasCallOf(given.size()))) return;
  told.add(*call, *text);
}

/// `a.sub(b)` and `$1 - $2` of a name.
void tellPattern(const std::string& name, const syntax::FamiliarCall& row, Told& told) {
  if (row.position != syntax::FamiliarCall::Position::Expression || !row.ending.empty()) return;
  const auto operand = [&](size_t i) { return row.operands == 1 ? "x" : std::string(1, static_cast<char>('a' + i)); };
  const bool isMethod = row.form == syntax::FamiliarCall::Form::Method;
  std::string inside, text;
  for (size_t i = isMethod ? 1 : 0; i < row.operands; ++i) inside += (inside.empty() ? "" : ", ") + operand(i);
  for (size_t i = 0; i < row.pattern.size(); ++i) {
    const char c = row.pattern[i];
    if (c != '$' && c != '#' && c != '^' && c != '~')
      text += c;
    else
      text += operand(static_cast<size_t>(row.pattern[++i] - '1')) + (c == '^' ? " + 1" : "");
  }
  told.add((isMethod ? operand(0) + "." : "") + name + "(" + inside + ")", text);
}

/// Whether a row is of the library that stands before the name.
bool isOfLibrary(const syntax::ForeignCall& row, std::string_view library) {
  if (library == "torch")
    return row.form != Form::NumPy && row.form != Form::Python && row.form != Form::Draws && row.form != Form::Array;
  if (library == "np" || library == "numpy" || library == "jnp" || library == "jax")
    return row.form != Form::Torch && row.form != Form::Python && row.form != Form::Layer;
  return library != "math" || row.form == Form::Python || row.form == Form::Any || row.form == Form::Prefixed;
}

/// The rows of `np.fft.rfft`: those of the longest path that has some.
std::vector<const syntax::ForeignCall*> rowsOf(const std::string& name, bool& isPath) {
  std::vector<const syntax::ForeignCall*> rows;
  for (size_t from = 0; rows.empty(); ++from) {
    rows = syntax::foreignCalls(name.substr(from));
    isPath = !rows.empty() && name.find('.', from) != name.npos;
    from = name.find('.', from);
    if (from == name.npos) break;
  }
  const std::string library = name.substr(0, name.find('.'));
  if (library != name) std::erase_if(rows, [&](const syntax::ForeignCall* r) { return !isOfLibrary(*r, library); });
  return rows;
}

/// The function that a text in TL begins with: `|x| mean(x)` is of `mean`.
std::string functionOf(std::string_view text) {
  if (text.starts_with('|')) text.remove_prefix(std::min(text.size(), text.find("| ") + 2));
  size_t n = 0;
  while (n < text.size() && (std::isalnum(static_cast<unsigned char>(text[n])) != 0 || text[n] == '_')) ++n;
  return n < text.size() && text[n] == '(' ? std::string(text.substr(0, n)) : "";
}

}  // namespace

bool printForeign(const std::string& name) {
  const std::string word = name.substr(name.rfind('.') + 1);
  const syntax::Familiar* module = syntax::familiarName(name.substr(0, name.find('.')));
  bool isPath = false;
  auto rows = rowsOf(name, isPath);
  if (word != name && !isPath && module && module->prefix && printOperation(word)) return true;  // np.dot
  // `math.remainder` is not what libraries of tensors call so.
  const bool isOther =
      name.starts_with("math.") && std::ranges::any_of(rows, [](const auto* r) { return r->form == Form::Python; });
  const syntax::Familiar* known = isPath || isOther ? nullptr : syntax::familiarName(word);
  if (!known && rows.empty()) known = syntax::familiarOption(word);
  if (!known && rows.empty()) known = syntax::familiarWord(word);
  if (!known && rows.empty()) known = syntax::familiarCharacter(word);
  Told told;
  const std::string replacement(known ? known->replacement : "");
  if (known) {
    told.help = replacement.empty() ? std::string(known->help) : "it is written `" + replacement + "`";
    if (known->prefix && told.help.empty()) told.help = "operations have no prefix: `zeros([2, 3])`";
    if (told.help.empty()) told.help = known->ofTree;
    if (replacement.empty())
      for (const syntax::FamiliarCall& row : syntax::familiarCalls(word)) tellPattern(word, row, told);
  }
  if (replacement.empty())
    for (const syntax::ForeignCall* row : rows) tellRow(*row, told);
  if (told.help.empty() && told.examples.empty()) return false;
  constexpr size_t kMost = 5;
  if (told.examples.size() > kMost) told.examples.resize(kMost);
  const auto sentence = [](const auto& e) { return "`" + e.first + "` is written `" + e.second + "`"; };
  const bool hasHelp = !told.help.empty();
  std::printf("`%s` is not TL: %s\n", forTerminal(name).c_str(),
              hasHelp ? told.help.c_str() : sentence(told.examples[0]).c_str());
  for (size_t i = hasHelp ? 0 : 1; i < told.examples.size(); ++i)
    std::printf("    %s\n", sentence(told.examples[i]).c_str());
  const std::string leads =
      replacement.empty() && !told.examples.empty() ? functionOf(told.examples[0].second) : replacement;
  if (leads.empty()) return true;
  std::printf("\n");
  if (!printOperation(leads)) printKeyword(leads);
  return true;
}

}  // namespace tenc::tool
