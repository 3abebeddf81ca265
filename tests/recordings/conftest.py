import warnings
from pathlib import Path

import pytest

from kipviz.recordings.recorded import load_recording

with warnings.catch_warnings():
    # kafka-python reads its own files in a way that Python 3.11 calls old; tests fail on warnings.
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka.record  # noqa: F401 - what is imported once warns no more

HERE = Path(__file__).parent
RELEASES = ("kafka-4.3.1", "kafka-4.4.0")


@pytest.fixture(params=RELEASES, scope="session")
def release(request):
    """The folder of one release; a test that asks for it runs once for each."""
    return HERE / request.param


@pytest.fixture(scope="session")
def recorded(release):
    loaded = {}

    def give(scenario):
        if scenario not in loaded:
            loaded[scenario] = load_recording(release / scenario)
        return loaded[scenario]

    return give
