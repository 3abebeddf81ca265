"""What an audit must find, as a plain fold over the rows of one log, in the order of their steps."""

from collections import defaultdict

STATES = ("AVAILABLE", "ACQUIRED", "TX_PENDING", "ACKNOWLEDGED", "ARCHIVING", "ARCHIVED")


def findings(rows):
    """The findings as sorted tuples (run, source, offset, finding, step, outputs, deliveries)."""
    runs = defaultdict(list)
    for row in rows:
        runs[row["scenario"], row["design"], row["faults"], row["seed"]].append(row)
    found = []
    for run, events in runs.items():
        found += [(*run, *finding) for finding in findings_of_run(events)]
    return sorted(found)


def findings_of_run(events):
    events = sorted(events, key=place_in_run)
    undecided = defaultdict(list)
    commits = defaultdict(list)
    last = {}
    deliveries = {}
    ended = False
    silent = set()
    for event in events:
        record = (event["source"], event["offset"])
        producer = (event["producer_id"], event["producer_epoch"])
        match event["kind"]:
            case "output_appended" if event["producer_id"] == -1:
                commits[record].append(event["step"])
            case "output_appended":
                undecided[producer].append(record)
            case "transaction_decided":
                for decided in undecided.pop(producer, []):
                    if event["committed"] == 1:
                        commits[decided].append(event["step"])
            case "record_state":
                last[record] = (event["state"], event["step"])
                deliveries[record] = max(deliveries.get(record, -1), event["delivery_count"])
            case "no_output_expected":
                silent.add(event["source"])
            case "run_ended":
                ended = True
    for record in sorted(set(commits) | set(last)):
        outputs = len(commits[record])
        state, step = last.get(record, ("", -1))
        seen = (outputs, deliveries.get(record))
        if outputs > 1:
            yield (*record, "duplicate", sorted(commits[record])[1], *seen)
        if ended and state == "ACKNOWLEDGED" and outputs == 0 and record[0] not in silent:
            yield (*record, "loss", step, *seen)
        if ended and state == "TX_PENDING":
            yield (*record, "stuck", step, *seen)


def place_in_run(event):
    """Rows of one step: outputs before decisions, and a record's states in the order of its life."""
    rank = STATES.index(event["state"]) if event["kind"] == "record_state" else -1
    decision = event["kind"] == "transaction_decided"
    return (event["step"], decision, event["delivery_count"] if rank >= 0 else 0, rank)
