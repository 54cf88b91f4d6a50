"""The types of the TypeScript client, generated from the description of the API."""

import os

from tests.rest.packages import Packages
from tools import client_generation
from tools.client_generation import TYPESCRIPT


def generate_types(installed: Packages) -> None:
    """Write the types with the packages of the client; others may read them meanwhile."""
    client_generation.describe_for_typescript()
    new = TYPESCRIPT / f"schema-{os.getpid()}.ts"
    installed.tool("openapi-typescript", "openapi.json", "--output", new)
    new.replace(TYPESCRIPT / "src" / "schema.ts")
