"""`floorgate doctor`: check everything that a gateway needs, and say what to do."""

from __future__ import annotations

import os
import platform
import resource
import shutil
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from gateway.cli.terminal import print_table
from gateway.errors import TlsError
from gateway.settings import (
    BYTES_PER_MB,
    LIMIT_OPTIONS,
    STORAGE_OPTIONS,
    Settings,
    env_file_option,
    with_settings,
)

if TYPE_CHECKING:
    from storage.inspection import Finding, Status

MIN_DISK_MB = 100
GOOD_DISK_MB = 1000
CERTIFICATE_WARNING = timedelta(days=21)
_RESERVED_FILES = 256
INSTALL_AGAIN = "install Floorgate again: its wheel, or in a checkout 'make setup'"


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@env_file_option
@with_settings(
    *(*STORAGE_OPTIONS, *LIMIT_OPTIONS),
    *("tls_cert", "tls_key", "behind_proxy", "max_connections"),
)
def doctor(as_json: bool, settings: Settings) -> None:
    """Check versions, disk, certificate, MongoDB and its content; say what to do.

    Exit status 1 if something is wrong, 0 if all is well or there are only warnings.
    """
    import asyncio

    from gateway.saved_endpoints import find_unusable
    from resolvers.routable_maps import is_loadable
    from storage.inspection import inspect_database

    find = partial(find_unusable, limits=settings.query_limits)
    findings = [
        _check_packages(),
        _check_disk(settings.data_dir),
        _check_open_files(settings),
        _check_certificate(settings),
        *asyncio.run(inspect_database(settings.command_connection, is_loadable, find)),
    ]
    if as_json:
        click.echo(msgspec.json.encode(findings))
    else:
        rows = ((each.check, each.status, each.message, each.remedy) for each in findings)
        print_table(("Check", "Status", "Found", "What to do"), rows, whole=2)
    sys.exit(any(each.status == "error" for each in findings))


def _check_packages() -> Finding:
    from storage.inspection import Finding

    versions = f"Floorgate {metadata.version('floorgate')}, Python {platform.python_version()}"
    if wrong := [*_find_wrong_packages(metadata.requires("floorgate") or ())]:
        return Finding("versions", "error", f"{versions}; {', '.join(wrong)}", INSTALL_AGAIN)
    return Finding("versions", "ok", versions)


def _find_wrong_packages(requirements: Iterable[str]) -> Iterator[str]:
    """Yield what is wrong with each package that is missing or of another version than needed.

    >>> [*_find_wrong_packages(["pip>=1", "pip>=9999; extra == 'dev'", "no-such-package>=1"])]
    ['no-such-package is missing']
    """
    from packaging.requirements import Requirement

    for requirement in map(Requirement, requirements):
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            version = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            yield f"{requirement.name} is missing"
        else:
            if not requirement.specifier.contains(version, prereleases=True):
                yield f"{requirement.name} is {version} and must be {requirement.specifier}"


def _check_disk(data_dir: Path) -> Finding:
    from storage.inspection import Finding

    # Unlike Path.exists, os.path.exists is also false below a directory that may not be entered.
    there = next(each for each in (data_dir, *data_dir.resolve().parents) if os.path.exists(each))  # noqa: PTH110
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        remedy = "make it a directory that this user may write to, or choose another: --data-dir"
        return Finding("data directory", "error", f"{there} cannot be written to", remedy)
    free = shutil.disk_usage(there).free // BYTES_PER_MB
    message = f"{there.resolve()}: {free:,} MB free"
    if free >= GOOD_DISK_MB:
        return Finding("data directory", "ok", message)
    status: Status = "error" if free < MIN_DISK_MB else "warning"
    return Finding("data directory", status, message, "make room on that disk")


def _check_open_files(settings: Settings) -> Finding:
    from storage.inspection import Finding

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = settings.max_connections + _RESERVED_FILES
    if resource.RLIM_INFINITY != hard < needed:
        remedy = f"raise it to {needed:,}: ulimit -Hn, or LimitNOFILE= of systemd"
        message = f"a process may have {hard:,}, fewer than --max-connections takes"
        return Finding("open files", "warning", message, remedy)
    return Finding("open files", "ok", "the limit is high enough")


def _check_certificate(settings: Settings) -> Finding:
    from storage.inspection import Finding

    if settings.behind_proxy:
        return Finding("certificate", "ok", "that of the proxy, which is not looked at")
    own = settings.tls_cert or settings.tls_key
    certificate = settings.tls_cert or settings.data_dir / "tls" / "cert.pem"
    key = settings.tls_key or settings.data_dir / "tls" / "key.pem"
    if not own and not os.path.exists(certificate):  # noqa: PTH110, as above
        return Finding("certificate", "ok", "self-signed: the first start creates it")
    from cryptography import x509

    from gateway.server.tls import create_ssl_context

    try:
        create_ssl_context(certificate, key)
    except TlsError as error:
        return Finding("certificate", "error", str(error), "correct --tls-cert and --tls-key")
    leaf = x509.load_pem_x509_certificates(certificate.read_bytes())[0]
    now = datetime.now(UTC)
    remedy = (
        "replace the files and send SIGHUP" if own else "send SIGHUP, or restart: it is renewed"
    )
    if leaf.not_valid_before_utc > now:
        message = f"{certificate}: not valid before {leaf.not_valid_before_utc:%Y-%m-%d %H:%M} UTC"
        return Finding("certificate", "error", message, f"check the clock, or {remedy}")
    left = leaf.not_valid_after_utc - now
    message = f"{certificate}: valid until {leaf.not_valid_after_utc:%Y-%m-%d}"
    if left > CERTIFICATE_WARNING:
        return Finding("certificate", "ok", message)
    return Finding("certificate", "error" if left < timedelta() else "warning", message, remedy)
