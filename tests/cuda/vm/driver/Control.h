// What tests ask of the fake driver beyond the driver API; exported by its library under these names.
#pragma once
#include <cstdint>

extern "C" {

/// When work runs: 0 when it is submitted, 1 when it is waited for, 2 then and in random order, 3 at once, beside the
/// program.
void tencVmSetMode(int mode, uint64_t seed);
/// In which order blocks and warps run: the values of tenc::ptx::Order.
void tencVmSetOrder(int order, uint64_t seed);
/// Makes a range of device memory a redzone, or takes that back. 0 where nothing is allocated there.
int tencVmSetRedzone(uint64_t address, uint64_t bytes, int redzone);
/// What was found on all devices, a line each; valid until the next call.
const char* tencVmReports(int clear);
/// Launches, copies, graphs and the counters of every kernel, a line each, with what it wastes most below it; valid
/// until the next call.
const char* tencVmCounters(int clear);
/// The n-th time from now that a stream is to wait for an event, it does not; 0: it always does. Returns how many there
/// were since the last call.
int tencVmDropWait(int nth);
/// Forgets errors that have spoiled devices, as a new process would.
void tencVmReset();
}
