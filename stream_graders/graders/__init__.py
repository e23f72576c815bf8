"""The graders: one package a family, one module a grader. The module is the YAML name and the manual page."""
