// The struct and the functions that a class of Python becomes.
#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <span>
#include <string>

#include "syntax/Familiar.h"
#include "syntax/ForeignCalls.h"
#include "syntax/ForeignClass.h"
#include "syntax/ForeignClassParts.h"
#include "syntax/Tokens.h"

namespace tenc::syntax {

namespace {

/// Whether a layer without weights is made, `nn.LeakyReLU(0.2)`, which is a function here.
bool isFunction(std::string_view value) {
  const size_t call = value.find('(');
  const bool named = !value.empty() && std::isalpha(static_cast<unsigned char>(value[0])) != 0;
  if (call == std::string_view::npos && named && value.find('.') != std::string_view::npos) return true;  // `F.relu`
  const std::string_view path = value.substr(0, call);
  const std::vector<const ForeignCall*> rows = foreignCalls(path.substr(path.rfind('.') + 1));
  return call != std::string_view::npos && std::ranges::any_of(rows, [](const ForeignCall* row) {
           return row->form == ForeignCall::Form::Layer && row->text.starts_with('|');
         });
}

class Writer {
 public:
  Writer(const PythonClass& c, std::string_view text) : class_(c), text_(text) {}

  std::string written(const std::string& notes) const {
    std::string types, values, declared, built;
    for (const PythonClass::Size& size : class_.sizes) {
      types += dimOf(size.field) + ", ";
      values += (values.empty() ? "" : ", ") + size.value;
    }
    for (size_t i = 0; i < class_.fields.size(); ++i) {
      const PythonClass::Field& f = class_.fields[i];
      const std::string comma = i == 0 ? "" : ", ";
      std::string type = f.type;
      if (type.empty()) {
        type = std::string(1, static_cast<char>('A' + i));
        const bool function = f.kind == PythonClass::Kind::Option || isFunction(f.value);
        types += (types.empty() || types.ends_with(", ") ? "" : ", ") + type + (function ? ": fn" : ": tree");
      }
      declared += comma + (f.kind == PythonClass::Kind::Tensor ? "state " : "") + f.name + ": " + type;
      built += f.notes + "    " + f.name + ": " + (f.kind == PythonClass::Kind::Option ? "|| " : "") + f.value + ",\n";
    }
    std::string maker = snakeCase(class_.name);
    if (mentions(text_, maker) || isTaken(maker)) maker = "new_" + maker;
    const std::string name(class_.name);
    if (!types.empty()) types = "[" + types + "]";
    const std::string made = name + (values.empty() ? "" : "[" + values + "]") + " {\n" + built + notes + "}";
    const std::string head =
        "struct " + name + types + " { " + declared + " }\n\nfn " + maker + "(" + class_.made + ")";
    return head + (class_.before.empty() && class_.afterwards.empty() ? " = " + made : changed(made)) + methods();
  }

 private:
  /// What is made behind statements of its own, as a variable if others change it.
  std::string changed(const std::string& made) const {
    const bool changes = !class_.afterwards.empty();
    std::string text = " {";
    for (const std::string& s : class_.before) text += "\n    " + s;
    text += changes ? "\n    var self = " : "\n    ";
    for (const char c : made) text += c == '\n' ? "\n    " : std::string(1, c);
    for (const std::string& s : class_.afterwards) text += "\n    " + s;
    return text + (changes ? "\n    self\n}" : "\n}");
  }
  /// `NHeads` for `n_heads`.
  static std::string dimOf(const std::string& field) {
    std::string name = field.size() == 1 ? "Dim" : "";
    for (size_t i = 0; i < field.size(); ++i) {
      const bool begins = i == 0 || field[i - 1] == '_';
      if (field[i] != '_')
        name += static_cast<char>(begins ? std::toupper(static_cast<unsigned char>(field[i])) : field[i]);
    }
    return name;
  }
  /// The dims of the type in brackets; empty for none.
  std::string dims() const {
    std::string list;
    for (const PythonClass::Size& size : class_.sizes) list += (list.empty() ? "" : ", ") + dimOf(size.field);
    return list.empty() ? "" : "[" + list + "]";
  }

  /// Whether the language has the word, or an edit of a call may write it.
  static bool isTaken(std::string_view name) {
    const auto writes = [&](const ForeignCall& c) { return mentions(c.text, name) || mentions(c.second, name); };
    const auto names = [&](const Familiar& f) {
      const auto becomes = [&](const FamiliarCall& c) { return mentions(c.pattern, name); };
      return mentions(f.replacement, name) || std::ranges::any_of(f.calls, becomes);
    };
    const auto words = keywords();
    if (std::ranges::find(words, name) != words.end() || std::ranges::any_of(familiarNames(), names)) return true;
    return std::ranges::any_of(foreignTables(),
                               [&](std::span<const ForeignCall> rows) { return std::ranges::any_of(rows, writes); });
  }

  std::string methods() const {
    std::string all;
    for (const PythonClass::Method& m : class_.methods) {
      std::string body = m.body;
      for (const PythonClass::Size& size : class_.sizes) replaceWord(body, "self." + size.field, dimOf(size.field));
      for (const PythonClass::Field& f : class_.fields)
        if (f.kind == PythonClass::Kind::Option) replaceWord(body, "self." + f.name, "self." + f.name + "()");
      all += "\n\n" + m.notes + "fn " + m.name + dims() + "(self: " + std::string(class_.name) + dims() +
             (m.parameters.empty() ? "" : ", " + m.parameters) + ") {" + body + "\n}";
    }
    return all;
  }

  const PythonClass& class_;
  std::string_view text_;
};

}  // namespace

std::string asStruct(const PythonClass& c, std::string_view text, const std::string& notes) {
  return Writer(c, text).written(notes);
}

}  // namespace tenc::syntax
