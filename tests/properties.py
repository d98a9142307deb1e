"""Numbers of examples of properties. Those of pure functions come from the profile: 50, or more when exploring."""

from hypothesis import settings

# Each example writes to the database, or calls the embedding model.
WITH_DATABASE = settings(max_examples=max(settings.default.max_examples // 5, 1))
# Each example is a whole history: dozens of requests, or runs of the engine.
HISTORIES = max(settings.default.max_examples // 16, 1)
