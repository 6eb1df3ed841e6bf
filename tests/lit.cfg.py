# The lit suites: lit --param=bin=BUILD/bin tests
import os
import shutil
import sys

import lit.formats

config.name = "tenc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".tir", ".tl", ".test"]
config.excludes = ["unit", "fuzz", "opt", "run", "kernels", "networks", "training", "library", "numerics", "mutants", "threads", "halves", "scatters", "loops", "shapes"]
config.test_source_root = os.path.dirname(__file__)
binaries = os.path.abspath(lit_config.params.get("bin", os.path.join(config.test_source_root, "../build/release/bin")))
config.test_exec_root = os.path.join(binaries, "../lit")


# FileCheck, not and count are where Debian's llvm-19-tools puts them.
os.environ["PATH"] = "/usr/lib/llvm-19/bin:" + os.environ["PATH"]
config.environment["PATH"] = os.environ["PATH"]
config.environment["TENC_CACHE_DIR"] = ""  # no cache: every test compiles what it runs
config.environment["TENC_LIBCUDA"] = ""  # no driver: tests say the same on machines with a GPU
config.environment["TENC_CUBLASLT"] = config.environment["TENC_CUSOLVER"] = ""  # nor a library of products or factorisations


def tool(*names):
    found = next(filter(None, map(shutil.which, names)), None)
    if not found:
        print(f"skipped: {names[0]} of llvm-19-tools is not installed")
        sys.exit(77)
    return found


if "sanitized" in lit_config.params: config.available_features.add("sanitized")
# What x86-64-v4 has; `%if avx512 %{ ... %}` around a command that needs it.
if {"avx512f", "avx512vl", "avx512bw", "avx512dq", "avx512cd"} <= set(open("/proc/cpuinfo").read().split()): config.available_features.add("avx512")
# What icelake-server has of vectors beside that.
VECTORS = {"avx512_vnni", "avx512_vbmi2", "avx512_bitalg", "avx512_vpopcntdq", "avx512ifma", "gfni", "vaes", "vpclmulqdq"}
if {"avx512f", *VECTORS} <= set(open("/proc/cpuinfo").read().split()): config.available_features.add("vnni")
# What sapphirerapids has of vectors beside that: Golden Cove and later.
GOLDEN_COVE = {"avx512_fp16", "avx512_bf16", "avx_vnni", "avx512vbmi", "serialize"}
if {"avx512f", *VECTORS, *GOLDEN_COVE} <= set(open("/proc/cpuinfo").read().split()): config.available_features.add("golden_cove")
# What znver3 has beside AVX2.
if {"avx2", "clzero", "sse4a", "sha_ni", "vaes", "vpclmulqdq", "fsrm"} <= set(open("/proc/cpuinfo").read().split()): config.available_features.add("zen3")
config.substitutions.append(("%opt", os.path.join(binaries, "tenc-opt")))
# --param=flags=--target-cpu=x86-64-v3 runs the suites with options of the tool.
config.substitutions.append(("%tenc", os.path.join(binaries, "tenc") + " " + lit_config.params.get("flags", "")))
config.substitutions.append(("%generated", os.path.join(binaries, "../grammar/generated/grammar")))
config.substitutions.append((r"\bFileCheck\b", tool("FileCheck", "FileCheck-19")))
config.substitutions.append((r"(?<![-.\w])not(?![-.\w=])", tool("not", "not-19")))
