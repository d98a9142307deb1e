"""Extraction runs. Their lifecycle is the same as that of other jobs: see ``apps.common.jobs``."""
