"""The OpenAPI names that all parts of the description share."""

from typing import Any, TypeAlias

OpenApiObject: TypeAlias = dict[str, Any]
OUTPUT_TEXT_PATTERN = r"^[^\x00]*$"
"""Of texts in responses: none has a NUL, which the database does not store either."""
COMPONENTS_PREFIX = "#/components/schemas/"
