"""Each 429, 500 and 503 says in its `code` why, in the body and in the log.

Those for which MongoDB has to fail are in `test_state.py`, those of addresses in
`test_rate_limits.py`.
"""

import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pymongo import MongoClient

from gateway.app import Gateway
from storage.administration.import_lease import LEASE_COLLECTION, LEASE_ID
from tests.databases import EACH_DRIVER
from tests.fixtures import (
    ALL_FLAGS,
    UNIT,
    World,
    gateway_client,
    open_client,
    open_database,
    run_gateway,
)
from tests.gateway.log_lines import capture_log_lines
from tests.rest.test_errors import ASSIGN
from tests.rest.test_preconditions import SEA

READ = {"method": "GET", "url": "/v1/units"}
QUERY = {"method": "POST", "url": "/graphql", "json": {"query": "{ units { data { id } } }"}}
WRONG_KEY = {**READ, "headers": {"API-Key": "wrong"}}
SUBSCRIBE = {
    "method": "POST",
    "url": "/graphql",
    "json": {"query": "subscription { changes { cursor } }"},
    "headers": {**ALL_FLAGS, "Accept": "text/event-stream"},
}
RATE = {"rate_limit": 1, "rate_burst": 1}
BAD_KEYS = {"bad_key_limit": 1, "bad_key_burst": 1}


def leave_all_as_it_is(_: Gateway) -> None: ...


def take_all_slots(gateway: Gateway) -> None:
    gateway.admission.keyed.taken = gateway.admission.keyed.limit


def take_all_slots_of_each_key(gateway: Gateway) -> None:
    gateway.admission.keyed.group_limit = 0


def open_all_streams(gateway: Gateway) -> None:
    gateway.streams.subscriptions._limit = 0


def open_all_streams_of_each_key(gateway: Gateway) -> None:
    gateway.streams.subscriptions._key_limit = 0


def end_streams(gateway: Gateway) -> None:
    gateway.end_streams()


def become_one_that_starts(gateway: Gateway) -> None:
    gateway.state = None


@pytest.mark.parametrize(
    ("settings", "prepare", "request_", "status", "code"),
    [
        (RATE, leave_all_as_it_is, READ, 429, "RATE_LIMITED"),
        (RATE, leave_all_as_it_is, QUERY, 429, "RATE_LIMITED"),
        (BAD_KEYS, leave_all_as_it_is, WRONG_KEY, 429, "TOO_MANY_BAD_KEYS"),
        ({}, take_all_slots_of_each_key, READ, 429, "TOO_MANY_IN_PROGRESS"),
        ({}, open_all_streams_of_each_key, SUBSCRIBE, 429, "TOO_MANY_IN_PROGRESS"),
        ({}, take_all_slots, READ, 503, "QUEUE_FULL"),
        ({}, open_all_streams, SUBSCRIBE, 503, "QUEUE_FULL"),
        ({}, end_streams, SUBSCRIBE, 503, "RESTARTING"),
        ({}, become_one_that_starts, READ, 503, "RESTARTING"),
        ({}, become_one_that_starts, QUERY, 503, "RESTARTING"),
    ],
)
async def test_a_request_that_is_not_answered_is_told_why(
    world: World,
    settings: dict[str, Any],
    prepare: Callable[[Gateway], None],
    request_: dict[str, Any],
    status: int,
    code: str,
) -> None:
    async with (
        run_gateway(world.settings(**settings)) as gateway,
        open_client(gateway, world.keys.full) as client,
    ):
        await client.request(**(WRONG_KEY if request_ is WRONG_KEY else READ))
        state = gateway.state
        prepare(gateway)
        with capture_log_lines(logging.getLogger("floorgate"), logging.INFO) as lines:
            response = await client.request(**request_)
        gateway.state = state
    body = response.json()
    [error] = body.get("errors", [{"extensions": body}])
    assert (response.status_code, error["extensions"]["code"]) == (status, code)
    assert int(response.headers["Retry-After"]) >= 1
    [line] = [line for line in map(json.loads, lines.texts) if "errors" in line]
    assert line["errors"] == [code]
    assert line.get("status", status) == status  # many rejections have one line


async def test_a_write_waits_for_the_end_of_a_restore(own_world: World) -> None:
    async with (
        run_gateway(own_world.settings()) as gateway,
        open_client(gateway, own_world.keys.full) as client,
        open_database(own_world) as database,
    ):
        expires = datetime.now(UTC) + timedelta(hours=1)
        lease = {"state": "restoring", "holder": "another", "expires": expires}
        await database[LEASE_COLLECTION].replace_one({"_id": LEASE_ID}, lease, upsert=True)
        response = await client.put(ASSIGN, json={"data": [SEA]}, headers=ALL_FLAGS)
    assert (response.status_code, response.json()["code"]) == (503, "IMPORT_RUNNING")


@pytest.mark.parametrize("driver", EACH_DRIVER)
async def test_a_write_says_that_another_transaction_has_held_its_records(
    own_world: World, driver: str
) -> None:
    settings = own_world.settings(request_seconds=1, mongo_driver=driver)
    async with gateway_client(settings, own_world.keys.full) as client:
        with MongoClient[Any](own_world.mongo_url) as other, other.start_session() as session:
            session.start_transaction()
            held = other[own_world.database]["attribute_assignments"]
            held.update_many({"unit_id": UNIT}, {"$set": {"held": True}}, session=session)
            body = {"data": [SEA | {"attribute_id": "yard"}]}
            response = await client.put(ASSIGN, json=body, headers=ALL_FLAGS)
    assert (response.status_code, response.json()["code"]) == (503, "WRITE_CONFLICT")
