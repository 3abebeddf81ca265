"""What a log remembers of a producer while its transaction is being verified there, or was in vain.

One entry for each producer id, made when the first batch of a transaction arrives and kept until a batch of it is
appended or a marker ends it, so that a request that was refused is remembered. It belongs to the producer id, not to a
request or an epoch: what the first request spoke counts for the later ones, and its lowest sequence forevery epoch.
Source: VerificationStateEntry, ProducerStateManager.maybeCreateVerificationStateEntry, UnifiedLog.updateProducers.
NOT MODELLED: that it outlives the leadership of its broker, and that it expires with producer.id.expiration.ms.
"""

from __future__ import annotations

from kipviz.core.values import Value


class Verification(Value, frozen=True):
    """The entry of a producer id: its newest epoch, the lowest sequence that came with that, and the protocol.

    `supports_epoch_bump` says that the request which made the entry left it to the broker to add the partition to the
    transaction (Produce version 12, transaction version 2).
    """

    producer_id: int
    epoch: int
    lowest: int
    supports_epoch_bump: bool


Verifications = tuple[Verification, ...]


def verification_of(known: Verifications, producer_id: int) -> Verification | None:
    """Return the entry of a producer id, if there is one."""
    return next((each for each in known if each.producer_id == producer_id), None)


def verifying(known: Verifications, new: Verification) -> Verifications:
    """Note that a batch is about to be verified: of one epoch the lowest sequence counts, a newer epoch starts over."""
    entry = verification_of(known, new.producer_id)
    if entry is None:
        return (*known, new)
    if new.epoch > entry.epoch:
        entry = entry.but(epoch=new.epoch, lowest=new.lowest)
    elif new.epoch == entry.epoch:
        entry = entry.but(lowest=min(entry.lowest, new.lowest))
    return (*without(known, new.producer_id), entry)


def without(known: Verifications, producer_id: int) -> Verifications:
    """Forget a producer id."""
    return tuple(each for each in known if each.producer_id != producer_id)


def cannot_matter(entry: Verification, seen_epoch: int, next_sequence: int) -> bool:
    """Return whether an entry that came to nothing refuses no batch of its producer's present epoch that its log takes.

    Others may tell: a client of another version with the same transactional id, an epoch that is forged, a late batch
    of an epoch before. `seen_epoch` and `next_sequence` are the log's, -1 and 0 of a producer that it does not know.
    """
    if seen_epoch == entry.epoch:
        return entry.lowest >= next_sequence
    return entry.lowest == 0 and (entry.supports_epoch_bump or seen_epoch >= 0)


def survives_marker(known: Verifications, producer_id: int, marker_epoch: int) -> bool:
    """Return whether a marker leaves the entry alone, because it ended the transaction before the one that is verified.

    Under transaction version 2 that one has the marker's epoch; below, a marker of that epoch ends it.
    """
    entry = verification_of(known, producer_id)
    return entry is not None and entry.supports_epoch_bump and entry.epoch == marker_epoch
