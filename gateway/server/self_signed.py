"""Creating the self-signed certificate.

Its check is in `gateway.server.tls`: it needs no library that takes long to import.
"""

import contextlib
import fcntl
import ipaddress
import os
import tempfile
from collections.abc import Generator
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from gateway.errors import TlsError
from gateway.server.config import RENEWAL_MARGIN

_VALIDITY = timedelta(days=366)  # the longest of Mozilla's guidelines for servers
_CLOCK_SKEW = timedelta(hours=1)
_SUBJECT_NAMES = [
    x509.DNSName("localhost"),
    x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
    x509.IPAddress(ipaddress.ip_address("::1")),
]


def ensure_certificate(certificate_path: Path, key_path: Path, now: datetime) -> None:
    """Create a key if there is none, and a certificate unless there is one to go on with.

    Raises TlsError.
    """
    directory = certificate_path.parent
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _lock_file(directory / "lock"):
            key = read_key(key_path)
            if key is None:
                key = ec.generate_private_key(ec.SECP256R1())
                _write_atomically(key_path, _encode_key(key), mode=0o600)
            if not _is_usable(certificate_path, key, now):
                pem = _create_certificate(key, now).public_bytes(serialization.Encoding.PEM)
                _write_atomically(certificate_path, pem, mode=0o644)
    except OSError as error:
        raise TlsError(f"Cannot store a certificate in {directory}: {error.strerror}") from error


@contextlib.contextmanager
def _lock_file(path: Path) -> Generator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


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


def _encode_key(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def read_key(path: Path) -> ec.EllipticCurvePrivateKey | None:
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (FileNotFoundError, ValueError, TypeError):
        return None
    return key if isinstance(key, ec.EllipticCurvePrivateKey) else None


def _is_usable(path: Path, key: ec.EllipticCurvePrivateKey, now: datetime) -> bool:
    """Return whether the file holds a certificate of this key that is not about to expire."""
    try:
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return False
    renewal = certificate.not_valid_after_utc - RENEWAL_MARGIN
    is_valid = certificate.not_valid_before_utc <= now < renewal
    return is_valid and certificate.public_key() == key.public_key()


def _create_certificate(key: ec.EllipticCurvePrivateKey, now: datetime) -> x509.Certificate:
    """Create a leaf with every extension that strict verifiers require (RFC 5280, 4.2)."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Floorgate on this machine")])
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    usage = x509.KeyUsage(True, False, False, False, False, False, False, False, False)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now - _CLOCK_SKEW + _VALIDITY)
        .add_extension(x509.SubjectAlternativeName(_SUBJECT_NAMES), critical=False)
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
