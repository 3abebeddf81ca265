"""What kafka-python and librdkafka have in common as clients that are driven line by line.

A line is ACTOR, CALL and its arguments, with tabs between them; the answer is ACTOR, CALL and what came of it: a
result, or "! " and the name of the exception. Actors have a thread each, so that one may wait while another goes on.
"""

import queue
import sys
import threading


def drive(make, name_of):
    """Answer lines until stdin ends.

    `make(actor)` gives an object with a method for each call; `name_of(error)` names what it raised.
    """
    actors = {}
    speaking = threading.Lock()

    def work(actor, lines):
        client = make(actor)
        while True:
            call, *words = lines.get()
            try:
                result = getattr(client, call.replace("-", "_"))(*words) or ""
            except Exception as error:  # noqa: BLE001  what a client raises is what is asked for
                result = f"! {name_of(error)}"
            with speaking:
                print(actor, call, result, sep="\t", flush=True)

    for line in sys.stdin:
        actor, *words = line.rstrip("\n").split("\t")
        if actor not in actors:
            actors[actor] = queue.Queue()
            threading.Thread(target=work, args=(actor, actors[actor]), daemon=True).start()
        actors[actor].put(words)
