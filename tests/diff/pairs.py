# SPDX-License-Identifier: BSD-2-Clause
"""Records a workload, compares two recordings."""
import json
import os
import shutil
import subprocess
import tempfile
import kinds
from kinds import plant

MODES = plant.MODES


def record(folder, name, workload, seconds, mode=MODES[1]):
    """The path of folder/name.ing, made unless it is there."""
    path = os.path.join(folder, name + ".ing")
    if os.path.exists(path):
        return path
    case = plant.Case(tempfile.mkdtemp(prefix="ingero-diff-"), mode)
    try:
        try:
            workload(case, seconds)
        finally:
            case.close()
        shutil.move(case.recording, path + ".new")
        os.rename(path + ".new", path)
    finally:
        case.remove()
    return path


def diff(before, after):
    """Lists of paths in, the key "diff" of the document out."""
    command = [os.path.join(plant.BIN, "ingero-report"), "--json", "--diff", ",".join(before), *after]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)["diff"]


def changes(document):
    """What is called a change, but for rates that only went with the pace."""
    return [c for c in document["changes"] if c["significant"] and not c["follows_pace"]]


def tell(change):
    ratio = "new" if change["ratio"] is None else f"x{change['ratio']:.3f}"
    return (f"{change['subject']} {change['metric']} {change['before']:.6g} -> "
            f"{change['after']:.6g} {ratio} {change['interval']} floor {change['floor']}")
