// The loader of object files: a hand-made one runs, broken ones are refused.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "runtime/cpu/LoadedCode.h"

namespace tenc::rt {
namespace {

void append(std::string& to, const auto& value) { to.append(reinterpret_cast<const char*>(&value), sizeof value); }

/// `remainder(x) = helper(x, 3.0)`, where the 3.0 is a constant of its own section.
/// `at` is where `remainder` begins in its section.
std::string objectThatCalls(const std::string& helper, uint32_t call = R_X86_64_PLT32, uint64_t at = 0) {
  const std::string code("\xF2\x0F\x10\x0D\0\0\0\0\xE9\0\0\0\0", 13);  // movsd xmm1, [rip + 3.0]; jmp helper
  const std::string names = std::string("\0remainder\0", 11) + helper + '\0';
  const double three = 3;
  std::string constants, relocations, symbols;
  append(constants, three);
  append(relocations, Elf64_Rela{4, ELF64_R_INFO(1, R_X86_64_PC32), -4});
  append(relocations, Elf64_Rela{9, ELF64_R_INFO(2, call), -4});
  append(symbols, Elf64_Sym{});
  append(symbols, Elf64_Sym{0, ELF64_ST_INFO(STB_LOCAL, STT_SECTION), 0, 2, 0, 0});
  append(symbols, Elf64_Sym{11, ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE), 0, SHN_UNDEF, 0, 0});
  append(symbols, Elf64_Sym{1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, at, code.size()});

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_type = ET_REL;
  header.e_machine = EM_X86_64;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 6;
  header.e_shoff = sizeof header;
  std::string table, content;
  auto section = [&](uint32_t type, uint64_t flags, uint32_t link, uint32_t info, const std::string& bytes) {
    const uint64_t at = sizeof header + header.e_shnum * sizeof(Elf64_Shdr) + content.size();
    append(table, Elf64_Shdr{0, type, flags, 0, at, bytes.size(), link, info, type == SHT_PROGBITS ? 16u : 1u, 0});
    content += bytes;
  };
  section(SHT_NULL, 0, 0, 0, "");
  section(SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0, 0, code);
  section(SHT_PROGBITS, SHF_ALLOC, 0, 0, constants);
  section(SHT_RELA, 0, 4, 1, relocations);
  section(SHT_SYMTAB, 0, 5, 0, symbols);
  section(SHT_STRTAB, 0, 0, 0, names);
  std::string object;
  append(object, header);
  return object + table + content;
}

TEST(LoadedCode, RunsCodeThatReadsConstantsAndCallsHelpers) {
  std::string error;
  const auto code = LoadedCode::load(objectThatCalls("fmod"), error);
  ASSERT_NE(code, nullptr) << error;
  auto* remainder = reinterpret_cast<double (*)(double)>(code->symbol("remainder"));
  ASSERT_NE(remainder, nullptr);
  EXPECT_EQ(remainder(7.5), 1.5);
  EXPECT_EQ(code->symbol("fmod"), nullptr);
}

TEST(LoadedCode, RefusesWhatItDoesNotKnow) {
  std::string error;
  EXPECT_EQ(LoadedCode::load(objectThatCalls("nobody"), error), nullptr);
  EXPECT_NE(error.find("`nobody`"), std::string::npos);
  EXPECT_EQ(LoadedCode::load(objectThatCalls("fmod", R_X86_64_TPOFF32), error), nullptr);
  EXPECT_NE(error.find("relocation"), std::string::npos);
}

TEST(LoadedCode, RefusesSymbolsOutsideOfTheirSections) {
  for (const uint64_t at : {uint64_t{14}, uint64_t{1} << 20, ~uint64_t{0}}) {
    std::string error;
    EXPECT_EQ(LoadedCode::load(objectThatCalls("fmod", R_X86_64_PLT32, at), error), nullptr) << at;
    EXPECT_EQ(error, "`remainder` is outside of its section");
  }
}

TEST(LoadedCode, RefusesWhatIsCutShort) {
  const std::string whole = objectThatCalls("fmod");
  for (size_t n = 0; n < whole.size() - 1; ++n) {
    std::string error;
    EXPECT_EQ(LoadedCode::load(std::string_view(whole).substr(0, n), error), nullptr) << n;
    EXPECT_FALSE(error.empty()) << n;
  }
}

}  // namespace
}  // namespace tenc::rt
