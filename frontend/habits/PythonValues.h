// What the values of a script in Python's way may be, as its text tells.
#pragma once
#include <cstddef>
#include <cstdint>
#include <set>

namespace tenc::frontend {

/// A set of kinds. None at all: of what was not reached.
class PythonKinds {
 public:
  enum Kind : uint8_t {
    Int = 1,     ///< a bool, too
    Number = 2,  ///< of another type
    Array = 4,   ///< of a library, and what is computed of it
    List = 8,
    Tuple = 16,
    Other = 32,  ///< a string, an object, `None`
    Unknown = 64,
    Bool = 128  ///< beside `Int`: it may be one of Python's own bools
  };

  constexpr PythonKinds() = default;
  constexpr PythonKinds(Kind kind) : bits_(kind) {}  // NOLINT(google-explicit-constructor)

  constexpr bool none() const { return bits_ == 0; }
  constexpr bool any(PythonKinds of) const { return (bits_ & of.bits_) != 0; }
  /// The mark of a bool counts for nothing.
  constexpr bool only(PythonKinds of) const { return (bits_ & ~Bool) != 0 && (bits_ & ~Bool & ~of.bits_) == 0; }
  constexpr PythonKinds operator|(PythonKinds other) const { return PythonKinds(bits_ | other.bits_, 0); }
  constexpr PythonKinds operator&(PythonKinds other) const { return PythonKinds(bits_ & other.bits_, 0); }
  constexpr bool operator==(const PythonKinds&) const = default;

 private:
  constexpr PythonKinds(int bits, int) : bits_(static_cast<uint8_t>(bits)) {}
  uint8_t bits_ = 0;
};

constexpr PythonKinds operator|(PythonKinds::Kind a, PythonKinds::Kind b) { return PythonKinds(a) | PythonKinds(b); }

/// What a value may be, what its elements may be, and what theirs and all below; the functions that it may be.
struct PythonValue {
  PythonKinds is{}, elements{}, inner{};
  std::set<size_t> functions{};

  bool operator==(const PythonValue&) const = default;
  bool mayBe(PythonKinds kinds) const { return is.any(kinds); }
  /// Makes it what the other one may be, too; whether that is more than before.
  bool join(const PythonValue& other) {
    const PythonKinds before[] = {is, elements, inner};
    const size_t known = functions.size();
    is = is | other.is;
    elements = elements | other.elements;
    inner = inner | other.inner;
    functions.insert(other.functions.begin(), other.functions.end());
    return is != before[0] || elements != before[1] || inner != before[2] || functions.size() != known;
  }
  /// A list or tuple of such values.
  PythonValue in(PythonKinds whole) const { return {whole, is, elements | inner, functions}; }
  /// One of the elements.
  PythonValue element() const {
    PythonValue e{elements, inner, inner, functions};
    e.is = e.is | (is & (PythonKinds::Unknown | PythonKinds::Array));
    if (is.any(PythonKinds::Array)) e.is = e.is | PythonKinds::Int;  // of whole numbers
    if (is.any(PythonKinds::Other) && elements.none()) e.is = e.is | PythonKinds::Unknown;
    return e;
  }
};

inline PythonValue joined(PythonValue a, const PythonValue& b) {
  a.join(b);
  return a;
}

}  // namespace tenc::frontend
