"""The coverage of each KIP by the model: one file per KIP, one row per clause of its text.

How to add a row: open the KIP's file, and add a `Row` where the clause stands in the KIP's own order. `how` is one of

    MODELLED    the handler does what the clause (or released Kafka) says
    SIMPLIFIED  it does less, and `note` says what is left out
    OPEN        it is not in the model, and `note` says what is missing

A modelled row names a handler (dotted, below `kipviz`), a scenario or a test, and the notebook page that shows it if
there is one. `tests/kips` checks that the named things exist. `kipviz clauses` prints the rows; `kipviz clauses --into
docs/kips` writes docs/kips.
"""
