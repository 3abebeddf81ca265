"""Pages of Markdown: what a notebook makes of the names in their tables."""

from kipviz.views.markdown import breakable, plain, table_row


def test_a_long_name_in_a_table_may_break_after_its_parts():
    row = table_row([plain("repaired+marker_epoch=equal"), "holds"])
    assert breakable(row) == "| repaired+<wbr>marker\\_<wbr>epoch=<wbr>equal | holds |"


def test_short_names_and_code_and_what_is_in_no_table_stay_as_they_are():
    for text in (
        "| finding-D | at\\_least |",
        "| `kv1.AAAA-BBBB_CCCC=DDDD` |",
        "repaired+marker\\_epoch=equal",
    ):
        assert breakable(text) == text


def test_the_rule_below_the_heads_of_a_table_stays_a_rule():
    rule = table_row(["---------------------:", "---"])
    assert breakable(rule) == rule
