"""Custom model fields."""

import json
from functools import partial
from typing import Any

from django.db import models
from psycopg.types.json import Json

_dump_compact = partial(json.dumps, ensure_ascii=False, separators=(",", ":"))


class OrderedJSONField(models.JSONField):
    """JSON stored in a ``json`` column, which keeps the order of keys, unlike ``jsonb``.

    Use it for documents that are imported and exported unchanged, not for columns that are queried.
    """

    def db_type(self, connection: Any) -> str:
        return "json"

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        return Json(value, dumps=_dump_compact)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        # psycopg parses `json` columns; Django parses only `jsonb` ones itself.
        return value
