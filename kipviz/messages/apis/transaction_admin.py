"""The APIs with which an operator looks at transactions and their producers."""

from __future__ import annotations

from kipviz.messages.admin import (
    DescribeProducers,
    DescribeProducersResponse,
    DescribeTransactions,
    DescribeTransactionsResponse,
    ListTransactions,
    ListTransactionsResponse,
)
from kipviz.messages.apis.api import Api, Role, Shard
from kipviz.messages.apis.retries import OF_A_COORDINATOR, OF_A_LEADER
from kipviz.messages.apis.rights import DESCRIBE_ID, READ_TOPIC, Need, Operation, Resource
from kipviz.messages.errors import Errors

APIS: tuple[Api, ...] = (
    Api(
        request=ListTransactions,
        response=ListTransactionsResponse,
        role=Role.KAFKA_APIS,
        shard=Shard.BROKER,
        needs=(Need(Operation.DESCRIBE, Resource.TRANSACTIONAL_ID, hides=True),),
        refusal=lambda _, error: ListTransactionsResponse(error),
        clause="KIP-664 ListTransactions; KIP-1152",
        kafka="TransactionCoordinator.handleListTransactions",
        answer_in="ListTransactionsHandler",
        words=("list transactions", "transactions"),
        admin_retries=(Errors.COORDINATOR_LOAD_IN_PROGRESS,),
    ),
    Api(
        request=DescribeTransactions,
        response=DescribeTransactionsResponse,
        role=Role.TRANSACTION_COORDINATOR,
        shard=Shard.TRANSACTIONAL_ID,
        needs=(DESCRIBE_ID,),
        refusal=lambda m, error: DescribeTransactionsResponse(error, m.transactional_id),
        clause="KIP-664 DescribeTransactions",
        kafka="TransactionCoordinator.handleDescribeTransactions",
        answer_in="DescribeTransactionsHandler",
        words=("describe transaction", "transaction"),
        admin_retries=OF_A_COORDINATOR,
    ),
    Api(
        request=DescribeProducers,
        response=DescribeProducersResponse,
        role=Role.PARTITION_LEADER,
        shard=Shard.PARTITION,
        needs=(READ_TOPIC,),
        refusal=lambda m, error: DescribeProducersResponse(error, m.partition),
        clause="KIP-664 DescribeProducers",
        kafka="ReplicaManager.activeProducerState",
        answer_in="DescribeProducersHandler",
        words=("describe producers", "producers"),
        admin_retries=OF_A_LEADER,
        by_name=True,
    ),
)
