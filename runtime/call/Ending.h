// How a call ends: faults of the host, stops of its devices, interrupts. Functions that return a bool are false when
// the call is over.
#pragma once
#include <string>

#include "runtime/Call.h"
#include "runtime/call/Workspace.h"

namespace tenc::rt {

class Ending {
 public:
  Ending(const abi::Program& p, const Workspace& workspace, const CallControl& control, bool dropWaits,
         CallResult& result)
      : p_(p), workspace_(workspace), control_(control), dropWaits_(dropWaits), result_(result) {}

  bool interrupted() {
    if (!control_.interrupted()) return false;
    result_.end = CallResult::End::Interrupted;
    return true;
  }
  /// What devices were given before may stop the program earlier.
  bool stop(uint32_t site, std::string text = {}, abi::BadIndex bad = {}) {
    return devicesAreWell() && set(site, std::move(text), bad);
  }
  /// An error of the compiler, or of whoever wrote the program.
  bool bug(std::string text) {
    result_.end = CallResult::End::Bug;
    result_.text = std::move(text);
    return false;
  }
  /// Waits for all devices. The stop that comes first in program order ends the call: all that comes before it was
  /// done.
  bool devicesAreWell();
  /// Whether a device has stopped, as far as is known.
  bool aDeviceStopped() const;

 private:
  bool set(uint32_t site, std::string text, abi::BadIndex bad);

  const abi::Program& p_;
  const Workspace& workspace_;
  const CallControl& control_;
  const bool dropWaits_;
  CallResult& result_;
};

}  // namespace tenc::rt
