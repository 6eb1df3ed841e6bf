// Programs in files: what an ahead-of-time build leaves, and another process runs. The machine code of the kernels
// travels along, as objects with the names of their symbols.
//
// A file is a header (magic, versions, size and checksum of each part) and two parts, numbers in little-endian order:
// the machine code with what it promises of its arguments, then the plan of what is done with it (Fields.h). Reading is
// safe for any bytes: every size is checked before memory is taken, and a program is handed out only when `problemOf`
// finds nothing wrong. Machine code is trusted as code, and its checksum tells of accidents, not of intent: run only
// files that you trust. Around code that keeps its promises any plan that is handed out is safe to run, whoever wrote
// it: it stays within its arenas and the files that it may use, and can be interrupted.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "runtime/abi/Program.h"

namespace tenc::rt {

/// Of the layout of files. A file with another one is refused.
inline constexpr uint32_t kProgramFileVersion = 6;

/// The program as the bytes of a file. Deterministic: equal programs give equal bytes.
std::string writeProgram(const abi::Program& program);

/// The program in `bytes`, or null with a sentence in `error`: no program, of another version, damaged, or not
/// well-formed.
std::shared_ptr<const abi::Program> readProgram(std::string_view bytes, std::string& error);

/// What is wrong with a program, as a sentence; empty when every number in it names something that is there, every
/// tensor lies within its buffer and every buffer within its device's arena, kernels are given what they rely on, and
/// calls of routines fit these.
std::string problemOf(const abi::Program& program);

/// Why the kernels of a well-formed program cannot run on this machine's processor, as a sentence; empty when they can.
std::string processorProblem(const abi::Program& program);

}  // namespace tenc::rt
