"""XML is decoded, limited and read tag by tag; each error has its position."""

from pathlib import Path

import pytest

from parsing.errors import (
    DocumentRejectedError,
    InvalidMarkupError,
    NotWellFormedError,
    ParsingError,
)
from parsing.limits import DocumentLimits
from parsing.svg.unit_map import parse_unit_map
from parsing.xml_documents import XmlDocument, decode_document, locate_start_tags

ILLUSTRATOR = """<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN"
  "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd" [
  <!ENTITY ns_svg "http://www.w3.org/2000/svg">
]>
<svg xmlns="&ns_svg;" viewBox="0 0 1 1"><g data-type="Level" id="{}"/></svg>"""


def error_of(svg: bytes, limits: DocumentLimits | None = None) -> ParsingError:
    """Return the error that parsing raises."""
    with pytest.raises(ParsingError) as caught:
        parse_unit_map(svg, limits=limits or DocumentLimits())
    return caught.value


def assert_not_well_formed_at(position: tuple[int, int], reason: str, svg: bytes) -> None:
    """Check that parsing raises NotWellFormedError with this position and reason."""
    error = error_of(svg)
    assert isinstance(error, NotWellFormedError)
    assert (error.line, error.column) == position
    assert reason in error.message


@pytest.mark.parametrize(
    ("svg", "position", "reason"),
    [
        (b"", (1, 1), "the document is empty"),
        (b"plan", (1, 1), "Start tag expected"),
        (b"<svg>\n  <g>\n</svg>", (3, 7), "Opening and ending tag mismatch: g line 2 and svg"),
        (b"<svg>\n<g/>", (2, 5), "Premature end"),
        (b"<svg><rect x='1' x='2'/></svg>", (1, 23), "Attribute x redefined"),
        (b"<svg>\n&nbsp;</svg>", (2, 7), "Entity 'nbsp' not defined"),
        (b"<svg a='&#0;'/>", (1, 13), "xmlParseCharRef: invalid xmlChar value 0"),
        (b"\n<?xml version='1.0'?><svg/>", (2, 6), "XML declaration allowed only at the start"),
        (b"\x1f\x8b\x08\x00", (1, 1), "compressed with gzip; send it uncompressed"),
    ],
)
def test_malformed_xml_is_an_error_with_its_position(
    svg: bytes, position: tuple[int, int], reason: str
) -> None:
    assert_not_well_formed_at(position, reason, svg)


@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "iso-8859-1", "cp1252"],
)
def test_encodings_are_read(encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?><svg><g id="é" '
    svg = f'{text}data-type="Level"/></svg>'.encode(encoding)
    assert parse_unit_map(svg).to_dict()["elements"][0]["id"] == "é"


@pytest.mark.parametrize(
    ("svg", "position", "reason"),
    [
        (b"<svg>\n <g a='\xe9'/></svg>", (2, 8), "these bytes are not utf-8: e9 27 2f 3e"),
        ("\ufeff<svg/>".encode("utf-16-le") + b"<", (1, 7), "these bytes are not utf-16-le: 3c"),
        ("<?xml?><svg a='\ud800'/>".encode("utf-16-be", "surrogatepass"), (1, 16), "not utf-16-be"),
        (b"<?xml version='1.0' encoding='UTF-16'?><svg/>", (1, 31), "is not written in it"),
        (b"<?xml version='1.0' encoding='klingon'?><svg/>", (1, 31), "unknown encoding 'klingon'"),
        (b"<?xml version='1.0' encoding='punycode'?><svg/>", (1, 31), "unknown encoding"),
        (b"<?xml version='1.0' encoding='utf-7'?><svg/>", (1, 31), "unknown encoding"),
    ],
)
def test_wrong_encodings_are_errors_with_their_position(
    svg: bytes, position: tuple[int, int], reason: str
) -> None:
    assert_not_well_formed_at(position, reason, svg)


def test_columns_count_characters() -> None:
    assert error_of("<svg><g>ééé</g><g data-type='Georeference'/></svg>".encode()).column == 16


def test_svgs_own_doctype_and_entities_for_text_are_fine() -> None:
    parsed = parse_unit_map(ILLUSTRATOR.format("&ns_svg;").encode())
    assert parsed.to_dict()["elements"][0]["id"] == "http://www.w3.org/2000/svg"


@pytest.mark.parametrize(
    ("doctype", "reason"),
    [
        ('svg SYSTEM "file:///etc/passwd"', "the DTD file:///etc/passwd is outside the document"),
        ('svg PUBLIC "x" "http://e.org/x.dtd"', "the DTD http://e.org/x.dtd is outside"),
        ('svg [<!ENTITY e SYSTEM "file:///etc/passwd">]', "entity 'e' is outside the document"),
        ('svg [<!ENTITY % e SYSTEM "http://e.org/"> %e;]', "entity 'e' is outside the document"),
        ('svg [<!ENTITY e "<g/>">]', "entity 'e' stands for markup; only text is read"),
        ('svg [<!ENTITY e "&#60;g/>">]', "entity 'e' stands for markup; only text is read"),
    ],
)
def test_external_entities_and_dtds_are_rejected(doctype: str, reason: str) -> None:
    error = error_of(f"\n<!DOCTYPE {doctype}>\n<svg/>".encode())
    assert isinstance(error, DocumentRejectedError)
    assert reason in error.message
    assert (error.line, error.column) == (2, 1)


def test_nothing_outside_is_read_even_if_it_is_there(tmp_path: Path) -> None:
    secret = tmp_path / "secret.svg"
    secret.write_text('<svg xmlns="http://www.w3.org/2000/svg"><path id="a" d="secret"/></svg>')
    parsed = parse_unit_map(
        f"""<?xml-stylesheet href="{secret.as_uri()}"?>
        <svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">
          <style>@import "{secret.as_uri()}";</style>
          <image xlink:href="{secret.as_uri()}"/><use xlink:href="{secret.as_uri()}#a"/>
        </svg>""".encode(),
        force=True,
    )
    assert parsed.to_dict()["elements"] == []


def test_an_instruction_in_the_doctype_may_have_a_lone_quote() -> None:
    svg = b'<!DOCTYPE svg [<?x "?><!ENTITY a "1">]><svg viewBox="0 0 9 9"/>'
    assert parse_unit_map(svg).to_dict()["width"] == 9
    error = error_of(svg.replace(b'a "1"', b'a SYSTEM "file:///etc/passwd"'))
    assert "is outside the document" in error.message


@pytest.mark.parametrize(
    "svg",
    [
        '<svg>\n<i:include xmlns:i="{}" href="/etc/passwd"/></svg>',
        '<!DOCTYPE svg [<!ENTITY i "{}">]><svg xmlns:i="&i;"/>',
        "<!DOCTYPE svg [<!ENTITY i  '{}'>]><svg xmlns:i='&i;'/>",
        '<!DOCTYPE svg [<!ENTITY % i "{}">]><svg xmlns:i="&i;"/>',
    ],
)
def test_xinclude_is_rejected_also_behind_an_entity(svg: str) -> None:
    error = error_of(svg.format("http://www.w3.org/2001/XInclude").encode())
    assert isinstance(error, DocumentRejectedError)
    assert "XInclude asks for other documents" in error.message


def test_a_drawing_may_mention_xinclude() -> None:
    svg = b"<svg><desc>It does not use http://www.w3.org/2001/XInclude.</desc><g/></svg>"
    assert parse_unit_map(svg).to_dict()["elements"] == [{"type": "Layer", "elements": []}]


def billion_laughs(place: str) -> bytes:
    entities = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    return f'<!DOCTYPE svg [<!ENTITY a0 "ha">{entities}]>{place}'.encode()


@pytest.mark.parametrize(
    "svg",
    [
        billion_laughs("<svg>&a9;</svg>"),
        billion_laughs('<svg fill="&a9;"/>'),
        b'<!DOCTYPE svg [<!ENTITY a "&b;"><!ENTITY b "&a;">]><svg fill="&a;"/>',
        b'<!DOCTYPE svg [<!ENTITY a "%s">]><svg>%s</svg>'
        % (b"x" * 10_000, b'<g fill="&a;"/>' * 10_000),
    ],
    ids=["laughs in text", "laughs in an attribute", "a loop", "quadratic"],
)
def test_amplifying_entities_are_rejected(svg: bytes) -> None:
    error = error_of(svg)
    assert isinstance(error, DocumentRejectedError)
    assert "entities expand to too much" in error.message


@pytest.mark.parametrize(
    ("svg", "limits", "reason"),
    [
        (b"<svg/>", DocumentLimits(source_bytes=5), "the document has 6 bytes; at most 5 are read"),
        (b"<svg><g/></svg>", DocumentLimits(elements=1), "more than 1 elements"),
        (
            b"<svg><path fill='red'/></svg>",
            DocumentLimits(output_bytes=99),
            "over 99 bytes of JSON",
        ),
        (
            b"<svg><use href='#a'/><g id='a'><g/><g/></g></svg>",
            DocumentLimits(definitions=2),
            "use and patterns refer to more than 2 elements",
        ),
    ],
)
def test_a_document_over_a_limit_is_rejected(
    svg: bytes, limits: DocumentLimits, reason: str
) -> None:
    error = error_of(svg, limits)
    assert isinstance(error, DocumentRejectedError)
    assert reason in error.message


def test_a_document_as_large_as_the_limit_is_read() -> None:
    assert decode_document(b"<svg/>", DocumentLimits(source_bytes=6)).text == b"<svg/>"


def test_nesting_of_256_is_read_and_of_257_is_not() -> None:
    parse_unit_map(b"<svg>" + b"<g>" * 255 + b"</g>" * 255 + b"</svg>")
    error = error_of(b"<svg>" + b"<g>" * 256 + b"</g>" * 256 + b"</svg>")
    assert error.message == "elements nest deeper than 256"
    assert error.column == len("<svg>" + "<g>" * 255) + 1


@pytest.mark.parametrize("value", [b'""', b'">"', b"'\"'"])
@pytest.mark.parametrize("shapes", [0, 999, 1_000, 1_001])
def test_too_many_attributes_are_found_wherever_they_are(shapes: int, value: bytes) -> None:
    attributes = b" ".join(b"a%d = %s" % (number, value) for number in range(1_001))
    error = error_of(b"<svg>" + b"<g/>" * shapes + b"<g " + attributes + b"/>" + b"<g/>" * 9)
    assert error.message == "an element has more than 1,000 attributes"
    assert (error.line, error.column) == (1, 6 + 4 * shapes)


@pytest.mark.parametrize(
    ("markup", "reason"),
    [
        ("<rect x='{9}'/>", "a length has 200,000 characters"),
        ("<svg viewBox='{9}'/>", "viewBox has 200,000 characters"),
        ("<svg viewBox='0 0 1 1' preserveAspectRatio='{ }'/>", "preserveAspectRatio has 200,000"),
        ("<g data-type='Level' data-tags='{;}'/>", "data-tags has 200,000 characters"),
        ("<g data-type='UnitLayer'><path id='{1}'/></g>", "id has 200,000 characters"),
    ],
)
def test_overlong_values_of_parsed_attributes_are_rejected(markup: str, reason: str) -> None:
    head, brace, tail = markup.rpartition("{")
    repeated, _, tail = tail.partition("}")
    error = error_of(f"<svg>{head}{repeated * 200_000}{tail}</svg>".encode())
    assert brace and isinstance(error, DocumentRejectedError)
    assert reason in error.message


def test_long_values_of_copied_attributes_are_accepted() -> None:
    points = "1.25,3 " * 200_000
    assert len(parse_unit_map(f'<svg><polygon points="{points}"/></svg>'.encode()).json) > len(
        points
    )


def test_nested_transforms_do_not_add_up_without_end() -> None:
    group = f'<g transform="{"translate(1)" * 100}">'
    error = error_of(f"<svg>{group * 20}{'</g>' * 20}</svg>".encode())
    assert "nested transforms are longer than 10,000 characters" in error.message


def test_a_long_style_that_many_shapes_share_does_not_add_up_without_end() -> None:
    shapes = '<path class="a"/>' * 30
    svg = f"<svg><style>.a{{fill:{'x' * 9_000}}}</style>{shapes}</svg>".encode()
    assert "bytes of JSON" in error_of(svg, DocumentLimits(output_bytes=250_000)).message


@pytest.mark.parametrize("number", ["1e400", "-1e99", "9" * 90, "2147483648"])
def test_gigantic_numbers_are_errors(number: str) -> None:
    error = error_of(f"<svg>\n<rect/><rect width='{number}'/></svg>".encode())
    assert isinstance(error, InvalidMarkupError)
    assert "is too large a number; at most 2,147,483,647 is read" in error.message
    assert (error.line, error.column) == (2, 8)


def test_positions_are_right_after_comments_cdata_and_doctypes() -> None:
    svg = b"""<!DOCTYPE svg [ <!-- <a> ]> --> <!ENTITY e "]><b>"> ]>
<svg><!-- <c> --><style><![CDATA[ <d> ]]></style><?e <f>?>
  <g data-type="Georeference"/></svg>"""
    error = error_of(svg.replace(b'<!ENTITY e "]><b>">', b'<!ENTITY e "]>">'))
    assert (error.line, error.column) == (3, 3)


def document(text: bytes) -> XmlDocument:
    return XmlDocument(text, has_entities=False)


def test_lines_of_many_tags_are_found_in_one_pass() -> None:
    text = b"<a>\n<!-- <b> -->\n<b/><c>\n<d/></c>\n</a>"
    positions = locate_start_tags(document(text), (1, 2, 2, 3, 4))
    assert [line for line, _ in positions] == [1, 3, 3, 3, 4]
