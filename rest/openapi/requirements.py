"""The flags and permissions that an operation needs, as descriptions name them."""

from schema.execution import Operation


def required_flags(operation: Operation) -> list[str]:
    """Return the flags that a request must have."""
    return sorted({requirement.flag for requirement in operation.requirements if requirement.flag})


def required_permissions(operation: Operation) -> list[str]:
    """Return the permissions that a key must have."""
    return sorted(
        {requirement.permission for requirement in operation.requirements if requirement.permission}
    )
