"""The command line: one module a command, imported only when it runs."""
