#include "tests/cuda/vm/driver/LibraryMemory.h"

#include <cstring>

namespace tenc::ptx::driver {
namespace {

bool hasRedzone(const Allocation& a, uint64_t offset, uint64_t bytes) {
  for (uint64_t i = offset; i < offset + bytes; ++i)
    if (a.states[i / 4] >> (4 + i % 4) & 1) return true;
  return false;
}

}  // namespace

uint8_t* LibraryMemory::range(uint64_t address, uint64_t bytes, const std::string& what) {
  Allocation* a = machine_.memory().find(address, bytes);
  if (a != nullptr && !hasRedzone(*a, address - a->base, bytes)) return machine_.memory().host(address);
  report(a != nullptr ? Finding::Redzone : Finding::OutOfRange, what, std::to_string(bytes) + " bytes");
  well_ = false;
  return nullptr;
}

void LibraryMemory::read(uint64_t address, uint64_t bytes, const std::string& what) {
  const Allocation* a = machine_.memory().find(address, bytes);
  const uint64_t first = machine_.memory().firstUninitialised(*a, address - a->base, bytes);
  if (first < bytes) report(Finding::UninitialisedGlobal, what, "byte " + std::to_string(first));
}

void LibraryMemory::written(uint64_t address, uint64_t bytes, bool isKnown) {
  Allocation* a = machine_.memory().find(address, bytes);
  machine_.memory().setInitialised(*a, address - a->base, bytes, isKnown);
}

void LibraryMemory::spoil(uint64_t address, uint64_t bytes, const std::string& what) {
  uint8_t* const host = bytes > 0 ? range(address, bytes, what) : nullptr;
  if (host == nullptr) return;
  std::memset(host, 0xFF, bytes);
  written(address, bytes, false);
}

void LibraryMemory::report(Finding f, const std::string& what, const std::string& detail) {
  machine_.reports().add(f, function_, what, detail);
}

}  // namespace tenc::ptx::driver
