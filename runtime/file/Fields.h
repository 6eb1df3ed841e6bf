// The fields of a program, in the order of the file: one list for reading, writing and whatever else visits them. An
// archive takes the fields of a struct as arguments of a call; it is constant or not as the struct is.
#pragma once
#include <concepts>
#include <type_traits>

#include "runtime/abi/Program.h"

namespace tenc::rt {

template <typename T, typename Struct>
concept Of = std::same_as<std::remove_const_t<T>, Struct>;

void fields(auto& a, Of<abi::Excerpt> auto& x) { a(x.file, x.firstLine, x.isLibrary, x.text); }
void fields(auto& a, Of<abi::SourceRange> auto& x) { a(x.excerpt, x.begin, x.end, x.line, x.column); }
void fields(auto& a, Of<abi::CallSite> auto& x) { a(x.at, x.callee); }
void fields(auto& a, Of<abi::FaultSite> auto& x) { a(x.kind, x.at, x.calls); }

void fields(auto& a, Of<abi::TensorRef> auto& x) { a(x.buffer, x.byteOffset, x.dtype, x.shape, x.device); }
void fields(auto& a, Of<abi::KernelArg> auto& x) { a(x.buffer, x.byteOffset, x.access); }
void fields(auto& a, Of<abi::HostCode> auto& x) { a(x.image, x.symbol, x.items, x.grain, x.scratchBytes); }
void fields(auto& a, Of<abi::DeviceCode> auto& x) { a(x.image, x.symbol, x.grid, x.group, x.sharedBytes); }
void fields(auto& a, Of<abi::SequenceCode> auto& x) { a(x.functions); }
void fields(auto& a, Of<abi::MatrixRef> auto& x) { a(x.argument, x.dtype, x.byteOffset, x.row, x.column, x.batch); }
void fields(auto& a, Of<abi::ProductCode> auto& x) {
  a(x.m, x.n, x.k, x.count, x.a, x.b, x.d, x.c, x.bias, x.relu, x.rounded, x.workspace, x.then);
}
void fields(auto& a, Of<abi::SolverCall> auto& x) {
  a(x.routine, x.transposed, x.m, x.n, x.k, x.a, x.b, x.c, x.vector, x.info);
}
void fields(auto& a, Of<abi::SolverCode> auto& x) { a(x.dtype, x.count, x.bytes, x.calls, x.before, x.then); }
void fields(auto& a, Of<abi::LibraryCall> auto& x) { a(x.routine, x.operands, x.results, x.options); }
void fields(auto& a, Of<abi::Parameter> auto& x) { a(x.bytes, x.alignment, x.access); }
void fields(auto& a, Of<abi::Kernel> auto& x) { a(x.name, x.code, x.sites, x.parameters, x.scalars); }
void fields(auto& a, Of<abi::CodeImage> auto& x) { a(x.architecture, x.features, x.bytes); }

void fields(auto& a, Of<abi::Launch> auto& x) { a(x.kernel, x.device, x.args, x.scalars); }
void fields(auto& a, Of<abi::Transfer> auto& x) { a(x.to, x.from, x.bytes); }
void fields(auto& a, Of<abi::Copy> auto& x) { a(x.to, x.from, x.bytes); }
void fields(auto& a, Of<abi::For> auto& x) { a(x.lo, x.hi, x.by, x.induction, x.site, x.body, x.swaps); }
void fields(auto& a, Of<abi::While> auto& x) { a(x.condition, x.goesOn, x.body, x.swaps); }
void fields(auto& a, Of<abi::If> auto& x) { a(x.condition, x.then, x.otherwise); }
void fields(auto& a, Of<abi::Text::Value> auto& x) { a(x.tensor, x.format); }
void fields(auto& a, Of<abi::Text> auto& x) { a(x.pieces, x.values); }
void fields(auto& a, Of<abi::Print> auto& x) { a(x.text); }
void fields(auto& a, Of<abi::Assert> auto& x) { a(x.condition, x.message, x.site); }
void fields(auto& a, Of<abi::Trap> auto& x) {
  a(x.what, x.origins, x.axes, x.result, x.operands, x.mask, x.selects, x.site);
}
void fields(auto& a, Of<abi::Load> auto& x) { a(x.path, x.format, x.name, x.result, x.site, x.ahead); }
void fields(auto& a, Of<abi::ReadAhead> auto& x) { a(x.wanted, x.path, x.format, x.name, x.result); }
void fields(auto& a, Of<abi::EndReadAhead> auto& x) { a(x.ahead); }
void fields(auto& a, Of<abi::BringIn> auto& x) { a(x.wanted, x.table, x.rows, x.count); }
void fields(auto& a, Of<abi::ReadRows> auto& x) { a(x.table, x.rows, x.result, x.site, x.file); }
void fields(auto& a, Of<abi::Save> auto& x) { a(x.path, x.format, x.tensors, x.names, x.site); }
void fields(auto& a, Of<abi::Seed> auto& x) { a(x.seed, x.draws); }
void fields(auto& a, Of<abi::RngNext> auto& x) { a(x.seed, x.draw, x.counts); }
void fields(auto& a, Of<abi::Time> auto& x) { a(x.result); }
void fields(auto& a, Of<abi::Bench> auto& x) { a(x.name, x.body); }
void fields(auto& a, Of<abi::Step> auto& x) { a(x.what); }

void fields(auto& a, Of<abi::Device> auto& x) { a(x.name, x.arenaBytes); }
void fields(auto& a, Of<abi::Buffer> auto& x) { a(x.device, x.offset, x.bytes, x.inFile); }
void fields(auto& a, Of<abi::Constant> auto& x) { a(x.buffer, x.bytes); }

/// The first part of a file: machine code and what it promises. Nobody can check that it keeps it.
void codeFields(auto& a, Of<abi::Program> auto& x) { a(x.images, x.kernels); }
/// The second part: what is done with it, all of which problemOf checks.
void planFields(auto& a, Of<abi::Program> auto& x) {
  a(x.devices, x.buffers, x.fileBytes, x.steps, x.constants, x.inputs, x.results, x.sites, x.excerpts);
}

}  // namespace tenc::rt
