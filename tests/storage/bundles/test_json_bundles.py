"""Bundles in JSON: both forms, the errors in each, and memory that stays bounded."""

import gzip
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.bundles import json_bundles
from storage.bundles.json_bundles import BundleMember, JsonStream, MalformedJsonError, read_members
from storage.bundles.violations import Violations
from storage.errors import BundleError

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
