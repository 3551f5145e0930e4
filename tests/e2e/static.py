# SPDX-License-Identifier: BSD-2-Clause
# timeout: 30
"""The runtime linked into the executable, its functions local symbols: counted as ever."""
import lib
import truth
from lib import check, equal

lib.need_recording()
folder = lib.truth_folder()
recording = lib.record([lib.workload("storm-static"), "-p", "2", "-t", "2", "-n", "20000"], "--buffer", "16M",
                       env=lib.environment(FAKECUDA_TRUTH_DIR=folder))
made = {key: operations for key, operations in truth.processes(folder).items() if operations}
equal(len(made), 2, "processes with calls")
for (pid, _), operations in made.items():
    process = recording.process(pid)
    if check(process, f"process {pid} is in the report"):
        rows = recording.operations(process["id"])
        equal({n: (r["calls"], r["nested"]) for n, r in rows.items()},
              {n: (o.calls, o.nested) for n, o in operations.items()}, f"calls of {pid}")
lib.finish()
