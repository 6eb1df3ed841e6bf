// A module as a graph for Graphviz.
#pragma once
#include <string>

#include "ir/Ir.h"

namespace tenc::tool {

/// The functions of a module as a directed graph in the DOT language: a node an op, an edge a value, a box a region.
std::string dotGraph(const ir::Module& m);

}  // namespace tenc::tool
