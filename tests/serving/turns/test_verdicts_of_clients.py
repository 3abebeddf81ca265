"""What a run of real clients is judged by: their records do not say what they were made from."""

import contextlib
import warnings

import pytest

import kipviz
from kipviz.checking.single_run import runs
from tests.patience import PATIENCE

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition
    from kafka.structs import OffsetAndMetadata

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
    pytest.mark.usefixtures("kafka_python_is_swept"),
]
ORDERS = TopicPartition("orders", 0)


def test_a_reader_that_commits_its_position_has_lost_no_record(tmp_path):
    with kipviz.serve(time="model") as server:
        servers = server.bootstrap_servers.split(",")
        with contextlib.closing(KafkaProducer(bootstrap_servers=servers)) as producer:
            producer.send("orders", value=b"one").get(PATIENCE)
        consumer = KafkaConsumer(
            bootstrap_servers=servers,
            group_id="g",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
        )
        with contextlib.closing(consumer):
            consumer.assign([ORDERS])
            assert consumer.poll(PATIENCE * 1_000)
            consumer.commit({ORDERS: OffsetAndMetadata(1, "", -1)})
        run = server.run()
        verdicts = kipviz.open(server).payload["verdicts"]
    assert any(name == "OffsetCommit" for _, name in server.requests())
    assert {each["property"] for each in verdicts} == {"no stuck transactions or records"}
    assert [found.status for found in runs.judge(run)] == ["holds"]
    runs.save(run, tmp_path / "run.trace")
    loaded = runs.load(tmp_path / "run.trace")
    assert [found.property for found in runs.judge(loaded)] == ["no stuck transactions or records"]
