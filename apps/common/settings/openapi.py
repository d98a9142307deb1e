"""Describe settings in the OpenAPI document, in English."""

import math
from collections.abc import Mapping
from typing import Any

from django.utils import translation

from apps.common.settings.declarations import Setting

TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}


def values_schema(settings: Mapping[str, Setting], description: str) -> dict[str, Any]:
    """Return the schema of an object with values of settings."""
    return {
        "type": "object",
        "description": description,
        "properties": {name: _schema(setting) for name, setting in settings.items()},
        "additionalProperties": False,
    }


def changes_schema(settings: Mapping[str, Setting]) -> dict[str, Any]:
    """Return the schema of a change, in which null resets a setting and ``integrity`` is that of the state before."""
    integrity = {"type": "string", "format": "uuid", "nullable": True}
    return {
        "type": "object",
        "properties": {"integrity": integrity, **{name: _nullable(setting) for name, setting in settings.items()}},
        "additionalProperties": False,
    }


def _schema(setting: Setting) -> dict[str, Any]:
    with translation.override("en"):
        schema: dict[str, Any] = {
            "type": TYPES[setting.kind],
            "description": f"{setting.label}: {setting.help}" if setting.help else str(setting.label),
        }
    if setting.choices is not None:
        schema["enum"] = list(setting.choices)
    if math.isfinite(setting.low):
        schema["minimum"] = setting.low
    if math.isfinite(setting.high):
        schema["maximum"] = setting.high
    return schema


def _nullable(setting: Setting) -> dict[str, Any]:
    schema = _schema(setting) | {"nullable": True}
    return schema | ({"enum": [*schema["enum"], None]} if "enum" in schema else {})
