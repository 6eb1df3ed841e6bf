#include "ir/Attributes.h"

#include <array>

namespace tenc::ir {
namespace {

std::vector<AttrSpec> parseSpecs(std::string_view text) {
  std::vector<AttrSpec> specs;
  while (!text.empty()) {
    const size_t blank = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, blank);
    text.remove_prefix(std::min(blank + 1, text.size()));
    AttrSpec spec;
    if (word.ends_with('?')) {
      spec.optional = true;
      word.remove_suffix(1);
    }
    const size_t colon = word.find(':');
    spec.name = word.substr(0, colon);
    spec.kind = word.substr(colon + 1);
    specs.push_back(spec);
  }
  return specs;
}

}  // namespace

const std::vector<AttrSpec>& attrSpecs(OpKind kind) {
  static const auto all = [] {
    std::array<std::vector<AttrSpec>, static_cast<size_t>(OpKind::Count)> specs;
    for (size_t i = 0; i < specs.size(); ++i) specs[i] = parseSpecs(opInfo(static_cast<OpKind>(i)).attrs);
    return specs;
  }();
  return all[static_cast<size_t>(kind)];
}

std::string_view kindOf(const Attr& a) {
  static constexpr std::array<std::string_view, 8> kNames{"int",  "float",   "bool",  "string",
                                                          "ints", "strings", "dtype", "data"};
  static_assert(std::variant_size_v<Attr> == kNames.size());
  return kNames[a.index()];
}

std::string checkAttributes(OpKind kind, const AttrLookup& attr) {
  for (const AttrSpec& spec : attrSpecs(kind)) {
    const Attr* a = attr(spec.name);
    if (a == nullptr) {
      if (!spec.optional) return "needs attribute `" + std::string(spec.name) + "`";
    } else if (kindOf(*a) != spec.kind) {
      return "needs attribute `" + std::string(spec.name) + "` of kind " + std::string(spec.kind) + ", not " +
             std::string(kindOf(*a));
    }
  }
  return {};
}

}  // namespace tenc::ir
