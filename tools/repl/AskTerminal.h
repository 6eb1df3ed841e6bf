// What the terminal can show, by asking it.
#pragma once
#include "tools/repl/Picture.h"

namespace tenc::repl {

/// Asks a terminal that is read from and written to whether it knows the protocols of kitty and of sixels, and waits a
/// little for the answer; else goes by COLORTERM and TERM.
Graphics graphicsOfTerminal();

}  // namespace tenc::repl
