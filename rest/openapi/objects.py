"""The OpenAPI names that all parts of the description share."""

from typing import Any, TypeAlias

OpenApiObject: TypeAlias = dict[str, Any]
COMPONENTS_PREFIX = "#/components/schemas/"
