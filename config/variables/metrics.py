"""Variables of the section “Metrics” of `docs/configuration.md`."""

from config.variables.section import Section, Variable

SECTION = Section(
    title="Metrics",
    variables=(
        Variable(
            "METRICS_TOKEN",
            "",
            "The token with which `/metrics` is read (`Authorization: Bearer …`), in the text format of "
            "Prometheus. Without one nothing is counted, and there is no such page. See "
            "[operating.md](operating.md).",
        ),
    ),
)
