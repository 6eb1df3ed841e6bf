// What only shows once other errors are mended is reported together with them.
#pragma once
#include <cstdint>
#include <string>

#include "tools/tenc/Session.h"

namespace tenc::tool {

/// Mends the script by the first edit of every error of the frontend, reads it anew, mends what is found then, and so
/// on. Where a script without such errors comes of it, what was found on the way is reported too, at its place in the
/// user's text, and the edits together make that script. Otherwise nothing changes. Where values live is looked at
/// afterwards: which of them are apart depends on the edit that was chosen for others.
void reportBehind(Session& session);

/// How many errors of the script have an edit of it that `mendedScript` makes.
size_t mendableErrors(Session& session);

struct MendedScript {
  std::string text;
  std::string why;  ///< no edit was made, where there are errors; "" otherwise
};
/// The file after these edits, also where errors without an edit are left.
MendedScript mendedScript(Session& session, uint32_t file);

}  // namespace tenc::tool
