// The kinds of devices and how many of each a machine has: all that is known of devices outside of the targets and
// tools.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace tenc::ir {

/// The host and numbered devices: "cpu", "cuda:0".
class DeviceTable {
 public:
  /// The device that is always there and runs the program.
  static constexpr std::string_view kHost = "cpu";
  /// Device `number` of a kind: "cuda:1"; the host has no number.
  static std::string numbered(std::string_view kind, int64_t number);
  /// What a script with one accelerator calls it: "cuda:0".
  static std::string accelerator();
  /// Whether scripts may write the name alone for a device of that kind.
  static bool isKind(std::string_view name);
  /// Whether a machine could have a device of that name: a kind alone or a numbered device, not a name that a script
  /// declares.
  static bool couldBe(std::string_view name);
  /// The kind of an actual device: what stands before the colon.
  static std::string_view kindOf(std::string_view device) { return device.substr(0, device.find(':')); }
  /// A numbered kind alone is its first device, `cuda:01` is `cuda:1`; any other name is itself.
  static std::string normal(std::string_view name);

  /// What there is of a kind.
  struct Found {
    int count = 0;
    std::string why{};  ///< of none: why nothing of that kind can be used, as a sentence's part; may be empty
  };
  void set(std::string_view kind, int count) {
    look(kind, [count] { return Found{count}; });
  }
  /// The same, asked when somebody wants to know of that kind: looking for devices takes a while.
  void look(std::string_view kind, std::function<Found()> found) { kinds_[std::string(kind)] = std::move(found); }
  /// How many devices of a kind there are; there is one host.
  int count(std::string_view kind) const;
  /// Whether a device, not a name that a script declares, is there.
  bool has(std::string_view device) const;
  /// The last device of the kind of `device`, else the host.
  std::string nearest(std::string_view device) const;
  /// "this machine has cpu, cuda:0, cuda:1"; of a kind that there should be and is not, why.
  std::string text() const;

 private:
  std::map<std::string, std::function<Found()>, std::less<>> kinds_;
};

}  // namespace tenc::ir
