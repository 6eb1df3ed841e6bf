// Edits that placement errors propose are tried before they are shown.
#pragma once
#include "tools/tenc/Session.h"

namespace tenc::tool {

/// Compiles the script with each edit that an error of placement proposes, as far as placement. An edit after which the
/// error stands, or another one stands before it, loses its mended line; when no edit of an error is left, its
/// alternatives are tried. Large scripts have fewer trials: what is not tried stays as it is.
void tryHelps(Session& session);

}  // namespace tenc::tool
