// The methods of a class of Python, as functions that give the changed object: an object of TL is a value.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include "syntax/ForeignClassParts.h"
#include "syntax/Tokens.h"

namespace tenc::syntax {

namespace {

using Method = PythonClass::Method;
using Line = PythonClass::Line;

constexpr std::string_view kOneArray =
    "what is set here may be one array with something else, which is changed later; here each is a value of its own";
constexpr std::string_view kGivesArray =
    "the field is changed later, and in Python what is returned here may change with it; here it is a value of its own";
constexpr std::string_view kGivesSometimes =
    "a method that changes fields gives the object, or as many values beside it at every `return`, and at its end";
constexpr std::string_view kOneByOne = "a method sets one field by one statement";
constexpr std::string_view kCallsInside =
    "a method that changes fields is called by another as a statement, or its values are assigned";

/// The field that a statement sets: `w` of `self.w[i] += y`; empty for none, or for several.
std::string_view fieldSet(std::string_view statement) {
  statement = statementOf(statement);
  return setsField(statement) && statement.starts_with("self.") ? wordAt(statement.substr(5)) : "";
}

/// `self.f = value`; nothing for elements and updates.
struct Assigned {
  std::string_view field, value;
};
std::optional<Assigned> wholeAssigned(std::string_view statement) {
  const std::string_view field = fieldSet(statement);
  statement = statementOf(statement);
  const size_t equals = assignmentIn(statement);
  if (field.empty() || trimmed(statement.substr(0, equals)) != std::string_view(statement).substr(0, 5 + field.size()))
    return std::nullopt;
  return Assigned{field, trimmed(statement.substr(equals + 1))};
}

class Writer {
 public:
  Writer(PythonClass& c, std::string_view text) : class_(c), text_(text) {}

  std::optional<ClassProblem> write() {
    for (Method& m : class_.methods) {
      m.changes = std::ranges::any_of(m.lines, [](const Line& l) { return setsField(l.statement); });
      if (class_.network && m.changes)
        return problem(firstSet(m), "a method of a network may return a value, but not change fields");
    }
    if (!class_.network) {
      for (Method& m : class_.methods) m.lines = oneByOne(m);
      if (const auto p = fields()) return p;
      rename();
      while (passOn()) {}
      for (Method& m : class_.methods)
        if (const auto p = result(m)) return p;
      sizes();
      for (Method& m : class_.methods)
        if (const auto p = change(m)) return p;
    }
    for (Method& m : class_.methods)
      for (const Line& l : m.lines) m.body += "\n" + l.indent + l.statement + l.behind;
    return std::nullopt;
  }

 private:
  static ClassProblem problem(const Line& l, std::string_view why) { return {l.begin, l.end, why}; }
  static const Line& firstSet(const Method& m) {
    return *std::ranges::find_if(m.lines, [](const Line& l) { return setsField(l.statement); });
  }
  template <class Visit>
  std::optional<ClassProblem> eachLine(Visit visit) {
    for (const Method& m : class_.methods)
      for (const Line& l : m.lines)
        if (const std::string_view why = visit(m, l); !why.empty()) return problem(l, why);
    return std::nullopt;
  }

  /// Where the call of `return self.fit(x).predict(x)` ends that gives the object itself; 0 for none.
  size_t selfCall(std::string_view statement) const {
    const size_t equals = assignmentIn(statement);
    const std::string_view value = trimmed(equals != statement.npos                ? statement.substr(equals + 1)
                                           : statement.starts_with("return self.") ? statement.substr(6)
                                                                                   : statement);
    if (!value.starts_with("self.")) return 0;
    const std::string_view name = wordAt(value.substr(5));
    const auto m = std::ranges::find(class_.methods, name, &Method::name);
    if (m == class_.methods.end() || m->lines.empty() || m->lines.back().statement != "return self") return 0;
    size_t close = 5 + name.size();
    for (int depth = 0; close < value.size(); ++close) {
      depth += openBrackets(value.substr(close, 1));
      if (depth == 0) break;
    }
    const bool chained = value.substr(close).starts_with(").");
    return chained ? static_cast<size_t>(value.data() - statement.data()) + close + 1 : 0;
  }
  /// `self.a, self.b = x, y` as a statement for each.
  std::vector<Line> oneByOne(const Method& m) const {
    std::vector<Line> lines;
    for (size_t i = 0; i < m.lines.size(); ++i) {
      const Line& l = m.lines[i];
      const size_t equals = assignmentIn(l.statement);
      const std::string whole = wholeOf(m, i);
      const auto targets = listed(std::string_view(whole).substr(0, equals == whole.npos ? 0 : equals));
      if (const size_t chained = l.goesOn ? 0 : selfCall(whole); chained > 0) {
        const size_t at = whole.find("self.");
        lines.push_back({l.indent, whole.substr(at, chained - at), l.behind, false, l.begin, l.end});
        lines.push_back({l.indent, whole.substr(0, at) + "self" + whole.substr(chained), "", false, l.begin, l.end});
        while (i + 1 < m.lines.size() && m.lines[i + 1].goesOn) ++i;
        continue;
      }
      if (l.goesOn || targets.size() < 2 || !setsField(l.statement) || statementOf(whole) != whole) {
        lines.push_back(l);
        continue;
      }
      const std::string_view value = trimmed(std::string_view(whole).substr(equals + 1));
      const auto values = listed(value);
      const bool apart = values.size() == targets.size() && !mentions(value, "self");
      std::string names;
      for (size_t t = 0; t < targets.size(); ++t) {
        const bool isField = targets[t].starts_with("self.");
        std::string name(isField ? targets[t].substr(5) : targets[t]);
        if (isField)
          for (char& c : name) c = isWordPart(c) ? c : '_';
        names += (t == 0 ? "" : ", ") + name + (isField ? "_" : "");
      }
      if (!apart) lines.push_back({l.indent, names + " = " + std::string(value), l.behind, false, l.begin, l.end});
      const auto named = listed(names);
      for (size_t t = 0; t < targets.size(); ++t)
        if (apart || targets[t].starts_with("self."))
          lines.push_back({l.indent, std::string(targets[t]) + " = " + std::string(apart ? values[t] : named[t]), "",
                           false, l.begin, l.end});
      while (i + 1 < m.lines.size() && m.lines[i + 1].goesOn) ++i;
    }
    return lines;
  }

  /// Which fields there are, and which of them hold arrays that are changed where they are.
  std::optional<ClassProblem> fields() {
    std::map<std::string, bool, std::less<>> fills;  // whether each is a number
    const auto known = [&](std::string_view name) {
      return std::ranges::any_of(class_.fields, [&](const PythonClass::Field& f) { return f.name == name; });
    };
    const auto several = eachLine([&](const Method&, const Line& l) -> std::string_view {
      const std::string_view field = fieldSet(l.statement);
      if (field.empty()) return setsField(l.statement) ? kOneByOne : "";
      const auto whole = wholeAssigned(l.statement);
      if (whole && assignmentIn(whole->value) != whole->value.npos) return kOneByOne;
      if (!whole) changedInPlace_.emplace(field);
      if (known(field)) return "";
      if (std::ranges::find(class_.unfilled, field) == class_.unfilled.end()) class_.unfilled.emplace_back(field);
      if (whole) fills.try_emplace(std::string(field), true).first->second &= isNumeral(whole->value);
      return "";
    });
    if (several) return several;
    for (const PythonClass::Field& f : class_.fields)
      if (isNumeral(f.value) || (wordAt(f.value) == f.value && isNumberParameter(class_, text_, f.value)))
        changedInPlace_.erase(f.name);
    for (const auto& [name, isNumber] : fills)
      if (isNumber) changedInPlace_.erase(name);
    if (const auto p = madeOfOne()) return p;
    for (const std::string& name : class_.unfilled) class_.fields.push_back({name, "()"});
    for (const PythonClass::Field& f : class_.fields) noteDims(f.name, f.value);
    for (const Method& m : class_.methods)
      for (const Line& l : m.lines)
        if (const auto whole = wholeAssigned(l.statement)) noteDims(whole->field, whole->value);
    for (const Method& m : class_.methods)
      if (const auto p = renamed(m)) return p;
    return eachLine([&](const Method& m, const Line& l) { return shared(m, l); });
  }
  /// Whether a field that methods change where it is was made of what another one is made of, too: `X` and `X[0]`.
  std::optional<ClassProblem> madeOfOne() const {
    const auto holds = [](const PythonClass::Field& f, std::string_view name) { return holdersIn(f.value, name) > 0; };
    for (const PythonClass::Field& f : class_.fields) {
      const std::string_view name = wordAt(f.value);  // at the root of a path
      if (name.empty() || isNumeral(name) || isOfLibrary(name) || isNumberParameter(class_, text_, name)) continue;
      if (!changedInPlace_.contains(f.name) || !holds(f, name) || f.value[name.size()] == '(') continue;
      for (const PythonClass::Field& other : class_.fields)
        if (&other != &f && holds(other, name))
          for (const Method& m : class_.methods)
            for (size_t i = 0; i < m.lines.size(); ++i)
              if (changesIn(m, i, f.name)) return problem(m.lines[i], kOneArray);
    }
    return std::nullopt;
  }
  /// How many dims a field has that starts as `np.zeros((5, 2))`.
  void noteDims(std::string_view field, std::string_view value) {
    constexpr auto kMakers = std::to_array<std::string_view>({"np.zeros(", "np.ones(", "torch.zeros(", "torch.ones("});
    const auto maker = std::ranges::find_if(kMakers, [&](std::string_view m) { return value.starts_with(m); });
    size_t n = 0;
    if (maker != kMakers.end() && value.ends_with(')')) {
      std::string_view shape = value.substr(maker->size(), value.size() - 1 - maker->size());
      shape = listed(shape).empty() ? "" : listed(shape)[0];
      const bool several = shape.starts_with('(') || shape.starts_with('[');
      n = several ? listed(shape.substr(1, shape.size() - 2)).size() : maker->starts_with("np.") ? 1 : 0;
    }
    const auto known = dims_.find(field);
    if (known == dims_.end()) dims_.emplace(field, n);
    if (known != dims_.end() && known->second != n) known->second = 0;
  }

  /// A value without the elements that it reads of fields, which are numbers: `self.q[s, a]` of `np.zeros((5, 2))`.
  std::string withoutElements(std::string_view value) const {
    std::string text(value);
    for (const auto& [field, dims] : dims_) {
      const std::string read = "self." + field + "[";
      for (size_t at = text.find(read); at != text.npos; at = text.find(read, at)) {
        const size_t open = at + read.size() - 1;
        size_t close = open;
        for (int depth = 0; close < text.size(); ++close) {
          depth += openBrackets(std::string_view(text).substr(close, 1));
          if (depth == 0) break;
        }
        const std::string index = text.substr(open + 1, close - open - 1);
        const bool element =
            listed(index).size() == dims && index.find(':') == index.npos && index.find("...") == index.npos;
        if (element) text.replace(at, close + 1 - at, "0");
        at += element ? 1 : read.size();
      }
    }
    return text;
  }
  /// Whether a value is an array of its own as a whole.
  static bool isCopy(std::string_view value) {
    return (value.ends_with(".copy()") || value.ends_with(".clone()")) && !mentions(value, "if") &&
           listed(value).size() == 1;
  }
  /// Whether a field is changed where it is while a method has another name for it, or for a part.
  std::optional<ClassProblem> renamed(const Method& m) const {
    for (size_t i = 0; i < m.lines.size(); ++i) {
      const std::string_view s = statementOf(m.lines[i].statement);
      const size_t equals = assignmentIn(s);
      const std::string_view name = wordAt(s);
      if (equals == s.npos || trimmed(s.substr(0, equals)) != name) continue;
      const std::string value = withoutElements(trimmed(s.substr(equals + 1)));
      if (isCopy(value)) continue;
      for (const std::string& field : changedInPlace_) {
        if (holdersIn(value, "self." + field) == 0) continue;
        bool changed = false;
        for (size_t k = i + 1; k < m.lines.size(); ++k) {
          const Line& l = m.lines[k];
          const bool inLoop = l.indent.size() > m.lines[i].indent.size();
          changed = changed || (inLoop && changesIn(m, k, field));
          if (changed && mentions(l.statement, name) && !changesIn(m, k, field)) return problem(m.lines[i], kOneArray);
          changed = changed || changesIn(m, k, field);
        }
      }
    }
    return std::nullopt;
  }
  static bool changesIn(const Method& m, size_t line, std::string_view field) {
    const std::string& s = m.lines[line].statement;
    return fieldSet(s) == field && !wholeAssigned(s);
  }

  /// Whether a method binds a field to an array that has another name, and one of both is changed.
  std::string_view shared(const Method& m, const Line& l) const {
    const auto set = wholeAssigned(l.statement);
    if (!set || isCopy(set->value)) return "";
    for (size_t at = 0; at < set->value.size(); ++at) {
      const std::string_view name = wordAt(set->value.substr(at));
      if (name.empty()) continue;
      const bool isField = at >= 5 && set->value.substr(at - 5, 5) == "self.";
      const bool isMember = at > 0 && set->value[at - 1] == '.' && !isField;
      const std::string_view behind = set->value.substr(at + name.size());
      const bool isNamed = behind.starts_with('=') && !behind.starts_with("==");
      const bool isLibrary = !isField && behind.starts_with('.') && isOfLibrary(name);
      const std::string read = isField ? "self." + std::string(name) : std::string(name);
      at += name.size();
      if (isMember || isNamed || isLibrary || isNumeral(name) || name == "self" || isNumber(m, name)) continue;
      if (isField && (name == set->field || isCalled(set->value, at))) continue;
      if (holdersIn(set->value, read) == 0) continue;
      const bool changed = changedInPlace_.contains(set->field) || (isField && changedInPlace_.contains(name)) ||
                           (!isField && changesName(m, name));
      if (changed) return kOneArray;
    }
    return "";
  }
  static bool isCalled(std::string_view text, size_t end) { return text.substr(end).starts_with('('); }
  /// Whether a name of a method is a number for certain: a part of a shape, a length, a number as it is written.
  static bool isNumber(const Method& m, std::string_view name) {
    for (const std::string_view p : listed(m.parameters))
      if (wordAt(p) == name) return p.find('=') != p.npos && isNumeral(trimmed(p.substr(p.find('=') + 1)));
    bool found = false;
    for (const Line& l : m.lines) {
      const size_t equals = assignmentIn(l.statement);
      const bool field = trimmed(l.statement).starts_with("self.");  // has a value of its own
      if (equals == std::string::npos || field || !mentions(std::string_view(l.statement).substr(0, equals), name))
        continue;
      const std::string_view value = trimmed(std::string_view(l.statement).substr(equals + 1));
      found = isNumeral(value) || value.ends_with(".shape") || value.find(".shape[") != value.npos ||
              ((value.starts_with("len(") || value.starts_with("int(")) && value.ends_with(')'));
      if (!found) return false;
    }
    return found;
  }
  /// Whether a method changes an array of its own where it is.
  static bool changesName(const Method& m, std::string_view name) {
    return std::ranges::any_of(m.lines, [&](const Line& l) {
      const std::string_view s = statementOf(l.statement);
      const size_t equals = assignmentIn(s);
      return equals != s.npos && wordAt(s) == name && trimmed(s.substr(0, equals)) != name;
    });
  }

  /// Fields whose names are words of the language.
  void rename() {
    const auto words = keywords();
    for (PythonClass::Field& f : class_.fields) {
      if (std::ranges::find(words, f.name) == words.end()) continue;
      for (Method& m : class_.methods)
        for (Line& l : m.lines) replaceWord(l.statement, "self." + f.name, "self." + f.name + "_");
      for (std::string& name : class_.unfilled)
        if (name == f.name) name += '_';
      f.name += '_';
    }
  }

  /// Methods that call what changes the object change it, too. Whether there is one more.
  bool passOn() {
    bool more = false;
    for (Method& m : class_.methods) {
      const bool changed = m.changes, filled = m.fills;
      for (const Line& l : m.lines) {
        const Method* called = class_.changing(calledIn(l.statement));
        m.changes = m.changes || called;
        const bool outermost = l.indent == m.lines[0].indent;
        m.fills = m.fills || (outermost && ((called && called->fills) || isFill(l, l.indent, {})));
      }
      more = more || changed != m.changes || filled != m.fills;
    }
    return more;
  }
  /// The method that a line calls of its own object, which changes it; empty for none.
  std::string_view calledIn(std::string_view line) const {
    for (size_t at = line.find("self."); at != line.npos; at = line.find("self.", at + 1)) {
      const std::string_view name = wordAt(line.substr(at + 5));
      if (isCalled(line, at + 5 + name.size()) && class_.changing(name)) return name;
    }
    return "";
  }

  /// What a method gives.
  std::optional<ClassProblem> result(Method& m) {
    const Line* last = nullptr;  // statement at its outermost level
    bool givesNothing = false;
    size_t gives = 0;
    for (size_t i = 0; i < m.lines.size(); ++i) {
      const Line& l = m.lines[i];
      if (l.goesOn || l.statement.empty() || l.statement.starts_with('#')) continue;
      if (l.indent == m.lines[0].indent) last = &l;
      const std::string_view s = statementOf(l.statement);
      if (m.changes && mentions(l.statement, "yield")) return problem(l, kGivesSometimes);
      if (wordAt(s) != "return") continue;
      const std::string whole = wholeOf(m, i);
      const std::string_view value = trimmed(std::string_view(whole).substr(whole.find("return") + 6));
      if (!m.changes || value != "self")
        for (const std::string& field : changedInPlace_)
          if (holdersIn(withoutElements(value), "self." + field) > 0) return problem(l, kGivesArray);
      const size_t n = value.empty() || value == "None" ? 0 : valuesIn(value).size();
      givesNothing = givesNothing || n == 0;
      m.givesSelf = m.givesSelf || value == "self";
      if (m.changes && n > 0 && gives > 0 && gives != n) return problem(l, kGivesSometimes);
      gives = std::max(gives, n);
    }
    const bool ends = last && wordAt(last->statement) == "return";
    if (m.changes && gives > 0 && (givesNothing || !ends)) return problem(*last, kGivesSometimes);
    if (m.changes && m.givesSelf && gives != 1) return problem(*last, kGivesSometimes);
    m.values = m.givesSelf ? 0 : gives;
    class_.handsOnSelf = class_.handsOnSelf || (m.givesSelf && !m.changes);
    return std::nullopt;
  }
  /// The values of `return a, b`, or of `return (a, b)`.
  static std::vector<std::string_view> valuesIn(std::string_view value) {
    if (value.starts_with('(') && openBrackets(value.substr(0, value.size() - 1)) == 1) {
      size_t close = 0;
      for (int depth = 0; close < value.size(); ++close) {
        depth += openBrackets(value.substr(close, 1));
        if (depth == 0) break;
      }
      if (const auto inner = listed(value.substr(1, value.size() - 2)); close + 1 == value.size() && inner.size() > 1)
        return inner;
    }
    return listed(value);
  }
  /// A statement with the lines on which it goes on.
  static std::string wholeOf(const Method& m, size_t i) {
    std::string s = m.lines[i].statement;
    for (++i; i < m.lines.size() && m.lines[i].goesOn; ++i) s += " " + m.lines[i].statement;
    return s;
  }

  /// Numbers that shapes and slices of methods use, as dims of the type.
  void sizes() {
    std::vector<PythonClass::Field> kept;
    for (PythonClass::Field& f : class_.fields) {
      const std::string read = "self." + f.name;
      const bool isParameter = wordAt(f.value) == f.value && !defaultOf(class_, f.value).empty();
      const bool isCount = isNumeral(f.value) || isParameter || isNumberParameter(class_, text_, f.value);
      const std::string_view written = isParameter ? defaultOf(class_, f.value) : f.value;
      const bool isInteger = written.find_first_of(".eE-") == written.npos || !isNumeral(written);
      bool isSet = false, isStatic = false;
      for (const Method& m : class_.methods)
        for (const Line& l : m.lines) {
          isSet = isSet || fieldSet(l.statement) == f.name;
          isStatic = isStatic || isStaticUse(l.statement, read);
        }
      isSet = isSet || isSetOutside(f.name);
      if (f.type.empty() && isCount && isInteger && isStatic && !isSet && f.value != "()") {
        class_.sizes.push_back({f.name, f.value});
        replaceParameter(f.value);
        if (!mentions(text_.substr(class_.end), f.name)) continue;
      }
      kept.push_back(std::move(f));
    }
    if (!kept.empty()) class_.fields = std::move(kept);
  }
  bool isSetOutside(const std::string& field) const {
    const auto sets = [&](std::string_view part) {
      for (size_t at = 0; at < part.size(); at = std::min(part.find('\n', at), part.size()) + 1) {
        const std::string_view line = part.substr(at, part.find('\n', at) - at);
        const size_t equals = assignmentIn(line);
        if (equals != line.npos && line.substr(0, equals).find("." + field) != line.npos) return true;
      }
      return false;
    };
    return sets(text_.substr(0, class_.begin)) || sets(text_.substr(class_.end));
  }
  void replaceParameter(const std::string& name) {
    if (isNumeral(name) || mentions(class_.made, "static " + name)) return;
    replaceWord(class_.made, name, "static " + name);
  }
  /// Whether a slice or a shape reads it.
  static bool isStaticUse(std::string_view line, std::string_view read) {
    constexpr auto kShapes = std::to_array<std::string_view>(
        {"arange", "empty", "eye", "full", "linspace", "one_hot", "ones", "rand", "randn", "reshape", "tile", "zeros"});
    for (size_t at = line.find(read); at != line.npos; at = line.find(read, at + 1)) {
      const size_t end = at + read.size();
      if (end < line.size() && isWordPart(line[end])) continue;
      int depth = 0;
      for (size_t i = at; i > 0;) {
        const char c = line[--i];
        depth += c == ')' || c == ']' ? 1 : 0;
        if (c != '(' && c != '[') {
          if (c == ':' && depth == 0 && line.substr(0, i).rfind('[') != line.npos) return true;
          continue;
        }
        if (depth-- > 0) continue;
        depth = 0;
        if (c == '[' && trimmed(line.substr(end)).starts_with(':')) return true;
        size_t begin = i;
        while (begin > 0 && isWordPart(line[begin - 1])) --begin;
        if (std::ranges::find(kShapes, line.substr(begin, i - begin)) != kShapes.end()) return true;
      }
    }
    return false;
  }

  /// The statements of a method that changes its object, so that it gives the changed one.
  std::optional<ClassProblem> change(Method& m) {
    if (!m.changes) return std::nullopt;
    const std::string first = m.lines[0].indent;
    std::vector<Line> lines;
    std::set<std::string, std::less<>> filled;
    bool isVariable = false;
    const auto varied = [&] {
      if (!isVariable) lines.insert(lines.begin(), {first, "var self = self", ""});
      isVariable = true;
    };
    for (size_t i = 0; i < m.lines.size(); ++i) {
      Line l = m.lines[i];
      const std::string_view s = statementOf(l.statement);
      const auto whole = wholeAssigned(l.statement);
      const bool fills = whole && l.indent == first && s == l.statement && !filled.contains(whole->field) &&
                         std::ranges::find(class_.unfilled, whole->field) != class_.unfilled.end();
      if (fills) {
        std::vector<std::pair<std::string, std::string>> values;
        do {
          const std::string statement = wholeOf(m, i);
          const auto set = wholeAssigned(statement);
          if (!values.empty() && mentions(set->value, "self")) break;
          values.emplace_back(set->field, set->value);
          filled.emplace(set->field);
          if (!m.lines[i].behind.empty() && i + 1 < m.lines.size() && !m.lines[i + 1].goesOn)
            lines.push_back({first, std::string(trimmed(m.lines[i].behind)), ""});
          while (i + 1 < m.lines.size() && m.lines[i + 1].goesOn) ++i;
          ++i;
        } while (i < m.lines.size() && isFill(m.lines[i], first, filled));
        --i;
        lines.push_back({first, "var self = " + withFields(values), ""});
        isVariable = true;
        continue;
      }
      if (setsField(l.statement)) varied();
      if (const std::string_view called = l.goesOn ? "" : calledIn(l.statement); !called.empty()) {
        const auto handed = handedOn(l.statement, called);
        if (!handed) return problem(l, kCallsInside);
        const bool anew = class_.changing(called)->fills && l.indent == first && s == l.statement;
        if (!anew) varied();
        isVariable = true;
        l.statement = anew ? "var " + parenthesized(*handed) : *handed;
      } else if (!calledIn(l.statement).empty()) {
        return problem(l, kCallsInside);
      }
      if (!l.goesOn && wordAt(s) == "return") {
        const std::string statement = wholeOf(m, i);
        const size_t at = statement.size() - statementOf(statement).size();
        const std::string_view value = trimmed(std::string_view(statement).substr(at + 6));
        std::string given = "self";
        if (m.values > 0)
          for (const std::string_view v : valuesIn(value)) given += ", " + std::string(v);
        l.statement = statement.substr(0, at) + "return " + (m.values > 0 ? "(" + given + ")" : given);
        while (i + 1 < m.lines.size() && m.lines[i + 1].goesOn) ++i;
        const bool isEnd = m.values == 0 && l.indent == first && at == 0;
        if (isEnd) continue;
      }
      lines.push_back(std::move(l));
    }
    if (m.values == 0) lines.push_back({first, "self", ""});
    m.lines = std::move(lines);
    return std::nullopt;
  }
  bool isFill(const Line& l, std::string_view first, const std::set<std::string, std::less<>>& filled) const {
    const auto whole = wholeAssigned(l.statement);
    return whole && l.indent == first && statementOf(l.statement) == l.statement && !filled.contains(whole->field) &&
           std::ranges::find(class_.unfilled, whole->field) != class_.unfilled.end();
  }
  /// The object with some fields anew.
  std::string withFields(const std::vector<std::pair<std::string, std::string>>& values) const {
    std::string dims, text;
    for (const PythonClass::Size& size : class_.sizes) dims += (dims.empty() ? "" : ", ") + ("self." + size.field);
    for (const PythonClass::Field& f : class_.fields) {
      const auto anew = std::ranges::find(values, f.name, &std::pair<std::string, std::string>::first);
      text += (text.empty() ? "" : ", ") + f.name + ": " + (anew == values.end() ? "self." + f.name : anew->second);
    }
    return std::string(class_.name) + (dims.empty() ? "" : "[" + dims + "]") + " { " + text + " }";
  }
  /// `self.step(2)` as `self = self.step(2)`, `v = self.next()` as `self, v = self.next()`.
  std::optional<std::string> handedOn(std::string_view line, std::string_view called) const {
    const std::string_view s = statementOf(line);
    const std::string head(line.substr(0, line.size() - s.size()));
    const std::string call = "self." + std::string(called) + "(";
    const Method& m = *class_.changing(called);
    const size_t equals = assignmentIn(s);
    const std::string_view value = equals == s.npos ? s : trimmed(s.substr(equals + 1));
    const std::string_view target = equals == s.npos ? "" : trimmed(s.substr(0, equals));
    size_t close = call.size() - 1;
    for (int depth = 0; close < value.size(); ++close) {
      depth += openBrackets(value.substr(close, 1));
      if (depth == 0) break;
    }
    const bool whole = value.starts_with(call) && close + 1 >= value.size() && !calledWithin(value.substr(call.size()));
    const bool fits =
        target.empty() ||
        (m.values > 0 && (m.values == 1 ? listed(target).size() == 1 : listed(target).size() == m.values));
    if (!whole || !fits || target.find_first_of("+-*/%[.") != target.npos) return std::nullopt;
    std::string taken = "self";
    if (!target.empty()) taken += ", " + std::string(target);
    if (target.empty())
      for (size_t i = 0; i < m.values; ++i) taken += ", _";
    return head + taken + " = " + std::string(value);
  }
  /// `self, v = f()` as `(self, v) = f()`.
  static std::string parenthesized(const std::string& assignment) {
    const size_t equals = assignmentIn(assignment);
    const std::string target(trimmed(std::string_view(assignment).substr(0, equals)));
    return target == "self" ? assignment : "(" + target + ") " + assignment.substr(equals);
  }
  bool calledWithin(std::string_view text) const { return !calledIn(text).empty(); }

  PythonClass& class_;
  std::string_view text_;
  std::map<std::string, size_t, std::less<>> dims_;    ///< of fields; 0 where that is not known
  std::set<std::string, std::less<>> changedInPlace_;  ///< fields, but for those that are numbers
};

}  // namespace

const PythonClass::Method* PythonClass::changing(std::string_view method) const {
  const auto found = std::ranges::find(methods, method, &Method::name);
  return found != methods.end() && found->changes ? &*found : nullptr;
}

bool PythonClass::changes() const {
  return std::ranges::any_of(methods, [](const Method& m) { return m.changes; });
}

std::optional<ClassProblem> writeMethods(PythonClass& c, std::string_view text) { return Writer(c, text).write(); }

}  // namespace tenc::syntax
