#!/usr/bin/env python3
"""Which GPUs there are, and what is said where one cannot be used: devices.py --tenc PATH --driver LIBCUDA [--only TEXT]

Every case runs tenc with the fake driver in some state (or without one), and looks for texts in what it prints. Cases that
compile kernels are skipped, which is said, where NVRTC is missing. Closes with `N passed, N failed`."""
import os
import pathlib
import subprocess
import sys
import tempfile

import machine

FALLBACK = "device gpu = cuda:0 or cpu\nprint(zeros([2]).to(gpu).device)"
ADDS = "let x = ones([4]).to(cuda:0)\nprint(x + x)"
LARGE = "let x = @cuda:0 { randn([1000, 1000]) }\nlet y = x @ x\nprint(sum(x), sum(y))"
# Copies beside the kernels, runs that come again, and a loop that the GPU decides.
LOOP = """let h = ones([64, 64])
var x = @cuda:0 { ones([64, 64]) }
for i in 0..9 {
    x = softmax(sort(softmax(x @ x)) + h.to(cuda:0))
    x = softmax(sort(softmax(x @ x)) @ x)
}
while sum(x) < 4000.0 { x = softmax(x @ x) + min(x) + 0.5 }
print(sum(where(x > 0.0, 1.0, 0.0)))"""
FAULTY = "let x = @cuda:0 { ones([4]) }\nlet i = @cuda:0 { [9] }\nprint(x[i])"
ABSENT = {"TENC_LIBCUDA": "/nowhere/libcuda.so.1"}
NO_NVRTC = {"TENC_NVRTC": "nowhere.so"}
BROKEN_NVRTC = {"TENC_NVRTC": os.path.abspath(__file__)}
OTHER_NVRTC = {"TENC_NVRTC": "libm.so.6"}
PTX = {"TENC_CUDA_CODE": "ptx"}


def failing(what): return {"TENC_VM_FAIL": what, **PTX}


# Name, environment, words for tenc, the status, texts that have to be there; "!" before one that must not.
CASES = [
    ("no driver", ABSENT, ["-e", FALLBACK], 0, ["cpu"]),
    ("no driver, no fallback", ABSENT, ["-e", ADDS], 1, ["E0304", "there is no device `cuda:0`", "NVIDIA's driver was not found (tried /nowhere/libcuda.so.1)", "version 525"]),
    ("no driver, devices", ABSENT, ["devices"], 0, ["cpu ", "no GPU: NVIDIA's driver was not found", "!cuda:0"]),
    ("a broken driver", {"TENC_LIBCUDA": os.path.abspath(__file__)}, ["-e", ADDS], 1, ["E0304", "NVIDIA's driver cannot be loaded: ", "devices.py is not a shared library"]),
    ("not looked for", {"TENC_LIBCUDA": ""}, ["-e", ADDS], 1, ["this machine has cpu\n"]),
    ("one device", {}, ["-e", FALLBACK], 0, ["cuda:0"]),
    ("a number too many", {}, ["-e", "print(ones([4]).to(cuda:1))"], 1, ["there is no device `cuda:1`", "this machine has cpu, cuda:0\n"]),
    ("two devices", {"TENC_VM_DEVICES": "2"}, ["-e", 'print(count(cuda), name(cuda:1), memory(cuda:1))'], 0, ["2 tenc PTX machine 1 4294967296"]),
    ("virtual instead", {}, ["-e", 'print(count(cuda), name(cuda:1))', "--virtual", "cuda=2"], 0, ["2 virtual cuda:1"]),
    ("none on purpose", {}, ["-e", FALLBACK, "--virtual", "cuda=0"], 0, ["cpu"]),
    ("devices", {"TENC_VM_DEVICES": "2"}, ["devices"], 0, ["cuda:0   tenc PTX machine 0, 4 GiB (4 GiB free), compute capability 9.0", "cuda:1 ", "driver   CUDA 13.0", "nvrtc    "]),
    ("no NVRTC", NO_NVRTC, ["-e", FALLBACK], 0, ["cpu"]),
    ("no NVRTC, no fallback", NO_NVRTC, ["-e", ADDS], 1, ["E0304", "NVRTC, which compiles CUDA C++, was not found: tried nowhere.so", "pip install nvidia-cuda-nvrtc"]),
    ("no NVRTC, devices", NO_NVRTC, ["devices"], 0, ["-        tenc PTX machine 0", "cannot be used: NVRTC", "nvrtc    not found"]),
    ("a broken NVRTC", BROKEN_NVRTC, ["-e", FALLBACK], 0, ["cpu"]),
    ("a broken NVRTC, no fallback", BROKEN_NVRTC, ["-e", ADDS], 1, ["E0304", "NVRTC, which compiles CUDA C++, cannot be loaded: ", "devices.py is not a shared library"]),
    ("a broken NVRTC, devices", BROKEN_NVRTC, ["devices"], 0, ["-        tenc PTX machine 0", "cannot be used: NVRTC", "is not a shared library"]),
    ("another library", OTHER_NVRTC, ["-e", ADDS], 1, ["error[E0304]: no code can be made for sm_90: ", "libm.so.6 is no NVRTC that tenc knows", "`tenc devices`", "!internal error"]),
    ("another library, devices", OTHER_NVRTC, ["devices"], 0, ["-        tenc PTX machine 0", "cannot be used: ", "libm.so.6 is no NVRTC that tenc knows"]),
    ("another library for products", {"TENC_CUBLASLT": "libm.so.6"}, ["devices"], 0, ["cublaslt ", "libm.so.6 has no cublasLt"]),
    ("old driver", {"TENC_VM_FAIL": "cuMemGetInfo=absent"}, ["-e", ADDS], 1, ["has no cuMemGetInfo; version 525 (CUDA 12.0) or later"]),
    ("no GPU", {"TENC_VM_FAIL": "cuInit=100"}, ["-e", ADDS], 1, ["(CUDA_ERROR_NO_DEVICE, 100): the driver finds no GPU: see `nvidia-smi`, and CUDA_VISIBLE_DEVICES"]),
    ("a stub", {"TENC_VM_FAIL": "cuInit=34"}, ["-e", ADDS], 1, ["(CUDA_ERROR_STUB_LIBRARY, 34): this libcuda is the toolkit's stub"]),
    ("no start", {"TENC_VM_FAIL": "cuInit=3"}, ["-e", ADDS], 1, ["(CUDA_ERROR_NOT_INITIALIZED, 3): the driver does not start"]),
    ("an attribute fails", {"TENC_VM_FAIL": "cuDeviceGetAttribute=101"}, ["devices"], 0, ["cannot be used: ", "101)"]),
    ("memory is taken", failing("cuMemAlloc=2"), ["-e", LARGE], 1, ["E0320", "the program needs ", " on cuda:0, which does not give it", "f32[1000, 1000]", "note: cuda:0 cannot give", "(CUDA_ERROR_OUT_OF_MEMORY, 2): other programs may hold memory of the device"]),
    ("a stream has no memory", failing("cuStreamCreate=2"), ["-e", LARGE], 1, ["E0320", "f32[1000, 1000]", "note: cuda:0 has no queue", "see `nvidia-smi`"]),
    *[(f"no memory at {call}", failing(f"{call}=2"), ["-e", LOOP], 1, ["E0320", "on cuda:0, which does not give it", "f32[64, 64]", "(CUDA_ERROR_OUT_OF_MEMORY, 2): other programs may hold"])
      for call in ("cuDevicePrimaryCtxRetain", "cuModuleLoadData", "cuEventCreate", "cuLaunchKernel", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemsetD8Async")],
    # What can be done without.
    *[(f"no memory at {call}", failing(f"{call}=2"), ["-e", LOOP], 0, ["4096.0"])
      for call in ("cuMemHostAlloc", "cuMemGetInfo", "cuGraphInstantiateWithFlags", "cuGraphLaunch", "cuGraphAddNode", "cuGraphConditionalHandleCreate")],
    ("an architecture that nobody knows", {}, ["-e", ADDS, "--target", "cuda:sm_123", "--emit=ptx"], 2, ["--target: NVRTC 1", " makes no code for `sm_123`: it has sm_75, sm_80", "sm_90"]),
    ("known before the run", {"TENC_VM_MEMORY": "2000000"}, ["-e", LARGE], 1, ["E0320", "on cuda:0, which has", "f32[1000, 1000]"]),
    ("other machine code", failing("cuModuleLoadData=209"), ["-e", ADDS], 1, ["E0304", "does not load code for compute_90a from NVRTC ", " (compute capability 9.0, driver of CUDA 13.0)", "(CUDA_ERROR_NO_BINARY_FOR_GPU, 209): the code is for GPUs of another architecture"]),
    ("newer PTX", failing("cuModuleLoadData=222"), ["-e", ADDS], 1, ["E0304", "code for compute_90a from NVRTC 1", "driver of CUDA 13.0)", "222): the code was made by an NVRTC that is newer than the driver"]),
    *[(f"a kernel fails, {n}", failing(f"cuLaunchKernel={n}"), ["-e", ADDS], 70, [f", {n}): a kernel that ran before has a bug", "TENC_CUDA_SYNC=1"]) for n in (700, 716, 719)],
    ("the kernel is named", {**failing("cuStreamSynchronize=700"), "TENC_CUDA_SYNC": "1"}, ["-e", ADDS], 70, ["cuda:0, kernel ", "(CUDA_ERROR_ILLEGAL_ADDRESS, 700)"]),
    ("a kernel that does not compile", PTX, ["-e", ADDS, "--provoke", "error=nvrtc"], 70, ["NVRTC: NVRTC_ERROR_COMPILATION", "kernels.cu(", "1 | struct tenc_faults {"]),
    ("runs", PTX, ["-e", ADDS], 0, ["[2. 2. 2. 2.]"]),
    ("a fault", PTX, ["-e", FAULTY], 3, ["index 9 is out of range"]),
    ("machine code by default", {}, ["-e", ADDS], 1, ["does not load code for sm_90", "209)"]),
]
COMPILE = {"memory is taken", "a stream has no memory", "an architecture that nobody knows", "other machine code", "newer PTX", "the kernel is named", "runs", "a fault", "machine code by default"}


def installed_by_setup(A): return next(iter(sorted(A.tenc.parents[2].glob("nvrtc/libnvrtc.so.*"))), None)


def run(A, environment, words):
    installed = installed_by_setup(A)
    everything = {"TENC_CUBLASLT": "", "TENC_CUSOLVER": "", **os.environ, **({"TENC_NVRTC": str(installed)} if installed else {}), "TENC_LIBCUDA": str(A.driver), "TENC_CACHE_DIR": "", **environment}
    done = subprocess.run([A.tenc, *words], capture_output=True, text=True, timeout=120, env=everything)
    return done.returncode, done.stdout + done.stderr


def beside_python(A, installed):
    """Packages are also those of the `python3` that the shell would start, though nobody has activated its environment."""
    with tempfile.TemporaryDirectory() as folder:
        libraries = pathlib.Path(folder, "lib/python3.99/site-packages/nvidia/cu13/lib")
        libraries.mkdir(parents=True)
        pathlib.Path(folder, "bin").mkdir()
        pathlib.Path(folder, "bin/python3").touch()
        library = libraries / "libnvrtc-of-a-test.so"
        library.symlink_to(installed)
        where = {"PATH": f"{folder}/bin:{os.environ['PATH']}", "TENC_NVRTC": library.name}
        text = run(A, where, ["devices"])[1]
        return "" if str(library) in text else f"{library} was not found\n{text}"


def main():
    ap = machine.parser(__doc__)
    ap.add_argument("--only", default="")
    A = ap.parse_args()
    hasCompiler = "nvrtc    not found" not in run(A, {}, ["devices"])[1]
    if not hasCompiler: print("NVRTC is not here: cases with GPUs that can be used are skipped")
    passed = failed = 0
    for name, environment, words, status, texts in CASES:
        needs = name in COMPILE or name.startswith(("one device", "no memory", "two devices", "a number", "devices", "a kernel", "known"))
        if A.only not in name or (needs and not hasCompiler): continue
        got, text = run(A, environment, words)
        wrong = [] if got == status else [f"status {got}, not {status}"]
        wrong += [f"{t!r} is {'there' if t[0] == '!' else 'missing'}" for t in texts if (t.lstrip("!") in text) == (t[0] == "!")]
        if wrong: print(f"FAILED {name}: {'; '.join(wrong)}\n{text}")
        failed, passed = failed + bool(wrong), passed + (not wrong)
    installed = installed_by_setup(A)  # not where the system has NVRTC
    if installed and A.only in "beside python":
        wrong = beside_python(A, installed)
        if wrong: print(f"FAILED beside python: {wrong}")
        failed, passed = failed + bool(wrong), passed + (not wrong)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
