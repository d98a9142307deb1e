"""Variables of the section “Logs” of `docs/configuration.md`."""

from config.variables.section import Section, Variable

SECTION = Section(
    title="Logs",
    variables=(
        Variable(
            "LOG_FORMAT",
            "`json` into a file, else `console`",
            "`json`: one JSON object a line, for machines, as in the container image; `console`: text, coloured on a"
            " terminal.",
        ),
        Variable(
            "LOG_LEVEL",
            "`INFO`",
            "The least severe level that is logged: `DEBUG`, `INFO`, `WARNING`, `ERROR`.",
        ),
    ),
)
