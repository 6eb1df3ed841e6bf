// The declarations of a module by their lines, found without parsing: what a script needs of the standard library is
// parsed, and the rest of it is not.
#pragma once
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tenc::syntax {

/// The words of a text: all that could be names, outside of lines that are comments.
using Words = std::set<std::string, std::less<>>;
void addWords(std::string_view text, Words& words);

/// A text whose declarations start at the first column, and whose other lines do not start with a letter, as `tenc fmt`
/// lays them out. The text must outlive it.
class Outline {
 public:
  explicit Outline(std::string_view text);

  /// Takes the declarations that `words` name, with what these name in turn, whose words are added; one that declares
  /// no name is taken at once. Of the names that an import lists it takes those that are wanted. A function whose first
  /// parameter is of a struct of this module waits until the struct is taken, as nothing else can be its argument.
  /// Returns the text with blanks for all that was taken before or is not taken now, so that places in it are those of
  /// the whole; empty when nothing is new.
  std::string take(Words& words);
  /// The functions that a `##` comment describes, alone or with those they stand among; each name once.
  std::set<std::string_view> described() const;

 private:
  struct Declaration {
    size_t begin = 0, end = 0;
    std::string_view name;                ///< empty where it declares none
    std::string_view receiver;            ///< of a function: the type of its first parameter
    std::vector<std::string_view> names;  ///< of `import m: a, b`, each taken when it is wanted
    bool isType = false;
    bool taken = false;
  };
  void read(Declaration& d) const;
  void takeNames(Declaration& d, const Words& words, std::string& part) const;
  void copy(size_t begin, size_t end, std::string& part) const;
  bool wanted(const Declaration& d, const Words& words) const;

  std::string_view text_;
  std::vector<Declaration> declarations_;
  std::map<std::string_view, size_t> types_;  ///< structs and aliases by name
};

}  // namespace tenc::syntax
