import pytest

from parsing.errors import DocumentRejectedError, InvalidMarkupError
from parsing.limits import DEFAULT_LIMITS, DocumentLimits
from parsing.xml.decoding import XmlDocument
from parsing.xml.tokens import ParserTarget, feed_document, locate_start_tag, number_lines


class Outline(ParserTarget):
    """A target that writes an outline of the elements and rejects `<bad>`."""

    def __init__(self, limits: DocumentLimits = DEFAULT_LIMITS) -> None:
        super().__init__(limits)
        self.lines: list[str] = []

    def enter(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "bad":
            raise InvalidMarkupError("bad element")
        self.lines.append(f"{self.depth} {tag} {attributes}")

    def leave(self) -> None:
        self.lines.append(f"{self.depth} end")


def document(text: bytes) -> XmlDocument:
    return XmlDocument(text, has_entities=False)


def test_a_target_is_called_for_every_tag_with_its_depth() -> None:
    target = Outline()
    feed_document(document(b'<a><b x="1"/></a>'), target)
    assert target.lines == ["1 a {}", "2 b {'x': '1'}", "2 end", "1 end"]


def test_an_error_of_the_target_carries_the_position_of_its_tag() -> None:
    with pytest.raises(InvalidMarkupError) as caught:
        feed_document(document(b"<a>\n <!-- <bad> --><bad/></a>"), Outline())
    assert (caught.value.line, caught.value.column) == (2, 16)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (DocumentLimits(elements=1), "the document has more than 1 elements"),
        (DocumentLimits(nesting=1), "elements nest deeper than 1"),
    ],
)
def test_a_document_over_a_limit_is_rejected(limits: DocumentLimits, reason: str) -> None:
    with pytest.raises(DocumentRejectedError, match=reason):
        feed_document(document(b"<a><b/></a>"), Outline(limits))


def test_start_tags_in_comments_and_cdata_are_not_counted() -> None:
    text = b"<a><!-- <x> --><![CDATA[<y>]]>\n<b/></a>"
    assert locate_start_tag(document(text), 2) == (2, 1)


def test_lines_of_many_tags_are_found_in_one_pass() -> None:
    text = b"<a>\n<!-- <b> -->\n<b/><c>\n<d/></c>\n</a>"
    assert list(number_lines(document(text), (1, 2, 2, 3, 4))) == [1, 3, 3, 3, 4]
