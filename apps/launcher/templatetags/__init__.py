"""Template tags of the state of the installation."""
