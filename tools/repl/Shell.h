// The session behind the prompt: what it keeps, and what its commands do.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/repl/KeptState.h"
#include "tools/repl/LineEditor.h"
#include "tools/repl/Names.h"
#include "tools/repl/Picture.h"
#include "tools/repl/Transcript.h"
#include "tools/repl/Why.h"
#include "tools/tenc/CommandLine.h"
#include "tools/tenc/Session.h"

namespace tenc::repl {

enum class Mode : uint8_t { Run, Type, Ir, Transfers, Memory, Why, Time, Show };

class Shell {
 public:
  Shell(tool::Session& session, const tool::CommandLine& line);
  /// Reads entries until the end; gives the exit status.
  int run();

 private:
  /// A word that begins with a colon.
  struct Command {
    std::string_view name, argument, doc;
    bool takesEntry;  ///< which may have several lines
    void (*run)(Shell& shell, const std::string& argument);
    std::string_view shortName{};
  };
  static const Command kCommands[];
  static std::vector<std::string_view> commandNames();
  static const Command* commandNamed(std::string_view name);
  /// The command that a line starts with; null for none.
  static const Command* commandOf(std::string_view line);

  // ---- reading (Repl.cpp)
  bool readEntry(std::string& entry);
  bool goesOn(const std::string& entry);
  std::string wordCommand(std::string_view text) const;
  void runEntry(const std::string& entry);
  bool isKnown(const std::string& name) const;

  // ---- running (Repl.cpp)
  void execute(std::optional<uint32_t> source, Mode mode);
  tool::Outcome compileAndRun(ast::File& entry, Mode mode);
  frontend::Lowered lower(ast::File& entry);
  tool::Outcome inspectPlaced(const frontend::Lowered& lowered, Mode mode);
  tool::Outcome runModule(std::unique_ptr<ir::Module> m, ast::File& entry,
                          const std::vector<frontend::Lowered::Kept>& kept, Mode mode);
  void keep(ast::File& entry, const std::vector<frontend::Lowered::Kept>& kept, const std::vector<KeptTensor>& results,
            KeptState::Devices devices);
  void explain(const ir::Module& m, const std::vector<frontend::Lowered::Kept>& kept);
  std::optional<uint32_t> addEntry(std::string text) {
    return session_.addText("<entry " + std::to_string(++entries_) + ">", std::move(text));
  }

  // ---- commands (Commands.cpp)
  void command(std::string_view text);
  void help() const;
  void load(const std::string& path);
  void save(const std::string& path);
  void edit(const std::string& name);
  void document(const std::string& name);
  void suggest(const std::string& name);
  void why(const std::string& name);
  void showPicture(const KeptTensor& t, const std::string& type);
  void printWhy(const std::string& what, const std::string& places, const PlaceReasons& reasons);
  void printType(const ir::Module& m, const std::vector<frontend::Lowered::Kept>& kept);
  void printTimes();
  /// Runs an entry in that mode; without one prints `last`, what the mode gave for the last that ran.
  void inspect(Mode mode, const std::string& entry, const std::string& last);
  /// Whether there is an entry behind the command; says so if not.
  bool needsEntry(std::string_view command, const std::string& entry);
  void fail(const std::string& message);

  // ---- completion (Completion.cpp)
  std::vector<std::string> complete(std::string_view typed);
  std::vector<std::string> optionsOf(std::string_view function);

  tool::Session& session_;
  tool::CommandLine line_;
  std::string typing_;  ///< the lines of the entry that is typed, above the last
  LineEditor editor_;
  KeptState state_;
  Names names_{state_, session_.sources()};
  std::string lastEntry_;  ///< of TL, for :edit
  std::string lastTransfers_, lastMemory_;
  std::map<std::string, PlaceReasons> why_, newWhy_;       // of each kept value, and of the entry that is compiled
  std::map<std::string, std::string> places_, newPlaces_;  // "gpu, which is cuda:0"
  std::string whyOf_;                                      ///< the entry behind `:why`
  std::optional<Graphics> graphics_;                       ///< of the terminal, once it was asked
  int entries_ = 0;
  Transcript ran_;  ///< entries without an error, for :save
  bool failed_ = false;
  bool isMidLine_ = false;  ///< what the entry has printed ends in the middle of a line
  bool lastOk_ = false;     ///< whether the last entry ran to its end
  bool quit_ = false;
};

}  // namespace tenc::repl
