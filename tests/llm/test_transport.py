"""TLS to the checked address, with the certificate of the host name."""

import datetime as dt
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from apps.llm.generation import Misconfigured
from apps.llm.http import transport
from apps.llm.models import Connection
from tests.llm.scripted_server import ScriptedServer
from tests.llm.test_connected import both, failing, generate

Connect = Callable[..., Connection]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with a certificate of models.example and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "models.example")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("models.example")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = tmp_path_factory.mktemp("tls") / "models.pem"
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM) + private)
    return path


@pytest.fixture
def tls_server(certificate: Path, monkeypatch: pytest.MonkeyPatch):
    """Run a scripted HTTPS server, to which every name resolves."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 0))]
    with ScriptedServer("Hello.", tls=context) as server:
        monkeypatch.setattr(socket, "getaddrinfo", _getaddrinfo(socket.getaddrinfo, found))
        yield server


def _getaddrinfo(original, found):
    return lambda host, *args, **kwargs: found if host.endswith(".example") else original(host, *args, **kwargs)


@both
def test_the_certificate_is_that_of_the_name(connect: Connect, tls_server, certificate, monkeypatch, backend):
    trusting = ssl.create_default_context(cafile=str(certificate))
    monkeypatch.setattr(transport, "tls_context", lambda: trusting)
    base_url = f"https://models.example:{tls_server.port}"
    assert generate(connect(backend=backend, base_url=base_url)).text == "Hello."
    assert tls_server.requests[0].headers["host"] == f"models.example:{tls_server.port}"
    failing(connect(backend=backend, base_url=base_url.replace("models", "other")), Misconfigured, "certificate")


def test_an_untrusted_certificate_is_refused(connect: Connect, tls_server):
    failing(connect(base_url=f"https://models.example:{tls_server.port}"), Misconfigured, "certificate")
    assert tls_server.requests == []
