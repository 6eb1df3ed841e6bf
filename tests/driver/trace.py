# RUN: %python %s %tenc
"""--trace writes a Chrome trace of stages and steps; --emit=dot a graph."""
import json
import pathlib
import subprocess
import sys
import tempfile

TENC = sys.argv[1]

with tempfile.TemporaryDirectory() as folder:
    pathlib.Path(folder, "s.tl").write_text("var x = ones([1000])\nfor i in 0..3 {\n    x = softmax(x)\n    print(sum(x))\n}\n")
    subprocess.run([TENC, "s.tl", "--trace", "out.json"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    events = json.loads(pathlib.Path(folder, "out.json").read_text())["traceEvents"]
    names = [e["name"] for e in events]
    for name in ("parse", "codegen", "run", "for"):
        if name not in names: sys.exit(f"no {name} in {names}")
    if names.count("print") != 3: sys.exit(f"{names.count('print')} prints in {names}")
    lines = {e["name"]: e["args"]["source"] for e in events if "args" in e}
    if lines.get("print") != "s.tl:4" or lines.get("for") != "s.tl:2" or "s.tl:3" not in " ".join(lines.values()):
        sys.exit(f"the lines are {lines}")
    loop = next(e for e in events if e["name"] == "for")
    inside = [e for e in events if e["name"] == "print" and loop["ts"] <= e["ts"] and e["ts"] + e["dur"] <= loop["ts"] + loop["dur"] + 0.01]
    if len(inside) != 3 or any(e["dur"] < 0 or e["ts"] < 0 for e in events): sys.exit(f"times do not fit: {events}")
    status = subprocess.run([TENC, "s.tl", "--trace", "none/out.json"], cwd=folder, capture_output=True, text=True)
    if status.returncode != 1 or "none/out.json" not in status.stderr: sys.exit(f"a file that cannot be written: {status}")

    graph = subprocess.run([TENC, "s.tl", "--emit=dot"], cwd=folder, check=True, capture_output=True, text=True).stdout
    if not graph.startswith("digraph tenc {") or graph.count("{") != graph.count("}") or " -> " not in graph or "print" not in graph:
        sys.exit(f"no graph: {graph}")
