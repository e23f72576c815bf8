"""The engines' programs, each run in an environment of its own: nothing here imports the project."""
