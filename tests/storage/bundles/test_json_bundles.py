"""Bundles in JSON: both forms, the errors in each, and memory that stays bounded."""

import copy
import gzip
import io
import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.bundles import json_bundles
from storage.bundles import names as suggestions
from storage.bundles.description import DIALECT, FIELDS, RECORDS, build_bundle_schema, make_example
from storage.bundles.json_bundles import (
    BundleMember,
    JsonStream,
    MalformedJsonError,
    MemberError,
    parse_member,
    read_members,
)
from storage.bundles.names import Suggestions, suggest
from storage.bundles.violations import MAX_VIOLATIONS, Violations, quote_json
from storage.catalog import RECORD_TYPES, RECORD_TYPES_BY_NAME
from storage.errors import BundleError
from tests.doc_pages import page, section
from tests.storage.catalogs import SMALL, Bundle

UNIT = {"id": "u1", "asset_id": "a", "floor_id": "f", "name": "101"}


def read(content: bytes) -> list[BundleMember]:
    import_violations = Violations()
    found = list(read_members(io.BytesIO(content), "b.json", import_violations))
    import_violations.raise_if_any()
    return found


def import_violations(content: bytes) -> list[str]:
    with pytest.raises(BundleError) as caught:
        read(content)
    return caught.value.violations


def units(*changes: dict[str, Any]) -> bytes:
    return json.dumps({"units": [UNIT | change for change in changes]}).encode()


def test_arrays_may_come_in_any_order_and_give_each_member_its_path() -> None:
    asset = {"id": "a", "name": "Alder"}
    schema = {"$schema": "https://maps.example.com/v1/bundle.schema.json"}  # for editors
    found = read(
        json.dumps(schema | {"units": [UNIT, UNIT | {"id": "u2"}], "assets": [asset]}).encode()
    )
    assert [(member.origin, member.kind.name, member.document["_id"]) for member in found] == [
        ("b.json: $.units[0]", "units", "u1"),
        ("b.json: $.units[1]", "units", "u2"),
        ("b.json: $.assets[0]", "assets", "a"),
    ]


@pytest.mark.parametrize("kind", ["unit", "units"])
def test_lines_name_their_kind_in_either_number(kind: str) -> None:
    (member,) = read(json.dumps({"type": kind, **UNIT}).encode())
    assert (member.origin, member.kind.name) == ("b.json: line 1: $", "units")


def test_the_kind_of_a_line_may_stand_behind_its_other_fields() -> None:
    line = json.dumps({**UNIT, "type": "unit"}).encode()
    assert [member.origin for member in read(line + b"\n\n" + line.replace(b"u1", b"u2"))] == [
        "b.json: line 1: $",
        "b.json: line 3: $",
    ]


@pytest.mark.parametrize("form", ["arrays", "lines"])
def test_either_form_may_be_gzipped(form: str) -> None:
    content = units({}) if form == "arrays" else json.dumps({"type": "unit", **UNIT}).encode()
    assert read(gzip.compress(content)) == read(content)


@pytest.mark.parametrize("content", [b' { "units" : [ ] } \n', b'{"units":[],"floors":[]}'])
def test_a_bundle_may_hold_nothing(content: bytes) -> None:
    assert read(content) == []


@given(chunk=st.integers(1, 40), pad=st.text(" \n\t", max_size=5), name=st.text(max_size=20))
def test_where_the_stream_is_cut_does_not_matter(chunk: int, pad: str, name: str) -> None:
    name = name.replace("\0", "").encode("utf-8", "ignore").decode()
    member = json.dumps(UNIT | {"name": name}, ensure_ascii=False)
    content = f'{{{pad}"units"{pad}:{pad}[{pad}{member}{pad},{member}{pad}]{pad}}}{pad}'.encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_bundles, "CHUNK_BYTES", chunk)
        assert [found.document["name"] for found in read(content)] == [name, name]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"map_ids": ["m", 4]}, "$.units[0].map_ids[1]: Expected `str`, got `int`"),
        (
            {"\ud800": 1},
            '$.units[0]: there is no field "\\ud800"; known fields: created_at, updated_at, id,'
            " asset_id, floor_id, name, map_ids",
        ),
    ],
)
def test_a_faulty_field_is_named_by_its_path(change: dict[str, Any], message: str) -> None:
    assert import_violations(units(change)) == [f"b.json: {message}"]


def test_an_unknown_array_is_reported_with_the_known_ones() -> None:
    assert import_violations(
        b'{\n "version": 1, "flors": [{"id": "f", "asset_id": "a", "name": ""}], "units": [{}]}'
    ) == [
        "b.json: $.units[0]: required but missing: id, asset_id, floor_id, name",
        'b.json: line 2, column 2: there is no array "version"; a bundle has assets, floors,'
        " backgrounds, maps, units, level_tags, asset_references, unit_references,"
        " attribute_groups, attribute_assignments, locations",
        'b.json: line 2, column 16: there is no array "flors"; did you mean "floors"?',
    ]


def test_a_misspelt_array_is_read_as_the_one_that_was_meant() -> None:
    assert import_violations(b'{"unit": [{"id": 1}]}') == [
        "b.json: $.unit[0]: required but missing: asset_id, floor_id, name",
        "b.json: $.unit[0].id: Expected `str`, got `int`",
        'b.json: line 1, column 2: there is no array "unit"; did you mean "units"?',
    ]


def test_the_number_of_unknown_arrays_is_bounded() -> None:
    arrays = ", ".join(f'"array{number}": []' for number in range(1000))
    violations = Violations(1000)
    assert not [*read_members(io.BytesIO(f"{{{arrays}}}".encode()), "b.json", violations)]
    assert violations.total == 101
    assert violations.list_first()[-1].message.startswith("over 100 arrays; a bundle has assets")


def test_an_unknown_type_is_reported_with_the_known_ones() -> None:
    (message,) = import_violations(b'{"type": "flat", "id": "u"}')
    assert message == (
        "b.json: line 1: $.type: must be one of asset, floor, background, map, unit, level_tag,"
        " asset_reference, unit_reference, attribute_group, attribute_assignment, location;"
        ' not "flat"'
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "line 1, column 1: the file is empty"),
        (b" \n\n ", "line 3, column 2: the file is empty"),
        (b"[]", "line 1, column 1: a bundle is one JSON object of arrays, or one member a line"),
        (b'{"$schema": "x"}', "there are no arrays; a bundle has assets, floors"),
        (
            b'{"$schema": 5, "units": []}',
            "$.$schema: must be the address of a JSON Schema, not 5",
        ),
        (b'{"units": {}}', "line 1, column 2: \"units\" must be an array: expected '[', not '{'"),
        (b'{"units": [', "line 1, column 12: Expecting value"),
        (
            b'{"units": []',
            "line 1, column 13: expected ',' or '}' after the array, but the text ends",
        ),
        (b'{"units": [],}', "line 1, column 14: remove the comma before '}'"),
        (
            b'{"units": [%s,\n]}' % json.dumps(UNIT).encode(),
            "line 2, column 1: remove the comma before ']'",
        ),
        (b'{"type": "unit", "map_ids": ["m", ]}', "line 1, column 35: remove the comma"),
        (b"{'units': []}", "line 1, column 2: expected the name of an array in double quotes, not"),
        (
            b'{"units": [{"id": \'u\'}]}',
            "line 1, column 19: Expecting value: texts and names stand",
        ),
        (b'{"units": [ // all\n]}', "line 1, column 13: Expecting value: JSON has no comments"),
        (b'{"units": [], "units": []}', 'line 1, column 15: the array "units" is given twice'),
        (b'{"units": []} {}', "line 1, column 15: text after the bundle"),
        (b"\xff\xfe{\x00", "the text is UTF-16; save the file as UTF-8"),
        ("{}".encode("utf-16-be"), "the text is UTF-16; save the file as UTF-8"),
        (b'{"type": "asset", "id": "\xff"}', "line 1, column 26: byte 0xff is not UTF-8"),
        (b'{"type": "unit"} {}', "line 1, column 17: more text after the member"),
    ],
)
def test_text_that_is_no_bundle_is_reported_with_line_and_column(
    content: bytes, message: str
) -> None:
    found = import_violations(content)
    assert found[0].startswith(f"b.json: {message}"), found


def test_an_error_deep_within_a_large_file_is_reported_with_its_line() -> None:
    lines = [json.dumps(UNIT | {"id": f"u{number}"}) for number in range(20_000)]
    content = '{"units": [\n' + ",\n".join(lines) + "\n;]}"
    assert import_violations(content.encode()) == [
        "b.json: line 20002, column 1: expected ',' or ']' after $.units[19999], not ';'"
    ]


def test_a_truncated_gzip_is_reported() -> None:
    content = gzip.compress(units(*({"id": f"u{number}"} for number in range(100))))
    assert import_violations(content[:-20]) == [
        "b.json: the gzip data ends too early; is the file complete?"
    ]


def test_a_damaged_gzip_is_reported() -> None:
    content = bytearray(gzip.compress(units({})))
    content[-6] ^= 1
    (message,) = import_violations(bytes(content))
    assert message.startswith("b.json: the gzip data is damaged: CRC check failed")


def test_a_member_over_the_size_of_a_document_is_reported() -> None:
    value = {"name": "n" * 1000, "value": "v"}
    tag = {"map_id": "m", "key": "k", "name": "n", "values": [value] * 2200}
    assert import_violations(json.dumps({"level_tags": [tag]}).encode()) == [
        "b.json: $.level_tags[0]: the member is longer than 2,097,152 characters"
    ]


def test_a_member_without_end_is_rejected_in_bounded_memory() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_bundles, "MAX_VALUE_LENGTH", 1000)
        patch.setattr(json_bundles, "CHUNK_BYTES", 100)
        (message,) = import_violations(b'{"assets":[{"name":"' + b"x" * 1_000_000)
    assert message == (
        "b.json: line 1, column 12: a value longer than 1,000 characters begins here"
    )


class OneByteStream(io.BytesIO):
    """A stream that returns one byte per read."""

    def read(self, _: int | None = -1) -> bytes:
        return super().read(1)


def read_all(text: str) -> list[Any]:
    stream = JsonStream(OneByteStream(text.encode()))
    values = []
    while stream.peek():
        values.append(stream.read_value()[0])
    return values


def test_a_value_split_into_single_bytes_is_read_completely() -> None:
    for value in (
        "12",
        "-1.5e-3",
        "null",
        '"a\\u00e9\\"b"',
        '"\N{GRINNING FACE}"',
        '{"a": [2E+1, {}]}',
    ):
        assert read_all(f"{value}\n  {value} ") == [json.loads(value)] * 2


def test_a_byte_order_mark_is_skipped() -> None:
    assert JsonStream(io.BytesIO(b"\xef\xbb\xbf[]")).read_value() == ([], 2)


def test_punctuation_is_expected_or_accepted() -> None:
    stream = JsonStream(io.BytesIO(b"[ ,]"))
    assert stream.expect("[", "expected an array") == "["
    assert stream.accept(",")
    assert not stream.accept(",")
    with pytest.raises(MalformedJsonError, match="expected an object, not ']'"):
        stream.expect("{", "expected an object")
    assert stream.accept("]")
    with pytest.raises(MalformedJsonError, match="expected an object, but the text ends here"):
        stream.expect("{", "expected an object")


@pytest.mark.parametrize(
    ("content", "line", "column", "message"),
    [
        (b"{}\n\n  nul", 3, 3, "Expecting value"),
        (b'{}\n {"a" 1}', 2, 7, "Expecting ':' delimiter"),
        (b'{}\n"caf\xe9"', 2, 5, "byte 0xe9 is not UTF-8"),
        (b"{} " + b"[" * 100_000, 1, 4, "nested too deeply"),
    ],
)
def test_errors_have_line_and_column(content: bytes, line: int, column: int, message: str) -> None:
    stream = JsonStream(OneByteStream(content) if len(content) < 100 else io.BytesIO(content))
    stream.read_value()
    with pytest.raises(MalformedJsonError) as caught:
        stream.read_value()
    assert (caught.value.line, caught.value.column) == (line, column)
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('{"a": 1, "b": 2, "a": 3}', '"a" is given more than once'),
        ("-Infinity", "-Infinity is no JSON number; use a finite one, or null"),
        ("9" * 21, "a number of 21 digits is too large"),
    ],
)
def test_errors_of_a_value_do_not_stop_the_stream(text: str, error: str) -> None:
    stream = JsonStream(io.BytesIO(f"{text} 1".encode()))
    stream.read_value()
    assert stream.decoder.errors == [error]
    assert stream.read_value() == (1, 1)
    assert stream.decoder.errors == []


# Members of a bundle become documents; what is wrong with them is reported together.


def parse(kind: str, **changes: Any) -> dict[str, Any]:
    return parse_member(RECORD_TYPES_BY_NAME[kind], SMALL[kind][0] | changes)


def test_a_document_has_the_key_and_all_defaults() -> None:
    document = parse("maps")
    assert document["_id"] == "am"
    assert (document["style"], document["routing_tier"]) == ("a", "no_routing")


def test_a_key_of_several_fields_is_joined() -> None:
    assert parse("unit_references")["_id"] == "u1\0keyring"


def test_timestamps_are_converted_to_utc_at_any_depth() -> None:
    tag = {"key": "k", "value": "v", "created_at": "2026-01-31T13:00:00+01:00"}
    document = parse("locations", updated_at="2026-01-01T00:30:00+01:00", tags=[tag])
    assert document["updated_at"] == "2025-12-31T23:30:00+00:00"
    assert document["tags"][0]["created_at"] == "2026-01-31T12:00:00+00:00"


@pytest.mark.parametrize(
    ("kind", "changes", "path", "message"),
    [
        ("units", {"name": 1}, ".name", "Expected `str`, got `int`"),
        ("units", {"name": "\ud800"}, ".name", "without NUL and lone surrogates"),
        ("units", {"id": "a\0b"}, ".id", "without NUL and lone surrogates"),
        ("units", {"id": ""}, ".id", "Expected `str` of length >= 1"),
        ("units", {"id": "x" * 256}, ".id", "Expected `str` of length <= 255"),
        ("units", {"nam": ""}, "", 'there is no field "nam"; known fields: created_at'),
        # no offset: which hour was meant?
        ("units", {"created_at": "2026-01-31T12:00:00"}, ".created_at", "Expected an ISO 8601"),
        ("units", {"created_at": "2026-02-30T00:00:00Z"}, ".created_at", "not a valid time: day"),
        ("units", {"created_at": "0001-01-01T00:00:00+01:00"}, ".created_at", "outside the years"),
        ("maps", {"tags": ["a,b"]}, ".tags[0]", "Expected text without commas"),
        ("maps", {"geojson_url": "javascript:alert(1)"}, ".geojson_url", "an http or https URL"),
        ("maps", {"url": "data:text/html,x"}, ".url", "Expected an http or https URL"),
        ("maps", {"id": "parse"}, ".id", "must not be 'parse': REST has an endpoint of this name"),
        ("units", {"id": "attribute-groups"}, ".id", "choose another id"),
        ("asset_references", {"key": "9a"}, ".key", "Expected a lowercase letter, then"),
        ("asset_references", {"key": "a"}, ".key", "Expected `str` of length >= 2"),
        ("asset_references", {"key": "a" * 256}, ".key", "of length <= 255"),
        ("locations", {"tags": [{"key": "k", "val": ""}]}, ".tags[0]", "did you mean value?"),
        ("locations", {"x": float("inf")}, ".x", "Expected `float` <= 1000000000.0"),
    ],
)
def test_an_invalid_value_is_named_by_its_path(
    kind: str, changes: dict[str, Any], path: str, message: str
) -> None:
    with pytest.raises(MemberError) as caught:
        parse(kind, **changes)
    (fault,) = caught.value.find_faults()
    assert fault.path == path
    assert message in fault.message


def faults(kind: str, member: Any) -> list[tuple[str, str]]:
    with pytest.raises(MemberError) as caught:
        parse_member(RECORD_TYPES_BY_NAME[kind], member)
    return [*caught.value.find_faults()]


def test_all_that_is_wrong_with_a_member_is_found_at_once() -> None:
    location = {
        "nmae": "Pool",
        "id": "",
        "asset_id": 7,
        "x": "1",
        "created_at": "2026-02-30T12:00:00Z",
        "floors": [{"id": "a1"}, {}, 3],
        "tags": [{"key": "k", "value": None, "colour": "red"}],
    }
    assert faults("locations", location) == [
        ("", 'there is no field "nmae"; did you mean name?'),
        ("", "required but missing: unit_map_id, y"),
        (".created_at", "is not a valid time: day is out of range for month"),
        (".id", "Expected `str` of length >= 1"),
        (".asset_id", "Expected `str`, got `int`"),
        (".x", "Expected `float`, got `str`"),
        (".floors[1]", "required but missing: id"),
        (".floors[2]", "Expected `object`, got `int`"),
        (
            ".tags[0]",
            'there is no field "colour"; known fields: key, value, created_at, updated_at',
        ),
        (".tags[0].value", "Expected `str`, got `null`"),
    ]


@pytest.mark.parametrize("member", [None, [], 3, "unit"])
def test_a_member_is_an_object(member: Any) -> None:
    ((path, message),) = faults("units", member)
    assert path == ""
    assert message.startswith("Expected `object`, got")


def test_an_attribute_can_be_only_once_in_its_group() -> None:
    attribute = {"attribute_id": "s", "attribute_name": "Studio", "attribute_key": "s"}
    group = {"group_id": "g", "group_name": "Plan", "attributes": [attribute, attribute]}
    for is_partial in (False, True):
        with pytest.raises(MemberError) as caught:
            parse_member(RECORD_TYPES_BY_NAME["attribute_groups"], group, is_partial=is_partial)
        assert [*caught.value.find_faults()] == [
            (".attributes[1].attribute_id", '"s" is already that of attributes[0]')
        ]


SCHEMA = build_bundle_schema()
VALIDATOR = jsonschema_rs.Draft202012Validator(SCHEMA)
DEMO = Path(__file__).parents[3] / "samples" / "demo" / "bundle.json"


def is_read(bundle: Any) -> bool:
    """Whether the importer reads a bundle without errors."""
    violations = Violations()
    for _ in read_members(io.BytesIO(json.dumps(bundle).encode()), "b.json", violations):
        pass
    return not violations.total


def test_it_is_a_schema_of_its_dialect() -> None:
    assert SCHEMA["$schema"] == DIALECT
    assert jsonschema_rs.meta.is_valid(SCHEMA)


def test_all_fields_are_described_and_no_others() -> None:
    definitions = SCHEMA["$defs"]
    assert definitions.keys() == RECORDS.keys() == FIELDS.keys()
    for name, fields in FIELDS.items():
        assert fields.keys() <= definitions[name]["properties"].keys(), name


def test_the_demo_and_the_example_of_the_docs_are_valid() -> None:
    example = section(page("bundles.md"), "## An example").split("```json")[1].split("```")[0]
    for bundle in (SMALL, json.loads(DEMO.read_text()), json.loads(example)):
        VALIDATOR.validate(bundle)
        VALIDATOR.validate({"$schema": "https://maps.example.com/v1/bundle.schema.json", **bundle})


@pytest.mark.parametrize("kind", RECORD_TYPES, ids=lambda kind: kind.name)
def test_the_examples_of_a_member_are_valid(kind: Any) -> None:
    properties = SCHEMA["$defs"][kind.struct.__name__]["properties"]
    full = {name: rule["examples"][0] for name, rule in properties.items()}
    for member in (make_example(kind.struct), full):
        VALIDATOR.validate({kind.name: [member]})
        assert is_read({kind.name: [member]})


@pytest.mark.parametrize(
    "bundle",
    [
        [],
        {"flors": []},
        {"units": {}},
        {"$schema": 5, "units": []},
        {"assets": [{"id": "a", "name": "A", "nmae": "A"}]},
        {"assets": [{"id": "references", "name": "REST has an endpoint of this name"}]},
        {"assets": [{"id": "a", "name": "x" * 2049}]},
        {"assets": [{"id": "a", "name": "A", "created_at": "2026-01-31T12:00:00"}]},
        {"maps": [{"id": "m", "asset_id": "a", "name": "M", "feet_per_unit": 0}]},
        {"maps": [{"id": "m", "asset_id": "a", "name": "M", "url": "javascript:alert(1)"}]},
        {"floors": [{"id": "f", "asset_id": "a", "name": "F", "sort": 2**31}]},
    ],
)
def test_what_the_importer_rejects_is_invalid(bundle: Any) -> None:
    assert not is_read(bundle)
    assert not VALIDATOR.is_valid(bundle)


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**33), 2**33),
    st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: number % 1 != 0),
    st.text(max_size=4),
    st.sampled_from(["", "x" * 255, "x" * 256, "x" * 2048, "x" * 2049, "a,b", "key", "2026-01-31"]),
    st.sampled_from(["https://x", "ftp://x", "2026-01-31T12:00:00Z", "references", "parse"]),
    st.lists(st.sampled_from(["m", "", 1, None, {}, {"id": "f"}, {"key": "k", "value": ""}])),
    st.sampled_from([{}, {"id": "f"}, [[]]]),
)


def paths_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values within a bundle."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, item in items if isinstance(value, dict | list) else ():
        found += [(*path, key)]
        if isinstance(item, dict | list):
            found += paths_in(item, (*path, key))
    return found


ALL_FIELDS = sorted({name for each in SCHEMA["$defs"].values() for name in each["properties"]})


@given(st.data())
def test_random_changes_of_a_bundle_are_valid_if_the_importer_reads_them(data: Any) -> None:
    bundle: Bundle = copy.deepcopy(SMALL)
    for _ in range(data.draw(st.integers(1, 3))):
        *parents, last = data.draw(st.sampled_from(paths_in(bundle)))
        parent: Any = bundle
        for key in parents:
            parent = parent[key]
        change = data.draw(st.sampled_from(["replace", "remove", "add"]))
        if change == "replace":
            parent[last] = copy.deepcopy(data.draw(VALUES))
        elif change == "remove":
            del parent[last]
        elif isinstance(parent, dict):
            parent[data.draw(st.sampled_from([*ALL_FIELDS, "other"]))] = copy.deepcopy(
                data.draw(VALUES)
            )
    assert VALIDATOR.is_valid(bundle) == is_read(bundle)


def test_the_table_of_the_docs_has_the_fields_of_the_schema() -> None:
    rows = [line for line in section(page("bundles.md"), "## Fields").splitlines() if "| `" in line]
    assert len(rows) == len(RECORD_TYPES)
    for row in rows:
        _, name, _, cell, _ = (part.strip() for part in row.split("|"))
        kind = SCHEMA["properties"][name.strip("`")]["items"]["$ref"].rpartition("/")[2]
        record = SCHEMA["$defs"][kind]
        own = record["properties"].keys() - {"created_at", "updated_at"}
        assert all(field in cell for field in own), (name, own)
        assert all(f"**{field}**" in cell for field in record["required"]), name


def add(violations: Violations, count: int) -> list[str]:
    """Add violations; return the lines that report them."""
    origins = [f"b.json: $.units[{number}]" for number in range(count)]
    for origin in origins:
        violations.add(origin, "is wrong")
    return [f"{origin}: is wrong" for origin in origins]


def test_all_are_reported_by_file_and_place() -> None:
    violations = Violations()
    lines = add(violations, 12)
    violations.add("a.json: line 10", "is wrong")
    violations.add("a.json: line 9", "is wrong")
    with pytest.raises(BundleError) as caught:
        violations.raise_if_any()
    expected = ["a.json: line 9: is wrong", "a.json: line 10: is wrong", *lines]
    assert caught.value.violations == expected
    assert str(caught.value) == "\n".join(expected)


def test_the_first_are_kept_and_all_are_counted() -> None:
    violations = Violations()
    lines = add(violations, 10 * MAX_VIOLATIONS)
    violations.add("b.json: $.assets[3]", "is wrong")  # found later, but it stands before
    assert violations.is_full
    with pytest.raises(BundleError) as caught:
        violations.raise_if_any()
    assert caught.value.violations == ["b.json: $.assets[3]: is wrong", *lines[:99]]
    assert caught.value.total == 1001
    assert str(caught.value).endswith("\n... and 901 more errors")


def test_texts_are_cut_and_can_be_written_in_utf8() -> None:
    violations = Violations()
    violations.add("b.json", "\ud800" + "x" * 2000)
    ((_, message),) = violations.list_first()
    assert message == "\\ud800" + "x" * 999 + "..."


def test_notes_that_may_name_the_cause_are_raised_with_them() -> None:
    violations = Violations(max_kept=1)
    violations.add("b.csv: row 2", "is wrong")
    with pytest.raises(BundleError) as caught:
        violations.raise_if_any(["a column\x07 was not read", "a", "b"])
    assert caught.value.notes == [
        "a column\\x07 was not read",
        "... and 2 more notes; floorgate check lists them",
    ]


def test_without_violations_nothing_is_raised() -> None:
    Violations().raise_if_any()


@pytest.mark.parametrize(
    ("value", "quoted"),
    [
        ("caf\u00e9", '"caf\u00e9"'),
        ('say "no"', '"say \\"no\\""'),
        ("two\nlines", '"two\\nlines"'),
        (True, "true"),
        (None, "null"),
        (["a", 1.5], '["a", 1.5]'),
    ],
)
def test_a_value_is_quoted_as_a_bundle_has_it_on_one_line(value: Any, quoted: str) -> None:
    assert quote_json(value) == quoted


def test_control_characters_and_line_breaks_are_escaped() -> None:
    violations = Violations()
    violations.add("a\x1b[31m.csv: row 2", 'no id can be made of "-\n\x07\u2028"')
    assert [*map(str, violations.list_first())] == [
        'a\\x1b[31m.csv: row 2: no id can be made of "-\\n\\x07\\u2028"'
    ]


# What was meant


UNIT_FIELDS = ["id", "asset_id", "floor_id", "name", "map_ids"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("nmae", "name"),
        ("Name", "name"),
        ("floorId", "floor_id"),
        ("flor", "floor_id"),
        ("bedrooms", None),
        ("", None),
        ("name" * 100, None),  # comparing long names takes long
    ],
)
def test_what_resembles_it_most_was_meant(name: str, meant: str | None) -> None:
    assert suggest(name, UNIT_FIELDS) == meant


def test_a_run_compares_a_bounded_number_of_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suggestions, "MAX_SUGGESTIONS", 2)
    found = Suggestions()
    names = ["nmae", "flor", "assetid", "nmae"]
    assert [found.find(name, UNIT_FIELDS) for name in names] == [
        "name",
        "floor_id",
        None,
        "name",
    ]
