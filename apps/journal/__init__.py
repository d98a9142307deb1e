"""The journal: dailies of what was remembered, their consolidation, its API and its calendar."""
