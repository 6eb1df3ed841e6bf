#include "syntax/ForeignClass.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "syntax/ForeignClassParts.h"
#include "syntax/Tokens.h"

namespace tenc::syntax {

namespace {

constexpr size_t kMostFields = 26;  ///< each type has a letter

struct Line {
  size_t begin = 0, end = 0;  ///< without the break
  size_t indent = 0;
  bool empty = true;
};

class Reader {
 public:
  Reader(std::string_view text, size_t begin) : text_(text), begin_(begin), at_(begin) { own_ = columnOf(begin); }

  ClassAsStruct read() {
    const bool isClass = header(), areKnown = isClass && members();
    if (isClass && !areKnown) return stopped({last_.begin + last_.indent, last_.end, why_});
    if (areKnown)
      if (const auto problem = writeMethods(class_, text_)) return stopped(*problem);
    if (areKnown && class_.network) makeDropoutLayers(class_);
    if (!areKnown || class_.fields.empty() || class_.fields.size() > kMostFields) return {0, 0, "", changesItself()};
    if (const auto problem = changedElsewhere(class_, text_)) return stopped(*problem);
    ClassAsStruct result{class_.begin, class_.end, asStruct(class_, text_, takeNotes("    ")), class_.changes()};
    for (const PythonClass::Use& use : class_.uses) result.uses.push_back({use.begin, use.end, use.text});
    return result;
  }

 private:
  bool members() {
    while (const auto line = next()) {
      const std::string_view s = content(*line);
      if (s.starts_with("\"\"\"") || s.starts_with("'''")) {
        const size_t close = s.find(s.substr(0, 3), 3);
        if (close == s.npos) return false;
        notes_.push_back("# " + std::string(trimmed(s.substr(3, close - 3))));
        continue;
      }
      if (s.starts_with('#') || (!class_.network && typedField(s)) || constant(s)) continue;
      if (!s.starts_with("def ") || !method(*line)) return false;
    }
    return true;
  }

  /// `expansion = 4`, a number of the class.
  bool constant(std::string_view s) {
    const std::string name(wordAt(s));
    const size_t equals = assignmentIn(s);
    if (name.empty() || equals == s.npos || trimmed(s.substr(0, equals)) != name) return false;
    const std::string value(trimmed(s.substr(equals + 1)));
    return isNumeral(value) && !has(name) && add({name, value});
  }

  /// `lr: float = 0.1` of a class that holds values alone.
  bool typedField(std::string_view s) {
    const std::string name(wordAt(s));
    const size_t equals = s.find('=');
    const std::string_view rest = trimmed(s.substr(name.size()));
    if (name.empty() || !rest.starts_with(':')) return false;
    const std::string_view type =
        trimmed(s.substr(s.find(':') + 1, equals == s.npos ? s.npos : equals - s.find(':') - 1));
    const auto known = std::ranges::find(kTypes, type, &std::pair<std::string_view, std::string_view>::first);
    if (known == std::end(kTypes)) return false;
    std::string value = equals == s.npos ? "" : std::string(trimmed(s.substr(equals + 1)));
    if (value == "True" || value == "False") value = value == "True" ? "true" : "false";
    class_.made += (class_.made.empty() ? "" : ", ") + name + ": " + std::string(known->second) +
                   (value.empty() ? "" : " = " + value);
    class_.fields.push_back({name, name, std::string(known->second), takeNotes("    ")});
    return true;
  }
  static constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {"float", "f32"}, {"int", "i64"}, {"bool", "bool"}};

  std::string_view content(const Line& l) const { return withoutComment(text_.substr(l.begin, l.end - l.begin)); }
  size_t columnOf(size_t at) const { return at - (text_.substr(0, at).rfind('\n') + 1); }  // npos + 1: the first line
  /// The next line of the class that is not empty; nothing behind the last.
  std::optional<Line> peek() const {
    for (size_t at = at_; at < text_.size();) {
      Line l{at, std::min(text_.find('\n', at), text_.size())};
      const std::string_view s = text_.substr(l.begin, l.end - l.begin);
      l.indent = std::min(s.find_first_not_of(" \t"), s.size());
      l.empty = trimmed(s).empty();
      if (!l.empty) return l.indent > own_ ? std::optional(l) : std::nullopt;
      at = l.end + 1;
    }
    return std::nullopt;
  }
  std::optional<Line> next() {
    const auto line = peek();
    if (!line) return std::nullopt;
    last_ = *line;
    class_.end = line->end;
    at_ = line->end + 1;
    const std::string_view written = content(*line);
    const std::string_view behind = trimmed(text_.substr(line->begin, line->end - line->begin)).substr(written.size());
    if (const auto note = written.starts_with('#') ? written : trimmed(behind); !note.empty())
      notes_.emplace_back(note);
    return line;
  }
  /// The comments that were read, a line each.
  std::string takeNotes(const std::string& indent) {
    std::string all;
    for (const std::string& note : std::exchange(notes_, {})) all += indent + note + "\n";
    return all;
  }
  /// The line with those that its brackets take in.
  std::string logical(const Line& first) {
    std::string s(content(first));
    const auto open = [&] {
      return std::count_if(s.begin(), s.end(), [](char c) { return c == '(' || c == '[' || c == '{'; }) -
             std::count_if(s.begin(), s.end(), [](char c) { return c == ')' || c == ']' || c == '}'; });
    };
    while (open() > 0) {
      const auto more = next();
      if (!more) break;
      s += " " + std::string(content(*more));
    }
    return s;
  }

  bool header() {
    const size_t end = std::min(text_.find('\n', at_), text_.size());
    std::string_view s = text_.substr(at_, end - at_);
    if (!s.starts_with("class ")) return false;
    s = trimmed(s.substr(6));
    class_.name = wordAt(s);
    s = trimmed(s.substr(class_.name.size()));
    class_.network = s.starts_with('(') && s.ends_with("Module):");
    class_.begin = at_;
    if (at_ > own_ + 1) {
      const size_t before = text_.rfind('\n', at_ - own_ - 2) + 1;  // npos + 1: the first line
      const std::string_view mark = trimmed(text_.substr(before, at_ - own_ - 1 - before));
      if (mark.starts_with("@dataclass") || mark.starts_with("@dataclasses.dataclass")) class_.begin = before + own_;
    }
    at_ = end + 1;
    return !class_.name.empty() && (class_.network || s == ":" || s == "():" || s == "(object):");
  }

  ClassAsStruct stopped(const ClassProblem& problem) {
    const bool changes = changesItself();
    return {begin_, class_.end, "", changes, problem.begin, problem.end, problem.why};
  }
  /// Whether a method sets fields, in what is not known as a whole. Finds the end of the class.
  bool changesItself() {
    bool inside = false, found = false;
    for (size_t at = text_.find('\n', begin_); at != text_.npos; at = text_.find('\n', at + 1)) {
      const Line l{at + 1, std::min(text_.find('\n', at + 1), text_.size())};
      const std::string_view s = text_.substr(l.begin, l.end - l.begin);
      if (!trimmed(s).empty() && s.find_first_not_of(" \t") <= own_) break;
      if (!trimmed(s).empty()) class_.end = l.end;
      if (content(l).starts_with("def ")) inside = !content(l).starts_with("def __init__");
      found = found || (inside && setsField(content(l)));
    }
    return found;
  }
  /// Whether the object itself is named, and not a member.
  static bool namesSelfAlone(std::string_view line) {
    for (size_t at = line.find("self"); at != line.npos; at = line.find("self", at + 1)) {
      const size_t end = at + 4;
      const bool whole = (at == 0 || !isWordPart(line[at - 1])) && (end == line.size() || !isWordPart(line[end]));
      if (whole && (end == line.size() || line[end] != '.')) return true;
    }
    return false;
  }

  /// The parameters behind `self`, without types; nothing where there is no `self`.
  static std::optional<std::string> parameters(std::string_view list, bool areStatic) {
    const std::vector<std::string_view> all = listed(list);
    if (all.empty() || all[0] != "self") return std::nullopt;
    std::string text;
    for (size_t i = 1; i < all.size(); ++i) {
      const std::string_view name = wordAt(all[i]);
      const size_t equals = all[i].find('=');
      if (name.empty()) return std::nullopt;  // *args
      text += (text.empty() ? "" : ", ") + std::string(areStatic ? "static " : "") + std::string(name);
      if (equals != std::string_view::npos) text += " = " + std::string(trimmed(all[i].substr(equals + 1)));
    }
    return text;
  }

  bool method(const Line& line) {
    const std::string head = logical(line);
    const std::string_view name = wordAt(std::string_view(head).substr(4));
    const size_t open = head.find('('), close = head.rfind(')');
    if (open == std::string::npos || close == std::string::npos || head.back() != ':') return false;
    const std::string_view list = std::string_view(head).substr(open + 1, close - open - 1);
    const bool makes = name == "__init__";
    const auto taken = parameters(list, makes && class_.network);
    if (!taken) return false;
    if (!makes && name.starts_with("__") && name != "__call__") {
      why_ = "operators and what else has such a name work on TL's own values alone: a method of another name does it";
      return false;
    }
    const auto words = keywords();
    if (std::ranges::find(words, name) != words.end()) {
      why_ = "the method is called as a word of TL: give it another name, also where it is called";
      return false;
    }
    if (makes) {
      class_.made = *taken;
      return constructor(line.indent);
    }
    PythonClass::Method m{(name == "forward" && class_.network) || name == "__call__" ? "call" : std::string(name),
                          *taken, "", takeNotes("")};
    int opened = 0;
    bool inText = false;
    while (const auto body = peek()) {
      if (body->indent <= line.indent) break;
      next();
      const size_t from = body->begin + std::min(body->indent, line.indent - own_), at = body->begin + body->indent;
      const std::string_view written = content(*body);
      const auto updated = withLastUpdate(written);
      if (!updated) {
        why_ = "an update of elements accumulates here where an index repeats; in Python the last value counts";
        return false;
      }
      m.lines.push_back({std::string(text_.substr(from, at - from)), *updated,
                         std::string(text_.substr(at + written.size(), body->end - at - written.size())),
                         opened > 0 || inText, at, at + written.size()});
      opened += openBrackets(written);
      for (size_t i = 0; (i = written.find("\"\"\"", i)) != written.npos; i += 3) inText = !inText;
      class_.handsOnSelf = class_.handsOnSelf || (namesSelfAlone(written) && statementOf(written) != "return self");
    }
    notes_.clear();  // they stand in the text
    class_.methods.push_back(std::move(m));
    return !class_.methods.back().lines.empty();
  }

  bool constructor(size_t indent) {
    while (const auto line = peek()) {
      if (line->indent <= indent) break;
      const std::string s = logical(*next());
      if (s.starts_with("super(") || s.starts_with('#')) continue;
      if (s.starts_with("\"\"\"") && s.size() > 5 && s.ends_with("\"\"\"")) {
        notes_.push_back("# " + s.substr(3, s.size() - 6));
        continue;
      }
      if (leftOut(s, line->indent)) continue;
      if (s.starts_with("if ") && s.back() == ':') {
        if (!chosen(s.substr(3, s.size() - 4), line->indent)) return false;
        continue;
      }
      if (class_.network && s.starts_with("assert ") && !mentions(s, "self")) {
        class_.before.push_back(s);
        continue;
      }
      if (sharesLocal(s)) {
        why_ = "what has a name and is held twice is one thing in Python; here each holder would have its own";
        return false;
      }
      if (bindsLocal(s)) {
        class_.before.push_back(s);
        continue;
      }
      if (class_.network && changesLayer(s)) {
        class_.afterwards.push_back(s);
        continue;
      }
      if (const auto parts = fieldsOfTuple(s)) {
        if (!std::ranges::all_of(*parts, [&](const std::string& part) { return setsOne(part); })) return false;
        continue;
      }
      if (!setsOne(s)) return false;
    }
    return true;
  }

  /// `self.f = v`, and the like.
  bool setsOne(const std::string& s) {
    auto set = class_.network && s.starts_with("self.register_buffer(") ? buffer(s) : assigned(s);
    if (const std::string frozen(set && class_.network ? frozenPart(set->value, text_) : ""); !frozen.empty()) {
      set->value = frozen;
      set->kind = PythonClass::Kind::Tensor;
    }
    if (!set || !readsFields(set->value)) return false;
    if (!class_.network && set->value == "None" && !has(set->name)) {
      class_.unfilled.push_back(set->name);
      return true;
    }
    return (class_.network || isValue(set->value)) && !has(set->name) && add(*set);
  }
  bool has(const std::string& field) const {
    return std::ranges::any_of(class_.fields, [&](const PythonClass::Field& f) { return f.name == field; }) ||
           std::ranges::find(class_.unfilled, field) != class_.unfilled.end();
  }
  /// `self.a, self.b = a, b` as two statements, where no value reads what is set before it.
  static std::optional<std::vector<std::string>> fieldsOfTuple(const std::string& s) {
    const size_t equals = s.starts_with("self.") ? assignmentIn(s) : s.npos;
    if (equals == s.npos) return std::nullopt;
    const auto targets = listed(std::string_view(s).substr(0, equals));
    const auto values = listed(std::string_view(s).substr(equals + 1));
    if (targets.size() < 2 || targets.size() != values.size()) return std::nullopt;
    std::vector<std::string> parts;
    for (size_t i = 0; i < targets.size(); ++i) {
      if (mentions(values[i], "self")) return std::nullopt;
      parts.push_back(std::string(targets[i]) + " = " + std::string(values[i]));
    }
    return parts;
  }

  /// `if width is None: width = 2 * dim`, `width = width or 2 * dim`, of a parameter that may be left out: an empty
  /// tuple stands for it.
  bool leftOut(std::string_view s, size_t indent) {
    bool isFalse = false;  // 0 is meant, too
    std::string name, value;
    if (s.starts_with("if ") && s.ends_with(':')) {
      std::string_view asked = trimmed(s.substr(3, s.size() - 4));
      isFalse = asked.starts_with("not ");
      if (!isFalse && !asked.ends_with(" is None")) return false;
      asked = isFalse ? trimmed(asked.substr(4)) : trimmed(asked.substr(0, asked.size() - 8));
      name = asked;
      const auto body = peek();
      if (!mayBeLeftOut(name) || !body || body->indent <= indent) return false;
      const std::string_view set = content(*body);
      const size_t equals = assignmentIn(set);
      if (equals == set.npos || trimmed(set.substr(0, equals)) != name || openBrackets(set) != 0) return false;
      value = trimmed(set.substr(equals + 1));
    } else {
      const size_t equals = assignmentIn(s);
      if (equals == s.npos) return false;
      name = trimmed(s.substr(0, equals));
      value = trimmed(s.substr(equals + 1));
      const std::string either = name + " or ", chosen = name + " if " + name + " is not None else ";
      const std::string last = " if " + name + " is None else " + name;
      if (!mayBeLeftOut(name)) return false;
      isFalse = value.starts_with(either);
      if (isFalse) {
        value = value.substr(either.size());
      } else if (value.starts_with(chosen)) {
        value = value.substr(chosen.size());
      } else if (value.ends_with(last)) {
        value = value.substr(0, value.size() - last.size());
      } else {
        return false;
      }
    }
    if (mentions(value, "self") || (isFalse && !isLeftOutOrNumber(class_, text_, name))) return false;
    if (s.starts_with("if ")) {
      next();
      if (const auto more = peek(); more && (more->indent > indent || content(*more).starts_with("el"))) return false;
    }
    class_.before.push_back("let " + name + " = if " + name + ".size == 0 { " + value + " } else { " + name + " }");
    replaceText(class_.made, name + " = None", name + " = ()");
    return true;
  }
  bool mayBeLeftOut(const std::string& name) const {
    return !name.empty() && wordAt(name) == name && isParameter(name) && defaultOf(class_, name) == "None";
  }

  /// `t = np.arange(n)`, a name that `__init__` binds once, of its parameters, and that may stand before all fields:
  /// what is drawn at random keeps its place.
  bool bindsLocal(std::string_view s) {
    if (s.starts_with("let ")) s = trimmed(s.substr(4));
    const std::string name(wordAt(s));
    const std::string_view rest = trimmed(s.substr(name.size()));
    if (name.empty() || !rest.starts_with('=') || rest.starts_with("==")) return false;
    const std::string_view value = trimmed(rest.substr(1));
    if (!isValue(value) || mentions(value, "self") || draws(value) || isParameter(name)) return false;
    using Kind = PythonClass::Kind;
    const Kind kind = kindOfValue(class_, text_, value);
    const bool written = std::ranges::all_of(value, [](char c) { return !isWordPart(c) || (c >= '0' && c <= '9'); });
    const bool isNumber = written || (class_.network && (kind == Kind::Size || kind == Kind::Option));
    return locals_.try_emplace(name, Local{std::string(value), isNumber}).second;
  }
  /// Whether something that a local names would be two: in Python all that hold it share a layer's weights, and see it
  /// change.
  bool sharesLocal(std::string_view s) {
    return std::ranges::any_of(locals_, [&](auto& local) {
      auto& [name, known] = local;
      if (known.isNumber || !mentions(s, name)) return false;
      known.holders += holdersIn(s, name);
      return known.holders > 1 || !class_.afterwards.empty();  // which is written behind what is made
    });
  }
  bool isParameter(const std::string& name) const { return mentions(class_.made, name); }

  bool add(PythonClass::Field field) {
    using Kind = PythonClass::Kind;
    const auto local = locals_.find(field.value);
    const std::string& value = local == locals_.end() ? field.value : local->second.value;
    if (class_.network && field.kind != Kind::Tensor) field.kind = kindOfValue(class_, text_, value);
    if (field.kind == Kind::Unknown) return false;
    if (field.kind == Kind::Size) {
      class_.sizes.push_back({field.name, field.value});
      return true;
    }
    // A tensor that is passed is known when the program runs.
    if (field.kind == Kind::Tensor) replaceText(class_.made, "static " + field.value, field.value);
    field.notes = takeNotes("    ");
    class_.fields.push_back(std::move(field));
    return true;
  }
  static void replaceText(std::string& text, const std::string& what, const std::string& by) {
    const size_t at = text.find(what), end = at + what.size();
    if (at != text.npos && (end == text.size() || !isWordPart(text[end]))) text.replace(at, what.size(), by);
  }

  /// `nn.init.zeros_(self.fc.bias)`, `self.fc.weight.data.normal_(0, 0.02)`
  static bool changesLayer(std::string_view s) {
    const std::string_view path = s.substr(0, s.find('('));
    const bool ofLayer = s.starts_with("self.") && path.find(".data.") != path.npos;
    const bool initial =
        path.starts_with("nn.init.") || path.starts_with("init.") || path.starts_with("torch.nn.init.");
    return path.size() < s.size() && path.ends_with('_') && (initial || ofLayer) && s.ends_with(')');
  }

  /// `self.register_buffer("mask", torch.zeros(3))`
  std::optional<PythonClass::Field> buffer(const std::string& s) const {
    const size_t open = s.find('('), close = s.rfind(')');
    const std::vector<std::string_view> all = listed(std::string_view(s).substr(open + 1, close - open - 1));
    if (all.size() < 2 || all[0].size() < 3 || (all[0][0] != '"' && all[0][0] != '\'')) return std::nullopt;
    auto field = assigned("self." + std::string(all[0].substr(1, all[0].size() - 2)) + " = " + std::string(all[1]));
    if (field) field->kind = PythonClass::Kind::Tensor;
    return field && field->value != "None" ? field : std::nullopt;
  }

  /// What a field may hold: no text, and nothing that grows or has no value.
  static bool isValue(std::string_view value) {
    return !value.empty() && value != "None" && std::string_view("[{\"'").find(value[0]) == value.npos;
  }

  /// The field and the value of `self.f = v`; nothing for another statement.
  std::optional<PythonClass::Field> assigned(const std::string& s) const {
    if (!s.starts_with("self.")) return std::nullopt;
    const std::string field(wordAt(std::string_view(s).substr(5)));
    const std::string_view rest = trimmed(std::string_view(s).substr(5 + field.size()));
    if (field.empty() || !rest.starts_with('=') || rest.starts_with("==")) return std::nullopt;
    std::string value(trimmed(rest.substr(1)));
    for (const PythonClass::Size& size : class_.sizes) replaceWord(value, "self." + size.field, "(" + size.value + ")");
    for (const PythonClass::Field& f : class_.fields)
      if (f.kind == PythonClass::Kind::Option) replaceWord(value, "self." + f.name, "(" + f.value + ")");
    return PythonClass::Field{field, value};
  }

  /// Fields that are set before, in a value: as names that are bound before what is made, in their order.
  bool readsFields(std::string& value) {
    for (size_t i = 0; i < class_.fields.size(); ++i) {
      const std::string read = "self." + class_.fields[i].name;
      if (!mentions(value, read)) continue;
      if (class_.network && class_.fields[i].kind != PythonClass::Kind::Tensor) return false;
      class_.sharesFields = class_.sharesFields || (holdersIn(value, read) > 0 && !isNumeral(class_.fields[i].value));
      if (draws(class_.fields[i].value))
        for (size_t j = 0; j < i; ++j)
          if (draws(class_.fields[j].value)) bindField(class_.fields[j]);
      bindField(class_.fields[i]);
      replaceWord(value, read, class_.fields[i].value);
    }
    return !mentions(value, "self");
  }
  void bindField(PythonClass::Field& f) {
    if (wordAt(f.value) == f.value || isNumeral(f.value)) return;
    std::string name = f.name;
    while (isParameter(name) || locals_.contains(name)) name += '_';
    class_.before.push_back("let " + name + " = " + f.value);
    locals_.try_emplace(name, Local{f.value, false, 1});
    f.value = name;
  }
  static bool draws(std::string_view value) {
    return value.find("rand") != value.npos || mentions(value, "rng") || mentions(value, "generator");
  }

  /// The fields of a branch, by name.
  std::optional<std::vector<PythonClass::Field>> branch(size_t indent) {
    std::vector<PythonClass::Field> set;
    while (const auto line = peek()) {
      if (line->indent <= indent) break;
      const auto field = assigned(logical(*next()));
      if (!field || mentions(field->value, "self")) return std::nullopt;
      if (kindOfValue(class_, text_, field->value) != PythonClass::Kind::Layer) return std::nullopt;
      set.push_back(*field);
    }
    return set;
  }

  /// `if c:` with fields in its branches: each is what the condition chooses.
  bool chosen(std::string condition, size_t indent) {
    for (const PythonClass::Size& size : class_.sizes)
      replaceWord(condition, "self." + size.field, "(" + size.value + ")");
    const auto then = branch(indent);
    std::optional<std::vector<PythonClass::Field>> otherwise = std::vector<PythonClass::Field>();
    if (const auto line = peek(); line && line->indent == indent && content(*line) == "else:") {
      next();
      otherwise = branch(indent);
    }
    if (!then || !otherwise || mentions(condition, "self")) return false;
    const auto named = [](std::vector<PythonClass::Field>& list, const std::string& name) {
      return std::find_if(list.begin(), list.end(), [&](const PythonClass::Field& f) { return f.name == name; });
    };
    for (const PythonClass::Field& f : *otherwise) {
      const auto before = named(class_.fields, f.name);
      if (before != class_.fields.end()) class_.fields.erase(before);
      class_.fields.push_back(f);
    }
    for (const PythonClass::Field& f : *then) {
      const auto before = named(class_.fields, f.name);
      if (before == class_.fields.end()) return false;
      before->value = "if " + condition + " { " + f.value + " } else { " + before->value + " }";
    }
    // What the other branch alone sets has no value in this one.
    return std::all_of(otherwise->begin(), otherwise->end(), [&](const PythonClass::Field& f) {
      return std::any_of(then->begin(), then->end(), [&](const PythonClass::Field& t) { return t.name == f.name; });
    });
  }

  std::string_view text_;
  PythonClass class_;
  size_t begin_ = 0, at_ = 0, own_ = 0;
  Line last_;  ///< that was read
  struct Local {
    std::string value;
    bool isNumber = false;
    int holders = 0;  ///< what may hold the same array or layer
  };
  std::map<std::string, Local> locals_;  ///< names that `__init__` binds
  std::string_view why_ =
      "a field gets a layer, a tensor, a number or a text, without calls of the class's own methods";
  std::vector<std::string> notes_;  ///< comments that were read, and are written before what comes next
};

}  // namespace

std::string snakeCase(std::string_view name) {
  const auto isUpper = [](char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; };
  std::string snake;
  for (size_t i = 0; i < name.size(); ++i) {
    if (i > 0 && isUpper(name[i]) && !isUpper(name[i - 1]) && name[i - 1] != '_') snake += '_';
    snake += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
  }
  return snake;
}

ClassAsStruct classAsStruct(std::string_view text, size_t begin) { return Reader(text, begin).read(); }

}  // namespace tenc::syntax
