"""Where suites find NVRTC and the fake driver, for programs that run as CUDA C++ on the virtual machine for PTX. With TENC_TEST_GPU=1 the same
suites run on the first GPU of this machine instead (on_gpu.py)."""
import argparse
import concurrent.futures
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import zlib

ON_GPU = os.environ.get("TENC_TEST_GPU") == "1"
MODES = ("lazy", "eager", "random")
ALL_MODES = (*MODES, "async")  # beside the program, so that no two runs are alike
# Two GPUs; on a real one, of which many suites share the memory, a part of it.
FLAGS = ["--memory", "cuda:0=4GiB"] if ON_GPU else ["--virtual", "cuda=2", "--target", "cuda:compute_90a"]


def parser(text):
    """Of a suite's command line: the compiler, and the fake driver."""
    ap = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--tenc", "--driver"): ap.add_argument(name, required=True, type=lambda p: pathlib.Path(p).resolve())
    return ap


def flags(mode):
    """For programs whose suite has several orders: in one of them code of Ampere, whose tensor cores warps use for themselves."""
    return [f.replace("compute_90a", "compute_80") for f in FLAGS] if mode == "eager" else FLAGS


def mode_of(name):
    """When the machine works, for a test of that name: each of the orders for a third of all."""
    return MODES[zlib.crc32(name.encode()) % len(MODES)]


def environment(tenc, driver, mode, reports=os.devnull):
    """With what setup.sh installed, unless another NVRTC is named, and without cuBLASLt and cuSOLVER, unless they are. What the machine finds
    wrong is written to the file `reports`."""
    if ON_GPU: return {"TENC_CUBLASLT": "", "TENC_CUSOLVER": "", **os.environ}
    installed = sorted(pathlib.Path(tenc).resolve().parents[2].glob("nvrtc/libnvrtc.so.*"))
    return {"TENC_VM_MODE": mode, "TENC_VM_SEED": "7", "TENC_VM_DEVICES": "2", "TENC_VM_REPORTS": str(reports), "TENC_CUBLASLT": "", "TENC_CUSOLVER": "",
            **({"TENC_NVRTC": str(installed[0])} if installed else {}), **os.environ, "TENC_LIBCUDA": str(driver)}


def checked(command, reports):
    """The command under the checker that TENC_TEST_SANITIZER names, such as `compute-sanitizer --tool racecheck`, which writes to the file `reports`."""
    tool = shlex.split(os.environ.get("TENC_TEST_SANITIZER", ""))
    return [*tool, "--log-file", reports, *command] if tool else command


def findings(reports):
    """What was written to `reports`, but for the frame that NVIDIA's checkers put around nothing."""
    lines = pathlib.Path(reports).read_text().splitlines()
    frame = ("========= COMPUTE-SANITIZER", "========= Target application returned an error")
    return "\n".join(line for line in lines if not line.startswith(frame) and "SUMMARY: 0 " not in line)


def skip_without_nvrtc(tenc, driver):
    """Ends the suite as a skipped one where nothing can be compiled."""
    probe = subprocess.run([tenc, "-e", "print(1)", *FLAGS], capture_output=True, text=True, env=environment(tenc, driver, MODES[0]))
    if "NVRTC" in probe.stderr and "not found" in probe.stderr:
        print(f"nothing is run: {probe.stderr.strip()}")
        sys.exit(77)


def run_tests(tests, only=""):
    """Ends the suite. A test is a name and a function that gets a folder of its own and says what is wrong; those whose names have `only` run,
    some at a time."""
    def problem(test):
        with tempfile.TemporaryDirectory() as folder: return test[1](pathlib.Path(folder))

    tests = [t for t in tests if only in t[0]]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool: results = list(pool.map(problem, tests))
    for (name, _), wrong in zip(tests, results):
        if wrong: print(f"FAILED {name}: {wrong}")
    failed = sum(map(bool, results))
    print(f"{len(results) - failed} passed, {failed} failed")
    sys.exit(failed > 0)
