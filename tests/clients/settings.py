"""Change the settings of the Python client for some requests: `python settings.py URL`."""

import json
import sys

from floorgate_client import Floorgate, FloorgateError
from floorgate_client.rest.api.maps import list_level_tags


def main(url: str) -> None:
    """Print what was found as JSON."""
    client = Floorgate(url, "key", flags="distances")
    list_level_tags.sync("same-sync", client=client)
    other = client.with_headers({"X-Request-Id": "mine"}).with_cookies({"a": "b"}).with_timeout(5)
    list_level_tags.sync("same-sync", client=other)
    list_level_tags.sync("same-sync", client=client)
    try:
        etag = {"If-None-Match": '"1"'}
        list_level_tags.sync("same-sync", client=client.with_headers(etag))
    except FloorgateError as error:
        unchanged = str(error)
    found = {
        "shown": repr(other),
        "timeout": str(other.get_httpx_client().timeout),
        "unchanged": unchanged,
    }
    json.dump(found, sys.stdout)
    client.close()


if __name__ == "__main__":
    main(sys.argv[1])
