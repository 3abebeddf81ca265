"""KIP-140: an admin client lists, deletes and creates ACLs, and a filter means more than was meant."""

from __future__ import annotations

from kipviz.brokers.authorizer import CLUSTER_NAME, Acl, Operation, Resource
from kipviz.clients.application import Call, Line
from kipviz.scenarios.material import SAW_REFUSED, Checkpoint, Watch
from kipviz.scenarios.scenario import Choice, Question, Scenario
from kipviz.scenarios.script import Beat
from kipviz.scenarios.stories.kip_11 import (
    OF_THE_GROUP,
    OF_THE_NAME,
    OF_THE_SOURCE,
    OPERATOR,
    WORKER,
)
from kipviz.scenarios.stories.setting import PLAYGROUND, group_app, group_spec

GO = "app-1 goes on"
DOES = ("operator goes on", "quiet", "operator goes on")
LEFT_OVER = Acl("old-app", Operation.WRITE, Resource.TOPIC, "output-A")
BY_PREFIX = Acl(WORKER, Operation.WRITE, Resource.TOPIC, "out*")
RIGHTS = (OF_THE_NAME, OF_THE_SOURCE, OF_THE_GROUP, BY_PREFIX, LEFT_OVER)
OF_THE_OPERATOR = Acl(OPERATOR, Operation.ALTER, Resource.CLUSTER, CLUSTER_NAME)
NAMED = "resource=TOPIC name=output-A operation=WRITE"
PROGRAM = (
    Line(
        "kafka-acls.sh --list --topic output-A",
        Call.DESCRIBE_ACLS,
        target=f"{NAMED} pattern=LITERAL",
    ),
    Line(
        "kafka-acls.sh --remove --topic output-A --resource-pattern-type match",
        Call.DELETE_ACLS,
        target=f"{NAMED} pattern=MATCH",
    ),
    Line(
        "kafka-acls.sh --add --allow-principal User:app-1 --topic out --resource-pattern-type prefixed",
        Call.CREATE_ACLS,
        target=BY_PREFIX.words,
    ),
)
SPEC = group_spec(group_app(max_records=1)).but(
    applications=(group_app(max_records=1), group_app(name=OPERATOR, admin=True, program=PROGRAM)),
    records=(("src-0", 100, ("a", "b", "c")),),
    acls=(*RIGHTS, OF_THE_OPERATOR),
    budget=PLAYGROUND,
)
POLLS = (GO, "quiet", GO)
SENDS = (GO, GO, "quiet")

FILTER = Scenario(
    "kip-140-filter",
    "A filter deletes one ACL that was meant, and one that was not",
    "old-app is gone, and its right to write output-A is to go, too. The operator lists one ACL and "
    "deletes two: a pattern of the kind MATCH means every ACL that has a say about a name.",
    "KIP-140, DeleteAclsRequest; KIP-290, pattern type MATCH",
    SPEC,
    (
        Beat(
            "app-1 is in a transaction",
            "It may write to output-A, because it may write to all topics that begin with out.",
            (*POLLS, *POLLS, *SENDS),
        ),
        Beat(
            "The operator lists the ACLs of output-A",
            "DescribeAcls takes DESCRIBE on the cluster, which ALTER implies. The pattern is LITERAL, which "
            "is what the tool asks for unless it is told otherwise: one ACL, that of old-app.",
            DOES,
        ),
        Beat(
            "The operator deletes them",
            "With the pattern MATCH. The answer names two: the literal one, and the prefix out, by which "
            "app-1 has its right.",
            DOES,
        ),
        Beat(
            "The open transaction commits",
            "Its record was let in before. For its offsets and for EndTxn nobody asks about output-A.",
            (GO, "quiet", GO, GO, "quiet", GO),
        ),
        Beat(
            "The next one does not",
            "TOPIC_AUTHORIZATION_FAILED for the batch: the transaction is aborted, and the record will be "
            "read again.",
            (*POLLS, *SENDS, GO, GO, "quiet", GO),
        ),
        Beat(
            "The operator gives it back",
            "CreateAcls. One that is there already would be no error.",
            DOES,
        ),
        Beat(
            "app-1 goes on",
            "b is read once more, and this time it commits.",
            (*POLLS, *SENDS, GO, "quiet", GO, GO, "quiet", GO),
        ),
    ),
    ("app-1", "operator", "B1", "B3"),
    ("kafka",),
    Question(
        2,
        "DeleteAcls with resource TOPIC, name output-A, pattern MATCH. What is deleted?",
        (
            Choice("what the list has shown", False, "That was asked with the pattern LITERAL."),
            Choice(
                "the prefix out, too",
                True,
                "Right: it has a say about output-A, and the filter names no principal.",
            ),
            Choice("every ACL of topics", False, "So it would be without a name."),
        ),
    ),
    watch=(
        Watch(2, "Open the two filters: they differ in one number, the pattern type."),
        Watch(3, "DeleteAclsResponse says what went. Nobody asks before."),
        Watch(5, "The refusal comes with the next batch, long after the ACL is gone."),
    ),
    checkpoints=(
        Checkpoint("saw a filter delete several ACLs", "acls deleted"),
        SAW_REFUSED,
    ),
)

STORIES: tuple[Scenario, ...] = (FILTER,)
