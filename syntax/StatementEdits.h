// Edits that take parts out of a script, or put lines in.
#pragma once
#include <string>

#include "support/Diagnostics.h"
#include "support/SourceFile.h"

namespace tenc::syntax {

/// Takes a part out: with its line, where nothing else stands there.
Edit removed(const SourceManager& sources, Span part);
/// Whether nothing stands behind the part on its line: a comment may.
bool endsLine(const SourceManager& sources, Span part);
/// A line before the one on which a part begins, indented like it; before the part where other text is before it.
Edit lineBefore(const SourceManager& sources, Span part, const std::string& line);
/// Takes the type of a function's result out, with its arrow.
Edit withoutResult(const SourceManager& sources, Span function, Span type);

}  // namespace tenc::syntax
