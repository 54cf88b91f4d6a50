"""The Postman collection: every operation, with an example of every input."""

from typing import Any

from rest.openapi.description import build_description
from rest.openapi.postman import FLAGS_HEADER, build_collection
from schema.root import GRAPHQL_SCHEMA

DESCRIPTION = build_description(GRAPHQL_SCHEMA)
COLLECTION = build_collection(DESCRIPTION, "https://maps.example/")
REQUESTS: dict[str, dict[str, Any]] = {
    item["id"]: item["request"] for folder in COLLECTION["item"] for item in folder["item"]
}


def test_every_operation_is_in_the_folder_of_its_tag() -> None:
    operations = [each for path in DESCRIPTION["paths"].values() for each in path.values()]
    folders = {
        folder["name"]: [each["id"] for each in folder["item"]] for folder in COLLECTION["item"]
    }
    for operation in operations:
        assert operation["operationId"] in folders[operation["tags"][0]]
    assert len(REQUESTS) == len(operations)
    assert all(folders.values())


def test_every_input_has_an_example_and_only_what_is_needed_is_sent() -> None:
    for request in REQUESTS.values():
        url = request["url"]
        assert all(each["value"] and not each["disabled"] for each in url["variable"])
        given = [*url["query"], *request["header"]]
        assert all(each["value"] for each in given if each["key"] != "after")
        sent = [each["key"] for each in given if not each.get("disabled")]
        assert {*sent} <= {"from", "to", "minutes", FLAGS_HEADER, "Content-Type"}


def test_a_request_has_its_address_and_body() -> None:
    route = REQUESTS["findRoute"]["url"]
    assert route["raw"] == ("{{baseUrl}}/v1/maps/:map/route?from=l4xusy2pgwt&to=lvx7jztptwu")
    assert "/".join([*route["host"], *route["path"]]) == route["raw"].partition("?")[0]
    assert COLLECTION["variable"][0] == {"key": "baseUrl", "value": "https://maps.example"}
    assert REQUESTS["calculateDistances"]["body"]["options"]["raw"]["language"] == "json"
    assert REQUESTS["parseMap"]["body"]["raw"].startswith("<svg")
