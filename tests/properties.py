"""Numbers of examples. Those of pure functions come from the profile: 50, or ten times as many when exploring."""

from hypothesis import settings

# Each writes to the database, or calls the embedding model.
WITH_DATABASE = max(settings.default.max_examples // 5, 1)
# Each is a whole history: dozens of requests, or runs of the engine.
HISTORIES = max(settings.default.max_examples // 25, 1)
