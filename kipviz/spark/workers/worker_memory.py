"""What a worker of Spark keeps from task to task is not searched for garbage after each of them.

Spark's daemon makes a full garbage collection after every task of a worker that it keeps, which looks at every object
of that worker: at what its imports have made, and at all that a model remembers. A pool of processes never does it.
"""

from __future__ import annotations

import gc
import itertools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa

# After so many tasks of a worker all its objects are looked at: what was set aside may have become garbage since.
LOOK_EVERY = 16
_tasks_done = itertools.count()


def sparing(
    work: Callable[..., Iterator[pa.RecordBatch]],
    batches: Iterable[pa.RecordBatch],
    **given: Any,
) -> Iterator[pa.RecordBatch]:
    """Do the work of a task in a worker of Spark, and set aside the objects that are there at its end."""
    yield from work(batches, **given)
    set_aside()


def set_aside() -> None:
    """Exempt the objects of this process from the next garbage collections; each sixteenth time, none is exempt.

    What the task itself has left behind is young, so it is collected here.
    """
    if next(_tasks_done) % LOOK_EVERY == LOOK_EVERY - 1:
        gc.unfreeze()
    else:
        gc.collect(1)
        gc.freeze()
