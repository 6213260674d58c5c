"""What the simulated device's ledger says of the host's waits and fallbacks, and its comparison with the probe's
events."""
import bisect

from ledger import entries

# Waits that real MPS does not have, or that an op's caller asks for by name.
NOT_OF_AN_OP = {
    "event": "an event's wait, asked for by torch.mps.Event",
    "synchronize": "asked for by torch.mps.synchronize, which PyTorch shows to nobody",
    "no_shape": "of the simulated device only, which cannot infer the op's shape",
    "release": "of the simulated device only: memory of a freed tensor",
    "queue_full": "of the simulated device only: its queue has a bound",
    "generator": "a generator's state, which is read without an op",
    "exit": "at the end of the process",
}

# The probe's kinds for a cause of the ledger.
KINDS = {
    "scalar_read": ("scalar_read", "value_read", "nonzero", "equal", "unique"),
    "result_size": ("nonzero", "equal", "unique", "value_read"),
    "copy_to_host": ("copy_to_host",),
    "copy_to_device": ("copy_to_device",),
}
# Ops that read values on real MPS, where the simulated device waits because it cannot infer the shape.
READ_AS_NO_SHAPE = ("aten::repeat_interleave",)
# The probe's clock is within some microseconds of the ledger's.
SLACK_NS = 50_000


class Ledger:
    """The waits and fallbacks of a ledger's file."""

    def __init__(self, path):
        self.fallbacks = sorted((each["begin_ns"], each["end_ns"], each["op"].split(".")[0])
                                for each in entries(path, '"fallback"') if each["event"] == "fallback")
        self.drains = sorted((each["begin_ns"], each["end_ns"], each["cause"])
                             for each in entries(path, '"drain"')
                             if each["event"] == "drain" and each["cause"] not in NOT_OF_AN_OP)

    def within(self, window):
        """(fallbacks, drains outside of fallbacks) in a window of time."""
        fallbacks = _part(self.fallbacks, window)
        drains = [each for each in _part(self.drains, window)
                  if not any(begin <= each[0] < end for begin, end, _ in fallbacks)]
        return fallbacks, drains


def _part(rows, window):
    begin, end = ((at,) for at in window)
    return rows[bisect.bisect_left(rows, begin):bisect.bisect_right(rows, end)]


def difference(events, fallbacks, drains):
    """Where the probe's events and the ledger differ; empty where they agree."""
    fell = [each for each in events if each.kind == "fallback"]
    # The probe tells the op that was called: put, which calls put_.
    if [each.op.rstrip("_") for each in fell] != [op.rstrip("_") for _, _, op in fallbacks]:
        return f"fallbacks: probe {[each.op for each in fell]}, ledger {[op for _, _, op in fallbacks]}"
    for seen, (begin, end, _) in zip(fell, fallbacks):
        if not _holds(seen, begin, end):
            return f"fallback of {seen.op}: the ledger's lies outside of the probe's"
    waits = [each for each in events if each.kind != "fallback" and each.op not in READ_AS_NO_SHAPE]
    unmatched = list(waits)
    for begin, end, cause in drains:
        # Other waits may be within the slack: one that is still unmatched comes first.
        holder = _holder(unmatched, begin, end, cause, SLACK_NS)
        if holder:
            unmatched.remove(holder)
        elif not _holder(waits, begin, end, cause, 0):  # an op may wait more than once
            return f"the probe has no {cause} of the ledger's; it has {[each[3:5] for each in waits]}"
    if unmatched:
        return f"the ledger has no {[each[3:5] for each in unmatched]}"
    return ""


def _holder(events, begin, end, cause, slack):
    return next((each for each in events if each.kind in KINDS[cause] and
                 _holds(each, begin, end, slack)), None)


def _holds(event, begin, end, slack=SLACK_NS):
    return event.begin - slack <= begin and end <= event.end + slack
