#include "tools/tenc/Dot.h"

#include <unordered_map>

namespace tenc::tool {
namespace {

class Graph {
 public:
  std::string of(const ir::Module& m) {
    out_ = "digraph tenc {\n  rankdir=TB;\n  node [shape=box, fontname=\"monospace\", fontsize=10];\n";
    out_ += "  edge [fontname=\"monospace\", fontsize=8];\n";
    for (const auto& f : m.funcs)
      if (f->body) region(*f->body, f->name, "  ");
    // Edges last: a node belongs to the box in which it is named first.
    return out_ + edges_ + "}\n";
  }

 private:
  static std::string quoted(const std::string& text) {
    std::string s = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') s += '\\';
      s += c;
    }
    return s + "\"";
  }

  std::string node(const std::string& label, const std::string& indent, const char* shape = nullptr) {
    const std::string id = "n" + std::to_string(nodes_++);
    out_ += indent + id + " [label=" + quoted(label) + (shape ? std::string(", shape=") + shape : "") + "];\n";
    return id;
  }

  void region(const ir::Region& r, const std::string& title, const std::string& indent) {
    out_ +=
        indent + "subgraph cluster_" + std::to_string(boxes_++) + " {\n" + indent + "  label=" + quoted(title) + ";\n";
    for (const auto& a : r.args)
      makers_[a.get()] = node(a->name.empty() ? ir::toString(a->type) : a->name + ": " + ir::toString(a->type),
                              indent + "  ", "ellipse");
    for (const auto& o : r.ops) op(*o, indent + "  ");
    out_ += indent + "}\n";
  }

  void op(const ir::Op& o, const std::string& indent) {
    std::string label(o.info().mnemonic);
    if (const std::string& kind = o.stringAttr("kind"); !kind.empty()) label += " " + kind;
    const std::string id = node(label, indent);
    for (const ir::Value* v : o.operands()) {
      const auto from = makers_.find(v);
      if (from != makers_.end())
        edges_ += "  " + from->second + " -> " + id + " [label=" + quoted(ir::toString(v->type)) + "];\n";
    }
    for (const auto& result : o.results) makers_[result.get()] = id;
    for (size_t i = 0; i < o.regions.size(); ++i) {
      const std::string title = o.regions.size() > 1 ? label + " " + std::to_string(i) : label;
      region(*o.regions[i], title, indent);
    }
  }

  std::string out_, edges_;
  std::unordered_map<const ir::Value*, std::string> makers_;
  size_t nodes_ = 0, boxes_ = 0;
};

}  // namespace

std::string dotGraph(const ir::Module& m) { return Graph().of(m); }

}  // namespace tenc::tool
