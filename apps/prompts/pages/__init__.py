"""What pages show of prompts: recall cards, the map of a context, and the form of the settings."""
