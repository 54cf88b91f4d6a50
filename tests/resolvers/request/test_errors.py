"""Errors of requests: their codes and details, also across processes."""

import pickle

import pytest

from resolvers.request.errors import (
    FlagRequiredError,
    InvalidInputError,
    LimitExceededError,
    MalformedDocumentError,
    NotFoundError,
    PermissionRequiredError,
    RequestError,
)


@pytest.mark.parametrize(
    "error",
    [
        InvalidInputError(page="must be at least 1", after="is no cursor"),
        FlagRequiredError("references"),
        PermissionRequiredError("service.admin"),
        NotFoundError(),
        LimitExceededError("too deep", limit="depth", maximum=5),
        MalformedDocumentError("not well-formed", line=1, column=2),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_is_the_same_in_another_process(error: RequestError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert (str(copy), copy.extensions) == (str(error), error.extensions)
    assert copy.extensions["code"] == error.code


def test_invalid_input_names_every_argument() -> None:
    error = InvalidInputError(page="must be at least 1", after="is no cursor")
    assert str(error) == "page: must be at least 1; after: is no cursor"
    assert error.extensions["fields"] == {
        "page": ["must be at least 1"],
        "after": ["is no cursor"],
    }
