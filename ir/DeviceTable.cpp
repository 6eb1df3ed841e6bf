#include "ir/DeviceTable.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace tenc::ir {
namespace {

/// Kinds that come in numbers. A new target has its name here.
constexpr std::string_view kNumbered[] = {"cuda"};

bool isNumbered(std::string_view name) {
  return std::find(std::begin(kNumbered), std::end(kNumbered), name) != std::end(kNumbered);
}

/// The number of "cuda:1"; nothing for a name of another form.
std::optional<int> numberOf(std::string_view device) {
  const size_t kind = DeviceTable::kindOf(device).size();
  if (kind == device.size()) return std::nullopt;
  int number = 0;
  const char* end = device.data() + device.size();
  const auto read = std::from_chars(device.data() + kind + 1, end, number);
  if (read.ec != std::errc() || read.ptr != end || number < 0) return std::nullopt;
  return number;
}

}  // namespace

bool DeviceTable::isKind(std::string_view name) { return name == kHost || isNumbered(name); }

std::string DeviceTable::accelerator() { return numbered(kNumbered[0], 0); }

bool DeviceTable::couldBe(std::string_view name) {
  return isKind(name) || (isNumbered(kindOf(name)) && numberOf(name).has_value());
}

std::string DeviceTable::normal(std::string_view name) {
  if (isNumbered(name)) return numbered(name, 0);
  const std::optional<int> number = isNumbered(kindOf(name)) ? numberOf(name) : std::nullopt;
  return number ? numbered(kindOf(name), *number) : std::string(name);  // `cuda:01`
}

std::string DeviceTable::numbered(std::string_view kind, int64_t number) {
  return kind == kHost ? std::string(kind) : std::string(kind) + ":" + std::to_string(number);
}

int DeviceTable::count(std::string_view kind) const {
  if (kind == kHost) return 1;
  auto it = kinds_.find(kind);
  return it == kinds_.end() ? 0 : it->second().count;
}

bool DeviceTable::has(std::string_view device) const {
  if (device == kHost) return true;
  const std::string name = normal(device);
  const std::optional<int> number = isNumbered(kindOf(name)) ? numberOf(name) : std::nullopt;
  return number && *number < count(kindOf(name));
}

std::string DeviceTable::nearest(std::string_view device) const {
  const std::string_view kind = kindOf(device);
  const int n = isNumbered(kind) ? count(kind) : 0;
  return n > 0 ? numbered(kind, n - 1) : std::string(kHost);
}

std::string DeviceTable::text() const {
  std::string all = "this machine has " + std::string(kHost), why;
  for (const auto& [kind, look] : kinds_) {
    const Found found = look();
    for (int i = 0; i < found.count; ++i) all += ", " + kind + ":" + std::to_string(i);
    if (found.count == 0 && !found.why.empty()) why += "; no " + kind + " device can be used: " + found.why;
  }
  return all + why;
}

}  // namespace tenc::ir
