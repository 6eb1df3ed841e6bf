// Pieces of the source for messages and for the excerpts that a program carries. Only shown to people: what a stage
// decides by reaches it as data (ir/SourceTexts.h).
#pragma once
#include <string>

#include "support/SourceFile.h"

namespace tenc {

/// The text as it stands.
std::string excerpt(const SourceManager& sources, Span span);
/// The text in quotes: "`x + 1`".
std::string quote(const SourceManager& sources, Span span);
/// Whether it is short and on one line, so that a sentence can hold it.
bool isQuotable(const SourceManager& sources, Span span);
/// Lines `first` to `last`, from 1, without the last newline.
std::string linesOf(const SourceFile& file, uint32_t first, uint32_t last);
/// The part of the span that is in the file.
Span within(const SourceFile& file, Span span);

}  // namespace tenc
