#include "runtime/file/ProgramFile.h"

#include "runtime/file/Archive.h"
#include "runtime/file/Fields.h"

namespace tenc::rt {
namespace {

// The line ends and the high bit show what was sent as text.
constexpr std::string_view kMagic("\x89TLP\r\n\x1a\n", 8);
constexpr size_t kHeaderBytes = 8 + 4 + 4 + 8 + 8;

/// FNV-1a over words of eight bytes, mixed so that every bit counts.
uint64_t checksum(std::string_view bytes) {
  constexpr uint64_t kPrime = 0x100000001b3, kOffset = 0xcbf29ce484222325;
  uint64_t sum = kOffset ^ bytes.size();
  for (; !bytes.empty(); bytes.remove_prefix(std::min<size_t>(8, bytes.size()))) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), std::min<size_t>(8, bytes.size()));
    sum = (sum ^ word) * kPrime;
    sum ^= sum >> 29;
  }
  return sum;
}

}  // namespace

std::string writeProgram(const abi::Program& program) {
  Writer content;
  content(program);
  const std::string payload = content.take();
  Writer header;
  header(kProgramFileVersion, abi::kVersion, uint64_t{payload.size()}, checksum(payload));
  return std::string(kMagic) + header.take() + payload;
}

std::shared_ptr<const abi::Program> readProgram(std::string_view bytes, std::string& error) {
  const auto fail = [&](std::string why) {
    error = std::move(why);
    return nullptr;
  };
  if (!bytes.starts_with(kMagic)) return fail("it is not a compiled program");
  if (bytes.size() < kHeaderBytes) return fail("it is cut short");
  const std::string_view payload = bytes.substr(kHeaderBytes);
  uint32_t version = 0, interface = 0;
  uint64_t size = 0, sum = 0;
  Reader header(bytes.substr(kMagic.size()));
  header(version, interface, size, sum);
  if (version != kProgramFileVersion || interface != abi::kVersion)
    return fail("it was made by another version of tenc (format " + std::to_string(version) + "." +
                std::to_string(interface) + "; this one reads " + std::to_string(kProgramFileVersion) + "." +
                std::to_string(abi::kVersion) + "): compile the script again");
  if (size != payload.size()) return fail(size > payload.size() ? "it is cut short" : "it has bytes behind its end");
  if (sum != checksum(payload)) return fail("it is damaged: its checksum is wrong");
  auto program = std::make_shared<abi::Program>();
  Reader content(payload);
  content(*program);
  if (!content.good() || !content.atEnd()) return fail("it is damaged");
  if (std::string problem = problemOf(*program); !problem.empty()) return fail("it is damaged: " + problem);
  return program;
}

}  // namespace tenc::rt
