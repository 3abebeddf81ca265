"""What each action does: one class for each, with all that there is to know of it but how it looks on screen.

Read `behaviour.py` (what a class says), then a file of classes; `catalogue.py` has all of them. An action itself,
in `cluster.actions`, is data: it stands in traces and links.
"""
