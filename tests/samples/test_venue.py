from samples.output.files import CHECKOUT
from samples.venue import make_files


def test_the_committed_venue_is_what_its_generator_draws() -> None:
    stale = [
        str(path)
        for path, content in make_files().items()
        if (CHECKOUT / path).read_bytes() != content
    ]
    assert stale == [], "run python -m samples.venue"
