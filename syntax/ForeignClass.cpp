#include "syntax/ForeignClass.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <utility>
#include <vector>

#include "syntax/Familiar.h"
#include "syntax/ForeignCalls.h"
#include "syntax/Tokens.h"

namespace tenc::syntax {

namespace {

constexpr size_t kMostFields = 26;  ///< each type has a letter

bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front())) != 0) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back())) != 0) s.remove_suffix(1);
  return s;
}

std::string_view wordAt(std::string_view s) {
  size_t n = 0;
  while (n < s.size() && isWord(s[n])) ++n;
  return s.substr(0, n);
}

/// Whether a layer without weights is made, `nn.LeakyReLU(0.2)`, which is a function here.
bool isFunction(std::string_view value) {
  const size_t call = value.find('(');
  const std::string_view path = value.substr(0, call);
  const std::vector<const ForeignCall*> rows = foreignCalls(path.substr(path.rfind('.') + 1));
  return call != std::string_view::npos && std::ranges::any_of(rows, [](const ForeignCall* row) {
           return row->form == ForeignCall::Form::Layer && row->text.starts_with('|');
         });
}

bool mentions(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !isWord(text[at - 1])) && (end == text.size() || !isWord(text[end]))) return true;
  }
  return false;
}

/// The parts between commas that stand in no brackets.
std::vector<std::string_view> parts(std::string_view list) {
  std::vector<std::string_view> found;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= list.size(); ++i) {
    if (i == list.size() || (list[i] == ',' && depth == 0)) {
      if (const auto part = trimmed(list.substr(begin, i - begin)); !part.empty()) found.push_back(part);
      begin = i + 1;
    } else {
      depth += std::string_view("([{").find(list[i]) != std::string_view::npos ? 1 : 0;
      depth -= std::string_view(")]}").find(list[i]) != std::string_view::npos ? 1 : 0;
    }
  }
  return found;
}

struct Line {
  size_t begin = 0, end = 0;  ///< without the break
  size_t indent = 0;
  bool empty = true;
};

/// A number that is a dim of the type.
struct Size {
  std::string field, value;
};
struct Field {
  std::string name, value;
  std::string type{};   ///< empty where a letter stands for it
  std::string notes{};  ///< comments, each a line
};

class Reader {
 public:
  Reader(std::string_view text, size_t begin) : text_(text), begin_(begin), at_(begin) { own_ = columnOf(begin); }

  ClassAsStruct read() {
    const bool known =
        header() && members() && !fields_.empty() && fields_.size() <= kMostFields && !isChangedElsewhere();
    if (!known) return {0, 0, "", changesItself()};
    return {decorated_, last_, written(), !changing_.empty()};
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
      if (s.starts_with('#') || (!network_ && typedField(s))) continue;
      if (!s.starts_with("def ") || !method(*line)) return false;
    }
    return true;
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
    made_ +=
        (made_.empty() ? "" : ", ") + name + ": " + std::string(known->second) + (value.empty() ? "" : " = " + value);
    fields_.push_back({name, name, std::string(known->second), takeNotes("    ")});
    return true;
  }
  static constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {"float", "f32"}, {"int", "i64"}, {"bool", "bool"}};

  size_t columnOf(size_t at) const { return at - (text_.substr(0, at).rfind('\n') + 1); }  // npos + 1: the first line
  /// Without a comment behind it.
  std::string_view content(const Line& l) const {
    const std::string_view s = text_.substr(l.begin, l.end - l.begin);
    char quote = 0;
    for (size_t i = 0; i < s.size(); ++i) {
      if (quote != 0) {
        if (s[i] == quote) quote = 0;
      } else if (s[i] == '"' || s[i] == '\'') {
        quote = s[i];
      } else if (s[i] == '#' && !trimmed(s.substr(0, i)).empty()) {
        return trimmed(s.substr(0, i));
      }
    }
    return trimmed(s);
  }

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
    last_ = line->end;
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
    name_ = wordAt(s);
    s = trimmed(s.substr(name_.size()));
    network_ = s.starts_with('(') && s.ends_with("Module):");
    decorated_ = at_;
    if (at_ > own_ + 1) {
      const size_t before = text_.rfind('\n', at_ - own_ - 2) + 1;  // npos + 1: the first line
      const std::string_view mark = trimmed(text_.substr(before, at_ - own_ - 1 - before));
      if (mark.starts_with("@dataclass") || mark.starts_with("@dataclasses.dataclass")) decorated_ = before + own_;
    }
    at_ = end + 1;
    return !name_.empty() && (network_ || s == ":" || s == "():" || s == "(object):");
  }

  /// Whether a line sets a field: `self.n += 1`, `self.x[i] = y`.
  static bool setsField(std::string_view line) {
    if (!line.starts_with("self.")) return false;
    line = line.substr(5);
    line = trimmed(line.substr(wordAt(line).size()));
    if (line.starts_with('[') && line.find(']') != line.npos) line = trimmed(line.substr(line.find(']') + 1));
    if (!line.empty() && std::string_view("+-*/").find(line[0]) != line.npos)
      line.remove_prefix(line.starts_with("//") ? 2 : 1);
    return line.starts_with('=') && !line.starts_with("==");
  }
  /// Whether a method sets fields, in what is not known as a whole.
  bool changesItself() {
    bool inside = false;
    for (size_t at = text_.find('\n', begin_); at != text_.npos; at = text_.find('\n', at + 1)) {
      const Line l{at + 1, std::min(text_.find('\n', at + 1), text_.size())};
      const std::string_view s = text_.substr(l.begin, l.end - l.begin);
      if (!trimmed(s).empty() && s.find_first_not_of(" \t") <= own_) break;
      if (content(l).starts_with("def ")) inside = !content(l).starts_with("def __init__");
      if (inside && setsField(content(l))) return true;
    }
    return false;
  }
  /// The whole words of that name outside of the class, of strings and of comments.
  std::vector<size_t> places(std::string_view name) const {
    std::vector<size_t> found;
    for (const TextToken& t : tokens_) {
      const bool is = t.kind == TextToken::Kind::Name && text_.substr(t.begin, t.end - t.begin) == name;
      if (is && (t.begin < decorated_ || t.begin >= last_)) found.push_back(t.begin);
    }
    return found;
  }
  size_t lineBegin(size_t at) const { return text_.substr(0, at).rfind('\n') + 1; }  // npos + 1: the first line
  /// What stands on the line before a place, and from it on, without the comment.
  std::string_view before(size_t at) const { return trimmed(text_.substr(lineBegin(at), at - lineBegin(at))); }
  std::string_view onwards(size_t at) const { return content({at, std::min(text_.find('\n', at), text_.size())}); }
  /// The name alone that `Class(...)` is given to; empty where it is not the whole of one assignment.
  std::string_view objectMade(size_t at) const {
    std::string_view target = before(at);
    if (!target.ends_with('=')) return "";
    target = trimmed(target.substr(0, target.size() - 1));
    for (const std::string_view word : {"let ", "var "})
      if (target.starts_with(word)) target = trimmed(target.substr(4));
    size_t close = at + name_.size();
    for (int depth = 0; close < text_.size(); ++close) {
      depth += text_[close] == '(' ? 1 : text_[close] == ')' ? -1 : 0;
      if (depth <= 0) break;
    }
    const bool whole = close < text_.size() && text_[close] == ')' && trimmed(onwards(close)) == ")";
    return whole && !target.empty() && wordAt(target) == target ? target : "";
  }
  /// Whether an object of the class may have two names, or be held by something else: a change is seen through both.
  bool isShared() const {
    std::vector<std::string_view> objects;
    for (const size_t at : places(name_)) {
      const std::string_view object = objectMade(at);
      if (object.empty()) return true;
      objects.push_back(object);
    }
    return std::ranges::any_of(objects, [&](std::string_view object) {
      return std::ranges::any_of(places(object), [&](size_t at) { return !isOwnUse(at, object); });
    });
  }
  /// Whether the name of an object is given it there, or read for a field or a call that is a statement.
  bool isOwnUse(size_t at, std::string_view object) const {
    const std::string_view line = onwards(at), left = before(at);
    if (left.ends_with('.')) return true;  // a member of something else
    const std::string_view rest = trimmed(line.substr(object.size()));
    if (rest.starts_with('=') && !rest.starts_with("==")) {
      const size_t value = static_cast<size_t>(trimmed(rest.substr(1)).data() - text_.data());
      return text_.substr(value).starts_with(name_) && objectMade(value) == object;
    }
    if (!rest.starts_with('.')) return false;
    const std::string_view member = wordAt(rest.substr(1)), behind = rest.substr(1 + member.size());
    const auto changes = [&](const std::string& method) { return method == member; };
    if (std::ranges::none_of(changing_, changes)) return true;
    return behind.starts_with('(') && (left.empty() || left.ends_with(':') || left.ends_with(';'));
  }
  /// Whether a field is set outside of the class.
  bool isSetElsewhere() const {
    return std::ranges::any_of(fields_, [&](const Field& f) {
      return std::ranges::any_of(places(f.name), [&](size_t at) {
        return before(at).ends_with('.') && setsField("self." + std::string(onwards(at)));
      });
    });
  }

  /// Whether a function outside of the class calls what changes an object: it would keep the change to itself.
  bool isChangedElsewhere() {
    if (!network_) tokens_ = tokens(text_);
    if (!network_ && (!changing_.empty() || isSetElsewhere()) && (handsOnSelf_ || isShared())) return true;
    for (const std::string& method : changing_) {
      const std::string call = "." + method + "(";
      for (const Method& m : methods_)
        if (m.body.find("self" + call) != std::string::npos) return true;
      bool inFunction = false;
      for (size_t at = 0; at < text_.size(); at = std::min(text_.find('\n', at), text_.size()) + 1) {
        const std::string_view line = text_.substr(at, text_.find('\n', at) - at);
        if (at >= decorated_ && at < last_) continue;
        const bool outermost = !line.empty() && line[0] != ' ' && line[0] != '\t' && line[0] != '}';
        if (outermost) inFunction = line.starts_with("def ") || line.starts_with("fn ") || line.starts_with("class ");
        if (inFunction && line.find(call) != line.npos) return true;
      }
    }
    return false;
  }

  /// Whether the object itself is named, and not a member.
  static bool namesSelfAlone(std::string_view line) {
    for (size_t at = line.find("self"); at != line.npos; at = line.find("self", at + 1)) {
      const size_t end = at + 4;
      const bool whole = (at == 0 || !isWord(line[at - 1])) && (end == line.size() || !isWord(line[end]));
      if (whole && (end == line.size() || line[end] != '.')) return true;
    }
    return false;
  }

  /// The parameters behind `self`, without types; nothing where there is no `self`.
  static std::optional<std::string> parameters(std::string_view list, bool areStatic) {
    const std::vector<std::string_view> all = parts(list);
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
    const auto taken = parameters(list, makes && network_);
    if (!taken || (!makes && name.starts_with("__") && name != "__call__")) return false;
    if (makes) {
      made_ = *taken;
      return constructor(line.indent);
    }
    std::string text, first;
    const std::string notes = takeNotes("");
    bool changes = false, gives = false;
    while (const auto body = peek()) {
      if (body->indent <= line.indent) break;
      next();
      const size_t from = body->begin + std::min(body->indent, line.indent - own_);
      if (text.empty()) first = std::string(text_.substr(from, body->begin + body->indent - from));
      text += "\n" + std::string(text_.substr(from, body->end - from));
      changes = changes || setsField(content(*body));
      handsOnSelf_ = handsOnSelf_ || namesSelfAlone(content(*body));
      gives = gives || mentions(content(*body), "return") || mentions(content(*body), "yield");
    }
    notes_.clear();  // they stand in the text
    if (changes && (network_ || gives)) return false;
    if (changes) {
      text = "\n" + first + "var self = self" + text + "\n" + first + "self";
      changing_.push_back(std::string(name));
    }
    methods_.push_back(
        {(name == "forward" && network_) || name == "__call__" ? "call" : std::string(name), *taken, text, notes});
    return !text.empty();
  }

  bool constructor(size_t indent) {
    while (const auto line = peek()) {
      if (line->indent <= indent) break;
      const std::string s = logical(*next());
      if (s.starts_with("super(") || s.starts_with('#')) continue;
      if (s.starts_with("if ") && s.back() == ':') {
        if (!chosen(s.substr(3, s.size() - 4), line->indent)) return false;
        continue;
      }
      const auto set = assigned(s);
      if (!set) return false;
      if (!network_ && !isValue(set->value)) return false;
      if (network_ && namesNoSize(set->value)) return false;
      if (network_ && isSize(set->value))
        sizes_.push_back({set->name, set->value});
      else
        fields_.push_back({set->name, set->value, "", takeNotes("    ")});
    }
    return !network_ || std::all_of(fields_.begin(), fields_.end(), [](const Field& f) {
      return f.value.ends_with(')') || f.value.starts_with("if ");
    });
  }
  /// What a field may hold: no text, and nothing that grows or has no value.
  static bool isValue(std::string_view value) {
    return !value.empty() && value != "None" && std::string_view("[{\"'").find(value[0]) == value.npos;
  }

  /// The field and the value of `self.f = v`; nothing for another statement.
  std::optional<Field> assigned(const std::string& s) const {
    if (!s.starts_with("self.")) return std::nullopt;
    const std::string field(wordAt(std::string_view(s).substr(5)));
    const std::string_view rest = trimmed(std::string_view(s).substr(5 + field.size()));
    if (field.empty() || !rest.starts_with('=') || rest.starts_with("==")) return std::nullopt;
    std::string value(trimmed(rest.substr(1)));
    for (const Size& size : sizes_) replace(value, "self." + size.field, "(" + size.value + ")");
    if (mentions(value, "self")) return std::nullopt;
    return Field{field, value};
  }

  /// The fields of a branch, by name.
  std::optional<std::vector<Field>> branch(size_t indent) {
    std::vector<Field> set;
    while (const auto line = peek()) {
      if (line->indent <= indent) break;
      const auto field = assigned(logical(*next()));
      if (!field || isSize(field->value)) return std::nullopt;
      set.push_back(*field);
    }
    return set;
  }

  /// `if c:` with fields in its branches: each is what the condition chooses.
  bool chosen(std::string condition, size_t indent) {
    for (const Size& size : sizes_) replace(condition, "self." + size.field, "(" + size.value + ")");
    const auto then = branch(indent);
    std::optional<std::vector<Field>> otherwise = std::vector<Field>();
    if (const auto line = peek(); line && line->indent == indent && content(*line) == "else:") {
      next();
      otherwise = branch(indent);
    }
    if (!then || !otherwise || mentions(condition, "self")) return false;
    const auto named = [](std::vector<Field>& list, const std::string& name) {
      return std::find_if(list.begin(), list.end(), [&](const Field& f) { return f.name == name; });
    };
    for (const Field& f : *otherwise) {
      const auto before = named(fields_, f.name);
      if (before != fields_.end()) fields_.erase(before);
      fields_.push_back(f);
    }
    for (const Field& f : *then) {
      const auto before = named(fields_, f.name);
      if (before == fields_.end()) return false;
      before->value = "if " + condition + " { " + f.value + " } else { " + before->value + " }";
    }
    // What the other branch alone sets has no value in this one.
    return std::all_of(otherwise->begin(), otherwise->end(), [&](const Field& f) {
      return std::any_of(then->begin(), then->end(), [&](const Field& t) { return t.name == f.name; });
    });
  }

  /// `n_heads`, `d_model // n_heads`: a number that is known where the network is made, a dim of its type.
  static bool isSize(std::string_view value) {
    const auto fits = [](char c) { return isWord(c) || std::string_view(" +-*/()").find(c) != std::string_view::npos; };
    const size_t bracket = value.find('(');
    const bool calls = bracket != std::string_view::npos && bracket > 0 && isWord(value[bracket - 1]);
    return !calls && value != "True" && value != "False" && value != "None" &&
           std::all_of(value.begin(), value.end(), fits);
  }
  /// Whether the value is a parameter alone whose default is no integer: it is neither a dim nor a layer.
  bool namesNoSize(std::string_view value) const {
    const std::vector<std::string_view> all = parts(made_);
    return std::any_of(all.begin(), all.end(), [&](std::string_view p) {
      const size_t equals = p.find('=');
      if (equals == std::string_view::npos || trimmed(p.substr(p.find(' '), equals - p.find(' '))) != value)
        return false;
      const std::string_view otherwise = trimmed(p.substr(equals + 1));
      return !std::all_of(otherwise.begin(), otherwise.end(),
                          [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
    });
  }
  static void replace(std::string& text, const std::string& word, const std::string& by) {
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
      const size_t end = at + word.size();
      const bool whole = (at == 0 || !isWord(text[at - 1])) && (end == text.size() || !isWord(text[end]));
      if (whole) text.replace(at, word.size(), by);
      at += whole ? by.size() : word.size();
    }
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
    for (const Size& size : sizes_) list += (list.empty() ? "" : ", ") + dimOf(size.field);
    return list.empty() ? "" : "[" + list + "]";
  }

  std::string written() {
    std::string types, values, declared, built;
    for (const Size& size : sizes_) {
      types += dimOf(size.field) + ", ";
      values += (values.empty() ? "" : ", ") + size.value;
    }
    for (size_t i = 0; i < fields_.size(); ++i) {
      const Field& f = fields_[i];
      const std::string comma = i == 0 ? "" : ", ";
      std::string type = f.type;
      if (type.empty()) {
        type = std::string(1, static_cast<char>('A' + i));
        types +=
            (types.empty() || types.ends_with(", ") ? "" : ", ") + type + (isFunction(f.value) ? ": fn" : ": tree");
      }
      declared += comma + f.name + ": " + type;
      built += f.notes + "    " + f.name + ": " + f.value + ",\n";
    }
    std::string maker = snakeCase(name_);
    if (mentions(text_, maker) || isTaken(maker)) maker = "new_" + maker;
    const std::string name(name_);
    if (!types.empty()) types = "[" + types + "]";
    return "struct " + name + types + " { " + declared + " }\n\nfn " + maker + "(" + made_ + ") = " + name +
           (values.empty() ? "" : "[" + values + "]") + " {\n" + built + takeNotes("    ") + "}" + methods();
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
    return std::ranges::any_of(
        std::initializer_list<std::span<const ForeignCall>>{foreignNumberCalls(), foreignTensorCalls(),
                                                            foreignLayerCalls(), foreignOptionCalls()},
        [&](std::span<const ForeignCall> rows) { return std::ranges::any_of(rows, writes); });
  }

  std::string methods() const {
    std::string all;
    for (const Method& m : methods_) {
      std::string body = m.body;
      for (const Size& size : sizes_) replace(body, "self." + size.field, dimOf(size.field));
      all += "\n\n" + m.notes + "fn " + m.name + dims() + "(self: " + std::string(name_) + dims() +
             (m.parameters.empty() ? "" : ", " + m.parameters) + ") {" + body + "\n}";
    }
    return all;
  }

  std::string_view text_, name_;
  size_t begin_ = 0, at_ = 0, own_ = 0, last_ = 0, decorated_ = 0;
  bool network_ = false;  ///< a module of PyTorch: sizes are dims of its type
  struct Method {
    std::string name, parameters, body, notes;
  };
  std::vector<Size> sizes_;
  std::vector<Field> fields_;
  std::vector<Method> methods_;
  std::vector<TextToken> tokens_;      ///< of the whole text
  bool handsOnSelf_ = false;           ///< a method gives its object to something else
  std::vector<std::string> notes_;     ///< comments that were read, and are written before what comes next
  std::vector<std::string> changing_;  ///< the names of those that give the changed object
  std::string made_;
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
