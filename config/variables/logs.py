"""Variables of the section “Logs” of `docs/configuration.md`."""

from config.variables.section import Section, Variable

SECTION = Section(
    title="Logs",
    variables=(
        Variable(
            "LOG_FORMAT",
            "`console` on a terminal, else `json`",
            "`json`: one JSON object a line, for machines; `console`: coloured text.",
        ),
        Variable(
            "LOG_LEVEL",
            "`INFO`",
            "The least severe level that is logged: `DEBUG`, `INFO`, `WARNING`, `ERROR`.",
        ),
    ),
)
