"""Settings to what Kafka's clients take: what fits together, what does not, and that nothing repeats a secret."""

import asyncio
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiokafka.errors import SaslAuthenticationFailed
from faust.transport.drivers.aiokafka import credentials_to_aiokafka_auth

from stream_graders.security import VARIABLES, Security, SecurityError, from_environment
from stream_graders.stream.app import credentials
from stream_graders.stream.rights import TOPICS
from stream_graders.stream.start import ROLES
from tests.cli.commands import command
from tests.kafka.secure import certificates

SASL = {"SG_SECURITY_PROTOCOL": "SASL_SSL", "SG_SASL_USERNAME": "ann", "SG_SASL_PASSWORD": "SECRET"}
OAUTH = {"SG_SECURITY_PROTOCOL": "SASL_SSL", "SG_SASL_MECHANISM": "OAUTHBEARER"}
ENCRYPTED = "SASL_SSL for a login, SSL for certificates alone"
BY = "SG_SASL_PASSWORD, SG_SASL_PASSWORD_FILE"
WRONG = {
    "a login in the clear": (
        {**SASL, "SG_SECURITY_PROTOCOL": "SASL_PLAINTEXT"},
        f"SG_SECURITY_PROTOCOL: SASL_PLAINTEXT would send the login without encryption; set {ENCRYPTED}",
    ),
    "no such protocol": (
        {"SG_SECURITY_PROTOCOL": "TLS"},
        f"SG_SECURITY_PROTOCOL: TLS is none of PLAINTEXT, SSL, SASL_SSL; set {ENCRYPTED}",
    ),
    "a login that nothing uses": (
        {"SG_SASL_USERNAME": "ann", "SG_SASL_PASSWORD": "SECRET"},
        f"SG_SASL_USERNAME, SG_SASL_PASSWORD: not used while SG_SECURITY_PROTOCOL is PLAINTEXT; set that to {ENCRYPTED}",
    ),
    "a login beside certificates": (
        {"SG_SECURITY_PROTOCOL": "SSL", "SG_SASL_PASSWORD": "SECRET"},
        f"SG_SASL_PASSWORD: not used while SG_SECURITY_PROTOCOL is SSL; set that to {ENCRYPTED}",
    ),
    "no such mechanism": (
        {**SASL, "SG_SASL_MECHANISM": "SCRAM"},
        "SG_SASL_MECHANISM: SCRAM is none of SCRAM-SHA-512, PLAIN, OAUTHBEARER; set one of them",
    ),
    "two passwords": ({**SASL, "SG_SASL_PASSWORD_FILE": "password"}, f"{BY}: are both set; keep one"),
    "no user, no password": (
        {"SG_SECURITY_PROTOCOL": "SASL_SSL"},
        f"SG_SASL_USERNAME: SCRAM-SHA-512 needs a user; set it\n{BY}: SCRAM-SHA-512 needs a password; set one of them",
    ),
    "a password for a token": (
        {**OAUTH, "SG_SASL_PASSWORD": "SECRET", "SG_SASL_TOKEN_FUNCTION": "tokens:get"},
        "SG_SASL_PASSWORD: not used by OAUTHBEARER; set another SG_SASL_MECHANISM, or unset what is not used",
    ),
    "a token where its function is asked for": (
        {**OAUTH, "SG_SASL_TOKEN_FUNCTION": "eyJSECRET.eyJSECRET.SECRET"},
        "SG_SASL_TOKEN_FUNCTION: name the function that gives the token, as module:function",
    ),
    "a key without its certificate": (
        {"SG_SECURITY_PROTOCOL": "SSL", "SG_SSL_KEY_FILE": "key.pem"},
        "SG_SSL_KEY_FILE: name its certificate too, in SG_SSL_CERTIFICATE_FILE",
    ),
}


@pytest.mark.parametrize(("settings", "told"), WRONG.values(), ids=list(WRONG))
def test_what_does_not_fit_together_is_told_by_variable(settings: dict[str, str], told: str) -> None:
    with pytest.raises(SecurityError) as error:
        from_environment(settings)
    assert str(error.value) == told
    assert "SECRET" not in str(error.value)


def test_without_settings_nothing_changes() -> None:
    assert from_environment({}).client() == {}
    assert from_environment({"SG_SASL_USERNAME": ""}).client() == {}
    assert credentials(Security()) is None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    certificates(folder)
    (folder / "password").write_text("SECRET\n")
    (folder / "empty").write_text("\n")
    (folder / "binary").write_bytes(b"\xff\xfeSECRET")
    words = ["openssl", "ec", "-in", "cert-worker.key", "-out", "locked.key", "-aes128", "-passout", "pass:SECRET"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    return folder


TLS = {"SG_SECURITY_PROTOCOL": "SSL"}
FILES = {k: v for k, v in SASL.items() if k != "SG_SASL_PASSWORD"}
PAIR = "SG_SSL_CERTIFICATE_FILE: cert-worker.crt and {} cannot be used; needed are both in PEM form,"
UNUSABLE = {
    "no file": ({**TLS, "SG_SSL_CA_FILE": "none.pem"}, "SG_SSL_CA_FILE: none.pem: No such file or directory"),
    "no certificates": ({**TLS, "SG_SSL_CA_FILE": "password"}, "SG_SSL_CA_FILE: password holds no certificate"),
    "another's key": (
        {**TLS, "SG_SSL_CERTIFICATE_FILE": "cert-worker.crt", "SG_SSL_KEY_FILE": "ca.key"}, PAIR.format("ca.key"),
    ),
    "a key with a password": (
        {**TLS, "SG_SSL_CERTIFICATE_FILE": "cert-worker.crt", "SG_SSL_KEY_FILE": "locked.key"}, PAIR.format("locked.key"),
    ),
    "no key": ({**TLS, "SG_SSL_CERTIFICATE_FILE": "cert-worker.crt"}, PAIR.format("the key in it")),
    "no password": ({**FILES, "SG_SASL_PASSWORD_FILE": "empty"}, "SG_SASL_PASSWORD_FILE: empty is empty"),
    "no text": ({**FILES, "SG_SASL_PASSWORD_FILE": "binary"}, "SG_SASL_PASSWORD_FILE: binary is no text in UTF-8"),
    "no module": (
        {**OAUTH, "SG_SASL_TOKEN_FUNCTION": "no_such:token"},
        "SG_SASL_TOKEN_FUNCTION: no_such:token cannot be imported (ModuleNotFoundError:",
    ),
    "no function": ({**OAUTH, "SG_SASL_TOKEN_FUNCTION": "os:sep"}, "SG_SASL_TOKEN_FUNCTION: os:sep is no function"),
}  # fmt: skip


@pytest.mark.parametrize(("settings", "told"), UNUSABLE.values(), ids=list(UNUSABLE))
def test_what_cannot_be_used_is_told_by_variable(
    folder: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], told: str
) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(SecurityError) as error:
        from_environment(settings).client()
    assert str(error.value).startswith(told)
    assert "\n" not in str(error.value)
    assert "SECRET" not in str(error.value)


USABLE = {
    "SCRAM": (SASL, {"sasl_mechanism": "SCRAM-SHA-512", "sasl_plain_username": "ann", "sasl_plain_password": "SECRET"}),
    "PLAIN": (
        {**FILES, "SG_SASL_MECHANISM": "PLAIN", "SG_SASL_PASSWORD_FILE": "password"},
        {"sasl_mechanism": "PLAIN", "sasl_plain_username": "ann", "sasl_plain_password": "SECRET"},
    ),
    "TLS": ({**TLS, "SG_SSL_CA_FILE": "ca.pem"}, {}),
    "mTLS": ({**TLS, "SG_SSL_CERTIFICATE_FILE": "cert-worker.crt", "SG_SSL_KEY_FILE": "cert-worker.key"}, {}),
    "key and certificate in one file": ({**TLS, "SG_SSL_CERTIFICATE_FILE": "cert-worker.pem"}, {}),
}


@pytest.mark.parametrize(("settings", "login"), USABLE.values(), ids=list(USABLE))
def test_faust_passes_on_what_aiokafka_takes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], login: dict[str, str]
) -> None:
    monkeypatch.chdir(folder)
    security = from_environment(settings)
    client = security.client()
    context = client.pop("ssl_context")
    assert client == {"security_protocol": settings["SG_SECURITY_PROTOCOL"], **login}
    assert context.check_hostname
    faust = credentials(security)
    passed = dict(credentials_to_aiokafka_auth(faust))
    assert passed.pop("ssl_context").check_hostname
    assert passed == client
    assert "SECRET" not in f"{security!r} {faust!r}"


def sync() -> str:
    return "a-token"


async def later() -> str:
    return "a-token"


def broken() -> str:
    raise RuntimeError("SECRET")


def nothing() -> None:
    pass


def asked(name: str) -> Callable[[], Awaitable[str]]:
    provider: Any = from_environment({**OAUTH, "SG_SASL_TOKEN_FUNCTION": f"{__name__}:{name}"}).client()
    token: Callable[[], Awaitable[str]] = provider["sasl_oauth_token_provider"].token
    return token


async def given(name: str) -> str:
    return await asked(name)()


@pytest.mark.parametrize("name", ["sync", "later"])
def test_the_function_is_asked_for_the_token(name: str) -> None:
    assert asyncio.run(given(name)) == "a-token"


@pytest.mark.parametrize(
    ("name", "what"), [("broken", "raised RuntimeError"), ("nothing", "gave no text but NoneType")]
)
def test_a_function_that_gives_none_is_named_and_not_quoted(name: str, what: str) -> None:
    with pytest.raises(SaslAuthenticationFailed) as error:
        asyncio.run(given(name))
    assert error.value.args == (f"SG_SASL_TOKEN_FUNCTION: {__name__}:{name} {what}",)
    assert error.value.__cause__ is None


def test_a_command_says_what_is_wrong_and_no_help_offers_or_shows_a_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SG_SASL_PASSWORD", "SECRET")
    done = command("topics", "apply", "--bootstrap", "localhost:1")
    said = f"SG_SASL_PASSWORD: not used while SG_SECURITY_PROTOCOL is PLAINTEXT; set that to {ENCRYPTED}\n"
    assert (done.code, done.out, done.err) == (2, "", said)
    for words in (("worker",), ("tail",), ("topics", "apply"), ("explain",)):
        told = command(*words, "--help").out
        assert "SECRET" not in told
        assert "password" not in told.lower()


def test_the_manual_has_every_variable_and_the_rights_that_are_checked() -> None:
    page = (Path(__file__).parent.parent / "docs" / "security.md").read_text(encoding="utf-8")
    assert [name for name in VARIABLES.values() if f"`{name}`" not in page] == []
    topics = {**ROLES, "changelog": "<app>-runs-changelog", "leader": "<app>-__assignor-__leader"}
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| worker |")]
    for role, operations in TOPICS.items():
        [needed] = [cells[3] for cells in rows if f"`{topics[role]}`" in cells[2]]
        assert needed.strip() == ", ".join(operations)
