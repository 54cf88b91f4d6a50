from samples.draw import make_files
from samples.output.files import CHECKOUT


def test_the_committed_files_are_what_the_generator_draws() -> None:
    stale = [
        str(path)
        for path, content in make_files().items()
        if (CHECKOUT / path).read_bytes() != content
    ]
    assert stale == [], "run python -m samples.draw"
