import pytest

from parsing.errors import DocumentRejectedError
from parsing.limits import DEFAULT_LIMITS, DocumentLimits
from parsing.svg.definitions import Definitions, read_definitions
from parsing.xml.decoding import XmlDocument


def read(markup: str, limits: DocumentLimits = DEFAULT_LIMITS) -> Definitions:
    return read_definitions(XmlDocument(f"<svg>{markup}</svg>".encode(), False), limits)


def test_a_document_without_style_and_use_has_no_definitions() -> None:
    assert read('<g id="a"/>') == Definitions()


def test_the_text_of_all_style_sheets_is_joined() -> None:
    sheets = "<style>a{}</style><style type='text/css'>b{}</style><style type='x'>c{}</style>"
    assert read(sheets).style_sheet == "a{}\nb{}"


def test_only_targets_of_use_are_recorded_with_their_children() -> None:
    definitions = read('<use href="#a"/><g id="a"><path id="b"/></g><g id="c"/>')
    assert definitions.instance_tokens("a") == [
        ("g", {"id": "a"}),
        ("path", {"id": "b"}),
        None,
        None,
    ]
    assert list(definitions.instance_tokens("c")) == []


def test_of_equal_ids_the_first_counts() -> None:
    definitions = read('<use href="#a"/><path id="a" d="M0 0"/><path id="a"/>')
    assert definitions.instance_tokens("a")[0] == ("path", {"id": "a", "d": "M0 0"})


def test_too_many_recorded_elements_are_rejected() -> None:
    with pytest.raises(
        DocumentRejectedError, match="use and patterns refer to more than 1 elements"
    ):
        read('<use href="#a"/><g id="a"><path/></g>', DocumentLimits(definitions=1))


def test_definitions_are_read_wherever_they_stand_in_a_long_document() -> None:
    shapes = "<path/>" * 20_000
    sheet = f"a{{}}{'/* long */' * 10_000}b{{}}"
    # Text comes in parts, the borders of which are nowhere in the sheet.
    late = read(
        f"<style>{sheet}</style>{shapes}<linearGradient id='g'>{shapes}<stop/></linearGradient>"
    )
    assert late.style_sheet == sheet
    assert len(late.paint_servers["g"].stops) == 1


def test_what_stands_behind_the_last_definition_is_not_read_in_this_pass() -> None:
    shapes = "<path/>" * 20_000
    limits = DocumentLimits(elements=15_000)
    assert read(f"<style>a{{}}</style>{shapes}", limits).style_sheet == "a{}"
    # A comment looks like one more, so that all is read.
    with pytest.raises(DocumentRejectedError, match="more than 15,000 elements"):
        read(f"<style>a{{}}</style><!-- <style> -->{shapes}", limits)
