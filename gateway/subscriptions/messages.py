"""The messages of graphql-transport-ws, and what closes a WebSocket."""

from typing import Any, NamedTuple

from gateway.subscriptions.streams import StreamEnd
from rest.bodies import parse_json
from rest.errors import HttpError

MAX_ID_CHARACTERS = 100
"""Of the id that a client gives an operation."""
MAX_REASON_BYTES = 123
"""Of the reason in the frame that closes a WebSocket (RFC 6455, 5.5)."""
_TYPES_WITH_ID = frozenset({"subscribe", "complete"})
_TYPES = _TYPES_WITH_ID | {"connection_init", "ping", "pong"}


class CloseError(Exception):
    """A reason to close a WebSocket, with its code.

    Clients connect again after 1012 and 1013 (IANA's registry: service restart, try again later).
    """

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code

    @property
    def reason(self) -> str:
        """The reason, short enough to be sent."""
        return str(self).encode()[:MAX_REASON_BYTES].decode(errors="ignore")

    @classmethod
    def from_end(cls, end: StreamEnd) -> "CloseError":
        """Return what ends a WebSocket from outside."""
        return cls(1012 if end is StreamEnd.RESTART else 4403, end.value)

    @classmethod
    def from_http_error(cls, error: HttpError) -> "CloseError":
        """Return what rejects a client: for now, or because of its key."""
        return cls(1013 if error.status in (429, 503) else 4403, error.message)


class Message(NamedTuple):
    """One message of a client."""

    type: str
    id: str
    """Of an operation; empty in other messages."""
    payload: Any


def read_message(text: str | None) -> Message:
    """Return a message. Raises CloseError 4400.

    >>> read_message('{"id": "1", "type": "complete"}')
    Message(type='complete', id='1', payload=None)
    """
    if text is None:
        raise CloseError(4400, "Messages must be text, not binary")
    try:
        message = parse_json(text.encode(), "message")
    except HttpError as error:
        raise CloseError(4400, error.message) from error
    if not isinstance(message, dict):
        raise CloseError(4400, "A message must be a JSON object")
    kind, operation_id, payload = message.get("type"), message.get("id"), message.get("payload")
    if not isinstance(kind, str) or kind not in _TYPES:
        raise CloseError(4400, f"The type of a message must be one of {', '.join(sorted(_TYPES))}")
    if kind not in _TYPES_WITH_ID:
        operation_id = ""
    elif not (isinstance(operation_id, str) and 0 < len(operation_id) <= MAX_ID_CHARACTERS):
        raise CloseError(4400, f"An id must be a string of 1 to {MAX_ID_CHARACTERS} characters")
    if payload is not None and not isinstance(payload, dict):
        raise CloseError(4400, "The payload of a message must be an object")
    return Message(kind, operation_id or "", payload)
