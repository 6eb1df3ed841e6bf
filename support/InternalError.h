// A bug of tenc, as opposed to a mistake of its user: the one kind that every stage throws and the tool reports.
#pragma once
#include <exception>
#include <string>
#include <utility>

namespace tenc {

/// An invariant of the compiler does not hold. Whoever finds that throws it with what is wrong; the pipeline (`Session`
/// of tools/tenc) catches it at the stage that ran, and the tool writes what reproduces it. What the user's program did
/// wrong is a diagnostic instead.
class InternalError : public std::exception {
 public:
  explicit InternalError(std::string message) : message(std::move(message)) {}
  InternalError(std::string stage, std::string message, std::string lastGood = {})
      : stage(std::move(stage)), message(std::move(message)), lastGood(std::move(lastGood)) {}
  const char* what() const noexcept override { return message.c_str(); }

  std::string stage;  ///< the pass or stage; filled in by the pipeline
  std::string message;
  std::string lastGood;  ///< the module before it, as text; may be empty
};

}  // namespace tenc
