"""API of reports, decisions and looks."""
