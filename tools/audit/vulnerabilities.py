"""Look up the locked packages in the databases of known vulnerabilities.

A database that knows nothing looks like one that found nothing: pip-audit ends with 0 and "No known
vulnerabilities found" where PyPI does not answer. So each look-up first has to find a package that
is known to be vulnerable, and has to answer for each package that it was asked for.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tools.audit.locks import read_npm_lock
from tools.audit.programs import ROOT, CannotWorkError, run, run_npm, run_program

PYTHON_LOCKS = tuple(
    f"requirements{suffix}.lock"
    for suffix in ("", "-build", "-dev", "-bench", "-audit", "-clients")
)
VULNERABLE_PYTHON = "pyyaml==5.3"
VULNERABLE_NPM = ("minimist", "0.0.8")


def audit_python(locks: tuple[str, ...] = PYTHON_LOCKS) -> tuple[int, list[str]]:
    """Return how many packages were looked up, and what was found. Raises CannotWorkError."""
    with TemporaryDirectory() as folder:
        known = Path(folder) / "requirements.txt"
        known.write_text(VULNERABLE_PYTHON)
        if not [*read_pip_audit(_run_pip_audit(known, "--no-deps"))]:
            raise CannotWorkError(f"the database does not know that {VULNERABLE_PYTHON} is unsafe")
    answers = [_run_pip_audit(ROOT / lock) for lock in locks]
    found = {line for answer in answers for line in read_pip_audit(answer)}
    return sum(len(answer["dependencies"]) for answer in answers), sorted(found)


def _run_pip_audit(requirements: Path, *options: str) -> Any:
    options = (*options, "--disable-pip", "--format=json", "--progress-spinner=off", "--desc=off")
    return parse(run_program("pip-audit", "--requirement", requirements, *options))


def read_pip_audit(answer: Any) -> Iterator[str]:
    """Yield a line for each vulnerability. Raises CannotWorkError for a package without answer."""
    packages = answer.get("dependencies", [])
    if not packages:
        raise CannotWorkError("pip-audit looked up no package")
    for package in packages:
        if "skip_reason" in package:
            raise CannotWorkError(package["skip_reason"])
        for vulnerability in package["vulns"]:
            fixed = ", ".join(vulnerability["fix_versions"]) or "no version"
            name = f"{package['name']} {package['version']}"
            yield f"{name}: {vulnerability['id']}, fixed in {fixed}"


def find_npm_folders() -> tuple[str, ...]:
    """Return the folders of the repository that pin packages of npm. Raises CannotWorkError."""
    listed = run(["git", "ls-files", "-z", "--", "*package-lock.json"], ROOT)
    return tuple(str(Path(lock).parent) for lock in listed.split("\0") if lock)


def audit_npm(folders: tuple[str, ...] | None = None) -> tuple[int, list[str]]:
    """Return how many packages were looked up, and what was found. Raises CannotWorkError.

    Without `folders`, all that pin packages are audited.
    """
    if folders is None:
        folders = find_npm_folders()
    name, version = VULNERABLE_NPM
    with TemporaryDirectory() as folder:
        root = {"name": "known", "version": "1.0.0", "dependencies": {name: version}}
        packages = {"": root, f"node_modules/{name}": {"version": version}}
        lock = {**root, "lockfileVersion": 3, "requires": True, "packages": packages}
        (Path(folder) / "package.json").write_text(json.dumps(root))
        (Path(folder) / "package-lock.json").write_text(json.dumps(lock))
        if not [*read_npm_audit(_run_npm_audit(Path(folder)))]:
            raise CannotWorkError(f"the database does not know that {name} {version} is unsafe")
    found = {line for folder in folders for line in read_npm_audit(_run_npm_audit(ROOT / folder))}
    number = sum(len(read_npm_lock(ROOT / folder / "package-lock.json")) for folder in folders)
    return number, sorted(found)


def _run_npm_audit(folder: Path) -> Any:
    return parse(run_npm(folder, "audit", "--json", "--package-lock-only"))


def read_npm_audit(answer: Any) -> Iterator[str]:
    """Yield a line for each package with vulnerabilities. Raises CannotWorkError."""
    if "vulnerabilities" not in answer or not answer["metadata"]["dependencies"]["total"]:
        raise CannotWorkError(str(answer.get("message") or "npm audit looked up no package"))
    for name, package in answer["vulnerabilities"].items():
        yield f"{name} {package['range']}: {package['severity']}"


def parse(printed: str) -> Any:
    """Return the JSON value that a program has printed. Raises CannotWorkError."""
    try:
        value = json.loads(printed)
    except ValueError as error:
        raise CannotWorkError(f"no JSON: {printed.strip()[-500:]}") from error
    if not isinstance(value, dict):
        raise CannotWorkError(f"no JSON object: {printed.strip()[-500:]}")
    return value
