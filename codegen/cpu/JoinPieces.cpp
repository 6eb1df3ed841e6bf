// From pieces to one object file (System V ABI, AMD64 supplement), and pieces as bytes.
#include <elf.h>

#include <cstring>
#include <unordered_map>

#include "codegen/cpu/CodePiece.h"

namespace tenc::codegen::cpu {
namespace {

using Area = CodePiece::Area;

size_t roundUp(size_t n, size_t to) { return (n + to - 1) / to * to; }

/// Sections and symbols of the file; the first symbols are those of the two sections.
enum Section : uint16_t {
  kNull,
  kCode,
  kConstants,
  kCodeRelocations,
  kConstantRelocations,
  kSymbols,
  kStrings,
  kCount
};
constexpr uint32_t kFirstOwnSymbol = 3;

template <typename T>
void append(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

class Join {
 public:
  std::string run(std::span<const CodePiece> pieces, std::span<const std::string> names) {
    content_[kStrings] += '\0';
    append(content_[kSymbols], Elf64_Sym{});
    for (Section s : {kCode, kConstants}) symbol("", STB_LOCAL, STT_SECTION, s, 0);
    for (size_t i = 0; i < pieces.size(); ++i) add(pieces[i], names[i]);
    return file();
  }

 private:
  void add(const CodePiece& p, const std::string& name) {
    const uint64_t bases[] = {place(kCode, p.code, p.codeAlignment),
                              place(kConstants, p.constants, p.constantsAlignment)};
    symbol(name, STB_GLOBAL, STT_FUNC, kCode, bases[0] + p.entry);
    for (const CodePiece::Relocation& r : p.relocations) {
      Elf64_Rela to{};
      to.r_offset = bases[static_cast<size_t>(r.in)] + r.offset;
      to.r_addend = r.addend;
      uint32_t number = static_cast<uint32_t>(r.to) + 1;
      if (r.to == Area::Outer)
        number = outer(p.outer[r.name]);
      else
        to.r_addend += static_cast<int64_t>(bases[static_cast<size_t>(r.to)]);
      to.r_info = ELF64_R_INFO(static_cast<uint64_t>(number), r.type);
      append(content_[r.in == Area::Code ? kCodeRelocations : kConstantRelocations], to);
    }
  }

  uint64_t place(Section s, const std::string& bytes, uint64_t alignment) {
    alignments_[s] = std::max(alignments_[s], alignment);
    content_[s].resize(roundUp(content_[s].size(), alignment), s == kCode ? '\xCC' : '\0');
    const uint64_t at = content_[s].size();
    content_[s] += bytes;
    return at;
  }

  uint32_t symbol(std::string_view name, unsigned char bind, unsigned char type, uint16_t section, uint64_t value) {
    Elf64_Sym s{};
    if (!name.empty()) {
      s.st_name = static_cast<uint32_t>(content_[kStrings].size());
      content_[kStrings].append(name);
      content_[kStrings] += '\0';
    }
    s.st_info = ELF64_ST_INFO(bind, type);
    s.st_shndx = section;
    s.st_value = value;
    append(content_[kSymbols], s);
    return static_cast<uint32_t>(content_[kSymbols].size() / sizeof s - 1);
  }

  uint32_t outer(const std::string& name) {
    const auto [known, fresh] = outer_.try_emplace(name, 0);
    if (fresh) known->second = symbol(name, STB_GLOBAL, STT_NOTYPE, SHN_UNDEF, 0);
    return known->second;
  }

  std::string file() {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = header.e_version = EV_CURRENT;
    header.e_type = ET_REL;
    header.e_machine = EM_X86_64;
    header.e_ehsize = sizeof header;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = kCount;
    header.e_shoff = sizeof header;
    std::string text;
    std::string body;
    const size_t start = sizeof header + kCount * sizeof(Elf64_Shdr);
    append(text, header);
    for (uint16_t s = 0; s < kCount; ++s) {
      Elf64_Shdr section = headerOf(s);
      body.resize(roundUp(start + body.size(), section.sh_addralign) - start);
      section.sh_offset = start + body.size();
      section.sh_size = content_[s].size();
      body += content_[s];
      append(text, section);
    }
    return text + body;
  }

  Elf64_Shdr headerOf(uint16_t s) const {
    Elf64_Shdr h{};
    h.sh_addralign = alignments_[s];
    switch (s) {
      case kCode:
      case kConstants:
        h.sh_type = SHT_PROGBITS;
        h.sh_flags = s == kCode ? SHF_ALLOC | SHF_EXECINSTR : SHF_ALLOC;
        break;
      case kCodeRelocations:
      case kConstantRelocations:
        h.sh_type = SHT_RELA;
        h.sh_link = kSymbols;
        h.sh_info = s == kCodeRelocations ? kCode : kConstants;
        h.sh_entsize = sizeof(Elf64_Rela);
        break;
      case kSymbols:
        h.sh_type = SHT_SYMTAB;
        h.sh_link = kStrings;
        h.sh_info = kFirstOwnSymbol;
        h.sh_entsize = sizeof(Elf64_Sym);
        break;
      case kStrings: h.sh_type = SHT_STRTAB; break;
      default: break;
    }
    return h;
  }

  std::string content_[kCount];
  uint64_t alignments_[kCount] = {1, 16, 64, 8, 8, 8, 1};
  std::unordered_map<std::string, uint32_t> outer_;
};

}  // namespace

std::string joinPieces(std::span<const CodePiece> pieces, std::span<const std::string> names) {
  return Join().run(pieces, names);
}

void writePiece(const CodePiece& p, std::string& to) {
  auto text = [&](const std::string& s) {
    append(to, static_cast<uint64_t>(s.size()));
    to += s;
  };
  text(p.code);
  text(p.constants);
  for (uint64_t n : {p.codeAlignment, p.constantsAlignment, p.entry, uint64_t{p.relocations.size()}}) append(to, n);
  to.append(reinterpret_cast<const char*>(p.relocations.data()), p.relocations.size() * sizeof(CodePiece::Relocation));
  append(to, static_cast<uint64_t>(p.outer.size()));
  for (const std::string& name : p.outer) text(name);
}

bool readPiece(std::string_view from, CodePiece& p) {
  bool good = true;
  auto bytes = [&](void* to, uint64_t size) {
    good = good && size <= from.size();
    if (!good) return;
    if (size > 0) std::memcpy(to, from.data(), size);
    from.remove_prefix(size);
  };
  auto number = [&] {
    uint64_t n = 0;
    bytes(&n, sizeof n);
    return n;
  };
  auto text = [&](std::string& to) {
    const uint64_t size = number();
    good = good && size <= from.size();
    if (!good) return;
    to.assign(from, 0, size);
    from.remove_prefix(size);
  };
  text(p.code);
  text(p.constants);
  p.codeAlignment = number();
  p.constantsAlignment = number();
  p.entry = number();
  const uint64_t relocations = number();
  good = good && relocations <= from.size() / sizeof(CodePiece::Relocation);
  if (!good) return false;
  p.relocations.resize(relocations);
  bytes(p.relocations.data(), relocations * sizeof(CodePiece::Relocation));
  for (uint64_t n = number(); good && n > 0; --n) text(p.outer.emplace_back());
  return good && from.empty();
}

}  // namespace tenc::codegen::cpu
