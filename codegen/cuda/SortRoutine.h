// Sorts: how rows are shared among blocks, and the functions.
#pragma once
#include <string>

#include "codegen/cuda/Routines.h"

namespace tenc::codegen::cuda {

bool isSort(const ir::Op& op);
LaunchPlan planSort(const ir::Op& op);
/// The body of one of its functions; `work` is the name of their memory.
void writeSort(const ir::Op& op, Module& module, const KernelNames& names, const std::string& work, size_t function);
/// For people.
std::string describeSort(const ir::Op& op);

}  // namespace tenc::codegen::cuda
