# SPDX-License-Identifier: BSD-2-Clause
"""The published case, and a trace's figures beside its own.

7 million samples of 100 features, batches of 1,048,576, a small model on an RTX 4090 and 4 virtual
CPUs; the trace is of 4 workers with pin_memory, 40 s long.
"""
SAMPLES, BATCH = 7_000_000, 1_048_576
SECONDS = {"direct": 0.39, "loader": 48.49, "workers": 43.29}


def duration(ns):
    if ns is None:
        return "-"
    for unit, name in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if ns >= unit:
            return f"{ns / unit:.3g} {name}"
    return f"{ns} ns"


def operation_rows(report):
    rows = {o["name"]: o for o in report["operations"] if o["process"] is None}
    for name, theirs in (("cudaStreamSynchronize", "25 us, 42 ms"),
                         ("cudaLaunchKernel", "70 us, 24.67 ms")):
        if row := rows.get(name):
            ours = f"{duration(row['p50_ns'])}, {duration(row['p99_ns'])}"
            yield f"{name} p50, p99", ours, theirs
    if row := rows.get("cudaMemcpyAsync"):
        mean = row["total_ns"] / max(1, row["calls"] - row["failed"])
        ours = f"{duration(mean)}, {duration(row['max_ns'])}"
        yield "cudaMemcpyAsync mean, max", ours, "301 ms, 2.9 s"


def switches_of(process):
    return process["switches_voluntary"] + process["switches_involuntary"]


def main_rows(process):
    yield "main: context switches", f"{switches_of(process):,}", "1,567"
    off_cpu = duration(process["off_cpu_mean_ns"]), duration(process["off_cpu_max_ns"])
    yield "main: off-CPU mean, worst", ", ".join(off_cpu), "16 ms, 5 s"
    yield "main: page allocations", f"{process['page_allocations']:,}", "799,018"


def worker_rows(processes):
    yield "worker processes", str(len(processes)), "4"
    yield ("workers: context switches", f"{sum(map(switches_of, processes)):,}", "about 191,000")
    yield ("workers: page allocations", f"{sum(p['page_allocations'] for p in processes):,}",
           "about 299,000")


def lines(report):
    """A table of the trace of the workers."""
    tree = [p for p in report["processes"] if p["in_tree"]]
    rows = [("the trace of 4 workers", "here", "published"),
            ("length", duration(report["span_ns"]), "40 s"), *operation_rows(report)]
    for process in tree:
        if process["role"] == "main":
            rows += main_rows(process)
    rows += worker_rows([p for p in tree if p["role"].startswith("worker")])
    return [f"{what:32}{ours:>20}{theirs:>20}" for what, ours, theirs in rows]
