"""What a section of `docs/configuration.md` is made of."""

from dataclasses import dataclass

HEADER = ("| variable | default | what it does |", "|---|---|---|")


@dataclass(frozen=True)
class Variable:
    """Variable of the environment. ``default`` and ``meaning`` are Markdown; a variable may have no default."""

    name: str
    default: str
    meaning: str

    def __str__(self) -> str:
        """Return the row of the table."""
        return f"| `{self.name}` | {self.default} | {self.meaning} |".replace("|  |", "| |")


@dataclass(frozen=True)
class Section:
    """Variables that belong together, with text in Markdown before and after their table."""

    title: str
    before: str = ""
    variables: tuple[Variable, ...] = ()
    after: str = ""

    def __str__(self) -> str:
        """Return the section in Markdown."""
        table = "\n".join([*HEADER, *map(str, self.variables)]) if self.variables else ""
        parts = (f"## {self.title}", self.before.strip(), table, self.after.strip())
        return "\n\n".join(part for part in parts if part)
