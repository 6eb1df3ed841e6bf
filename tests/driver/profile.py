# RUN: %python %s %tenc
"""tenc profile: lines, what they did, and what becomes of kernels that several lines share."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TENC = sys.argv[1]
SCRIPT = """import nn
fn twice(x: f32[N]) -> f32[N] {
    x * 2.0 + 1.0
}
seed(1)
let a = randn([256, 256])
let b = a @ a
var x = ones([4096])
for i in 0..10 {
    x = twice(x)
}
let y = softmax(b)
print(sum(x), sum(y))
print(nn.mse(a, b))
"""


def check(good, what):
    if not good: sys.exit(what)


def run(*options, status=0, folder):
    done = subprocess.run([TENC, *options], cwd=folder, capture_output=True, text=True, env={**os.environ, "COLUMNS": "100"})
    check(done.returncode == status, f"{options}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done


with tempfile.TemporaryDirectory() as folder:
    pathlib.Path(folder, "s.tl").write_text(SCRIPT)
    done = run("profile", "s.tl", "--json", "--threads", "2", folder=folder)
    report = json.loads(done.stdout)
    check(len(done.stderr.splitlines()) == 2, f"what the script prints is not on standard error: {done.stderr}")
    lines = {l["line"]: l for l in report["lines"] if l["file"] == "s.tl"}
    check({l["file"] for l in report["lines"]} <= {"s.tl", None}, f"lines of the library: {report['lines']}")
    product = 2 * 256 ** 3
    check(product <= lines[7]["flops"] <= 1.1 * product, f"the product: {lines[7]}")
    check(3 * 256 * 256 * 4 * 0.6 <= lines[7]["bytes"] <= 3 * 256 * 256 * 4, f"the product: {lines[7]}")
    check(lines[3]["flops"] == 10 * 2 * 4096 or lines[3]["flops"] == 2 * 4096 * 10, f"the function's body: {lines[3]}")
    check(14 in lines and lines[14]["flops"] > 2 * 256 * 256, f"a loss of the library: {lines.get(14)}")
    check(abs(sum(l["seconds"] for l in report["lines"]) - report["seconds"]) < 1e-6 + 1e-3 * report["seconds"], "times do not add up")
    times = [l["seconds"] for l in report["lines"]]
    check(times == sorted(times, reverse=True), "lines are not in order")
    machine = report["machine"]
    check(machine["threads"] == 2 and machine["flops"] > 1e9 and len(machine["bandwidth"]) > 3, f"the machine: {machine}")
    check(lines[7]["roofline"] is None or lines[7]["roofline"] > 0, f"the product: {lines[7]}")
    check(all(l["roofline"] is None or l["roofline"] <= 1.0001 for l in report["lines"]), f"above the roofline: {report}")

    # A line that calls several layers says what each of them took.
    pathlib.Path(folder, "n.tl").write_text("""import nn
let net = (nn.linear(64, 256), relu, nn.linear(256, 64))
let x = rand([512, 64])
print(sum(net(x)))
""")
    done = run("profile", "n.tl", "--json", folder=folder)
    line = next(l for l in json.loads(done.stdout)["lines"] if l["line"] == 4)
    layers = {c["callee"]: c for c in line["calls"]}
    products = [c["flops"] for name, c in layers.items() if name.startswith("nn.Linear[")]
    check(len(products) == 2 and all(2 * 512 * 64 * 256 <= f for f in products), f"the layers: {line}")
    check(sum(c["seconds"] for c in line["calls"]) <= 1.0001 * line["seconds"], f"layers that took more: {line}")
    table = run("profile", "n.tl", folder=folder).stdout
    check(len(re.findall(r" % .*    nn\.Linear\[", table)) == 2, table)
    run("profile", "n.tl", "--html", "n.html", folder=folder)
    page = pathlib.Path(folder, "n.html").read_text()
    check(page.count(">    nn.Linear[") == 4, "the layers are not in both tables of the page")

    table = run("profile", "s.tl", folder=folder).stdout
    check(re.search(r"time +share +runs +bytes +FLOP +roofline +line", table), table)
    check(re.search(r"s\.tl:7 +let b = a @ a\n", table), table)
    check(re.search(r" in all\nthis machine, \d+ threads?: .*FLOP/s", table), table)

    # A file that is mapped is not read by the step that loads it.
    run("-e", 'save("a.npy", ones([500000]))', folder=folder)
    done = run("profile", "-e", 'let x: f32[500000] = load("a.npy")\nprint(sum(x))', "--json", folder=folder)
    shares = {l["line"]: l["roofline"] for l in json.loads(done.stdout)["lines"]}
    check(shares[1] is None and 0 < shares[2] <= 1.0001, f"loading has a share of the roofline: {shares}")

    run("profile", "s.tl", "--html", "out.html", folder=folder)
    page = pathlib.Path(folder, "out.html").read_text()
    check(page.startswith("<!doctype html>") and page.rstrip().endswith("</html>"), page[:200])
    check("http" not in page.replace("http://www.w3.org", ""), "the page loads something")
    check(page.count('<td class="s">') >= len(SCRIPT.splitlines()) + 3, "lines of the source are missing")
    check('<span class="kw">let</span> b = a @ a' in page, "the source is not highlighted")
    check(page.count("<tr") == page.count("</tr>") and page.count("<td") == page.count("</td>"), "the tables are not closed")
    status = run("profile", "s.tl", "--html", "none/out.html", status=1, folder=folder)
    check("E0503" in status.stderr, status.stderr)

    # A run that stops is reported up to there; a device is waited for at each step.
    pathlib.Path(folder, "stops.tl").write_text('let x = ones([1000])\nlet y = sum(exp(x))\nassert y < 0.0, "no"\nprint(y)\n')
    done = run("profile", "stops.tl", status=3, folder=folder)
    check("stops.tl:2" in done.stdout and "E0903" in done.stderr, done.stdout + done.stderr)
    pathlib.Path(folder, "device.tl").write_text("device gpu = cuda:0 or cpu\n@gpu let x = ones([100000])\nlet y = sum(exp(x))\nprint(y)\n")
    done = run("profile", "device.tl", "--virtual", "cuda=1", folder=folder)
    check("device.tl:3" in done.stdout, done.stdout)
    check("only compiled scripts" in run("profile", "s.tl", "--engine", "interp", status=2, folder=folder).stderr, "interp")

    # --time knows lines, too.
    done = run("s.tl", "--time", folder=folder)
    check(re.search(r"lines that ran longest +ms\n(s\.tl:\d+ +[\d.]+\n)+", done.stderr), done.stderr)
