"""Variables of the section “Secrets and safety” of `docs/configuration.md`."""

from config.variables.section import Section, Variable

SECTION = Section(
    title="Secrets and safety",
    variables=(
        Variable(
            "SECRET_KEY",
            "generated",
            "Signs sessions and password reset links. Without it one is made and kept in "
            "`LOCI_HOME/secret_key`. Several servers must share one. It also seals the keys of users' "
            "connections and their second factors: with another one they can't be opened and have to be "
            "entered again, unless the former is named below; then `manage.py rotate_keys` seals them with "
            "the current one.",
        ),
        Variable(
            "SECRET_KEY_FALLBACKS",
            "",
            "Former values of `SECRET_KEY`, separated by commas: what they signed or sealed stays good. "
            "Remove one after `manage.py rotate_keys`, and once what it signed has run out.",
        ),
        Variable(
            "DEBUG",
            "`off`",
            "Django's debug pages. Never on where others can reach Loci: they show settings and private text.",
        ),
    ),
)
