# SPDX-License-Identifier: BSD-2-Clause
# timeout: 40
"""--no-args keeps arguments out of the file; --ops records what was asked for, and says so."""
import lib
import truth
from lib import check, equal

SECRET = "token-93kfjq27"


def arguments():
    command = ["sh", "-c", f"sleep 0.01; : {SECRET}; sh -c 'true {SECRET}'"]
    with_them = lib.record(command, name="args.ing")
    check(any(SECRET in row["text"] for row in with_them.table("string") if isinstance(row["text"], str)),
          "without the option the file holds the command line")
    without = lib.record(command, "--no-args", name="no-args.ing")
    check(not any(SECRET in str(row["text"]) for row in without.table("string")), "with --no-args it does not")
    for option in ((), ("--json",), ("--info",), ("--per-process",)):
        text = lib.run(lib.program("ingero-report"), *option, without.path).stdout
        check(SECRET not in text, f"nor does the report {option}")


def operations():
    folder = lib.truth_folder()
    recording = lib.record([lib.workload("storm"), "-p", "1", "-t", "2", "-n", "5000"],
                           "--ops", "cudaStreamSynchronize,cuLaunchKernel",
                           env=lib.environment(FAKECUDA_TRUTH_DIR=folder))
    (_, made), = [(k, v) for k, v in truth.processes(folder).items() if v]
    rows = recording.operations(None)
    equal({n: r["calls"] for n, r in rows.items()},
          {n: made[n].calls for n in ("cudaStreamSynchronize", "cuLaunchKernel")}, "only what was asked for")
    text = lib.run(lib.program("ingero-report"), "--info", recording.path).stdout
    check("--ops" in text, "the report says that operations were chosen")


lib.need_recording()
arguments()
operations()
lib.finish()
