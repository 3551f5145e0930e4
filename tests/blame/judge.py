# SPDX-License-Identifier: BSD-2-Clause
"""Whether a report says what was planted: who, how much, how bad; or that all is well."""
import truth
import windows

MUCH = 0.05             # a cause of this share that nobody planted: the run was disturbed
BUSY = 0.10             # or by processes that used as much of a CPU, wherever they ran
STOLEN = 0.02           # of the span, as seen by busy loops
SEVERITIES = (("HIGH", 0.10), ("MEDIUM", 0.03), ("LOW", 0))


class Verdict:
    def __init__(self):
        self.wrong = []         # what does not hold, as sentences
        self.disturbed = None   # who disturbed the run
        self.error = None       # of the share, in points
        self.unexplained = 0.0
        self.said = ""          # the report's answer in short

    def good(self):
        return not self.wrong and (self.error is None or abs(self.error) <= 5)

    def hold(self, holds, text):
        if not holds:
            self.wrong.append(text)


def job_windows(case):
    """Windows and span of the one process that fed the device."""
    images = [image for image in truth.load(case.truth_folder) if image.calls]
    (image,) = images
    return windows.windows_of(image.calls)


def known_pids(case, report):
    """Who may be named: the tree, the recorder, what the case started and they started."""
    pids = {p["pid"] for p in report["processes"] if p["in_tree"]}
    return pids | case.pids | case.notes.pids()


def all_chains(report):
    return report["chains"] + [c for c in report["small"] if isinstance(c, dict) and "causes" in c]


def strange_cause(report, known):
    """A process that the test did not start and that took much of a chain's time."""
    for chain in report["chains"]:
        took = {}
        for cause in chain["causes"]:
            if cause["pid"] and cause["pid"] not in known:
                key = cause["who"], cause["pid"]
                took[key] = took.get(key, 0) + cause["ns"]
        for (who, pid), ns in took.items():
            if ns >= MUCH * chain["lost_ns"]:
                return f"{who} {pid}, {100 * ns / chain['lost_ns']:.0f} %"
    return None


def strange_load(report, known):
    """Such processes, together, as busy as the report lists them: what ran beside had less room."""
    took = {p["name"]: 0 for p in report["processes"]}
    for process in report["processes"]:
        if process["pid"] not in known:
            took[process["name"]] += process["running_ns"]
    share = sum(took.values()) / report["span_ns"]
    worst = max(took, key=took.get, default="")
    return f"{worst} and others, {100 * share:.0f} % of a CPU" if share >= BUSY else None


def strange_platform(report):
    """Nothing was lost by the recorder, and time is unrecorded all the same."""
    for told in report["cannot_tell"]:
        if report["complete"] and told["reason"] == "lost_switches":
            return f"the platform: {told['missing_ns'] / 1e6:.1f} ms unrecorded"
    return None


def strange_host(case, report):
    """The machine did not run for a while: busy loops saw the clock jump and had not switched."""
    stolen = sum(end - start for start, end in case.notes.intervals("", "stolen"))
    share = max(stolen / report["span_ns"], report["system"]["steal"] or 0)
    if share >= STOLEN:
        return f"the host: {100 * share:.0f} % of a CPU stolen"
    for chain in report["chains"]:
        took = sum(c["share"] for c in chain["causes"] if c["kind"] == "steal")
        if took >= MUCH:
            return f"the host: {100 * took:.0f} % of the lost time stolen"
    return None


def stranger(case, report):
    known = known_pids(case, report)
    return (strange_platform(report) or strange_cause(report, known) or
            strange_load(report, known) or strange_host(case, report))


def in_short(report):
    def chain_text(chain):
        causes = ", ".join(
            f"{c['kind']} {c['who']} {c['pid']} {100 * c['share']:.0f} % hops {c['hops']}"
            for c in chain["causes"][:4])
        return f"{chain['severity']} {100 * chain['share_of_active_span']:.1f} %: {causes}"
    texts = [chain_text(c) for c in report["chains"]] or ["no chain"]
    if report["cannot_tell"]:
        texts.append(f"cannot tell: {report['cannot_tell']}")
    return "; ".join(texts)


def harmless(chain):
    """What is no host problem, and does not count for the severity."""
    return sum(c["ns"] for c in chain["causes"]
               if c["kind"] in ("device", "initialisation", "external") or
               (c["kind"] == "sleep" and c["hops"] == 0))


def check_sums(verdict, report):
    for chain in all_chains(report):
        total = sum(chain["account"][k] for k in (
            "running_ns", "waiting_on_others_ns", "wake_latency_ns", "throttled_ns", "blocked_ns",
            "unrecorded_ns", "unexplained_ns"))
        verdict.hold(abs(total - chain["lost_ns"]) <= 1,
                     f"the account is {total} ns, {chain['lost_ns']} were lost")
    for chain in report["chains"]:
        share = chain["account"]["unexplained_ns"] / chain["lost_ns"]
        verdict.unexplained = max(verdict.unexplained, share)
        bad = (chain["lost_ns"] - harmless(chain)) / chain["active_span_ns"]
        want = next(name for name, bar in SEVERITIES if bad >= bar - 0.0005)
        verdict.hold(chain["severity"] == want,
                     f"{chain['severity']} at {100 * bad:.2f} % of the span")
        verdict.hold(chain["headline"] and chain["fix"], "a chain has a headline and a fix")


def largest_kind(chain):
    """The class first, then the name."""
    sums = {}
    for cause in chain["causes"]:
        sums[cause["kind"]] = sums.get(cause["kind"], 0) + cause["ns"]
    return max(sums, key=sums.get)


def check_culprit(verdict, case, expect, chain):
    pids = case.notes.pids(expect.culprit) if expect.culprit else None
    kind = largest_kind(chain)
    top = next(c for c in chain["causes"] if c["kind"] == kind)
    verdict.hold(kind in expect.kinds, f"the largest cause is {kind}")
    verdict.hold(chain["verdict"] in expect.kinds, f"the verdict is {chain['verdict']}")
    if pids is not None:
        verdict.hold(top["pid"] in pids,
                     f"it is {top['who']} {top['pid']}, not {expect.culprit} {pids}")
    if expect.hops is not None:
        verdict.hold(top["hops"] == expect.hops, f"{top['hops']} hops, not {expect.hops}")
    if expect.effect:
        worst = chain["effects"][0]
        verdict.hold((worst["kind"], worst["operation"]) == expect.effect,
                     f"the worst effect is {worst['kind']} {worst['operation']}")
    for kind, prefix in expect.also:
        pids = case.notes.pids(prefix)
        share = sum(c["share"] for c in chain["causes"] if c["kind"] == kind and c["pid"] in pids)
        verdict.hold(share >= 0.05, f"{kind} by {prefix} is named too")
    if expect.severity:
        verdict.hold(chain["severity"] in expect.severity, f"severity {chain['severity']}")


def check_innocent(verdict, case, expect, report):
    if not expect.innocent:
        return
    pids = case.notes.pids(expect.innocent)
    for chain in report["chains"]:
        share = sum(c["share"] for c in chain["causes"] if c["pid"] in pids)
        verdict.hold(share < 0.02, f"{expect.innocent} is innocent and has {100 * share:.1f} %")


def check_share(verdict, case, expect, report):
    """Of all lost time in the report and by the case's own clocks."""
    if not expect.share:
        return
    found, _ = job_windows(case)
    want = expect.share(case, found) / windows.lost(found)
    pids = case.notes.pids(expect.culprit) if expect.culprit else None
    chains = all_chains(report)
    got = sum(c["ns"] for chain in chains for c in chain["causes"]
              if c["kind"] in expect.kinds and (pids is None or c["pid"] in pids))
    got /= sum(chain["lost_ns"] for chain in chains) or 1
    verdict.said += f"; share {100 * got:.1f} %, in truth {100 * want:.1f} %"
    verdict.error = 100 * (got - want)
    verdict.hold(abs(verdict.error) <= 10, f"the share is off by {verdict.error:+.1f} points")


def check_chain(verdict, case, expect, report):
    verdict.hold(report["quiet"] is False, "not quiet")
    verdict.hold(not report["cannot_tell"], f"cannot tell: {report['cannot_tell']}")
    if report["chains"]:
        check_culprit(verdict, case, expect, report["chains"][0])
        verdict.hold(verdict.unexplained < 0.05, f"{100 * verdict.unexplained:.1f} % unexplained")
    else:
        verdict.hold(False, "no chain")
    check_innocent(verdict, case, expect, report)
    check_share(verdict, case, expect, report)


def check_answer(verdict, case, expect, report):
    if expect.answer == "chain":
        check_chain(verdict, case, expect, report)
    elif expect.answer == "quiet":
        verdict.hold(report["quiet"] is True and not report["chains"], "not quiet")
        verdict.hold(not report["cannot_tell"], f"cannot tell: {report['cannot_tell']}")
    elif expect.answer == "no alarm":
        verdict.hold(not report["chains"], "a chain")
    elif expect.answer == "cannot tell":
        verdict.hold(not report["quiet"] and report["cannot_tell"], "it claims that it can tell")
        verdict.hold(not report["chains"], "it draws a chain over what is missing")
    else:
        for chain in report["chains"]:
            verdict.hold(largest_kind(chain) in expect.kinds,
                         f"the largest cause is {largest_kind(chain)}")


def judge(case, expect):
    verdict, report = Verdict(), case.report()
    verdict.said = in_short(report)
    verdict.disturbed = stranger(case, report)
    check_sums(verdict, report)
    check_answer(verdict, case, expect, report)
    return verdict
