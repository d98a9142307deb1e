"""Read replies of models: records of lines, and their usual shapes, for the tiers. Without database access."""
