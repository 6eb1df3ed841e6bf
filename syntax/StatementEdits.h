// Edits that take parts out of a script.
#pragma once
#include "support/Diagnostics.h"
#include "support/SourceFile.h"

namespace tenc::syntax {

/// Takes a part out: with its line, where nothing else stands there.
Edit removed(const SourceManager& sources, Span part);
/// Whether nothing stands behind the part on its line: a comment may.
bool endsLine(const SourceManager& sources, Span part);
/// Takes the type of a function's result out, with its arrow.
Edit withoutResult(const SourceManager& sources, Span function, Span type);

}  // namespace tenc::syntax
