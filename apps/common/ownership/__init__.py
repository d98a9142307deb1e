"""Make sure that each table of users' rows has an owner, and that the database keeps owners apart."""
