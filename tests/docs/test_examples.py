"""Every example of the docs works, and its response is the one that is sent.

`python -m tests.docs` writes the responses anew.
"""

import re
import shutil
from pathlib import Path

import pytest

from tests.doc_pages import DOCS
from tests.docs.pages import RUN_PAGES, find_examples
from tests.docs.running import Runner, run_page
from tests.rest.demo_service import DemoService

# The tests of the clients share the service, too.
pytestmark = pytest.mark.xdist_group("clients")

FAST = ("graphql.md", "rest.md")
"""The pages that `make test` runs: the guides of both APIs."""


def mark_page(page: Path) -> object:
    """Return the page as a case: slow, unless `make test` runs it."""
    name = page.relative_to(DOCS).as_posix()
    return pytest.param(page, id=name, marks=() if name in FAST else pytest.mark.slow)


@pytest.fixture(scope="module")
def service(demo: DemoService) -> DemoService:
    if absent := [name for name in ("bash", "curl", "jq") if shutil.which(name) is None]:
        pytest.skip(f"{', '.join(absent)} is not installed")
    return demo


@pytest.mark.parametrize("page", [mark_page(page) for page in RUN_PAGES])
def test_each_example_of_a_page_has_the_response_that_is_sent(
    page: Path, service: DemoService, tmp_path: Path
) -> None:
    _, faults = run_page(page.read_text(), Runner(service, tmp_path))
    assert not faults, "\n\n".join(faults)


@pytest.mark.slow
def test_a_wrong_response_is_found_and_written_anew(service: DemoService, tmp_path: Path) -> None:
    page = """
```sh
name=assets
curl "$URL/v1/$name?fields=name" -H "API-Key: $KEY"
```

```json
{"data": [{"name": "Alder Mews"}], …}
```

```sh
curl -i "$URL/v1/units/nothing" -H "API-Key: $KEY"
```

```http
HTTP/1.1 200 OK
Content-Type:

{"message": "", …}
```

```graphql
query Names($id: ID!) { asset(id: $id) { name } }
```

```json
{"id": "alder-court"}
```

```json
{"data": {"asset": {"name": "Alder Court"}}}
```

```python
print(2 + 2)
```

```text
5
```
"""
    updated, faults = run_page(page, Runner(service, tmp_path))
    assert len(faults) == 3
    assert '{"data": [{"name": "Alder Court"}], …}' in updated
    assert "HTTP/1.1 404 Not Found\nContent-Type: application/json\n\n" in updated
    assert '{"message": "Not found", …}' in updated
    assert "```text\n4\n```" in updated
    assert run_page(updated, Runner(service, tmp_path)) == (updated, [])


def test_curl_shows_no_progress_where_its_output_goes_elsewhere() -> None:
    commands = [
        command
        for page in RUN_PAGES
        for example in find_examples(page.read_text())
        if example.request.language == "sh"
        for command in re.findall(r"\bcurl (?:[^\n]|\\\n)*", example.request.text)
        if re.search(r" -o | \| ", command) or f"$({command}" in example.request.text
    ]
    assert [command for command in commands if not command.startswith("curl -sS ")] == []
