// The attribute column of Ops.def, parsed: "axes:ints keep:bool?".
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/Ir.h"

namespace tenc::ir {

struct AttrSpec {
  std::string_view name;
  std::string_view kind;  ///< int float bool string ints strings dtype data
  bool optional = false;
};
const std::vector<AttrSpec>& attrSpecs(OpKind kind);

/// "int", "ints", ...: the kind of an attribute's value, as in Ops.def.
std::string_view kindOf(const Attr& a);

/// "" when every attribute of the row that may not be absent is there and each is of its kind.
std::string checkAttributes(OpKind kind, const AttrLookup& attr);

}  // namespace tenc::ir
