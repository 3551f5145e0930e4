# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
"""The whole road: a Python program with four workers becomes a report that names all of them."""
import json
import os
import sys
import lib
import truth
from lib import check, equal

BATCHES, KERNELS = 200, 20
ENVIRONMENT = {
    "FAKECUDA_DEVICE_NS": "20000",
    "FAKECUDA_OPS": "cudaStreamSynchronize=ns:1000,mode:device-block;cudaLaunchKernel=ns:4000",
}


def processes(recording, told):
    report = recording.report
    main = recording.process(told["pid"])
    equal((main["name"], main["role"]), ("python3", "main"), "the main process")
    workers = [recording.process(int(pid)) for pid in told["workers"]]
    equal(sorted(w["role"] for w in workers), [f"worker {n}" for n in range(1, 5)], "roles of the workers")
    for worker in workers:
        equal((worker["name"], worker["ppid"], worker["in_tree"]), ("pt_data_worker", main["pid"], True), "a worker")
        check(worker["switches_voluntary"] > 50, "it switched")
        check(worker["page_allocations"] > 500, "it allocated pages")
        check(worker["cuda_calls"] == 0 and main["cuda_calls"] > 0, "main alone calls CUDA")
    tree = [p for p in report["processes"] if p["in_tree"]]
    equal(len(tree), 5, "processes of the tree")
    check(all(p["exit_code"] == 0 for p in tree), "exit codes")


def operations(recording, told, folder):
    (_, wanted), = [(k, v) for k, v in truth.processes(folder).items() if v]
    rows = recording.operations(recording.process(told["pid"])["id"])
    for name, op in wanted.items():
        row = rows[name]
        equal(row["calls"], op.calls, f"{name} calls")
        own = sorted(op.durations[1:])
        for key, part in (("p50_ns", 50), ("p95_ns", 95), ("p99_ns", 99)):
            if not own:
                continue
            want = own[-(-part * len(own) // 100) - 1]
            check(row[key] >= want, f"{name} {key}: {row[key]} is not below the library's {want}")
    launch = rows["cudaLaunchKernel"]
    equal(launch["calls"], BATCHES * KERNELS, "launches")
    check(4000 < launch["p50_ns"] < 12000, f"p50 of a launch of 4 us: {launch['p50_ns']}")


def text(recording):
    done = lib.run(lib.program("ingero-report"), recording.path)
    equal(done.returncode, 0, "the report prints")
    lines = done.stdout.splitlines()
    check(len(lines) <= 60, f"one screen: {len(lines)} lines")
    for word in ("main", "worker 1", "worker 4", "cudaLaunchKernel", "cudaStreamSynchronize", "p99", "python"):
        check(word in done.stdout, f"'{word}' is in the report")
    check("complete" in " ".join(lines[:4]).lower(), f"the first lines say how complete it is: {lines[:4]}")
    for option in ("--per-process", "--info"):
        more = lib.run(lib.program("ingero-report"), option, recording.path)
        check(more.returncode == 0 and len(more.stdout.splitlines()) > 10, f"{option} prints")
    nobody = {"PATH": "/usr/bin:/bin"}
    os.chmod(recording.path, 0o644)
    again = lib.run(lib.program("ingero-report"), recording.path, env=nobody, user=65534, group=65534, cwd="/")
    equal(again.stdout == done.stdout, True, "nobody, elsewhere, gets the same bytes")


def main():
    lib.need_recording()
    folder = lib.truth_folder()
    recording = lib.record([sys.executable, lib.DATALOADER, "--epochs", "1", "--batches", str(BATCHES),
                            "--kernels", str(KERNELS)], env=lib.environment(FAKECUDA_TRUTH_DIR=folder, **ENVIRONMENT))
    told = json.loads(recording.stdout)
    equal(recording.report["schema_version"] >= 1, True, "schema_version")
    equal(recording.report["complete"], True, f"complete (lost: {recording.report['lost']})")
    check("dataloader.py" in recording.report["command"], "the command")
    processes(recording, told)
    operations(recording, told, folder)
    text(recording)
    equal(lib.run(lib.program("ing-dump"), "--verify", recording.path).returncode, 0, "the file is sound")
    lib.finish()


main()
