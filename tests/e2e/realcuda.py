# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
"""The real runtime library: static, shared, per-thread default stream, and Python through ctypes.

Each call is counted once under the right operation, <<<>>> too, and without a driver as failed
with its code. Needs a CUDA toolkit; no device.
"""
import collections
import csv
import os
import shutil
import sys
import lib
from lib import check, equal, note

ROOTS = ("/usr/local/cuda", "/usr/lib/cuda", "/opt/cuda")
FORMS = {
    "static": ["-cudart", "static"],
    "shared": ["-cudart", "shared"],
    "per-thread": ["--default-stream", "per-thread"],
    "per-thread-shared": ["--default-stream", "per-thread", "-cudart", "shared"],
}
THROUGH_CTYPES = """
import ctypes, sys
cuda = ctypes.CDLL(sys.argv[1])
for name, times in (("cudaDeviceSynchronize", 7), ("cudaFree", 2), ("cudaStreamSynchronize", 3)):
    for _ in range(times):
        code = getattr(cuda, name)(ctypes.c_void_p(None))
    print(f"{name},{times},{code}")
"""


def toolkit():
    """(nvcc, folder of libcudart.so.13) or a skip."""
    nvcc = shutil.which("nvcc") or next((p for r in ROOTS if os.path.exists(p := r + "/bin/nvcc")), None)
    folders = [r + d for r in ROOTS for d in ("/lib64", "/lib", "/targets/x86_64-linux/lib")]
    found = next((f for f in folders if os.path.exists(f + "/libcudart.so.13")), None)
    if not nvcc or not found:
        lib.skip("no CUDA toolkit with libcudart.so.13")
    return nvcc, found


def environment(folder):
    return lib.environment(LD_LIBRARY_PATH=folder)


def compare(recording, what):
    """The program's own account against the report."""
    wanted = {r[0]: (int(r[1]), int(r[2])) for r in csv.reader(recording.stdout.splitlines())}
    rows = recording.operations(None)
    for name, (calls, code) in wanted.items():
        row = rows.get(name, collections.defaultdict(int))
        equal(row["calls"], calls, f"{what}: {name} calls")
        equal(row["failed"], calls if code else 0, f"{what}: {name} failed")
    more = {n: r["calls"] for n, r in rows.items() if n.startswith("cuda") and n not in wanted}
    equal(more, {}, f"{what}: operations that were not called")
    got = {(e["operation"], e["code"]): e["count"] for e in recording.report["errors"] if e["operation"] in wanted}
    equal(got, {(n, code): calls for n, (calls, code) in wanted.items() if code}, f"{what}: errors")
    note(f"{what}: " + ", ".join(f"{n} {r['calls']}" for n, r in sorted(rows.items())))


def main():
    lib.need_recording()
    nvcc, folder = toolkit()
    source = os.path.join(lib.TOP, "tests/workloads/calls.cu")
    for form, options in FORMS.items():
        path = lib.scratch(form)
        made = lib.run(nvcc, *options, "-o", path, source)
        if not check(made.returncode == 0, f"nvcc {form}: {made.stderr}"):
            continue
        compare(lib.record([path], env=environment(folder)), form)
    library = os.path.join(folder, "libcudart.so.13")
    compare(lib.record([sys.executable, "-c", THROUGH_CTYPES, library], env=environment(folder)), "ctypes")
    lib.finish()


main()
