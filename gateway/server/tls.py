"""TLS: a self-signed certificate for the first start, and a context without weak ciphers.

The library that makes certificates takes long to import, so it is where a function needs it.
"""

import fcntl
import ipaddress
import os
import re
import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.errors import TlsError
from gateway.server.config import RENEWAL_MARGIN, self_signed_paths

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ec

CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""The suites of TLS 1.2 with forward secrecy and authenticated encryption, as all of 1.3 are."""

_VALID_FOR = timedelta(days=366)  # the longest of Mozilla's guidelines for servers
_CLOCK_SKEW = timedelta(hours=1)
_VALIDITY = re.compile(rb"\x30\x1e\x17\x0d(\d{12})Z\x17\x0d(\d{12})Z")
"""The validity in the DER form of a certificate: two UTCTimes (RFC 5280, 4.1.2.5)."""


def ensure_certificate(data_dir: Path, now: datetime | None = None) -> tuple[Path, Path]:
    """Return the paths of a self-signed certificate and its key, and create them if missing.

    The key never changes, so certificate and key match whenever they are read. A certificate
    that expires within 30 days is renewed. Safe when several processes start at once. Raises
    TlsError.
    """
    certificate_path, key_path = self_signed_paths(data_dir)
    now = now or datetime.now(UTC)
    if _is_current(certificate_path, key_path, now):
        return certificate_path, key_path
    directory = certificate_path.parent
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (directory / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            key = _read_or_create_key(key_path)
            if not _is_current(certificate_path, key_path, now):  # nor has another process made it
                _write_atomically(certificate_path, _create_certificate(key, now), mode=0o644)
    except OSError as error:
        raise TlsError(f"Cannot store a certificate in {directory}: {error.strerror}") from error
    return certificate_path, key_path


def _is_current(certificate_path: Path, key_path: Path, now: datetime) -> bool:
    """Return whether the files match, and the certificate is not about to expire."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(
            certificate_path, key_path, password=lambda: ""
        )
        der = ssl.PEM_cert_to_DER_cert(certificate_path.read_text())
    except (OSError, ValueError):  # ssl.SSLError is an OSError
        return False
    validity = _VALIDITY.search(der)
    if validity is None:
        return False
    begins, ends = (
        datetime.fromisoformat(f"20{time[:6]}T{time[6:]}Z")
        for time in map(bytes.decode, validity.groups())
    )
    return begins <= now < ends - RENEWAL_MARGIN


def _write_atomically(path: Path, content: bytes, *, mode: int) -> None:
    """Replace the file in one step: synced to disk under another name, then renamed."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _read_or_create_key(path: Path) -> "ec.EllipticCurvePrivateKey":
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = _read_key(path)
    if key is None:
        key = ec.generate_private_key(ec.SECP256R1())
        encoded = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        _write_atomically(path, encoded, mode=0o600)
    return key


def _read_key(path: Path) -> "ec.EllipticCurvePrivateKey | None":
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (FileNotFoundError, ValueError, TypeError):
        return None
    return key if isinstance(key, ec.EllipticCurvePrivateKey) else None


def _create_certificate(key: "ec.EllipticCurvePrivateKey", now: datetime) -> bytes:
    """Create a leaf with every extension that strict verifiers require (RFC 5280, 4.2)."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    addresses = [ipaddress.ip_address(address) for address in ("127.0.0.1", "::1")]
    subjects = [x509.DNSName("localhost"), *map(x509.IPAddress, addresses)]
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Floorgate on this machine")])
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    usage = x509.KeyUsage(True, False, False, False, False, False, False, False, False)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now - _CLOCK_SKEW + _VALID_FOR)
        .add_extension(x509.SubjectAlternativeName(subjects), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(identifier, critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM)


def create_ssl_context(certificate_path: Path, key_path: Path) -> ssl.SSLContext:
    """Create a server context: TLS 1.2 or later, `CIPHERS`, HTTP/1.1. Raises TlsError."""
    for kind, path in (("certificate", certificate_path), ("key", key_path)):
        try:
            path.open("rb").close()
        except OSError as error:
            raise TlsError(f"The TLS {kind} {path} cannot be read: {error.strerror}") from error
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
    context.set_ciphers(CIPHERS)
    # By default OpenSSL also offers X448 and P-521, which cost the server five times the CPU
    # of P-256. Python before 3.15 can name one group only: the one that every client has.
    context.set_ecdh_curve("prime256v1")
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(certificate_path, key_path, password=_refuse_password)
    except ssl.SSLError as error:
        raise TlsError(_explain_ssl_error(error, certificate_path, key_path)) from error
    return context


def _refuse_password() -> str:
    raise TlsError("The TLS key is encrypted: use one without a passphrase")


def _explain_ssl_error(error: ssl.SSLError, certificate_path: Path, key_path: Path) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return f"The TLS key {key_path} does not belong to the certificate {certificate_path}"
    from cryptography import x509

    try:
        x509.load_pem_x509_certificates(certificate_path.read_bytes())
    except ValueError:
        return f"{certificate_path} holds no TLS certificate in PEM form"
    if _read_key(key_path) is None:
        return f"{key_path} holds no TLS key in PEM form"
    return f"The TLS certificate {certificate_path} cannot be used: {error.reason}"
