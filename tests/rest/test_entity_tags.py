"""Entity tags: equal for equal bodies, and compared as RFC 9110 says."""

import pytest
from starlette.datastructures import Headers

from resolvers.request.errors import PreconditionFailedError
from rest.entity_tags import (
    ENCODINGS,
    Precondition,
    compute_etag,
    etag_for_encoding,
    etag_matches,
)


def test_tags_depend_on_the_headers_that_change_with_the_data() -> None:
    headers = [[], [(b"link", b"<a>")], [(b"link", b"<b>")], [(b"floorgate-total-count", b"<b>")]]
    assert len({compute_etag(b"body", each) for each in headers}) == len(headers)
    assert compute_etag(b"other") != compute_etag(b"body")
    assert compute_etag(b"body", [(b"x-request-id", b"1")]) == compute_etag(b"body")


def test_every_coding_has_its_own_tag() -> None:
    tag = compute_etag(b"body")
    tags = {etag_for_encoding(tag, encoding) for encoding in ENCODINGS}
    assert len(tags) == len(ENCODINGS)
    assert all(each.startswith('"') and each.endswith('"') for each in tags)


@pytest.mark.parametrize(
    ("header", "answer"),
    [
        (None, False),
        (b"", False),
        (b'"a"', True),
        (b' "a" ', True),
        (b'W/"a"', True),  # weak comparison
        (b"*", True),
        (b'"b", "a"', True),
        (b'"x,y", W/"a"', True),
        (b'"b"', False),
        (b'"A"', False),
        (b'"x", *', False),
        (b'"b\xe9", "a"', True),
    ],
)
def test_if_none_match_is_compared_weakly(header: bytes | None, answer: bool) -> None:
    assert etag_matches(header, '"a"') is answer


def test_a_tag_of_one_coding_does_not_match_another() -> None:
    tag = compute_etag(b"body")
    assert not etag_matches(tag.encode(), etag_for_encoding(tag, "gzip"))


@pytest.mark.parametrize(
    ("headers", "holds"),
    [
        ([("If-Match", '"a"')], True),
        ([("If-Match", '"a-gzip"')], True),  # the same list, compressed
        ([("If-Match", '"b", "a-zstd"')], True),
        ([("If-Match", '"b"'), ("If-Match", '"a"')], True),
        ([("If-Match", "*")], True),
        ([("If-Match", '"b"')], False),
        ([("If-Match", 'W/"a"')], False),  # strong comparison
        ([("If-Match", "a")], False),
        ([("If-None-Match", "*")], False),
        ([("If-None-Match", '"a"')], False),
        ([("If-None-Match", 'W/"a-gzip"')], False),  # weak comparison
        ([("If-None-Match", '"b"')], True),
        ([("If-Match", '"a"'), ("If-None-Match", '"a"')], False),
    ],
)
def test_a_precondition_holds_or_not(headers: list[tuple[str, str]], holds: bool) -> None:
    raw = [(name.lower().encode(), value.encode()) for name, value in headers]
    precondition = Precondition.from_headers(Headers(raw=raw))
    assert precondition is not None
    if holds:
        precondition.check('"a"')
    else:
        with pytest.raises(PreconditionFailedError, match=headers[-1][0]):
            precondition.check('"a"')


def test_a_request_without_these_headers_has_no_precondition() -> None:
    assert Precondition.from_headers(Headers({"If-Modified-Since": "now"})) is None
