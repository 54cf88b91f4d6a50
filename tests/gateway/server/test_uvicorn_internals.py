"""The members of uvicorn, most of them private, that `HttpProtocol` and `UvicornServer` rely on.

When a test here fails after an upgrade, compare the protocol of both uvicorn versions, adapt
gateway/server/, and raise the upper bound in pyproject.toml.
"""

import asyncio
import inspect
from importlib.metadata import version

import pytest
import uvicorn
from uvicorn.protocols.http import httptools_impl
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

CHANGED = f"uvicorn {version('uvicorn')} has no %s: gateway/server/ relies on it"


async def app(scope: object, receive: object, send: object) -> None:
    """Never called."""


@pytest.mark.parametrize(
    ("owner", "names"),
    [
        (
            HttpToolsProtocol,
            (
                "connection_made connection_lost data_received resume_writing"
                " on_message_begin on_headers_complete on_body on_message_complete"
                " on_response_complete timeout_keep_alive_handler"
                " _start_asgi_task _unset_keepalive_if_required"
            ),
        ),
        (FlowControl, "resume_reading"),
        (uvicorn.Server, "startup shutdown serve on_tick capture_signals handle_exit"),
    ],
)
def test_uvicorn_has_the_methods_we_call_or_override(owner: type, names: str) -> None:
    for name in names.split():
        assert callable(getattr(owner, name, None)), CHANGED % f"{owner.__name__}.{name}"


def test_a_uvicorn_protocol_has_the_attributes_we_read() -> None:
    config = uvicorn.Config(app, log_config=None)
    config.load()
    loop = asyncio.new_event_loop()
    protocol = HttpToolsProtocol(config, ServerState(), {}, loop)
    loop.close()
    names = (
        "loop parser transport flow pipeline headers cycle expect_100_continue"
        " server_state timeout_keep_alive timeout_keep_alive_task"
    )
    for name in names.split():
        assert hasattr(protocol, name), CHANGED % f"HttpToolsProtocol.{name}"


def test_a_uvicorn_request_has_the_attributes_we_read() -> None:
    source = inspect.getsource(RequestResponseCycle.__init__)
    names = "scope disconnected keep_alive message_event response_started response_complete"
    for name in names.split():
        assert f"self.{name} = " in source, CHANGED % f"RequestResponseCycle.{name}"


def test_uvicorn_queues_pipelined_requests_with_their_application() -> None:
    signature = inspect.signature(HttpToolsProtocol._start_asgi_task)
    assert list(signature.parameters) == ["self", "cycle", "app"]


def test_uvicorn_has_what_responses_of_the_protocol_are_made_of() -> None:
    state = ServerState()
    assert (state.default_headers, state.total_requests) == ([], 0)
    assert httptools_impl.STATUS_LINE[404] == b"HTTP/1.1 404 Not Found\r\n"


def test_uvicorn_distinguishes_read_and_write_pauses() -> None:
    flow = vars(FlowControl(asyncio.Transport()))
    assert (flow["read_paused"], flow["write_paused"]) == (False, False)
