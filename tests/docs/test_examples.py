"""Every example of the docs works, and its response is the one that is sent.

`python -m tests.docs` writes the responses anew.
"""

import re
import shutil
from pathlib import Path

import pytest

from tests.doc_pages import DOCS
from tests.docs.markdown import find_examples
from tests.docs.pages import RUN_PAGES
from tests.docs.running import Runner, run_page
from tests.rest.demo_service import DemoService

# The tests of the clients share the service, too.
pytestmark = [pytest.mark.xdist_group("clients"), pytest.mark.slow]


@pytest.fixture(scope="module")
def service(demo: DemoService) -> DemoService:
    if absent := [name for name in ("bash", "curl", "jq") if shutil.which(name) is None]:
        pytest.skip(f"{', '.join(absent)} is not installed")
    return demo


@pytest.mark.parametrize("page", RUN_PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_each_example_of_a_page_has_the_response_that_is_sent(
    page: Path, service: DemoService, tmp_path: Path
) -> None:
    _, faults = run_page(page.read_text(), Runner(service, tmp_path))
    assert not faults, "\n\n".join(faults)


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


def test_an_example_that_fails_is_a_fault(service: DemoService, tmp_path: Path) -> None:
    page = '```sh\ncurl "$URL/v1/units"\n```\n'
    _, faults = run_page(page, Runner(service, tmp_path))
    assert len(faults) == 1 and faults[0].startswith("line 1: 401")


def test_an_example_keeps_the_key_of_the_reader(service: DemoService, tmp_path: Path) -> None:
    page = """
```sh
KEY=fgk_other
```

```sh
OTHER_KEY=fgk_other
```

```graphql
# API-Key: $OTHER_KEY
{ assets { data { id } } }
```

```json
{"errors": [{"extensions": {"code": "FORBIDDEN", …}, …}]}
```
"""
    _, faults = run_page(page, Runner(service, tmp_path))
    assert faults == ["line 2: it assigns ['KEY'], which the next page needs"]


def test_a_status_is_shown_where_the_command_prints_it(
    service: DemoService, tmp_path: Path
) -> None:
    page = """
```sh
curl "$URL/v1/assets?fields=name" -H "API-Key: $KEY"
```

```http
HTTP/1.1 200 OK

{…}
```

```sh
curl -i "$URL/v1/assets?fields=name" -H "API-Key: $KEY"
```

```json
{…}
```
"""
    _, faults = run_page(page, Runner(service, tmp_path))
    assert [re.sub(":.*", "", fault.partition(": ")[2]) for fault in faults] == [
        "the command prints no status",
        "the command prints the status",
    ]


@pytest.mark.parametrize("page", RUN_PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_curl_shows_no_progress_where_its_output_goes_elsewhere(page: Path) -> None:
    commands = [
        command
        for example in find_examples(page.read_text())
        if example.request.language == "sh"
        for command in re.findall(r"\bcurl (?:[^\n]|\\\n)*", example.request.text)
        if re.search(r" -o | \| ", command) or f"$({command}" in example.request.text
    ]
    assert [command for command in commands if not command.startswith("curl -sS ")] == []


def test_an_example_that_is_not_run_has_a_reason(service: DemoService, tmp_path: Path) -> None:
    page = "<!-- not run: it ends only when you stop it -->\n```sh\nfalse\n```\n"
    assert run_page(page, Runner(service, tmp_path)) == (page, [])
