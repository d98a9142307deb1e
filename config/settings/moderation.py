"""Moderation: an endpoint with OpenAI's moderation API, asked about what is written, besides the rules."""

from config.env import env
from config.variables import Group

MODERATION_URL = env.url(
    "MODERATION_URL",
    group=Group.MODERATION,
    help="The address of an endpoint with OpenAI's moderation API, up to `/v1`. What users write and import is sent to "
    "it and flagged as it says, besides the rules of the admin site. `LLM_ALLOWED_ADDRESSES` applies.",
)
MODERATION_KEY = env.str("MODERATION_KEY", group=Group.MODERATION, help="Its API key.")
MODERATION_MODEL = env.str(
    "MODERATION_MODEL", default="omni-moderation-latest", group=Group.MODERATION, help="The model it is asked for."
)
MODERATION_LOOK_MINUTES = env.int(
    "MODERATION_LOOK_MINUTES",
    default=30,
    most=525_600,
    group=Group.MODERATION,
    help="For how long a moderator can read what was opened for a report or a reason.",
)
