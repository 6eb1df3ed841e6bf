#include "codegen/cache/BuildId.h"

#include <link.h>

#include <cstring>

namespace tenc::codegen {

std::string buildId() {
  std::string id;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* to) {
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& p = info->dlpi_phdr[i];
          if (p.p_type != PT_NOTE) continue;
          const char* at = reinterpret_cast<const char*>(info->dlpi_addr + p.p_vaddr);
          const char* end = at + p.p_memsz;
          while (at + sizeof(ElfW(Nhdr)) <= end) {
            ElfW(Nhdr) note;
            std::memcpy(&note, at, sizeof note);
            const char* name = at + sizeof note;
            const char* value = name + (note.n_namesz + 3) / 4 * 4;
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0)
              static_cast<std::string*>(to)->assign(value, note.n_descsz);
            at = value + (note.n_descsz + 3) / 4 * 4;
          }
        }
        return 1;  // the program itself comes first: no libraries
      },
      &id);
  return id;
}

}  // namespace tenc::codegen
