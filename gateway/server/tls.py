"""TLS: a self-signed certificate for the first start, and a context without weak ciphers."""

import re
import ssl
from datetime import UTC, datetime
from pathlib import Path

from gateway.errors import TlsError
from gateway.server.config import RENEWAL_MARGIN, self_signed_paths

CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""The suites of TLS 1.2 with forward secrecy and authenticated encryption, as all of 1.3 are."""

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
    if not _is_current(certificate_path, key_path, now):
        from gateway.server import self_signed  # its library takes long to import

        self_signed.ensure_certificate(certificate_path, key_path, now)
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


def create_ssl_context(certificate_path: Path, key_path: Path) -> ssl.SSLContext:
    """Create a server context: TLS 1.2 or later, `CIPHERS`, HTTP/1.1. Raises TlsError."""
    for kind, path in (("certificate", certificate_path), ("key", key_path)):
        _require_readable(kind, path)
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


def _require_readable(kind: str, path: Path) -> None:
    try:
        path.open("rb").close()
    except OSError as error:
        raise TlsError(f"The TLS {kind} {path} cannot be read: {error.strerror}") from error


def _refuse_password() -> str:
    raise TlsError("The TLS key is encrypted: use one without a passphrase")


def _explain_ssl_error(error: ssl.SSLError, certificate_path: Path, key_path: Path) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return f"The TLS key {key_path} does not belong to the certificate {certificate_path}"
    from cryptography import x509

    from gateway.server import self_signed

    try:
        x509.load_pem_x509_certificates(certificate_path.read_bytes())
    except ValueError:
        return f"{certificate_path} holds no TLS certificate in PEM form"
    if self_signed.read_key(key_path) is None:
        return f"{key_path} holds no TLS key in PEM form"
    return f"The TLS certificate {certificate_path} cannot be used: {error.reason}"
