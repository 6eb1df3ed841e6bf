// What the terminal can show, by asking it.
#pragma once
#include <string>

#include "tools/repl/Picture.h"

namespace tenc::repl {

/// Asks a terminal that is read from and written to whether it knows the protocols of kitty and of sixels, and waits a
/// little for the answer; else goes by COLORTERM and TERM. `typed` is what was typed meanwhile.
Graphics graphicsOfTerminal(std::string& typed);

}  // namespace tenc::repl
