"""Variables of the environment that `config.settings` reads, described for `docs/configuration.md`.

``make docs`` writes the page; a test compares it, the variables that are read, and their defaults.
"""

from config.variables import (
    database,
    embedded_database,
    installation,
    language_models,
    limits,
    logs,
    mail,
    metrics,
    moderation,
    safety,
)
from config.variables.section import Section, Variable

__all__ = ["SECTIONS", "VARIABLES", "page"]

INTRODUCTION = """
Loci runs without any configuration. What an installation may change comes from environment variables.

Each variable can also be given as a file: `NAME_FILE=/path` reads the value of `NAME` from that file, without the
line break at its end, and goes before `NAME`. That is how secrets are passed from Docker and systemd.
"""
SECTIONS: tuple[Section, ...] = (
    installation.SECTION,
    safety.SECTION,
    limits.SECTION,
    database.SECTION,
    language_models.SECTION,
    moderation.SECTION,
    mail.SECTION,
    logs.SECTION,
    metrics.SECTION,
    embedded_database.SECTION,
)
VARIABLES: dict[str, Variable] = {each.name: each for section in SECTIONS for each in section.variables}


def page() -> str:
    """Return `docs/configuration.md`."""
    return "\n\n".join(["# Configuration", INTRODUCTION.strip(), *map(str, SECTIONS)]) + "\n"
