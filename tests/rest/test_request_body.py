"""Bodies are read up to a limit and no further."""

import asyncio
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message, Receive

from rest.request_body import BodyTooLargeError, ClientDisconnectedError, receive_body


def receiving(messages: Iterable[Message]) -> Receive:
    pending = iter(messages)

    async def receive() -> Message:
        return next(pending)

    return receive


def body(*chunks: bytes) -> list[Message]:
    last = len(chunks) - 1
    return [
        {"type": "http.request", "body": chunk, "more_body": position < last}
        for position, chunk in enumerate(chunks)
    ]


@given(st.lists(st.binary(max_size=20), min_size=1))
def test_a_body_within_the_limit_is_received(chunks: list[bytes]) -> None:
    whole = b"".join(chunks)
    assert asyncio.run(receive_body(receiving(body(*chunks)), len(whole))) == whole


@pytest.mark.slow
@given(st.lists(st.binary(min_size=1, max_size=20), min_size=1))
def test_a_body_over_the_limit_is_rejected(chunks: list[bytes]) -> None:
    limit_bytes = len(b"".join(chunks)) - 1
    with pytest.raises(BodyTooLargeError, match=f"over {limit_bytes} bytes"):
        asyncio.run(receive_body(receiving(body(*chunks)), limit_bytes))


@pytest.mark.parametrize("content_length", [b"11", b" 0011 ", b"9" * 5000])
def test_a_content_length_over_the_limit_is_rejected_before_reading(content_length: bytes) -> None:
    with pytest.raises(BodyTooLargeError):
        asyncio.run(receive_body(receiving([]), 10, content_length))


@pytest.mark.parametrize("content_length", [b"10", b"0", b"", b"ten", b"-1"])
def test_other_promises_are_left_to_the_counting(content_length: bytes) -> None:
    assert asyncio.run(receive_body(receiving(body(b"ten bytes.")), 10, content_length)) == (
        b"ten bytes."
    )


def test_reading_stops_at_the_first_byte_over_the_limit() -> None:
    messages = iter(body(b"12345", b"67890", b"1", b"never read"))
    with pytest.raises(BodyTooLargeError):
        asyncio.run(receive_body(receiving(messages), 10))
    assert next(messages)["body"] == b"never read"


def test_a_client_that_disconnects_early_is_an_error_of_its_own() -> None:
    messages = [*body(b"half", b"other half")[:1], {"type": "http.disconnect"}]
    with pytest.raises(ClientDisconnectedError):
        asyncio.run(receive_body(receiving(messages), 100))
