"""The table of requests in docs/SERVING.md is what brokers announce."""

import re
from pathlib import Path

from kipviz.clauses import SHIPPED
from kipviz.messages.apis.api import Role
from kipviz.messages.apis.catalogue import APIS as ROWS
from kipviz.messages.apis.rights import Operation
from kipviz.serving.translating.apis import APIS, SERVED, TRANSLATED, announced_versions
from kipviz.serving.translating.translate_cluster import API_VERSIONS

TABLE = Path(__file__).parents[3] / "docs" / "SERVING.md"
ROW = re.compile(r"^\| (\d+) \| (\w+) \| (?:(\d+) to (\d+))? ?\| ([\w ]+) \|$", re.MULTILINE)
# Served, and in the table of what Kafka 4.4 has.
MODEL, BESIDE, NOT = "a message of the model", "beside the model", "not announced"


def test_a_served_cluster_takes_every_released_request_but_those_that_only_brokers_send():
    lost = [row for row in ROWS if row.status == SHIPPED and row.key not in APIS]
    assert {need.operation for row in lost for need in row.needs} == {Operation.CLUSTER_ACTION}
    assert len(lost) == len([row for row in ROWS if row.role is Role.SHARE_COORDINATOR]) - 1
    assert set(TRANSLATED) <= set(SERVED)


def test_the_table_has_each_announced_request_with_its_versions():
    rows = ROW.findall(TABLE.read_text(encoding="utf-8"))
    told = {int(key): (int(low), int(high)) for key, _, low, high, _ in rows if low}
    assert told == {key: (low, high) for key, low, high in announced_versions(APIS)}


def test_the_table_says_by_what_each_request_is_answered():
    rows = ROW.findall(TABLE.read_text(encoding="utf-8"))
    assert len(rows) > 60
    for key, name, low, _, how in rows:
        row = APIS.get(int(key))
        if row is None:
            assert how == (BESIDE if int(key) == API_VERSIONS else NOT)
            assert bool(low) is (how == BESIDE)
        else:
            assert (how, name) == (MODEL, row.request.name.removesuffix("Request"))
