"""Variables of the section “Moderation” of `docs/configuration.md`."""

from config.variables.section import Section, Variable

SECTION = Section(
    title="Moderation",
    variables=(
        Variable(
            "MODERATION_URL",
            "",
            "The address of an endpoint with OpenAI's moderation API, up to `/v1`. What users write and "
            "import is sent to it and flagged as it says, besides the rules of the admin site. "
            "`LLM_ALLOWED_ADDRESSES` applies.",
        ),
        Variable(
            "MODERATION_KEY",
            "",
            "Its API key.",
        ),
        Variable(
            "MODERATION_MODEL",
            "`omni-moderation-latest`",
            "The model it is asked for.",
        ),
        Variable(
            "MODERATION_LOOK_MINUTES",
            "`30`",
            "For how long a moderator can read what was opened for a report or a reason.",
        ),
    ),
)
