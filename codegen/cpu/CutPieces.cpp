// From an object file of many functions to pieces of one each.
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>

#include "codegen/cpu/CodePiece.h"

namespace tenc::codegen::cpu {
namespace {

size_t roundUp(size_t n, size_t to) { return (n + to - 1) / to * to; }

/// An object file of our own compiler: what it says of itself is believed.
class Object {
 public:
  explicit Object(std::string_view bytes) : bytes_(bytes) {
    const auto header = at<Elf64_Ehdr>(0);
    // Numbers of sections from SHN_LORESERVE on stand elsewhere (System V ABI, "Extended section numbering").
    const auto first = header.e_shoff != 0 ? at<Elf64_Shdr>(header.e_shoff) : Elf64_Shdr{};
    const size_t count = header.e_shnum != 0 ? header.e_shnum : first.sh_size;
    for (size_t i = 0; i < count; ++i) sections_.push_back(at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)));
    relocations_.resize(sections_.size());
    names_ = header.e_shstrndx != SHN_XINDEX ? header.e_shstrndx : first.sh_link;
    for (const Elf64_Shdr& s : sections_) {
      if (s.sh_type == SHT_SYMTAB) {
        symbols_ = list<Elf64_Sym>(s);
        strings_ = s.sh_link;
      }
      if (s.sh_type == SHT_SYMTAB_SHNDX) numbers_ = list<Elf64_Word>(s);
      if (s.sh_type == SHT_RELA) relocations_[s.sh_info] = list<Elf64_Rela>(s);
    }
  }

  /// Where a symbol is defined; SHN_UNDEF for none, and for what has no section.
  size_t sectionOf(const Elf64_Sym& s) const {
    if (s.st_shndx == SHN_XINDEX) return numbers_.at(static_cast<size_t>(&s - symbols_.data()));
    return s.st_shndx >= SHN_LORESERVE ? size_t{SHN_UNDEF} : s.st_shndx;
  }

  const Elf64_Shdr& section(size_t i) const { return sections_[i]; }
  std::string_view name(const Elf64_Shdr& s) const { return text(names_, s.sh_name); }
  std::string_view name(const Elf64_Sym& s) const { return text(strings_, s.st_name); }
  std::string_view bytes(const Elf64_Shdr& s) const { return bytes_.substr(s.sh_offset, s.sh_size); }
  const std::vector<Elf64_Sym>& symbols() const { return symbols_; }
  /// Of places in a section, in rising order.
  const std::vector<Elf64_Rela>& relocations(size_t section) const { return relocations_[section]; }

 private:
  template <typename T>
  T at(size_t offset) const {
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  template <typename T>
  std::vector<T> list(const Elf64_Shdr& s) const {
    std::vector<T> values(s.sh_size / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes_.data() + s.sh_offset, values.size() * sizeof(T));
    return values;
  }
  std::string_view text(size_t section, size_t offset) const {
    const std::string_view all = bytes(sections_[section]).substr(offset);
    return all.substr(0, all.find('\0'));
  }

  std::string_view bytes_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Sym> symbols_;
  std::vector<Elf64_Word> numbers_;  ///< of the sections of symbols, where they need more than 16 bits
  std::vector<std::vector<Elf64_Rela>> relocations_;
  size_t names_ = 0, strings_ = 0;
};

/// Part of a section that goes into a piece as a whole.
struct Chunk {
  size_t section;
  uint64_t begin, end, alignment;
};

/// The part of its section that a relocation to `symbol` means. Of sections of mergeable constants, which hold those of
/// all functions, it is one constant. Others are taken whole, as nothing says how far what the address begins reaches;
/// the compiler gives larger constants sections of their own (ConstantSections.h).
Chunk chunkOf(const Object& object, const Elf64_Sym& symbol) {
  const size_t section = object.sectionOf(symbol);
  const Elf64_Shdr& s = object.section(section);
  const Chunk whole = {section, 0, s.sh_size, std::max<uint64_t>(s.sh_addralign, 1)};
  const bool named = ELF64_ST_TYPE(symbol.st_info) != STT_SECTION;
  if ((s.sh_flags & SHF_MERGE) != 0 && s.sh_entsize > 0 && named)
    return {section, symbol.st_value, symbol.st_value + s.sh_entsize, std::max<uint64_t>(s.sh_entsize, s.sh_addralign)};
  return whole;
}

class PieceCutter {
 public:
  PieceCutter(const Object& object, const Elf64_Sym& function) : object_(object) {
    const size_t section = object.sectionOf(function);
    const Elf64_Shdr& s = object.section(section);
    const uint64_t at = place({section, 0, s.sh_size, std::max<uint64_t>(s.sh_addralign, 1)});
    piece_.entry = at + function.st_value;
    for (size_t i = 0; i < chunks_.size(); ++i) relocate(chunks_[i].first, chunks_[i].second);
  }
  CodePiece take() { return std::move(piece_); }

 private:
  static bool isCode(const Elf64_Shdr& s) { return (s.sh_flags & SHF_EXECINSTR) != 0; }

  /// Where a chunk stands in its area of the piece.
  uint64_t place(const Chunk& c) {
    const auto [known, fresh] = places_.try_emplace({c.section, c.begin}, 0);
    if (!fresh) return known->second;
    const Elf64_Shdr& s = object_.section(c.section);
    std::string& area = isCode(s) ? piece_.code : piece_.constants;
    uint64_t& alignment = isCode(s) ? piece_.codeAlignment : piece_.constantsAlignment;
    alignment = std::max(alignment, c.alignment);
    area.resize(roundUp(area.size(), c.alignment), isCode(s) ? '\xCC' : '\0');
    known->second = area.size();
    area += object_.bytes(s).substr(c.begin, c.end - c.begin);
    chunks_.emplace_back(c, known->second);
    return known->second;
  }

  void relocate(Chunk c, uint64_t at) {
    const std::vector<Elf64_Rela>& all = object_.relocations(c.section);
    auto r = std::lower_bound(all.begin(), all.end(), c.begin,
                              [](const Elf64_Rela& x, uint64_t offset) { return x.r_offset < offset; });
    for (; r != all.end() && r->r_offset < c.end; ++r) {
      CodePiece::Relocation to{};
      to.in = isCode(object_.section(c.section)) ? CodePiece::Area::Code : CodePiece::Area::Constants;
      to.type = static_cast<uint32_t>(ELF64_R_TYPE(r->r_info));
      to.offset = at + r->r_offset - c.begin;
      to.addend = r->r_addend;
      const Elf64_Sym& symbol = object_.symbols()[ELF64_R_SYM(r->r_info)];
      if (object_.sectionOf(symbol) == SHN_UNDEF) {
        to.to = CodePiece::Area::Outer;
        to.name = outer(object_.name(symbol));
      } else {
        const Chunk target = chunkOf(object_, symbol);
        to.to = isCode(object_.section(target.section)) ? CodePiece::Area::Code : CodePiece::Area::Constants;
        to.addend += static_cast<int64_t>(symbol.st_value + place(target) - target.begin);
      }
      piece_.relocations.push_back(to);
    }
  }

  uint32_t outer(std::string_view name) {
    const auto known = std::find(piece_.outer.begin(), piece_.outer.end(), name);
    if (known != piece_.outer.end()) return static_cast<uint32_t>(known - piece_.outer.begin());
    piece_.outer.emplace_back(name);
    return static_cast<uint32_t>(piece_.outer.size() - 1);
  }

  const Object& object_;
  CodePiece piece_;
  std::map<std::pair<size_t, uint64_t>, uint64_t> places_;
  std::vector<std::pair<Chunk, uint64_t>> chunks_;
};

}  // namespace

std::vector<CodePiece> cutPieces(std::string_view object, std::span<const std::string> functions, std::string& error) {
  const Object whole(object);
  std::unordered_map<std::string_view, const Elf64_Sym*> exported;
  for (const Elf64_Sym& s : whole.symbols()) {
    const size_t section = whole.sectionOf(s);
    if (section == SHN_UNDEF) continue;
    if ((whole.section(section).sh_flags & SHF_WRITE) != 0) error = "code has data of its own";
    if (ELF64_ST_BIND(s.st_info) == STB_GLOBAL) exported.emplace(whole.name(s), &s);
  }
  std::vector<CodePiece> pieces;
  for (const std::string& name : functions) {
    const auto found = exported.find(name);
    if (found == exported.end()) error = "a kernel has no code";
    if (!error.empty()) return {};
    pieces.push_back(PieceCutter(whole, *found->second).take());
  }
  return pieces;
}

}  // namespace tenc::codegen::cpu
