"""The properties with which Kafka's tools connect (`--command-config`), as settings of kafka-python's client.

Source: CommonClientConfigs, SaslConfigs, SslConfigs, ScramFormatter; java.util.Properties for the file.
"""

from __future__ import annotations

import re
from typing import Any

from kipviz.core.outside.suggestions import nearest
from kipviz.settings.client_configs import SECURITY_PROTOCOL

# Kafka's names, and kafka-python's.
SAME_VALUE = {
    SECURITY_PROTOCOL.name: "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.kerberos.service.name": "sasl_kerberos_service_name",
}
FILES = {
    "ssl.truststore.location": "ssl_cafile",
    "ssl.keystore.location": "ssl_certfile",
}
TYPES = ("ssl.truststore.type", "ssl.keystore.type")
JAAS, HOSTNAME, KEY_PASSWORD = (
    "sasl.jaas.config",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.password",
)
KNOWN = (*SAME_VALUE, *FILES, *TYPES, JAAS, HOSTNAME, KEY_PASSWORD)
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
# OAUTHBEARER needs a function that fetches tokens, which a properties file cannot contain.
MECHANISMS = ("PLAIN", *SCRAM, "GSSAPI")
USER = "sasl_plain_username"
_LOGIN = re.compile(r'\b(username|password)\s*=\s*"((?:[^"\\]|\\.)*)"')


class BadProperties(ValueError):
    """A properties file has a setting that cannot be applied; the message is one sentence without secrets."""


def client_config(text: str) -> dict[str, Any]:
    """Return a properties file's settings as those of kafka-python's client.

    Settings that do not concern a secure connection, such as request.timeout.ms, are left out.

    Raises:
        BadProperties: if a security setting is unknown or cannot be applied.
    """
    found: dict[str, Any] = {}
    properties = _properties(text)
    for name, value in properties.items():
        if name in SAME_VALUE:
            found[SAME_VALUE[name]] = value
        elif name in FILES:
            found[FILES[name]] = value
        elif name in TYPES and value.upper() != "PEM":
            raise BadProperties(f"{name} is {value}; this client reads PEM files only")
        elif name == JAAS:
            found |= _login(value)
        elif name == HOSTNAME:
            found["ssl_check_hostname"] = bool(value)
        elif name == KEY_PASSWORD:
            found["ssl_password"] = value
        elif name.startswith(("sasl.", "ssl.", "security.")) and name not in KNOWN:
            (close, *_) = nearest(name, KNOWN)
            raise BadProperties(f"{name} is not known here; did you mean {close}?")
    for name in FILES:
        if (
            name in properties
            and properties.get(name.replace("location", "type"), "").upper() != "PEM"
        ):
            kind = name.replace("location", "type")
            raise BadProperties(
                f"{name} needs {kind}=PEM; this client reads no JKS or PKCS12 files"
            )
    protocol = found.get("security_protocol", PROTOCOLS[0])
    if protocol not in PROTOCOLS:
        raise BadProperties(
            f"{SECURITY_PROTOCOL.name} must be one of {', '.join(PROTOCOLS)}, not {protocol!r}"
        )
    mechanism = found.get("sasl_mechanism", MECHANISMS[0])
    if mechanism not in MECHANISMS:
        raise BadProperties(
            f"sasl.mechanism must be one of {', '.join(MECHANISMS)}, not {mechanism!r}"
        )
    if mechanism in SCRAM and USER in found:
        found[USER] = _as_scram_name(found[USER])
    return found


def _as_scram_name(user: str) -> str:
    """Return a user name in the form of SCRAM's messages, which kafka-python leaves to its caller (RFC 5802, saslname)."""
    return user.replace("=", "=3D").replace(",", "=2C")


def _properties(text: str) -> dict[str, str]:
    """Parse name=value lines; a line that ends in a backslash continues in the next one."""
    found: dict[str, str] = {}
    for line in re.sub(r"\\\r?\n[ \t]*", "", text).splitlines():
        stripped = line.strip()
        if stripped and stripped[0] not in "#!":
            name, _, value = stripped.partition("=")
            found[name.strip()] = value.strip()
    return found


def _login(jaas: str) -> dict[str, str]:
    login = {name: value.replace('\\"', '"') for name, value in _LOGIN.findall(jaas)}
    if login.keys() != {"username", "password"}:
        raise BadProperties(f'{JAAS} has no username="…" and password="…", which this client needs')
    return {f"sasl_plain_{name}": value for name, value in login.items()}
