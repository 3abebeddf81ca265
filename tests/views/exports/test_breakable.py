"""Long names break after their parts, and words never."""

import pytest

from kipviz.views.exports.breakable import breakable


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a record is staged", "a record is staged"),
        ("TX_PENDING", "TX_PENDING"),
        ("COMMITTING_TRANSACTION", "COMMITTING_<wbr>TRANSACTION"),
        ("KafkaProducer", "Kafka<wbr>Producer"),
        (
            "consumer.poll(Duration.ofSeconds(5));",
            "consumer.<wbr>poll(<wbr>Duration.<wbr>ofSeconds(<wbr>5));",
        ),
        ("lock_expiry=noticed_by_nobody", "lock_<wbr>expiry=<wbr>noticed_<wbr>by_<wbr>nobody"),
        ("a < b & c", "a &lt; b &amp; c"),
    ],
)
def test_a_line_ends_after_the_parts_of_a_long_name_only(text: str, html: str) -> None:
    assert breakable(text) == html


def test_what_is_copied_has_no_letter_more() -> None:
    name = "sendShareAcknowledgementsToTransaction(acks)"
    assert breakable(name).replace("<wbr>", "") == name
