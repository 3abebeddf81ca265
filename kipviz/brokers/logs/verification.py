"""The verification entries of a log: producers whose transaction is being verified, or failed verification.

There is one entry for each producer id. It is made when the first batch of a transaction arrives, and kept until one of
its batches is appended or a marker ends the transaction, so that a rejected request is remembered. The entry belongs to
the producer id, not to a request or an epoch: the version of the first request counts for later ones, and its lowest
sequence for every epoch.
Source: VerificationStateEntry, ProducerStateManager.maybeCreateVerificationStateEntry, UnifiedLog.updateProducers.
NOT MODELLED: that it outlives the leadership of its broker, and that it expires with producer.id.expiration.ms.
"""

from __future__ import annotations

from kipviz.core.values import Value


class Verification(Value, frozen=True):
    """The entry of a producer id: its newest epoch, the lowest sequence of that epoch, and the protocol.

    `supports_epoch_bump` means that the request that made the entry relied on the broker to add the partition to the
    transaction (Produce version 12, transaction version 2).
    """

    producer_id: int
    epoch: int
    lowest: int
    supports_epoch_bump: bool


Verifications = tuple[Verification, ...]


def verification_of(known: Verifications, producer_id: int) -> Verification | None:
    """Return the entry of a producer id, or None."""
    return next((each for each in known if each.producer_id == producer_id), None)


def verifying(known: Verifications, new: Verification) -> Verifications:
    """Store that a batch is about to be verified: the lowest sequence of an epoch counts, a newer epoch starts over."""
    entry = verification_of(known, new.producer_id)
    if entry is None:
        return (*known, new)
    if new.epoch > entry.epoch:
        entry = entry.but(epoch=new.epoch, lowest=new.lowest)
    elif new.epoch == entry.epoch:
        entry = entry.but(lowest=min(entry.lowest, new.lowest))
    return (*without(known, new.producer_id), entry)


def without(known: Verifications, producer_id: int) -> Verifications:
    """Remove the entry of a producer id."""
    return tuple(each for each in known if each.producer_id != producer_id)


def cannot_matter(entry: Verification, seen_epoch: int, next_sequence: int) -> bool:
    """Return whether a failed entry rejects no batch that the log would accept in the producer's current epoch.

    Others may notice it: a client of another version with the same transactional id, a forged epoch, a late batch of an
    earlier epoch. `seen_epoch` and `next_sequence` are the log's, -1 and 0 for an unknown producer.
    """
    if seen_epoch == entry.epoch:
        return entry.lowest >= next_sequence
    return entry.lowest == 0 and (entry.supports_epoch_bump or seen_epoch >= 0)


def survives_marker(known: Verifications, producer_id: int, marker_epoch: int) -> bool:
    """Return whether a marker keeps the entry, because it ended the transaction before the one being verified.

    Under transaction version 2 the entry then has the marker's epoch; in lower versions a marker of that epoch ends its
    transaction.
    """
    entry = verification_of(known, producer_id)
    return entry is not None and entry.supports_epoch_bump and entry.epoch == marker_epoch
