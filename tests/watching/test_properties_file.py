"""The properties file of Kafka's tools."""

import pytest

from kipviz.watching.properties_file import BadProperties, client_config

SCRAM = """
# how the operators connect
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\
    username="ada" password="a \\"b\\" = c";
ssl.truststore.type=PEM
ssl.truststore.location=/etc/kafka/ca.pem
ssl.endpoint.identification.algorithm=
request.timeout.ms=5000
"""


def test_the_settings_of_a_secure_connection_are_those_of_the_client():
    assert client_config(SCRAM) == {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "ada",
        "sasl_plain_password": 'a "b" = c',
        "ssl_cafile": "/etc/kafka/ca.pem",
        "ssl_check_hostname": False,
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ssl.truststore.location=/a.jks", "needs ssl.truststore.type=PEM"),
        ("ssl.keystore.type=JKS", "this client reads PEM files only"),
        ("sasl.mechanisms=PLAIN", "did you mean sasl.mechanism?"),
        ("security.protocol=TLS", "not 'TLS'"),
        ("sasl.mechanism=SCRAM-SHA-1", "SCRAM-SHA-512, GSSAPI, not 'SCRAM-SHA-1'"),
        ("sasl.mechanism=OAUTHBEARER", "not 'OAUTHBEARER'"),
        ("sasl.jaas.config=Module required;", "has no username="),
    ],
)
def test_what_cannot_be_followed_is_one_sentence(text, said):
    with pytest.raises(BadProperties, match=r"^[^\n]*$") as refused:
        client_config(text)
    assert said in str(refused.value)


def test_a_password_is_in_no_sentence():
    with pytest.raises(BadProperties) as refused:
        client_config('sasl.jaas.config=Module required password="secret";')
    assert "secret" not in str(refused.value)


def login(mechanism):
    return client_config(
        f'sasl.mechanism={mechanism}\nsasl.jaas.config=M required username="a=b,c" password="d";'
    )


def test_a_user_s_name_is_written_as_scram_s_messages_have_it():
    assert login("SCRAM-SHA-256")["sasl_plain_username"] == "a=3Db=2Cc"
    assert login("PLAIN")["sasl_plain_username"] == "a=b,c"
