"""The OpenAPI document, which takes seconds to generate."""

from functools import cache
from typing import Any

from drf_spectacular.generators import SchemaGenerator


@cache
def document() -> dict[str, Any]:
    """Return the document, generated once for all tests of a process, which must not change it."""
    return SchemaGenerator().get_schema(request=None, public=True)
