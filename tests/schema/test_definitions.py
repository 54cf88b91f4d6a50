"""Requirements of fields."""

import pytest

from resolvers.request.caller import Caller
from resolvers.request.errors import FlagRequiredError, PermissionRequiredError
from schema.definitions import Requirement
from storage.records.visibility import ALL_ASSETS

BOTH = Requirement(flag="beta", permission="units.write")


def caller(*, flags: tuple[str, ...] = (), permissions: tuple[str, ...] = ()) -> Caller:
    return Caller("key", ALL_ASSETS, frozenset(permissions), frozenset(flags))


def test_a_missing_flag_is_reported_before_a_missing_permission() -> None:
    with pytest.raises(FlagRequiredError, match="beta"):
        BOTH.check(caller())
    with pytest.raises(PermissionRequiredError, match=r"units\.write"):
        BOTH.check(caller(flags=("beta",)))
    BOTH.check(caller(flags=("beta",), permissions=("units.write",)))


@pytest.mark.parametrize("flags", [(), ("beta",)])
@pytest.mark.parametrize("permissions", [(), ("units.write",)])
def test_a_requirement_is_met_if_its_check_passes(
    flags: tuple[str, ...], permissions: tuple[str, ...]
) -> None:
    assert BOTH.is_met(caller(flags=flags, permissions=permissions)) == bool(flags and permissions)
