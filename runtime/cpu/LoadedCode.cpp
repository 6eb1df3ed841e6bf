#include "runtime/cpu/LoadedCode.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <vector>

#include "runtime/cpu/HostFunctions.h"

namespace tenc::rt {
namespace {

/// All of a mapping that is protected alike.
enum class Segment : uint8_t { Code, Constants, Data };
constexpr size_t kSegments = 3;

Segment segmentOf(const Elf64_Shdr& s) {
  if (s.sh_flags & SHF_EXECINSTR) return Segment::Code;
  return s.sh_flags & SHF_WRITE ? Segment::Data : Segment::Constants;
}

size_t roundUp(size_t n, size_t to) { return (n + to - 1) / to * to; }

constexpr size_t kStub = 16;  // jmp [rip]; the address
constexpr size_t kSlot = 8;   // of the table of addresses

}  // namespace

/// One loading: sections to places, then relocations (System V ABI, AMD64 supplement, section 4.4).
class Loader {
 public:
  Loader(std::string_view object, LoadedCode& code) : object_(object), code_(code) {}

  /// What is wrong; empty when all went well.
  std::string run() {
    Elf64_Ehdr header;
    if (!read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_type != ET_REL ||
        header.e_machine != EM_X86_64 || header.e_shentsize != sizeof(Elf64_Shdr))
      return "not an object file of x86-64";
    if (!readAll(header.e_shoff, header.e_shnum, sections_)) return kCut;
    for (const Elf64_Shdr& s : sections_) {
      if (s.sh_type != SHT_SYMTAB) continue;
      if (s.sh_link >= sections_.size() || !readAll(s.sh_offset, s.sh_size / sizeof(Elf64_Sym), symbols_)) return kCut;
      names_ = bytes(sections_[s.sh_link]);
    }
    for (const Elf64_Sym& s : symbols_)
      if (s.st_shndx < sections_.size() && s.st_value > sections_[s.st_shndx].sh_size)
        return "`" + nameOf(s) + "` is outside of its section";
    if (std::string problem = place(); !problem.empty()) return problem;
    for (const Elf64_Shdr& s : sections_) {
      if (s.sh_type != SHT_RELA) continue;
      if (std::string problem = relocate(s); !problem.empty()) return problem;
    }
    for (const Elf64_Sym& s : symbols_)
      if (ELF64_ST_BIND(s.st_info) == STB_GLOBAL && s.st_shndx != SHN_UNDEF)
        if (char* at = addressOf(s)) code_.symbols_.emplace(nameOf(s), at);
    return protect();
  }

 private:
  static constexpr const char* kCut = "an object file is cut short";

  template <typename T>
  bool read(size_t at, T& to) const {
    if (at > object_.size() || object_.size() - at < sizeof to) return false;
    std::memcpy(&to, object_.data() + at, sizeof to);
    return true;
  }
  template <typename T>
  bool readAll(size_t at, size_t n, std::vector<T>& to) const {
    if (at > object_.size() || (object_.size() - at) / sizeof(T) < n) return false;
    to.resize(n);
    if (n > 0) std::memcpy(to.data(), object_.data() + at, n * sizeof(T));
    return true;
  }
  std::string_view bytes(const Elf64_Shdr& s) const {
    if (s.sh_offset > object_.size() || object_.size() - s.sh_offset < s.sh_size) return {};
    return object_.substr(s.sh_offset, s.sh_size);
  }
  std::string nameOf(const Elf64_Sym& s) const {
    return s.st_name < names_.size() ? std::string(names_.substr(s.st_name, names_.find('\0', s.st_name) - s.st_name))
                                     : std::string();
  }

  /// Maps memory and copies sections. Code has room for a stub, and constants for an address, of each outer symbol.
  std::string place() {
    size_t outer = 0;
    for (const Elf64_Sym& s : symbols_) outer += s.st_shndx == SHN_UNDEF;
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    size_t sizes[kSegments] = {outer * kStub, outer * kSlot, 0};
    std::vector<size_t> offsets(sections_.size());
    for (size_t i = 0; i < sections_.size(); ++i) {
      const Elf64_Shdr& s = sections_[i];
      if (!(s.sh_flags & SHF_ALLOC) || s.sh_size == 0) continue;
      const size_t align = std::max<size_t>(s.sh_addralign, 1);
      if (align > page || (s.sh_flags & SHF_TLS) || s.sh_size > (size_t{1} << 30)) return "a section cannot be placed";
      if (s.sh_type != SHT_NOBITS && bytes(s).size() != s.sh_size) return kCut;
      size_t& size = sizes[static_cast<size_t>(segmentOf(s))];
      offsets[i] = roundUp(size, align);
      size = offsets[i] + s.sh_size;
    }
    char* starts[kSegments];
    for (size_t& size : sizes) code_.size_ += size = roundUp(size, page);
    if (code_.size_ == 0) return {};
    void* p = mmap(nullptr, code_.size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    char* at = code_.base_ = static_cast<char*>(p);
    for (size_t i = 0; i < kSegments; at += sizes[i++]) starts[i] = at;
    stub_ = starts[static_cast<size_t>(Segment::Code)];
    slot_ = starts[static_cast<size_t>(Segment::Constants)];
    codeEnd_ = starts[1];
    constantsEnd_ = starts[2];
    places_.resize(sections_.size());
    for (size_t i = 0; i < sections_.size(); ++i) {
      const Elf64_Shdr& s = sections_[i];
      if (!(s.sh_flags & SHF_ALLOC) || s.sh_size == 0) continue;
      places_[i] = starts[static_cast<size_t>(segmentOf(s))] + offsets[i];
      if (s.sh_type != SHT_NOBITS) std::memcpy(places_[i], bytes(s).data(), s.sh_size);
    }
    return {};
  }

  /// Null for what is in no section that is loaded, and for outer names that are not known.
  char* addressOf(const Elf64_Sym& s) const {
    if (s.st_shndx == SHN_UNDEF) return static_cast<char*>(hostFunction(nameOf(s)));
    if (s.st_shndx >= places_.size() || places_[s.st_shndx] == nullptr) return nullptr;
    return places_[s.st_shndx] + s.st_value;
  }

  struct Far {
    char* stub;
    char* slot;
  };
  /// Where to call, and where to read the address of, what may be further than 2 GiB away.
  const Far& far(uint32_t symbol, char* address) {
    auto [at, fresh] = far_.try_emplace(symbol);
    if (fresh) {
      constexpr char kJump[] = {'\xFF', '\x25', 0, 0, 0, 0};
      std::memcpy(stub_, kJump, sizeof kJump);
      const auto bits = reinterpret_cast<uintptr_t>(address);
      std::memcpy(stub_ + sizeof kJump, &bits, sizeof bits);
      std::memcpy(slot_, &bits, sizeof bits);
      at->second = {stub_, slot_};
      stub_ += kStub;
      slot_ += kSlot;
    }
    return at->second;
  }

  std::string relocate(const Elf64_Shdr& list) {
    if (list.sh_info >= places_.size() || places_[list.sh_info] == nullptr) return {};  // of what is not loaded
    char* const section = places_[list.sh_info];
    const size_t size = sections_[list.sh_info].sh_size;
    std::vector<Elf64_Rela> entries;
    if (!readAll(list.sh_offset, list.sh_size / sizeof(Elf64_Rela), entries)) return kCut;
    for (const Elf64_Rela& r : entries) {
      const auto index = static_cast<uint32_t>(ELF64_R_SYM(r.r_info));
      const auto type = static_cast<uint32_t>(ELF64_R_TYPE(r.r_info));
      const bool wide = type == R_X86_64_64 || type == R_X86_64_PC64;
      if (index >= symbols_.size() || r.r_offset > size || size - r.r_offset < (wide ? 8 : 4)) return kCut;
      const Elf64_Sym& symbol = symbols_[index];
      char* to = addressOf(symbol);
      if (to == nullptr) return "code needs `" + nameOf(symbol) + "`, which is not known";
      char* const at = section + r.r_offset;
      switch (type) {
        case R_X86_64_64:
        case R_X86_64_PC32:
        case R_X86_64_PC64: break;
        case R_X86_64_PLT32:
          if (symbol.st_shndx == SHN_UNDEF) to = far(index, to).stub;
          break;
        case R_X86_64_GOTPCREL:
        case R_X86_64_GOTPCRELX:
        case R_X86_64_REX_GOTPCRELX:
          if (symbol.st_shndx != SHN_UNDEF) return "code reads the address of an own function from a table";
          to = far(index, to).slot;
          break;
        default: return "relocation " + std::to_string(type) + " is not known";
      }
      const auto from = type == R_X86_64_64 ? 0 : reinterpret_cast<int64_t>(at);
      const int64_t value = reinterpret_cast<int64_t>(to) + r.r_addend - from;
      if (wide) {
        std::memcpy(at, &value, sizeof value);
        continue;
      }
      const auto narrow = static_cast<int32_t>(value);
      if (narrow != value) return "`" + nameOf(symbol) + "` is too far away";
      std::memcpy(at, &narrow, sizeof narrow);
    }
    return {};
  }

  std::string protect() const {
    if (code_.base_ == nullptr) return {};
    auto set = [](char* begin, const char* end, int how) {
      return begin == end || mprotect(begin, static_cast<size_t>(end - begin), how) == 0;
    };
    if (set(code_.base_, codeEnd_, PROT_READ | PROT_EXEC) && set(codeEnd_, constantsEnd_, PROT_READ)) return {};
    return "cannot change the protection of code pages";
  }

  std::string_view object_, names_;
  LoadedCode& code_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Sym> symbols_;
  std::vector<char*> places_;  ///< by section; null when it is not loaded
  std::unordered_map<uint32_t, Far> far_;
  char *stub_ = nullptr, *slot_ = nullptr;  ///< the next free ones
  char *codeEnd_ = nullptr, *constantsEnd_ = nullptr;
};

std::shared_ptr<LoadedCode> LoadedCode::load(std::string_view object, std::string& error) {
  std::shared_ptr<LoadedCode> code(new LoadedCode);
  error = Loader(object, *code).run();
  return error.empty() ? code : nullptr;
}

LoadedCode::~LoadedCode() {
  if (base_ != nullptr) munmap(base_, size_);
}

void* LoadedCode::symbol(const std::string& name) const {
  const auto found = symbols_.find(name);
  return found == symbols_.end() ? nullptr : found->second;
}

}  // namespace tenc::rt
