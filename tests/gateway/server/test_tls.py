"""The certificate that is made for a first start, and the context that clients meet."""

import concurrent.futures
import multiprocessing
import socket
import ssl
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from gateway.errors import TlsError
from gateway.server import tls


def connect(context: ssl.SSLContext, client: ssl.SSLContext, host: str) -> tuple[str, str]:
    """The protocol and the suite that server and client agree on."""
    ours, theirs = socket.socketpair()

    def serve() -> None:
        try:
            context.wrap_socket(theirs, server_side=True).close()
        except OSError:
            theirs.close()

    server = threading.Thread(target=serve)
    server.start()
    try:
        with client.wrap_socket(ours, server_hostname=host) as connection:
            cipher = connection.cipher()
            assert cipher is not None
            return connection.version() or "", cipher[0]
    finally:
        ours.close()
        server.join()


def strict_client(certificate: Path) -> ssl.SSLContext:
    client = ssl.create_default_context(cafile=str(certificate))
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    return client


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate and its key."""
    return tls.ensure_certificate(tmp_path_factory.mktemp("pair"))


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1"])
def test_the_certificate_holds_for_this_machine(host: str, pair: tuple[Path, Path]) -> None:
    certificate, key = pair
    version, _ = connect(tls.create_ssl_context(certificate, key), strict_client(certificate), host)
    assert version == "TLSv1.3"


def test_the_certificate_is_made_once_for_its_owner_alone(pair: tuple[Path, Path]) -> None:
    certificate, key = pair
    before = certificate.read_bytes(), key.read_bytes()
    assert tls.ensure_certificate(certificate.parents[1]) == pair
    assert (certificate.read_bytes(), key.read_bytes()) == before
    assert key.stat().st_mode & 0o777 == 0o600
    assert certificate.stat().st_mode & 0o777 == 0o644
    made = x509.load_pem_x509_certificate(before[0])  # no longer than guidelines advise
    assert made.not_valid_after_utc - made.not_valid_before_utc <= timedelta(days=366)


@pytest.mark.parametrize(("days", "renewed"), [(0, False), (330, False), (340, True), (400, True)])
def test_a_certificate_near_its_end_is_made_anew(days: int, renewed: bool, tmp_path: Path) -> None:
    certificate, key = tls.ensure_certificate(tmp_path)
    before = certificate.read_bytes(), key.read_bytes()
    tls.ensure_certificate(tmp_path, datetime.now(UTC) + timedelta(days=days))
    assert (certificate.read_bytes() != before[0]) is renewed
    assert key.read_bytes() == before[1]


@pytest.mark.parametrize("broken", ["cert.pem", "key.pem"])
@pytest.mark.parametrize("content", [b"-----BEGIN CERTIFICATE-----\ncut", b"\xff\x00"])
def test_a_broken_file_is_replaced(broken: str, content: bytes, tmp_path: Path) -> None:
    tls.ensure_certificate(tmp_path)
    (tmp_path / "tls" / broken).write_bytes(content)
    tls.create_ssl_context(*tls.ensure_certificate(tmp_path))


def test_processes_that_start_at_once_agree(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(3, mp_context=spawn) as pool:
        made = list(pool.map(_made, [tmp_path] * 6))
    assert len(set(made)) == 1


def _made(data_dir: Path) -> bytes:
    certificate, key = tls.ensure_certificate(data_dir)
    tls.create_ssl_context(certificate, key)
    return certificate.read_bytes()


def test_no_weak_suite_is_offered(pair: tuple[Path, Path]) -> None:
    suites = tls.create_ssl_context(*pair).get_ciphers()
    assert suites
    assert all(suite["aead"] for suite in suites)
    assert all(suite["kea"] in ("kx-ecdhe", "kx-any") for suite in suites)


@pytest.mark.parametrize(
    ("curve", "is_offered"),
    [("prime256v1", True), ("secp384r1", False)],
)
def test_only_the_cheap_curve_is_offered(
    curve: str, is_offered: bool, pair: tuple[Path, Path]
) -> None:
    certificate, key = pair
    client = strict_client(certificate)
    client.set_ecdh_curve(curve)
    server = tls.create_ssl_context(certificate, key)
    if is_offered:
        assert connect(server, client, "localhost")[0] == "TLSv1.3"
    else:
        with pytest.raises(ssl.SSLError):
            connect(server, client, "localhost")


def test_older_protocols_are_rejected(pair: tuple[Path, Path]) -> None:
    certificate, key = pair
    client = strict_client(certificate)
    client.minimum_version = ssl.TLSVersion.TLSv1_2
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    assert connect(tls.create_ssl_context(certificate, key), client, "localhost")[0] == "TLSv1.2"
    client.set_ciphers("ECDHE+AES:!AESGCM:!AESCCM")  # the CBC suites
    with pytest.raises(ssl.SSLError):
        connect(tls.create_ssl_context(certificate, key), client, "localhost")
    assert tls.create_ssl_context(certificate, key).minimum_version == ssl.TLSVersion.TLSv1_2


def test_files_that_cannot_be_served_are_named(pair: tuple[Path, Path], tmp_path: Path) -> None:
    certificate, key = pair
    none, locked = tmp_path / "none.pem", tmp_path / "locked.pem"
    locked.write_bytes(
        ec.generate_private_key(ec.SECP256R1()).private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    for files, message in (
        ((none, key), r"certificate .*none\.pem cannot be read: No such file"),
        ((certificate, none), r"key .*none\.pem cannot be read: No such file"),
        ((certificate, tls.ensure_certificate(tmp_path)[1]), "does not belong to the certificate"),
        ((key, certificate), r"key\.pem holds no TLS certificate in PEM form"),
        ((certificate, certificate), r"cert\.pem holds no TLS key in PEM form"),
        ((certificate, locked), "encrypted"),  # nobody is asked for the password
    ):
        with pytest.raises(TlsError, match=message):
            tls.create_ssl_context(*files)


def test_a_data_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "tls").write_text("a file in the way")
    with pytest.raises(TlsError, match="Cannot store a certificate in"):
        tls.ensure_certificate(tmp_path)
