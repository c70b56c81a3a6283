"""Questions to databases: the model writes the SQL, a guard reads it, and the database only reads."""
