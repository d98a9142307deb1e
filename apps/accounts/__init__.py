"""Users, who sign in by e-mail address, and their personal API tokens."""
