# RUN: %python %s %tenc
"""Whatever nests or goes on for long is fine or an error: no crash, no internal error, no hang, in any command."""
import os
import resource
import subprocess
import sys
import tempfile

TENC = sys.argv[1]
FORMS = {
    'annot': lambda n: '@cpu '*n+'print(1)\n',
    'annotblock': lambda n: '@cpu { '*n+'print(1)'+' }'*n+'\n',
    'autocast': lambda n: '@autocast(bf16) { '*n+'print(1)'+' }'*n+'\n',
    'block': lambda n: 'let x = '+'{ '*n+'1'+' }'*n+'\n',
    'if': lambda n: 'if true { '*n+'print(1)'+' }'*n+'\n',
    'elseif': lambda n: 'let x = if false { 1 } '+'else if false { 1 } '*n+'else { 2 }\nprint(x)\n',
    'for': lambda n: 'for i in 0..1 { '*n+'print(1)'+' }'*n+'\n',
    'while': lambda n: 'while false { '*n+'print(1)'+' }'*n+'\n',
    'whilecond': lambda n: 'while '*n+'false {}\n',
    'lambda': lambda n: 'let f = '+'|x| '*n+'1\n',
    'lambdacall': lambda n: 'let f = '+'|x| f('*n+'1'+')'*n+'\n',
    'not': lambda n: 'let f = '+'!'*n+'true\nprint(f)\n',
    'not2': lambda n: 'let f = '+'not '*n+'true\nprint(f)\n',
    'neg': lambda n: 'let f = '+'- '*n+'1\nprint(f)\n',
    'range': lambda n: 'let f = '+'0..'*n+'1\nprint(f)\n',
    'cmp': lambda n: 'let f = '+'1 < '*n+'1\nprint(f)\n',
    'and': lambda n: 'let f = '+'true && '*n+'true\nprint(f)\n',
    'and2': lambda n: 'let f = '+'true and '*n+'true\nprint(f)\n',
    'pow': lambda n: 'let f = '+'1 ** '*n+'1\nprint(f)\n',
    'assign': lambda n: 'var a = 1\n'+'a = '*n+'1\n',
    'call': lambda n: 'let f = '+'abs('*n+'1'+')'*n+'\n',
    'method': lambda n: 'let f = 1'+'.abs()'*n+'\n',
    'field': lambda n: 'let f = x'+'.y'*n+'\n',
    'index': lambda n: 'let f = x'+'[0]'*n+'\n',
    'tuple': lambda n: 'let f = x'+'.0'*n+'\n',
    'array': lambda n: 'let f = '+'['*n+'1'+']'*n+'\n',
    'arrayopen': lambda n: 'let f = '+'['*n+'\n',
    'typearr': lambda n: 'fn f(x: '+'['*n+'f32'+'; 2]'*n+') = x\n',
    'typetup': lambda n: 'fn f(x: '+'('*n+'f32'+',)'*n+') = x\n',
    'typefn': lambda n: 'fn f(x: '+'fn('*n+'f32'+')'*n+') = x\n',
    'typefn2': lambda n: 'fn f(x: '+'fn(f32) -> '*n+'f32) = x\n',
    'typegen': lambda n: 'fn f(x: '+'A['*n+'f32'+']'*n+') = x\n',
    'typeat': lambda n: 'fn f(x: f32'+' @cpu'*n+') = x\n',
    'pattern': lambda n: 'let '+'('*n+'a'+',)'*n+' = 1\n',
    'pattern2': lambda n: 'for '+'('*n+'a'+',)'*n+' in 1 {}\n',
    'strformat': lambda n: 'print("'+'{"'*n+'a'+'"}'*n+'")\n',
    'strmany': lambda n: 'print("'+'{1}'*n+'")\n',
    'struct': lambda n: 'let x = '+'S { a: '*n+'1'+' }'*n+'\n',
    'structwith': lambda n: 'let x = '+'S { ...'*n+'a'+' }'*n+'\n',
    'import': lambda n: 'import '+'a.'*n+'b\n',
    'importas': lambda n: 'import a'+' as b'*n+'\n',
    'doc': lambda n: '## a\n'*n+'fn f() = 1\n',
    'or': lambda n: 'device d = '+'cuda:0 or '*n+'cpu\nprint(1)\n',
    'return': lambda n: 'fn f() { '+'return '*n+'1 }\n',
    'match': lambda n: 'let x = 1 '+'if true '*n+'\n',
    'ternary': lambda n: 'let x = '+'if true { 1 } else { '*n+'1'+' }'*n+'\n',
    'at': lambda n: 'let x = '+'1 @ '*n+'1\n',
    'plus': lambda n: 'let x = '+'1 + '*n+'1\n',
    'fn': lambda n: 'fn f() { '*n+'1'+' }'*n+'\n',
    'test': lambda n: 'test "a" { '*n+'1'+' }'*n+'\n',
    'comment': lambda n: '#'*n+'\n',
    'paramtypes': lambda n: 'fn f('+', '.join(f'a{i}: f32' for i in range(n))+') = 1\n',
    'genericlist': lambda n: 'fn f['+', '.join(f'A{i}' for i in range(n))+'](x: f32) = 1\n',
    'pipe': lambda n: 'let x = 1 '+'|> abs '*n+'\n',
    'where': lambda n: 'fn f(x: f32) where '+'x == '*n+'x = 1\n',
    'semis': lambda n: ';'*n+'\n',
    'else': lambda n: 'else '*n+'\n','attr': lambda n: '@'*n+'\n','close': lambda n: '}'*n+'\n','closeparen': lambda n: ')'*n+'\n',
    'mut': lambda n: 'pub '*n+'let x = 1\n','state': lambda n: 'struct S { '+'state '*n+'x: f32 }\n',
    'comp': lambda n: 'let x = '+'[a for a in '*n+'b'+']'*n+'\n',
    'checkpoint': lambda n: 'let f = '+'grad('*n+'|x| x'+')'*n+'\nprint(f(1.0))\n',
    'vmaps': lambda n: 'let f = '+'vmap('*n+'|x| x'+')'*n+'\nprint(f(1.0))\n',
    'slice': lambda n: 'let f = x['+'0:'*n+']\n',
    'expected': lambda n: 'let f = '+'x['*n+'0'+']'*n+'\n',
    'newline': lambda n: '\n'*n, 'unary@': lambda n: 'let x = '+'@cpu '*n+'1\n','dbg': lambda n: 'let x = '+'dbg '*n+'1\n','assert': lambda n: 'assert '*n+'1\n',
    'params': lambda n: ''.join(f'param p{i} = 1\n' for i in range(n)),
    'typedims': lambda n: 'fn f(x: f32['+'N + '*n+'1]) = x\n','typedims2': lambda n: 'fn f(x: f32['+'('*n+'1'+')'*n+']) = x\n',
    'dots': lambda n: 'let x = '+'.'*n+'\n','spread': lambda n: 'let x = f('+'...'*n+'x)\n',
    'lets': lambda n: 'let x = '*n+'1\n',
}
COMMANDS = [(20000, "check"), (3000, "fmt", "--dry-run")]


def main():
    failed = []
    seconds = lambda: resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "deep.tl")
        for name, form in FORMS.items():
            for count, *command in COMMANDS:
                with open(script, "w") as f: f.write(form(count))
                try:
                    run = subprocess.run([TENC, *command, script], capture_output=True, text=True, errors="replace", preexec_fn=seconds, check=False, timeout=60)
                except subprocess.TimeoutExpired:
                    failed.append(f"{name}, {count} times, {' '.join(command)}: takes too long")
                    continue
                if run.returncode not in (0, 1) or "internal error" in run.stderr:
                    failed.append(f"{name}, {count} times, {' '.join(command)}: {run.returncode} {run.stderr[:200]!r}")
    print("\n".join(failed))
    sys.exit(1 if failed else 0)


main()
