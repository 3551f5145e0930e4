# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
"""The story: a tensor indexed directly starves nothing, a DataLoader does, and the report says why.

Reads the recordings kept in tests/data/story, with the stand-in waited for by spinning and asleep.
Where this kernel can record and Python has torch, records the same anew, in small, and reads that.
"""
import glob
import os
import lib
from lib import check, equal, note

KEPT = os.path.join(lib.TOP, "tests/data/story")
PARTS = ("running_ns", "waiting_on_others_ns", "wake_latency_ns", "throttled_ns", "blocked_ns",
         "unrecorded_ns", "unexplained_ns")
ATTEMPTS = 3
OWN = {"own_work", "page_allocation"}
HANDOFF = {"peer_work", "handoff", "wake_latency", "cpu_contention", "worker_startup",
           "page_allocation", "lock_guess"}


def account(chain, what):
    equal(sum(chain["account"][part] for part in PARTS), chain["lost_ns"], f"{what}: account's sum")
    unexplained = chain["account"]["unexplained_ns"]
    check(unexplained < 0.05 * chain["lost_ns"], f"{what}: {unexplained} ns unexplained")
    shares = [cause["share"] for cause in chain["causes"]]
    equal(shares, sorted(shares, reverse=True), f"{what}: causes by share")
    check(sum(shares) <= 1.001, f"{what}: shares add up to {sum(shares)}")
    check(chain["headline"] and chain["fix"], f"{what}: headline and fix")


def share_of(chain, kinds):
    return sum(cause["share"] for cause in chain["causes"] if cause["kind"] in kinds)


def direct(report, what):
    """Nothing but, at most, the thread's own work between two batches."""
    equal(report["cannot_tell"], [], f"{what}: nothing that cannot be told")
    for chain in report["chains"]:
        account(chain, what)
        check(chain["severity"] == "MEDIUM" and share_of(chain, OWN) > 0.5,
              f"{what}: {chain['severity']} {chain['headline']}")


def starves(report, what):
    """The worst chain of the main process, which has to be starvation."""
    equal(report["quiet"], False, f"{what}: quiet")
    if not check(report["chains"], f"{what}: there is a chain"):
        return None
    chain = report["chains"][0]
    account(chain, what)
    equal((chain["severity"], chain["effects"][0]["kind"]), ("HIGH", "starvation"),
          f"{what}: the worst effect")
    return chain


def loader(report, what):
    """All of it is the main thread collating."""
    if chain := starves(report, what):
        lost, first = chain["share_of_active_span"], chain["causes"][0]
        check(lost > 0.5, f"{what}: {lost} of the span lost")
        check(share_of(chain, OWN) > 0.5, f"{what}: own work above half: {chain['causes']}")
        check("main" in first["who"], f"{what}: the main process: {first}")


def workers(report, what):
    """Main waits for the thread that pins, that for the workers, and all of them for a CPU."""
    if chain := starves(report, what):
        causes = chain["causes"]
        check(share_of(chain, HANDOFF) > 0.5, f"{what}: hand-off above half: {causes}")
        check(any("worker" in (c["who"] or "") for c in causes), f"{what}: workers named: {causes}")
        check(max(c["hops"] for c in causes) >= 2, f"{what}: two hops or more: {causes}")


def text(path, report, what):
    for options in ([], ["--chains"]):
        done = lib.run(lib.program("ingero-report"), *options, path)
        equal((done.returncode, done.stderr), (0, ""), f"{what}: report {options}")
        for chain in report["chains"]:
            check(chain["severity"] in done.stdout, f"{what}: report {options} has a chain")


def look(folder, what):
    for method in (direct, loader, workers):
        path = os.path.join(folder, method.__name__ + ".ing")
        report, name = lib.report_json(path), f"{what} {method.__name__}"
        told = "; ".join(f"{c['severity']} {c['headline']}" for c in report["chains"])
        note(f"{name}: {told or 'no chain'}")
        equal(report["exit_status"], 0, f"{name}: exit status")
        method(report, name)
        text(path, report, name)


def disturbed(folder):
    """By processes that are not the story's, or a machine that hides threads."""
    reports = [lib.report_json(path) for path in glob.glob(os.path.join(folder, "*.ing"))]
    said = [c["headline"] for r in reports for c in r["chains"][:1] if c["outside"]]
    said += [c["text"] for r in reports for c in r["cannot_tell"]]
    for line in said:
        note(f"disturbed: {line}")
    return bool(said)


def record():
    """Small ones by this very build; None where there is no torch, or no peace."""
    folder = lib.scratch("story")
    for _ in range(ATTEMPTS):
        done = lib.run(os.path.join(lib.TOP, "tools/story/run"), "--only-record", "--samples",
                       "140000", "--epochs", "0.67", "--device-ms", "5", "--keep", folder,
                       env=dict(os.environ, INGERO_BUILD=lib.BUILD, INGERO_BIN=lib.BIN))
        if done.returncode:
            note(f"not recorded anew: {done.stderr.strip()}")
            check("no Python with torch" in done.stderr, f"tools/story/run: {done.stderr}")
            return None
        if not disturbed(folder):
            return folder
    note(f"not looked at: disturbed {ATTEMPTS} times")
    return None


def can_record():
    return os.geteuid() == 0 and os.path.exists("/sys/kernel/btf/vmlinux") and lib._bpf_allowed()


def main():
    kept = sorted(glob.glob(os.path.join(KEPT, "*/")))
    equal(len(kept), 2, "folders of kept recordings")
    for folder in kept:
        look(folder, os.path.basename(folder.rstrip("/")))
    if can_record() and (folder := record()):
        look(folder, "new")
    lib.finish()


main()
