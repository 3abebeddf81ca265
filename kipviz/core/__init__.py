"""The lowest floor: values, containers, the model contract, dice, traces. It knows no Kafka.

Read in this order: `model` (the contract of every model), `values`, `table` and `log` (what worlds are made of),
`trace` (the tree of everything that was tried), `scheduler` (the only dice) and `tracefile` (a trace on disk).
"""
