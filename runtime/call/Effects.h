// Steps that reach out of the program: text, files, random state, clocks.
#pragma once
#include <string>

#include "runtime/call/Buffers.h"
#include "runtime/call/ReadAhead.h"

namespace tenc::rt {

/// Each function is false when the call is over.
class Effects {
 public:
  Effects(const CallOptions& options, const FileAccess& files, ReadAhead& ahead, RandomState& random, Buffers& buffers,
          Ending& ending)
      : options_(options),
        files_(files),
        reader_(files),
        ahead_(ahead),
        random_(random),
        buffers_(buffers),
        ending_(ending) {}

  bool run(const abi::Print& s);
  bool run(const abi::Assert& s);
  bool run(const abi::Trap& s);
  bool run(const abi::Load& s);
  bool run(const abi::ReadAhead& s);
  bool run(const abi::EndReadAhead& s);
  bool run(const abi::Save& s);
  bool run(const abi::Seed& s);
  bool run(const abi::RngNext& s);
  bool run(const abi::Time& s);
  /// Whether no file was cut short that buffers are in, as far as they were read.
  bool filesAreWhole();

 private:
  bool loadOnHost(const FileSource& source, const abi::TensorRef& t, uint32_t site, std::string& error);
  bool takeAhead(const FileSource& source, const abi::TensorRef& t, uint32_t site);
  std::string text(const abi::Text& text);
  uint64_t number(const abi::TensorRef& t);

  const CallOptions& options_;
  const FileAccess& files_;
  FileReader reader_;
  ReadAhead& ahead_;
  RandomState& random_;
  Buffers& buffers_;
  Ending& ending_;
};

}  // namespace tenc::rt
