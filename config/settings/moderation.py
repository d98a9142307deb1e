"""Moderation: an endpoint with OpenAI's moderation API, asked about what is written, besides the rules."""

from config.env import env

MODERATION_URL = env.str("MODERATION_URL", default="")
MODERATION_KEY = env.str("MODERATION_KEY", default="")
MODERATION_MODEL = env.str("MODERATION_MODEL", default="omni-moderation-latest")
MODERATION_LOOK_MINUTES = env.int("MODERATION_LOOK_MINUTES", default=30)
