// What products copy, as machine code: sums that are turned, and panels of B that are packed.
#pragma once
#include <cstdint>
#include <string_view>

#include "codegen/cpu/MachineCode.h"

namespace tenc::codegen::cpu {

/// void turn(sums, turned, i0, i1, vectors, ld, rows): turned[column][row] from sums[row][column], for rows [i0, i1),
/// rounded up to `stripOf` elements, and so many vectors of columns. Rows are `ld` elements apart, columns `rows` where
/// they are turned.
MachineCode assembledTurn(VectorForm form, std::string_view listed = {});

/// void turn(rows, turned, width, height, distance): turned[column][row] from rows[row][column], for `height` rows
/// that are `distance` bytes apart, and `width` columns that are `row` bytes apart where they are turned. Of both up to
/// whole vectors are stored.
MachineCode assembledBlockTurn(VectorForm form, int row, std::string_view listed = {});

/// void pack(b, panel): panel[term][column] from B, whose rows are terms side by side with columns, or, `turned`,
/// columns side by side with terms. What rows of the panel have more is 0.
struct PackCode {
  VectorForm form;
  bool turned;
  int64_t terms, columns;
  int64_t vectors;   ///< of a row of the panel
  int64_t distance;  ///< bytes from one row of B to the next
};
/// Whether distances suffice.
bool isAssembled(const PackCode& pack);
/// The function; `isAssembled(pack)`.
MachineCode assembledPack(const PackCode& pack, std::string_view listed = {});

}  // namespace tenc::codegen::cpu
