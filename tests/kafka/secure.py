"""The broker with certificates, logins and rights: a listener for passwords and tokens, and one for client certificates.

Tests set the scene through its first listener, which is not encrypted and whose client may do anything.
"""

import subprocess
from pathlib import Path

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.protocol.admin import CreateAclsRequest, DeleteAclsRequest

from .broker import KafkaBroker, free_ports

PASSWORD = "the worker's own word 4711"
TOPIC, GROUP, CLUSTER = 2, 3, 4
OPERATIONS = {"Read": 3, "Write": 4, "Create": 5, "Describe": 8, "DescribeConfigs": 10}
_LITERAL = _ALLOW = 3
_MODULES = "org.apache.kafka.common.security"


class SecureBroker(KafkaBroker):
    """Users ``scram-worker`` and ``plain-worker`` have the password above; ``cert-worker`` has a certificate."""

    def __init__(self, directory: Path) -> None:
        user = f'[name=scram-worker,password="{PASSWORD}"]'
        super().__init__(directory, formatting=("--add-scram", f"SCRAM-SHA-512={user}"))
        self.sasl_port, self.mtls_port = free_ports(2)
        self.ca = certificates(directory)
        ours = f"PLAINTEXT://127.0.0.1:{self.port},SASL://127.0.0.1:{self.sasl_port},MTLS://127.0.0.1:{self.mtls_port}"
        plain = f'{_MODULES}.plain.PlainLoginModule required user_plain-worker="{PASSWORD}";'
        oauth = f'{_MODULES}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";'
        self.set(
            {
                "listeners": f"{ours},CONTROLLER://127.0.0.1:{self.controller_port}",
                "advertised.listeners": ours,
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_SSL,MTLS:SSL",
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": str(directory / "broker.pem"),
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": str(self.ca),
                "listener.name.mtls.ssl.client.auth": "required",
                "listener.name.sasl.sasl.enabled.mechanisms": "SCRAM-SHA-512,PLAIN,OAUTHBEARER",
                "listener.name.sasl.scram-sha-512.sasl.jaas.config": f"{_MODULES}.scram.ScramLoginModule required;",
                "listener.name.sasl.plain.sasl.jaas.config": plain,
                "listener.name.sasl.oauthbearer.sasl.jaas.config": oauth,
                "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
                "super.users": "User:ANONYMOUS",
            }
        )

    async def grant(self, user: str, kind: int, name: str, *operations: str) -> None:
        """Allow a user operations on a topic or group."""
        await self._change(
            [CreateAclsRequest(kind, name, _LITERAL, user, "*", OPERATIONS[each], _ALLOW) for each in operations]
        )

    async def withdraw(self, user: str, kind: int, name: str, *operations: str) -> None:
        """Allow them no longer."""
        await self._change(
            [DeleteAclsRequest(kind, name, _LITERAL, user, "*", OPERATIONS[each], _ALLOW) for each in operations]
        )

    async def _change(self, requests: "list[CreateAclsRequest] | list[DeleteAclsRequest]") -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
        await admin.start()
        try:
            for request in requests:
                reply = (await admin._send_to_controller(request)).to_object()
                for result in reply.get("creation_responses", reply.get("filter_responses", [])):
                    assert result["error_code"] == 0, result
        finally:
            await admin.close()


def certificates(directory: Path) -> Path:
    """An authority's certificate; beside it the broker's and a client's that it signed, and another authority's."""
    for name in ("ca", "other-ca"):
        _openssl(
            directory, "req", "-x509", *_new(name), "-out", f"{name}.pem", "-days", "2", "-subj", f"/CN={name}",
            "-addext", "basicConstraints=critical,CA:true", "-addext", "keyUsage=critical,keyCertSign",
        )  # fmt: skip
    (directory / "san").write_text("subjectAltName=IP:127.0.0.1\n")
    for name in ("broker", "cert-worker"):
        _openssl(directory, "req", *_new(name), "-out", f"{name}.csr", "-subj", f"/CN={name}")
        _openssl(
            directory, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
            "-out", f"{name}.crt", "-days", "2", "-extfile", "san",
        )  # fmt: skip
        key, certificate = directory / f"{name}.key", directory / f"{name}.crt"
        (directory / f"{name}.pem").write_text(key.read_text() + certificate.read_text())
    return directory / "ca.pem"


def _new(name: str) -> list[str]:
    return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{name}.key"]


def _openssl(directory: Path, *words: str) -> None:
    done = subprocess.run(["openssl", *words], cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
