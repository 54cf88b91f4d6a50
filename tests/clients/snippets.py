"""The programs of the guide of the clients."""

import re
from itertools import pairwise

from tests.doc_pages import page
from tests.docs.markdown import find_blocks
from tests.rest.demo_service import DemoService


def read_snippets() -> dict[str, tuple[str, str]]:
    """The last program of each language in the guide, and what the guide shows as its output."""
    blocks = find_blocks(page("rest/clients.md"))
    return {one.language: (one.text, other.text) for one, other in pairwise(blocks)}


def trust_variables(demo: DemoService) -> dict[str, str]:
    """What the guide sets, with the certificate of the service."""
    names = re.findall(r"`(\w+)=\$CURL_CA_BUNDLE`", page("rest/clients.md"))
    assert names == ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"]
    return dict.fromkeys(names, str(demo.certificate))
