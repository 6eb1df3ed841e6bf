// The table of foreign habits: what people write who come from NumPy, PyTorch, Python, C or Rust, and what TL has in
// its place. Errors take their helps from here; nothing is accepted that TL does not have. A test writes what every row
// is about and checks that what the row proposes parses, resolves and is no error itself.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace tenc::syntax {

/// A whole call and its text in TL: `$1` is the first operand, in parentheses where it needs them, `#1` as it is, `^1`
/// one more than it, `~1` without its ending.
struct FamiliarCall {
  enum class Form : uint8_t { Any, Method, Function };
  enum class Position : uint8_t { Expression, Statement, Range };
  size_t operands = 0;  ///< with the receiver of a method
  std::string_view pattern;
  Form form = Form::Any;
  Position position = Position::Expression;
  std::string_view example{};  ///< a script that holds the call, where one of tensors would be no example
  std::string_view last{};     ///< only where the last operand is written so
  std::string_view ending{};   ///< only where it ends so
};

/// A name, or a word that TL's grammar has no place for.
struct Familiar {
  std::string_view name;
  std::string_view replacement{};  ///< what TL has, as it is written in place of the name; empty: `help` tells
  std::string_view help{};
  std::array<FamiliarCall, 8> calls{};  ///< what whole calls become; without operands there are no more
  bool prefix = false;                  ///< a module of another library: `np.zeros`
  bool keyword = false;                 ///< the replacement is a word of the grammar
  bool refused = false;                 ///< nothing of the module has a place in TL
  bool ofBuiltin = false;               ///< what a call of it means is a built-in, not a module's function of this name
  bool layer = false;                   ///< stands in the module `nn`
  std::string_view inSubscript{};       ///< what it is between the brackets of an index
  std::string_view inAxes{};            ///< what it is among the axes of `vmap`
  std::string_view asDType{};           ///< the dtype that it means as a value, such as `dtype=float` of NumPy
  std::string_view asType{};            ///< the type that it means behind the name of a parameter
  std::string_view compared{};          ///< what a comparison with it becomes
  bool nothing = false;                 ///< a statement of it, or an option, may be left out
  std::string_view nothingAs{};         ///< an option may be left out where its value is this
  bool ofGradients = false;             ///< of a network or optimiser: it clears what `backward` adds to
  bool ofNetwork = false;               ///< as a method it is one of networks, also of those that are tuples here
  bool ofSteps = false;                 ///< of an optimiser that TL is given at each step
  std::string_view ofTree{};            ///< what is said of it as a member of a list or tuple
  std::string_view ofModule{};          ///< what is said of it as an option of a function of a module
  std::string_view example{};           ///< a script that it stands in; must be given for words
};

/// A function that TL has, called as another library has it.
struct FamiliarMisuse {
  enum class Kind : uint8_t {
    TooMany,       ///< more arguments than it takes
    UnnamedInt,    ///< an integer for an option that is given by name
    UnnamedValue,  ///< tensors for such an option
    OnlyOne,       ///< its first argument alone
    TakenApart,    ///< its result, or what it makes gives, as several values
  } kind;
  std::string_view name, help, example;
};

/// A part of what a function of PyTorch or NumPy gives, which has a name there and a place in TL's tuple.
struct FamiliarPart {
  std::string_view name;
  size_t place, parts;
};

/// Forms of syntax, each known by the parser's state where it stops (SyntaxHelp.cpp).
enum class Form : uint8_t {
  StringPrefix,
  ArrowOnNextLine,
  BraceOnNextLine,
  ResultBehindColon,
  Block,
  FunctionValue,
  Comment,
  CommentBlock,
  CommentBehind,
  SeveralModules,
  SeveralNames,
  SeveralAssigned,
  StarredName,
  PatternInBrackets,
  LetChanges,
  InclusiveRange,
  RangeStep,
  CountingLoop,
  SliceByDots,
  Comprehension,
  Dictionary,
  ValuesInBraces,
  TrailingDot,
  NewStruct,
  DimsApart,
  DimsInParentheses,
  ListWithoutLength,
  DimByColon,
  DimByCall,
  StarParameter,
  StructInCondition,
  MethodInStruct,
  FieldDefault,
  FieldEquals,
  FieldsNamed,
  LeadingMinus,
  Increment,
  LeadingOperator,
  ShiftLeft,
  ShiftRight,
  ReturnSeveral,
  NameBound,
  ArgumentEquals,
  LambdaArrow,
  Equality,
  BindEquals,
  Or,
  PipedLambda,
  LambdaValue,
  LeadingDot,
  Choice,
  AnnotationPlace,
  PrintStatement,
  Either,
  EitherCompared,
  ParameterWord,
  DeviceChoice,
  DeviceText,
  ChainedAssignment,
  TypeBehindName,
  Membership,
  FormatOutside,
  DimsOfAnyNumber,
  NamesOfModule,
  LoopElse,
};

struct FamiliarForm {
  Form form;
  std::string_view help;
  std::string_view example;  ///< a script that is wrong in this way
};

/// Of a function, a value or a member; null for a name that nobody knows.
const Familiar* familiarName(std::string_view name);
/// What whole calls of a name become.
std::span<const FamiliarCall> familiarCalls(std::string_view name);
/// Of a named argument.
const Familiar* familiarOption(std::string_view name);
/// Whether the option with that value means nothing here.
bool meansNothing(const Familiar& option, std::string_view value);
/// Of a word where the grammar has none.
const Familiar* familiarWord(std::string_view word);
/// Of a character, or two, that mean nothing in TL.
const Familiar* familiarCharacter(std::string_view text);
/// The help of a misuse; empty for none.
std::string_view familiarMisuse(std::string_view name, FamiliarMisuse::Kind kind);
std::string_view formHelp(Form form);

/// All rows, for the test.
std::span<const Familiar> familiarNames();
std::span<const Familiar> familiarOptions();
std::span<const Familiar> familiarWords();
std::span<const Familiar> familiarCharacters();
std::span<const FamiliarMisuse> familiarMisuses();
std::span<const FamiliarForm> familiarForms();
std::span<const FamiliarPart> familiarParts();

}  // namespace tenc::syntax
