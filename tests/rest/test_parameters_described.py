"""What the description says of a parameter is what the service takes."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from resolvers.locations import LocationTags
from resolvers.request.input_checks import read_annotation
from storage.records import location_filter

_, RULES = read_annotation(LocationTags)
PATTERN = next(filter(None, (rule.json_schema().get("pattern") for rule in RULES)))
ALPHABET = st.text(st.sampled_from("ab:\n -,=\\é"), max_size=12)


def is_term_list(text: str) -> bool:
    try:
        location_filter.parse_filter(text)
    except location_filter.InvalidTermError:
        return False
    return True


@given(ALPHABET)
@example("svc:amenity==yes,-amenity")
@example("--a")
@example(r"\--a,\=")
@example("a==b==c")
@example("")
def test_the_pattern_of_location_tags_is_the_language_of_terms(text: str) -> None:
    described = re.fullmatch(PATTERN[1:-1], text)
    assert bool(described) == is_term_list(text)


def test_as_many_terms_are_described_as_are_taken() -> None:
    most, too_many = (
        ",".join("a" * count)
        for count in (location_filter.MAX_TERMS, location_filter.MAX_TERMS + 1)
    )
    assert re.match(PATTERN, most)
    assert not re.match(PATTERN, too_many)
