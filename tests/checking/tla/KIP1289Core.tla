---------------------------- MODULE KIP1289Core ----------------------------
(* The core of KIP-1289: members of a share group acquire records, producers *)
(* put out what was made of them and stage the acknowledgements in their     *)
(* transactions, markers resolve them. The same atomic steps as              *)
(* tests/checking/kip_1289_core.py. Untimed: a lock may run out at any time. *)
EXTENDS Naturals

CONSTANTS
    Members, Producers, Nobody,
    LastRecord,        \* records are 1..LastRecord, in order
    LastEpoch,         \* how many transactions each producer may decide
    Locks, Crashes,    \* how many locks may run out, leaders may crash
    Durable,           \* an acknowledgement survives a crash of the share-partition leader
    Pinned             \* the lock of a staged record does not run out

Records == 1..LastRecord

VARIABLES
    state, holder, stagedBy,   \* of each record
    txn, epoch, outs, staged,  \* of each producer
    outMarker, shareMarker,    \* markers on the wire, of each producer
    committed,                 \* committed outputs of each record
    locks, crashes             \* what is left of the budget

vars == <<state, holder, stagedBy, txn, epoch, outs, staged,
          outMarker, shareMarker, committed, locks, crashes>>

Init ==
    /\ state = [r \in Records |-> "available"]
    /\ holder = [r \in Records |-> Nobody]
    /\ stagedBy = [r \in Records |-> Nobody]
    /\ txn = [p \in Producers |-> "empty"]
    /\ epoch = [p \in Producers |-> 0]
    /\ outs = [p \in Producers |-> {}]
    /\ staged = [p \in Producers |-> {}]
    /\ outMarker = [p \in Producers |-> FALSE]
    /\ shareMarker = [p \in Producers |-> FALSE]
    /\ committed = [r \in Records |-> 0]
    /\ locks = Locks
    /\ crashes = Crashes

\* poll(): the first record that is available goes to the member.
Acquire(m) ==
    \E r \in Records :
        /\ state[r] = "available"
        /\ \A earlier \in Records : earlier < r => state[earlier] # "available"
        /\ state' = [state EXCEPT ![r] = "acquired"]
        /\ holder' = [holder EXCEPT ![r] = m]
        /\ UNCHANGED <<stagedBy, txn, epoch, outs, staged, outMarker, shareMarker,
                       committed, locks, crashes>>

Begin(p) ==
    /\ txn[p] = "empty"
    /\ epoch[p] < LastEpoch
    /\ txn' = [txn EXCEPT ![p] = "ongoing"]
    /\ UNCHANGED <<state, holder, stagedBy, epoch, outs, staged, outMarker,
                   shareMarker, committed, locks, crashes>>

\* send(): the output of a record that a member holds.
Send(m, p, r) ==
    /\ txn[p] = "ongoing"
    /\ state[r] = "acquired"
    /\ holder[r] = m
    /\ r \notin outs[p]
    /\ outs' = [outs EXCEPT ![p] = @ \union {r}]
    /\ UNCHANGED <<state, holder, stagedBy, txn, epoch, staged, outMarker,
                   shareMarker, committed, locks, crashes>>

\* sendShareAcknowledgementsToTransaction(): the acknowledgement.
Stage(m, p, r) ==
    /\ txn[p] = "ongoing"
    /\ state[r] = "acquired"
    /\ holder[r] = m
    /\ r \in outs[p]
    /\ state' = [state EXCEPT ![r] = "pending"]
    /\ holder' = [holder EXCEPT ![r] = Nobody]
    /\ stagedBy' = [stagedBy EXCEPT ![r] = p]
    /\ staged' = [staged EXCEPT ![p] = @ \union {r}]
    /\ UNCHANGED <<txn, epoch, outs, outMarker, shareMarker, committed, locks,
                   crashes>>

Decide(p, word) ==
    /\ txn[p] = "ongoing"
    /\ txn' = [txn EXCEPT ![p] = word]
    /\ epoch' = [epoch EXCEPT ![p] = @ + 1]
    /\ outs' = [outs EXCEPT ![p] = {}]
    /\ staged' = [staged EXCEPT ![p] = {}]
    /\ outMarker' = [outMarker EXCEPT ![p] = TRUE]
    /\ shareMarker' = [shareMarker EXCEPT ![p] = TRUE]
    /\ UNCHANGED <<state, holder, stagedBy, locks, crashes>>

Commit(p) ==
    /\ outs[p] # {}
    /\ outs[p] = staged[p]
    /\ Decide(p, "commit")
    /\ committed' = [r \in Records |->
                        IF r \in outs[p] THEN committed[r] + 1 ELSE committed[r]]

Abort(p) ==
    /\ Decide(p, "abort")
    /\ UNCHANGED committed

OutMarker(p) ==
    /\ outMarker[p]
    /\ outMarker' = [outMarker EXCEPT ![p] = FALSE]
    /\ UNCHANGED <<state, holder, stagedBy, txn, epoch, outs, staged, shareMarker,
                   committed, locks, crashes>>

ShareMarker(p) ==
    /\ shareMarker[p]
    /\ shareMarker' = [shareMarker EXCEPT ![p] = FALSE]
    /\ state' = [r \in Records |->
                    IF stagedBy[r] # p THEN state[r]
                    ELSE IF txn[p] = "commit" THEN "acknowledged" ELSE "available"]
    /\ stagedBy' = [r \in Records |-> IF stagedBy[r] = p THEN Nobody ELSE stagedBy[r]]
    /\ UNCHANGED <<holder, txn, epoch, outs, staged, outMarker, committed, locks,
                   crashes>>

Complete(p) ==
    /\ txn[p] \in {"commit", "abort"}
    /\ ~ outMarker[p]
    /\ ~ shareMarker[p]
    /\ txn' = [txn EXCEPT ![p] = "empty"]
    /\ UNCHANGED <<state, holder, stagedBy, epoch, outs, staged, outMarker,
                   shareMarker, committed, locks, crashes>>

Expire(r) ==
    /\ locks > 0
    /\ \/ state[r] = "acquired"
       \/ state[r] = "pending" /\ ~ Pinned
    /\ locks' = locks - 1
    /\ state' = [state EXCEPT ![r] = "available"]
    /\ holder' = [holder EXCEPT ![r] = Nobody]
    /\ stagedBy' = [stagedBy EXCEPT ![r] = Nobody]
    /\ UNCHANGED <<txn, epoch, outs, staged, outMarker, shareMarker, committed,
                   crashes>>

\* The share-partition leader crashes: what is in its memory alone is gone.
Crash ==
    /\ crashes > 0
    /\ crashes' = crashes - 1
    /\ state' = [r \in Records |->
                    IF state[r] = "acquired" \/ (state[r] = "pending" /\ ~ Durable)
                    THEN "available" ELSE state[r]]
    /\ holder' = [r \in Records |-> Nobody]
    /\ stagedBy' = [r \in Records |-> IF Durable THEN stagedBy[r] ELSE Nobody]
    /\ UNCHANGED <<txn, epoch, outs, staged, outMarker, shareMarker, committed,
                   locks>>

Next ==
    \/ \E m \in Members : Acquire(m)
    \/ \E p \in Producers :
        \/ Begin(p)
        \/ \E m \in Members, r \in Records : Send(m, p, r) \/ Stage(m, p, r)
        \/ Commit(p)
        \/ Abort(p)
        \/ OutMarker(p)
        \/ ShareMarker(p)
        \/ Complete(p)
    \/ \E r \in Records : Expire(r)
    \/ Crash

Spec == Init /\ [][Next]_vars

Atomic ==
    \A r \in Records :
        /\ committed[r] <= 1
        /\ state[r] = "acknowledged" => committed[r] = 1
        /\ committed[r] = 1 => state[r] \in {"pending", "acknowledged"}
=============================================================================
