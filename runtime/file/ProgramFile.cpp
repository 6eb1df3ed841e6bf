#include "runtime/file/ProgramFile.h"

#include "runtime/file/Archive.h"
#include "runtime/file/Checksum.h"
#include "runtime/file/Fields.h"

namespace tenc::rt {
namespace {

// The line ends and the high bit show what was sent as text.
constexpr std::string_view kMagic("\x89TLP\r\n\x1a\n", 8);
constexpr size_t kHeaderBytes = 8 + 4 + 4 + 2 * (8 + 8);

/// One of the two parts of a file, as the header describes it.
struct Section {
  uint64_t size = 0, sum = 0;
};

Section sectionOf(std::string_view bytes) { return {bytes.size(), checksum(bytes)}; }

}  // namespace

std::string writeProgram(const abi::Program& program) {
  Writer code, plan, header;
  codeFields(code, program);
  planFields(plan, program);
  const std::string codeBytes = code.take(), planBytes = plan.take();
  const Section codeSection = sectionOf(codeBytes), planSection = sectionOf(planBytes);
  header(kProgramFileVersion, abi::kVersion, codeSection.size, codeSection.sum, planSection.size, planSection.sum);
  return std::string(kMagic) + header.take() + codeBytes + planBytes;
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
  Section code, plan;
  Reader header(bytes.substr(kMagic.size()));
  header(version, interface, code.size, code.sum, plan.size, plan.sum);
  if (version != kProgramFileVersion || interface != abi::kVersion)
    return fail("it was made by another version of tenc (format " + std::to_string(version) + "." +
                std::to_string(interface) + "; this one reads " + std::to_string(kProgramFileVersion) + "." +
                std::to_string(abi::kVersion) + "): compile the script again");
  if (code.size > payload.size() || plan.size > payload.size() - code.size) return fail("it is cut short");
  if (code.size + plan.size != payload.size()) return fail("it has bytes after its end");
  const std::string_view codeBytes = payload.substr(0, code.size), planBytes = payload.substr(code.size);
  if (code.sum != checksum(codeBytes)) return fail("it is damaged: the checksum of its machine code is wrong");
  if (plan.sum != checksum(planBytes)) return fail("it is damaged: its checksum is wrong");
  auto program = std::make_shared<abi::Program>();
  Reader first(codeBytes), second(planBytes);
  codeFields(first, *program);
  planFields(second, *program);
  for (const Reader& r : {first, second})
    if (!r.good() || !r.atEnd()) return fail("it is damaged: its parts are not where its header has them");
  if (std::string problem = problemOf(*program); !problem.empty()) return fail("it is damaged: " + problem);
  return program;
}

}  // namespace tenc::rt
