"""Import, build and refresh, measured beside what PostgreSQL takes for the same rows."""
