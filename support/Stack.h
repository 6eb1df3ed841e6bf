// How much of the stack is left, for recursion whose depth the input decides.
#pragma once

namespace tenc {

/// Whether this thread has less than half a MiB of stack left. Cheap while little of it is in use.
bool stackIsLow();

}  // namespace tenc
