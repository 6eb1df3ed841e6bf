#include "runtime/call/Ending.h"

namespace tenc::rt {

bool Ending::devicesAreWell() {
  std::optional<DeviceStop> first;
  uint32_t device = 0;
  for (uint32_t i = 1; i < p_.devices.size(); ++i) {
    if (!dropWaits_) workspace_.stream(i)->wait(workspace_.stream(i)->last());
  }
  for (uint32_t i = 1; i < p_.devices.size(); ++i) {
    auto s = workspace_.stream(i)->stopped();
    if (!s || (first && first->order <= s->order)) continue;
    first = std::move(s);
    device = i;
  }
  if (p_.devices.size() > 1 && interrupted()) return false;
  if (!first) return true;
  if (first->bug.empty()) return set(first->site, {}, first->bad);
  if (!first->outOfMemory) return bug(first->bug);
  result_.end = CallResult::End::OutOfMemory;
  result_.text = first->bug;
  result_.lacking = {p_.devices[device].name, 0};
  return false;
}

bool Ending::aDeviceStopped() const {
  for (uint32_t i = 1; i < p_.devices.size(); ++i)
    if (workspace_.stream(i)->stopped()) return true;
  return false;
}

bool Ending::set(uint32_t site, std::string text, abi::BadIndex bad) {
  result_.end = CallResult::End::Stopped;
  result_.fault = p_.sites[site].kind;
  result_.site = site;
  result_.text = std::move(text);
  result_.bad = bad;
  return false;
}

}  // namespace tenc::rt
