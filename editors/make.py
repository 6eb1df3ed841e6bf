#!/usr/bin/env python3
"""Writes the highlighting of TL for editors: editors/make.py [--check]

The words come from where the compiler has them: keywords from grammar/TL.g4, dtypes and kinds of devices from ir/, built-in
operations from docs/ops.md (which is made from the compiler's table), functions of functions from frontend/builtins. Made are

  vscode/syntaxes/tl.tmLanguage.json    a TextMate grammar, which VS Code, Sublime Text, TextMate and others read
  vim/syntax/tl.vim                     for Vim and Neovim
  pygments/tl_lexer.py                  for Pygments: Sphinx, MkDocs, LaTeX, and docs/make_html.py

--check writes nothing, and fails if a file is not what would be written."""
import argparse
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent

# Which class the words of the grammar belong to; one that is not here is reported.
CLASSES = {
    "declaration": "let var const fn struct type import param device test bench",
    "control": "for in by while if else break continue return assert",
    "operator": "and or not",
    "constant": "true false",
    "modifier": "static state autocast new",
}
# Declarations that the token filter tells from names by what follows them.
BEFORE_NAME = ("param", "device")
BEFORE_STRING = ("test", "bench")
NUMBERS = ("inf", "nan", "pi")
# Transforms that only the standard library calls.
INTERNAL = {"with_state", "by_first"}


def read(path):
    return (ROOT / path).read_text()


def keywords():
    """The words that the grammar's tokens spell, and those that the token filter makes keywords of."""
    grammar = re.findall(r"\b[A-Z]+: '([a-z]+)';", read("grammar/TL.g4"))
    contextual = re.findall(r'promote\("(\w+)"', read("syntax/TokenFilter.cpp"))
    return set(grammar) | set(contextual)


def dtypes():
    return re.findall(r'\{"(\w+)", \d+\}', re.search(r"kDTypes\{\{(.*?)\}\};", read("ir/Type.cpp"), re.S)[1])


def kinds():
    """What may stand behind a type variable, `T: float`."""
    names = re.search(r"std::string_view name\(Generic::Kind \w+\) \{(.*?)\n\}", read("syntax/AstBuilderType.cpp") + read("syntax/AstPrint.cpp"), re.S)[1]
    return [n for n in re.findall(r'"(\w+)"', names)]


def device_kinds():
    return re.findall(r'"(\w+)"', re.search(r"kNumbered\[\] = \{(.*?)\}", read("ir/DeviceTable.cpp"))[1])


def builtins():
    transforms = set(re.findall(r'\{"(\w+)\(', read("frontend/builtins/BuiltinTransforms.cpp"))) - INTERNAL
    return sorted(set(re.findall(r"^## (\w+)$", read("docs/ops.md"), re.M)) | transforms)


def words(names, group=""):
    return rf"\b({group}{'|'.join(names)})\b"


class Rules:
    """The patterns that all three share, in the form that Python, Oniguruma and (rewritten) Vim understand."""

    def __init__(self):
        missing = keywords() ^ set(" ".join(CLASSES.values()).split())
        if missing: sys.exit(f"editors/make.py: {sorted(missing)} are in the grammar or in CLASSES, but not in both")
        self.groups = {name: text.split() for name, text in CLASSES.items()}
        self.plain = [w for w in self.groups["declaration"] if w not in BEFORE_NAME + BEFORE_STRING]
        self.dtypes, self.kinds, self.builtins = dtypes(), kinds(), builtins()
        self.device = rf"\b(?:{'|'.join(device_kinds())}):[0-9]+\b|\bcpu\b|\b(?:{'|'.join(device_kinds())})\b"
        digits = r"[0-9](?:_?[0-9])*"
        self.number = rf"\b0x[0-9a-fA-F](?:_?[0-9a-fA-F])*|\b{digits}(?:\.{digits})?[eE][-+]?[0-9]+|\b{digits}\.(?:{digits})?(?![.\w])|\b{digits}"
        # (class, pattern), tried in this order at each place.
        self.ordered = [
            ("doc", r"##[^\n]*"),
            ("comment", r"#[^\n]*"),
            ("number", self.number),
            ("member", r"(?<=\.)(?<!\.\.)[A-Za-z_][A-Za-z0-9_]*"),
            ("declaration", rf"\b(?:{'|'.join(BEFORE_NAME)})(?=[ \t]+[A-Za-z_][A-Za-z0-9_]*[ \t]*[:=])"),
            ("declaration", rf"\b(?:{'|'.join(BEFORE_STRING)})(?=[ \t]+\")"),
            ("kind", rf"(?<=: )(?:{'|'.join(self.kinds)})(?=[ \t]*[,=\]])"),
            ("device", self.device),
            ("function", r"(?<=\bfn )[A-Za-z_][A-Za-z0-9_]*"),
            ("declaration", words(self.plain, "?:")),
            *((name, words(self.groups[name], "?:")) for name in ("control", "operator", "constant")),
            ("annotation", r"(?<![\w)\]])@(?:autocast\b|[A-Za-z_][A-Za-z0-9_]*)"),
            ("modifier", words(self.groups["modifier"], "?:")),
            ("constant", words(NUMBERS, "?:")),
            ("dtype", words(self.dtypes, "?:")),
            ("type", r"\b[A-Z][A-Za-z0-9_]*\b"),
            ("builtin", rf"\b(?:{'|'.join(self.builtins)})\b(?=[ \t]*[(\[])"),
            ("name", r"[A-Za-z_][A-Za-z0-9_]*"),
            ("symbol", r"\|>|->|\*\*=?|//=?|:\+|\.\.\.?|[-+*/%@=!<>]=?|\|\|?|&&?"),
            ("bracket", r"[{}()\[\],:;.]"),
        ]


SCOPES = {
    "doc": "comment.line.documentation", "comment": "comment.line.number-sign", "number": "constant.numeric", "member": "variable.other.member",
    "declaration": "keyword.declaration", "kind": "storage.type.kind", "device": "constant.language.device", "function": "entity.name.function",
    "control": "keyword.control", "operator": "keyword.operator.logical", "constant": "constant.language", "annotation": "meta.annotation storage.modifier.annotation",
    "modifier": "storage.modifier", "dtype": "storage.type", "type": "entity.name.type", "builtin": "support.function", "name": "variable.other",
    "symbol": "keyword.operator", "bracket": "punctuation",
}
TOKENS = {
    "doc": "String.Doc", "comment": "Comment.Single", "number": "Number", "member": "Name.Attribute", "declaration": "Keyword.Declaration",
    "kind": "Keyword.Type", "device": "Name.Constant", "function": "Name.Function", "control": "Keyword", "operator": "Operator.Word",
    "constant": "Keyword.Constant", "annotation": "Name.Decorator", "modifier": "Keyword.Reserved", "dtype": "Keyword.Type", "type": "Name.Class",
    "builtin": "Name.Builtin", "name": "Name", "symbol": "Operator", "bracket": "Punctuation",
}
ESCAPE = r"\\[nt\\\"]|\{\{|\}\}"


def textmate(rules):
    def matched(comments):
        return [{"name": " ".join(s + ".tl" for s in SCOPES[name].split()), "match": pattern}
                for name, pattern in rules.ordered if (name in ("doc", "comment")) == comments]

    # In a hole `#` belongs to a format: "{n:#x}".
    hole = {"name": "meta.interpolation.tl", "begin": r"\{", "end": r"\}|(?=\")", "patterns": [{"include": "#expression"}]}
    string = {"name": "string.quoted.double.tl", "begin": "\"", "end": "\"|$",
              "patterns": [{"name": "constant.character.escape.tl", "match": ESCAPE}, hole]}
    made = {"$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json", "name": "TL", "scopeName": "source.tl",
            "fileTypes": ["tl"], "patterns": [{"include": "#code"}],
            "repository": {"code": {"patterns": [*matched(comments=True), {"include": "#expression"}]},
                           "expression": {"patterns": [{"include": "#string"}, *matched(comments=False)]}, "string": string}}
    return json.dumps(made, indent=2) + "\n"


def pygments(rules):
    ordered = "".join(f"            (r'''{pattern}''', {TOKENS[name]}),\n" for name, pattern in rules.ordered if name not in ("doc", "comment"))
    return f'''"""A lexer for TL, the language of tenc, for Pygments. Made by editors/make.py."""
from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

__all__ = ["TlLexer"]


class TlLexer(RegexLexer):
    name = "TL"
    aliases = ["tl"]
    filenames = ["*.tl"]
    mimetypes = ["text/x-tl"]

    tokens = {{
        "root": [
            (r"##[^\\n]*", {TOKENS["doc"]}),
            (r"#[^\\n]*", {TOKENS["comment"]}),
            (r"\\s+", Text),
            (r'"', String, "string"),
{ordered}        ],
        "string": [
            (r'"|$', String, "#pop"),
            (r\'\'\'{ESCAPE}\'\'\', String.Escape),
            (r"\\{{", String.Interpol, "hole"),
            (r\'[^"\\\\{{}}\\n]+|.\', String),
        ],
        "hole": [
            (r"\\}}|(?=\\")", String.Interpol, "#pop"),
            (r"\\s+", Text),
{ordered}        ],
    }}
'''


def vim(rules):
    def group(name, names):
        return f"syn keyword tl{name} " + " ".join(names) + "\n"

    or_ = r"\|".join
    before_name, before_string, kind_names, devices = or_(BEFORE_NAME), or_(BEFORE_STRING), or_(rules.kinds), or_(device_kinds())
    builtin_names = or_(rules.builtins)
    return f'''" Vim syntax file for TL, the language of tenc. Made by editors/make.py.
if exists("b:current_syntax")
  finish
endif

syn match tlName "\\<[A-Za-z_]\\w*\\>"
syn match tlType "\\<[A-Z]\\w*\\>"
{group("Declaration", rules.plain)}{group("Control", rules.groups["control"])}{group("WordOperator", rules.groups["operator"])}{group("Constant", [*rules.groups["constant"], *NUMBERS])}{group("Modifier", rules.groups["modifier"])}{group("DType", rules.dtypes)}
syn match tlDeclaration "\\<\\%({before_name}\\)\\>\\ze[ \\t]\\+\\h\\w*[ \\t]*[:=]"
syn match tlDeclaration "\\<\\%({before_string}\\)\\>\\ze[ \\t]\\+\\""
syn match tlKind "\\%(: \\)\\@2<=\\%({kind_names}\\)\\ze[ \\t]*[],=]"
syn match tlFunction "\\%(\\<fn \\)\\@3<=\\h\\w*"
syn match tlBuiltin "\\<\\%({builtin_names}\\)\\>\\ze[ \\t]*[[(]"
syn match tlDevice "\\<\\%({devices}\\):\\d\\+\\>\\|\\<cpu\\>\\|\\<\\%({devices}\\)\\>"
syn match tlMember "\\.\\@1<=\\%(\\.\\.\\)\\@2<!\\h\\w*"
syn match tlAnnotation "[[:alnum:]_)\\]]\\@1<!@\\h\\w*"
syn match tlNumber "\\<0x\\x\\%(_\\?\\x\\)*\\|\\<\\d\\%(_\\?\\d\\)*\\%(\\.\\d\\%(_\\?\\d\\)*\\)\\?\\%([eE][-+]\\?\\d\\+\\)\\?"
syn match tlEscape contained "\\\\[nt\\\\\\"]\\|{{{{\\|}}}}"
syn region tlHole contained matchgroup=tlEscape start="{{" end="}}\\|\\ze\\"" oneline contains=TOP,tlComment,tlDoc
syn region tlString start=+"+ end=+"+ oneline contains=tlEscape,tlHole
syn match tlComment "#.*$" contains=tlTodo
syn match tlDoc "##.*$" contains=tlTodo
syn keyword tlTodo contained TODO FIXME

hi def link tlDeclaration Keyword
hi def link tlControl Conditional
hi def link tlWordOperator Operator
hi def link tlConstant Constant
hi def link tlModifier StorageClass
hi def link tlDType Type
hi def link tlType Type
hi def link tlKind Type
hi def link tlFunction Function
hi def link tlBuiltin Function
hi def link tlDevice Constant
hi def link tlMember Normal
hi def link tlName Normal
hi def link tlAnnotation PreProc
hi def link tlNumber Number
hi def link tlEscape SpecialChar
hi def link tlString String
hi def link tlComment Comment
hi def link tlDoc SpecialComment
hi def link tlTodo Todo

let b:current_syntax = "tl"
'''


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    rules, stale = Rules(), []
    for path, text in (("vscode/syntaxes/tl.tmLanguage.json", textmate(rules)), ("vim/syntax/tl.vim", vim(rules)),
                       ("pygments/tl_lexer.py", pygments(rules))):
        file = HERE / path
        if args.check:
            if not file.exists() or file.read_text() != text: stale.append(path)
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    for path in stale: print(f"editors/{path} is not current: run editors/make.py")
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main())
