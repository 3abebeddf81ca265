--------------------------- MODULE TwoPhaseCommit ---------------------------
(* Two-phase commit after Gray and Lamport, "Consensus on Transaction Commit" *)
(* (2006). The same atomic steps as tests/core/two_phase_commit.py.           *)
EXTENDS Naturals

CONSTANT LastRM

RMs == 1..LastRM

VARIABLES rms, manager, heard, messages

vars == <<rms, manager, heard, messages>>

Init ==
    /\ rms = [rm \in RMs |-> "working"]
    /\ manager = "init"
    /\ heard = {}
    /\ messages = {}

ReceivePrepared(rm) ==
    /\ manager = "init"
    /\ <<"prepared", rm>> \in messages
    /\ heard' = heard \union {rm}
    /\ UNCHANGED <<rms, manager, messages>>

Commit ==
    /\ manager = "init"
    /\ heard = RMs
    /\ manager' = "committed"
    /\ messages' = messages \union {<<"commit", 0>>}
    /\ UNCHANGED <<rms, heard>>

Abort ==
    /\ manager = "init"
    /\ manager' = "aborted"
    /\ messages' = messages \union {<<"abort", 0>>}
    /\ UNCHANGED <<rms, heard>>

Prepare(rm) ==
    /\ rms[rm] = "working"
    /\ rms' = [rms EXCEPT ![rm] = "prepared"]
    /\ messages' = messages \union {<<"prepared", rm>>}
    /\ UNCHANGED <<manager, heard>>

ChooseToAbort(rm) ==
    /\ rms[rm] = "working"
    /\ rms' = [rms EXCEPT ![rm] = "aborted"]
    /\ UNCHANGED <<manager, heard, messages>>

ReceiveCommit(rm) ==
    /\ <<"commit", 0>> \in messages
    /\ rms' = [rms EXCEPT ![rm] = "committed"]
    /\ UNCHANGED <<manager, heard, messages>>

ReceiveAbort(rm) ==
    /\ <<"abort", 0>> \in messages
    /\ rms' = [rms EXCEPT ![rm] = "aborted"]
    /\ UNCHANGED <<manager, heard, messages>>

Next ==
    \/ Commit
    \/ Abort
    \/ \E rm \in RMs :
        \/ ReceivePrepared(rm)
        \/ Prepare(rm)
        \/ ChooseToAbort(rm)
        \/ ReceiveCommit(rm)
        \/ ReceiveAbort(rm)

Spec == Init /\ [][Next]_vars

Consistent ==
    \A one, other \in RMs : ~ (rms[one] = "aborted" /\ rms[other] = "committed")
=============================================================================
