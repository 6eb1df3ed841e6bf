// ast::print: an indented tree, one node a line.
#include <string>

#include "syntax/Ast.h"

namespace tenc::ast {

std::string_view name(Generic::Kind kind) {
  constexpr std::string_view kNames[] = {"", "real", "float", "int", "any", "tree", "device", "fn"};
  return kNames[static_cast<size_t>(kind)];
}

std::optional<Generic::Kind> kindNamed(std::string_view written) {
  for (const Generic::Kind kind : kGenericKinds)
    if (name(kind) == written) return kind;
  return std::nullopt;
}

namespace {

std::string joined(const std::vector<Name>& path) {
  std::string s;
  for (const Name& n : path) s += (s.empty() ? "" : ".") + n.text;
  return s;
}

std::string shown(const Pattern& p) {
  if (!p.isTuple) return p.name.text;
  std::string s = "(";
  for (size_t i = 0; i < p.elements.size(); ++i) s += (i ? ", " : "") + shown(p.elements[i]);
  return s + (p.elements.size() == 1 ? ",)" : ")");
}

class Printer {
 public:
  std::string take() { return std::move(out_); }

  void statement(const Stmt& s) {
    static constexpr const char* kNames[] = {"import", "const",    "param",  "device", "type",   "struct", "fn",
                                             "test",   "bench",    "let",    "var",    "assign", "for",    "while",
                                             "break",  "continue", "return", "assert", "expr",   "error"};
    std::string head = kNames[static_cast<size_t>(s.kind)];
    if (!s.name.text.empty()) head += " " + s.name.text;
    if (!s.path.empty()) head += " " + joined(s.path);
    for (size_t i = 0; i < s.names.size(); ++i) head += (i ? ", " : ": ") + s.names[i].text;
    if (!s.op.empty()) head += " " + s.op;
    if (s.isStatic) head += " static";
    if (s.kind == Stmt::Kind::Let || s.kind == Stmt::Kind::Var || s.kind == Stmt::Kind::For) {
      head += " " + shown(s.pattern);
    }
    if (s.kind == Stmt::Kind::Test || s.kind == Stmt::Kind::Bench) head += " " + quoted(s.title);
    line(head);
    const Indent indent(*this);
    if (!s.doc.empty()) line("doc " + quoted(s.doc));
    for (const Annotation& a : s.annotations) annotation(a);
    generics(s);
    for (const Field& f : s.fields) {
      line("field " + f.name.text + (f.state ? " state" : ""));
      const Indent inner(*this);
      type(f.type);
    }
    for (const FnParam& p : s.params) {
      line("parameter " + p.name.text + (p.isStatic ? " static" : ""));
      const Indent inner(*this);
      type(p.type);
      part("default", p.otherwise);
    }
    if (s.type) {
      line(s.kind == Stmt::Kind::Fn ? "result" : "type");
      const Indent inner(*this);
      type(s.type);
    }
    for (const DevicePlace& p : s.places) {
      line("place " + p.name.text + (p.number ? ":" + std::to_string(*p.number) : ""));
      const Indent inner(*this);
      expr(p.index);
      part("to", p.indexEnd);
    }
    expr(s.target);
    expr(s.value);
    expr(s.message);
    if (s.kind == Stmt::Kind::While)
      expr(s.lo);
    else
      part(s.hi ? "from" : "over", s.lo);
    part("to", s.hi);
    part("by", s.by);
    if (s.body.span.valid()) block(s.body);
  }

 private:
  struct Indent {
    explicit Indent(Printer& p) : printer(p) { ++printer.depth_; }
    ~Indent() { --printer.depth_; }
    Indent(const Indent&) = delete;
    Indent& operator=(const Indent&) = delete;
    Printer& printer;
  };

  void line(const std::string& text) {
    out_.append(2 * depth_, ' ');
    out_ += text;
    out_ += '\n';
  }

  /// A labelled sub-tree; nothing when it is absent.
  void part(const std::string& label, const ExprPtr& e) {
    if (!e) return;
    line(label);
    const Indent indent(*this);
    expr(e);
  }

  void block(const Block& b) {
    line("block");
    const Indent indent(*this);
    for (const StmtPtr& s : b.statements) statement(*s);
  }

  void generics(const Stmt& s) {
    for (const Generic& g : s.generics) {
      line("generic " + std::string(g.pack ? "..." : "") + g.name.text +
           (g.kind == Generic::Kind::Open ? "" : ": " + std::string(name(g.kind))));
      const Indent indent(*this);
      type(g.otherwise);
    }
  }

  void annotation(const Annotation& a) {
    if (a.kind == Annotation::Kind::Autocast) return part("@autocast", a.index);
    line("@" + joined(a.path) + (a.number ? ":" + std::to_string(*a.number) : ""));
    const Indent indent(*this);
    expr(a.index);
  }

  void type(const TypePtr& t) {
    if (!t) return;
    using Kind = TypeExpr::Kind;
    switch (t->kind) {
      case Kind::Path: line(joined(t->path) + (t->hasArgs ? "[]" : "")); break;
      case Kind::Int: line(std::to_string(t->integer)); break;
      case Kind::Device: line(t->device); break;
      case Kind::Binary: line(t->op == '/' ? "//" : std::string(1, t->op)); break;
      case Kind::Negate: line("negate"); break;
      case Kind::Tuple: line("tuple"); break;
      case Kind::List: line("list"); break;
      case Kind::Pack: line("pack ..." + joined(t->path)); break;
      case Kind::ShapeOf: line("shape ..." + joined(t->path)); break;
    }
    const Indent indent(*this);
    for (const TypePtr& a : t->args) type(a);
    if (t->place) annotation(*t->place);
  }

  void expr(const ExprPtr& e) {
    if (e) expr(*e);
  }

  void expr(const Expr& e) {
    using Kind = Expr::Kind;
    switch (e.kind) {
      case Kind::Name: return line("name " + e.text);
      case Kind::Int: return line("int " + e.text + (e.overflow ? " overflow" : ""));
      case Kind::Float: return line("float " + e.text);
      case Kind::Bool: return line(e.boolean ? "true" : "false");
      case Kind::Device: return line("device " + e.text);
      case Kind::String: return string(e);
      case Kind::Tuple: line("tuple"); break;
      case Kind::Array: line("array"); break;
      case Kind::Unary: line("unary " + e.text); break;
      case Kind::Binary: line("binary " + e.text); break;
      case Kind::Member: line("member " + e.text); break;
      case Kind::Call: line("call"); break;
      case Kind::Index: line("index"); break;
      case Kind::Struct: line("struct"); break;
      case Kind::If: line("if"); break;
      case Kind::Block: line("block expression"); break;
      case Kind::Lambda: line("lambda"); break;
      case Kind::Error: return line("error");
    }
    const Indent indent(*this);
    for (const Annotation& a : e.annotations) annotation(a);
    if (e.kind == Kind::If) return branches(e);
    for (const ExprPtr& a : e.args) expr(a);
    for (const Argument& a : e.arguments) argument(a);
    for (const Subscript& s : e.subscripts) subscript(s);
    for (const FieldInit& f : e.fields) part("field " + f.name.text, f.value);
    for (const LambdaParam& p : e.params) {
      line("parameter " + shown(p.pattern));
      const Indent inner(*this);
      type(p.type);
    }
    for (const Block& b : e.blocks) block(b);
    expr(e.body);
  }

  void string(const Expr& e) {
    line("string");
    const Indent indent(*this);
    for (const StringPiece& p : e.pieces) {
      if (p.hole)
        part("hole" + (p.format.empty() ? "" : " " + quoted(p.format)), p.hole);
      else
        line("text " + quoted(p.text));
    }
  }

  void branches(const Expr& e) {
    for (size_t i = 0; i < e.blocks.size(); ++i) {
      if (i < e.args.size()) expr(e.args[i]);
      block(e.blocks[i]);
    }
  }

  void argument(const Argument& a) {
    if (!a.name && !a.rangeEnd) return expr(a.value);
    if (a.name) return part("argument " + a.name->text, a.value);
    part("from", a.value);
    part("to", a.rangeEnd);
  }

  void subscript(const Subscript& s) {
    using Kind = Subscript::Kind;
    switch (s.kind) {
      case Kind::Index: return expr(s.index);
      case Kind::Ellipsis: return line("ellipsis");
      case Kind::New: return line("new");
      case Kind::Window: {
        line("window");
        const Indent indent(*this);
        expr(s.index);
        return expr(s.size);
      }
      case Kind::Slice: {
        line("slice");
        const Indent indent(*this);
        part("from", s.lo);
        part("to", s.hi);
        return part("step", s.step);
      }
    }
  }

  std::string out_;
  size_t depth_ = 0;
};

}  // namespace

std::string quoted(std::string_view text, bool holeless) {
  std::string s = "\"";
  for (const char c : text) {
    switch (c) {
      case '\n': s += "\\n"; break;
      case '\t': s += "\\t"; break;
      case '"': s += "\\\""; break;
      case '\\': s += "\\\\"; break;
      default:
        if (holeless && (c == '{' || c == '}')) s += c;
        s += c;
        break;
    }
  }
  return s + "\"";
}

std::string print(const File& f) {
  Printer p;
  for (const StmtPtr& s : f.statements) p.statement(*s);
  return p.take();
}

}  // namespace tenc::ast
