"""How Kafka is spoken to: from the environment to what aiokafka's clients take. The one place for workers, commands and emitters.

A password or token goes from here into the client and nowhere else. No command has an option for one, because options
show in the list of processes; no message repeats one, and neither does what `repr` says.
"""

import asyncio
import importlib
import inspect
import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_SSL")
MECHANISMS = ("SCRAM-SHA-512", "PLAIN", "OAUTHBEARER")
VARIABLES = {
    "protocol": "SG_SECURITY_PROTOCOL",
    "ca_file": "SG_SSL_CA_FILE",
    "certificate_file": "SG_SSL_CERTIFICATE_FILE",
    "key_file": "SG_SSL_KEY_FILE",
    "mechanism": "SG_SASL_MECHANISM",
    "username": "SG_SASL_USERNAME",
    "password": "SG_SASL_PASSWORD",
    "password_file": "SG_SASL_PASSWORD_FILE",
    "token_function": "SG_SASL_TOKEN_FUNCTION",
}
"""The variable that each setting comes from."""
_FUNCTION = re.compile(r"[^\W\d][\w.]*:[^\W\d]\w*")


class SecurityError(ValueError):
    """Settings that cannot be used; the message names every problem, one a line, each with its variable."""


@dataclass(frozen=True)
class Security:
    """How a client encrypts, and who it says it is. An empty text is a setting that was not made."""

    protocol: str = "PLAINTEXT"
    ca_file: str = ""
    """Certificates that the brokers' are to be signed by; the system's where none are named."""
    certificate_file: str = ""
    key_file: str = ""
    mechanism: str = MECHANISMS[0]
    username: str = ""
    password: str = field(default="", repr=False)
    password_file: str = ""
    token_function: str = ""
    """Gives the token of OAUTHBEARER, named ``module:function``; it may be asynchronous."""

    def client(self) -> dict[str, Any]:
        """What any of aiokafka's clients takes as keyword arguments. Files are read anew each time.

        Raises:
            SecurityError: a file or the function cannot be used.
        """
        if self.protocol == "PLAINTEXT":
            return {}
        client = {"security_protocol": self.protocol, "ssl_context": self._context()}
        return client if self.protocol == "SSL" else {**client, "sasl_mechanism": self.mechanism, **self._login()}

    def _context(self) -> Any:
        import ssl  # Most commands read files and never need it.

        for name in ("ca_file", "certificate_file", "key_file"):
            self._read(name)
        try:
            context = ssl.create_default_context(cafile=self.ca_file or None)
        except ssl.SSLError as error:
            raise _error("ca_file", f"{self.ca_file} holds no certificate in PEM form") from error
        if self.certificate_file:
            try:
                # With a password, though it opens no key: without one OpenSSL would ask for it at the terminal.
                context.load_cert_chain(self.certificate_file, self.key_file or None, password="")
            except ssl.SSLError as error:
                needed = "both in PEM form, the key without a password and of that certificate"
                files = f"{self.certificate_file} and {self.key_file or 'the key in it'}"
                raise _error("certificate_file", f"{files} cannot be used; needed are {needed}") from error
        return context

    def _login(self) -> dict[str, Any]:
        if self.mechanism == "OAUTHBEARER":
            return {"sasl_oauth_token_provider": _provider(self.token_function)}
        # A file ends with a line break that is no part of the password.
        password = self.password or self._read("password_file").rstrip("\r\n")
        if not password:
            raise _error("password_file", f"{self.password_file} is empty")
        return {"sasl_plain_username": self.username, "sasl_plain_password": password}

    def _read(self, name: str) -> str:
        path = getattr(self, name)
        try:
            return Path(path).read_text(encoding="utf-8") if path else ""
        except OSError as error:
            raise _error(name, f"{path}: {error.strerror}") from error
        except UnicodeDecodeError:  # Its own message, and what caused ours, would quote the file.
            raise _error(name, f"{path} is no text in UTF-8") from None


UNSECURED = Security()
JUDGE_KEY = ("SG_JUDGE_KEY", "SG_JUDGE_KEY_FILE")
"""Where the key is that judges sign their answers with: the variable itself, or the file that it names."""


def secret_of(variable: str, environment: Mapping[str, str] = os.environ) -> str:
    """What a variable holds, or the file that is named by the one with ``_FILE`` behind its name; empty without either.

    Raises:
        SecurityError: the file cannot be read.
    """
    secret, of_file = environment.get(variable, ""), f"{variable}_FILE"
    path = environment.get(of_file, "")
    if secret or not path:
        return secret
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SecurityError(f"{of_file}: {path} cannot be read ({type(error).__name__})") from None


def judge_key(environment: Mapping[str, str] = os.environ) -> bytes | None:
    """The key that workers and judges share, and nobody else; None where none is set.

    Raises:
        SecurityError: the file cannot be read, or the key is too short to keep anybody out.
    """
    key = secret_of(JUDGE_KEY[0], environment)
    if not key:
        return None
    if len(key) < SHORTEST_KEY:
        raise SecurityError(
            f"{JUDGE_KEY[0]}: has fewer than {SHORTEST_KEY} characters; make one with: openssl rand -hex 32"
        )
    return key.encode()


SHORTEST_KEY = 16


def from_environment(environment: Mapping[str, str] = os.environ) -> Security:
    """The security settings of this process.

    Raises:
        SecurityError: they do not fit together.
    """
    given = {name: environment[variable] for name, variable in VARIABLES.items() if environment.get(variable)}
    security = Security(**given)
    problems = list(_problems(security, given))
    if problems:
        raise SecurityError("\n".join(problems))
    return security


def _problems(security: Security, given: Mapping[str, str]) -> Iterator[str]:
    if security.protocol not in PROTOCOLS:
        clear = security.protocol == "SASL_PLAINTEXT"
        why = "would send the login without encryption" if clear else f"is none of {', '.join(PROTOCOLS)}"
        yield f"{VARIABLES['protocol']}: {security.protocol} {why}; set SASL_SSL for a login, SSL for certificates alone"
    elif security.protocol == "SASL_SSL" and security.mechanism not in MECHANISMS:
        yield f"{VARIABLES['mechanism']}: {security.mechanism} is none of {', '.join(MECHANISMS)}; set one of them"
    else:
        yield from _unused(security, given)
        if security.key_file and not security.certificate_file:
            yield f"{VARIABLES['key_file']}: name its certificate too, in {VARIABLES['certificate_file']}"
        if security.protocol == "SASL_SSL":
            yield from _login_problems(security)


def _unused(security: Security, given: Mapping[str, str]) -> Iterator[str]:
    """Settings that nothing would use: somebody takes a connection for secured that is not."""
    used = {"protocol"}
    if security.protocol != "PLAINTEXT":
        used |= {"ca_file", "certificate_file", "key_file"}
    if security.protocol == "SASL_SSL":
        token = security.mechanism == "OAUTHBEARER"
        used |= {"mechanism", "token_function"} if token else {"mechanism", "username", "password", "password_file"}
    unused = ", ".join(VARIABLES[name] for name in given if name not in used)
    if unused and security.protocol == "SASL_SSL":
        yield f"{unused}: not used by {security.mechanism}; set another {VARIABLES['mechanism']}, or unset what is not used"
    elif unused:
        other = "SASL_SSL for a login, SSL for certificates alone"
        yield f"{unused}: not used while {VARIABLES['protocol']} is {security.protocol}; set that to {other}"


def _login_problems(security: Security) -> Iterator[str]:
    if security.mechanism == "OAUTHBEARER":
        # The value is not repeated: it may be a token that somebody took this variable to be for.
        if not _FUNCTION.fullmatch(security.token_function):
            yield f"{VARIABLES['token_function']}: name the function that gives the token, as module:function"
        return
    if not security.username:
        yield f"{VARIABLES['username']}: {security.mechanism} needs a user; set it"
    if bool(security.password) == bool(security.password_file):
        told = (
            "are both set; keep one" if security.password else f"{security.mechanism} needs a password; set one of them"
        )
        yield f"{VARIABLES['password']}, {VARIABLES['password_file']}: {told}"


def _error(name: str, told: str) -> SecurityError:
    return SecurityError(f"{VARIABLES[name]}: {told}; name another file, or mend it")


# -- OAUTHBEARER ---------------------------------------------------------------------------------------------------------


def _provider(named: str) -> Any:
    from aiokafka.abc import AbstractTokenProvider

    asked = _function(named)

    class Provider(AbstractTokenProvider):
        async def token(self) -> str:
            return await _token(asked, named)

    return Provider()


def _function(named: str) -> Callable[[], Any]:
    module, _, name = named.partition(":")
    try:
        function = getattr(importlib.import_module(module), name)
    except Exception as error:
        why = (
            f"{type(error).__name__}: {error}"
            if isinstance(error, ImportError | AttributeError)
            else type(error).__name__
        )
        raise SecurityError(f"{VARIABLES['token_function']}: {named} cannot be imported ({why}); mend it") from error
    if not callable(function):
        raise SecurityError(f"{VARIABLES['token_function']}: {named} is no function; name one")
    return function  # type: ignore[no-any-return]  # callable, as was just asked


async def _token(function: Callable[[], Any], named: str) -> str:
    """Ask for the token that a connection is opened with."""
    from aiokafka.errors import SaslAuthenticationFailed

    where = f"{VARIABLES['token_function']}: {named}"
    try:
        if inspect.iscoroutinefunction(function):
            token = await function()
        else:
            token = await asyncio.get_running_loop().run_in_executor(None, function)
    except Exception as error:  # noqa: BLE001  (whatever the user's function raises, there is no token)
        # Neither what it says nor its cause: both may hold what the token is bought with.
        raise SaslAuthenticationFailed(f"{where} raised {type(error).__name__}") from None
    if not isinstance(token, str) or not token:
        raise SaslAuthenticationFailed(f"{where} gave no text but {type(token).__name__}")
    return token


# -- why a connection failed ---------------------------------------------------------------------------------------------


class Ear(logging.Handler):
    """Remembers why aiokafka could not connect: that stands in its log alone, the error that it raises says less."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said = ""
        """The last line."""
        self._fault: BaseException | None = None

    def emit(self, record: logging.LogRecord) -> None:
        self.said = record.getMessage()
        args = record.args if isinstance(record.args, tuple) else ()
        fault = next((arg for arg in args if isinstance(arg, BaseException)), self._fault)
        # A client without a certificate is refused after the handshake: the connection is closed, because of that.
        self._fault = fault.__cause__ if fault is not None and isinstance(fault.__cause__, OSError) else fault

    def refusal(self) -> str:
        """Why no start would help before somebody mends a setting, and which; empty if nothing was heard that says so."""
        import ssl

        from aiokafka.errors import IllegalSaslStateError, SaslAuthenticationFailed, UnsupportedSaslMechanismError

        fault = self._fault
        if isinstance(fault, SaslAuthenticationFailed | UnsupportedSaslMechanismError | IllegalSaslStateError):
            what = "SG_SASL_MECHANISM, SG_SASL_USERNAME and its password, or the token"
            return f"Kafka refused the login ({_plain(fault)}); check {what}"
        if isinstance(fault, ssl.SSLCertVerificationError):
            return f"the broker's certificate is not trusted ({fault.verify_message}); check SG_SSL_CA_FILE"
        # An end in the middle of a handshake is no refusal: a broker that stops does that.
        if isinstance(fault, ssl.SSLError) and not isinstance(fault, ssl.SSLEOFError | ssl.SSLZeroReturnError):
            what = "SG_SECURITY_PROTOCOL, SG_SSL_CERTIFICATE_FILE and which listener the address is of"
            return f"no TLS connection ({fault.reason or fault}); check {what}"
        return ""


@contextmanager
def listening() -> Iterator[Ear]:
    """Hear what aiokafka logs meanwhile."""
    ear, log = Ear(), logging.getLogger("aiokafka")
    log.addHandler(ear)
    try:
        yield ear
    finally:
        log.removeHandler(ear)


def _plain(fault: BaseException) -> str:
    """What aiokafka's error says, without the number and name that it puts before."""
    return str(fault.args[0]) if fault.args else type(fault).__name__
