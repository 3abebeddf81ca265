"""One row for each API of the protocol: every fact about a request that is not behaviour.

Read `api.py` (what a row says), then a file of rows; `catalogue.py` has all of them. What a broker does with a
request is in `brokers`, what its bytes are is in `messages.wire`; every other table about requests is made
from these rows.
"""
