"""Automatic rules: what they match, the endpoint that is asked, and the job that reads what was written."""
