"""KIP-11: authorization interface, with what KIP-140 and KIP-290 add."""

from __future__ import annotations

from kipviz.kips.row import MODELLED, SIMPLIFIED, Kip, Row

KIP = Kip(
    11,
    "Authorization interface",
    "shipped since 0.9",
    (
        Row(
            "Operations and resources",
            "Every request needs an operation on each resource that it names. A matching DENY "
            "takes precedence over every ALLOW.",
            SIMPLIFIED,
            handler="brokers.authorizer.refusal",
            scenario="pain-refused-at-start",
            test="brokers/test_rights_of_kafka_apis.py::"
            "test_every_shipped_request_needs_what_kafka_asks_for",
            note="a principal is a process; hosts are not checked",
            page="65-operators-and-symptoms",
        ),
        Row(
            "Responses to requests without a right",
            "Recorded from Kafka 4.4.0 with StandardAuthorizer: the same requests without rights, "
            "with some of them, with all of them, and with DENY ACLs.",
            MODELLED,
            handler="recordings.request_context.admission.Admission",
            test="recordings/request_context/test_admission.py::test_every_acl_is_needed_for_the_answers",
            scenario="pain-refused-at-start",
            page="65-operators-and-symptoms",
        ),
        Row(
            "Heartbeats that name topics",
            "A heartbeat that names a topic without DESCRIBE permission is rejected, so that topic names do not leak.",
            MODELLED,
            handler="brokers.authorizer.refusal",
            test="recordings/replayed_roles/test_faults_are_seen.py::test_a_model_with_a_fault_is_refused",
            note="found by the recording acls-clients",
            scenario="kip-11-heartbeat",
            page="65-operators-and-symptoms",
        ),
        Row(
            "A right that is revoked",
            "Brokers check rights when a request arrives. What they accepted before a right was revoked stays valid.",
            SIMPLIFIED,
            handler="cluster.operating.remove_acl",
            scenario="kip-11-name-lost",
            test="scenarios/shipped/test_kip_11.py::test_who_loses_its_name_can_end_nothing_and_another_principal_can",
            page="10-transactions-kip-98",
            note="all brokers learn of the change at once",
        ),
        Row(
            "A topic whose READ right is revoked",
            "The group coordinator rejects the topic's offset, and the producer treats that error "
            "as fatal. The next process can still abort the transaction with the transactional id.",
            MODELLED,
            handler="clients.transactions.transaction_manager.on_answer",
            scenario="kip-11-source-lost",
            test="scenarios/shipped/test_kip_11.py::"
            "test_who_loses_its_source_ends_the_transaction_by_its_name_and_reads_nothing",
            page="65-operators-and-symptoms",
        ),
        Row(
            "Several topics, some of them unauthorized",
            "The request is carried out for the authorized topics. Each unauthorized topic gets an error of its own.",
            MODELLED,
            handler="cluster.topic_authorization.add_topic_errors",
            scenario="kip-11-one-of-two-topics",
            test="cluster/members/test_rights.py::test_an_offset_of_a_refused_topic_has_an_error_and_the_other_is_staged",
            page="65-operators-and-symptoms",
        ),
        Row(
            "Prefixes (KIP-290)",
            "A resource name that ends in an asterisk matches every name with that prefix.",
            MODELLED,
            handler="brokers.authorizer.may",
            scenario="pain-refused-at-start",
            test="brokers/test_authorizer.py::test_a_name_is_meant_literally_unless_it_ends_in_a_star",
            page="65-operators-and-symptoms",
        ),
        Row(
            "DescribeAcls, and filters that delete several",
            "An admin client lists and deletes ACLs with filters.",
            MODELLED,
            handler="brokers.acl_administration.on_delete_acls",
            scenario="kip-140-filter",
            test="brokers/administration/test_acl_administration.py::"
            "test_a_filter_deletes_all_that_it_means_and_says_what_that_was",
            page="65-operators-and-symptoms",
        ),
        Row(
            "CreateAcls and its rights (KIP-140)",
            "Creating and deleting ACLs needs ALTER on the cluster; listing them needs DESCRIBE. "
            "Each ACL has a result of its own.",
            MODELLED,
            handler="brokers.acl_administration.on_create_acls",
            scenario="kip-140-filter",
            test="brokers/administration/test_acl_administration.py::"
            "test_who_may_not_alter_the_cluster_changes_nothing_and_each_part_says_so",
            page="65-operators-and-symptoms",
            note="brokers accept any operation on any resource; kafka-acls.sh rejects combinations that make no sense",
        ),
    ),
)
