"""The behaviour of actions: one class for each, with everything about it except its look on screen.

Read `behaviour.py` (what a class defines), then a file of classes; `catalogue.py` has all of them. An action itself, in
`cluster.actions`, is data: it is stored in traces and links.
"""
