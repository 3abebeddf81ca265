"""The folders of several brokers of one cluster, read as one: one replica of each partition."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from kipviz.core.values import Value
from kipviz.recordings.decoded.cluster_metadata import ClusterMetadata, several_led
from kipviz.recordings.decoded.elections import LeaderDecision
from kipviz.recordings.files.broker_folder import (
    ABOUT_BROKER,
    BrokerFolder,
    SetAside,
    broker_folder,
    metadata_of,
)
from kipviz.recordings.recording_error import WHOLE, RecordingError
from kipviz.records.placement import INTERNAL_TOPICS, topic_of


class ClusterFolders(Value, frozen=True):
    """Brokers' folders, and one folder for each partition, in the order of their names.

    `metadata` is the metadata log of the broker that knows most of the controller's decisions, None if none can be
    read; `decisions` have the leaders of these partitions, and are empty in a cluster of one broker, which leads them
    all.
    """

    brokers: tuple[BrokerFolder, ...]
    partitions: tuple[Path, ...]
    metadata: ClusterMetadata | None = None
    decisions: tuple[LeaderDecision, ...] = ()
    unread: tuple[SetAside, ...] = ()


def cluster_folders(paths: Iterable[Path]) -> ClusterFolders:
    """Find the partitions of one broker or of several brokers of one cluster.

    It reads the replica of a partition that was its last leader, or that was in sync last.

    Raises:
        RecordingError: if a place has no logs, or the brokers are not different brokers of one cluster.
    """
    heres = tuple(broker_folder(path) for path in paths)
    _check_together(heres)
    read = [metadata_of(here) for here in heres]
    unread = tuple(each for _, aside in read for each in aside)
    known = [found for found, _ in read if found is not None]
    cluster = max(known, key=_last_decision, default=None)
    folders = _replicas(cluster or ClusterMetadata(), heres)
    names = tuple(each.name for each in folders)
    led = several_led(cluster.decisions) if cluster is not None else ()
    decisions = tuple(each for each in led if each.partition in names)
    return ClusterFolders(heres, folders, cluster, decisions, unread)


def require_topics(topics: Iterable[str], there: Iterable[str], place: str) -> None:
    """Check that each topic has a log.

    Raises:
        RecordingError: if one has none; it names those that are there.
    """
    known = sorted(set(there))
    for lost in (topic for topic in topics if topic not in known):
        why = f"there is no log of a topic {lost!r} here; there are {', '.join(known)}"
        raise RecordingError(place, 0, why)


def bytes_of(partitions: Iterable[Path], topics: Sequence[str] = ()) -> int:
    """Return the size of the logs of some user topics (default: all) and of Kafka's internal ones.

    Raises:
        RecordingError: if a folder cannot be read.
    """
    size = 0
    for folder in partitions:
        if topics and topic_of(folder.name) not in (*topics, *INTERNAL_TOPICS):
            continue
        try:
            size += sum(each.stat().st_size for each in folder.iterdir() if each.suffix == ".log")
        except OSError as problem:
            why = f"the folder cannot be read ({problem.strerror})"
            raise RecordingError(str(folder), WHOLE, why) from None
    return size


def _check_together(heres: Sequence[BrokerFolder]) -> None:
    """Check that the folders belong to different brokers of one cluster.

    Raises:
        RecordingError: if they do not, or have no file that names their broker.
    """
    if len(heres) < 2:
        return
    for here in heres:
        if here.broker < 0:
            why = f"there is no {ABOUT_BROKER} with the broker's number, which is needed if several folders are named"
            raise RecordingError(str(here.place), WHOLE, why)
    places = {here.broker: here.place for here in heres}
    if len(places) < len(heres):
        last = heres[-1].place
        raise RecordingError(
            str(last), WHOLE, "two of the folders are of one broker: name each once"
        )
    clusters = dict.fromkeys(here.cluster for here in heres)
    if len(clusters) > 1:
        why = f"the folders are of several clusters: {', '.join(clusters)}"
        raise RecordingError(str(heres[-1].place), WHOLE, why)


def _last_decision(known: ClusterMetadata) -> tuple[int, int]:
    return len(known.decisions), len(known.config_changes)


def _replicas(known: ClusterMetadata, heres: Sequence[BrokerFolder]) -> tuple[Path, ...]:
    """Return one folder of each partition, ordered by name: that of the broker whose log is certainly the longest.

    That is the last leader, or else one of the replicas that were in sync then.
    """
    # When all brokers have stopped, no broker leads and no replica is in sync.
    last = {each.partition: each for each in known.decisions if each.leader >= 0}
    found: dict[str, list[tuple[int, Path]]] = {}
    for here in heres:
        for folder in here.partitions:
            found.setdefault(folder.name, []).append((here.broker, folder))

    def first(name: str) -> Path:
        decision = last.get(name)
        if decision is None:
            return found[name][0][1]
        order = (decision.leader, *decision.isr)
        best = min(
            found[name],
            key=lambda each: order.index(each[0]) if each[0] in order else len(order),
        )
        return best[1]

    return tuple(first(name) for name in sorted(found))
