"""Foreign formats to events: one module a format, each a pure function of a record."""
