"""What graders share: texts, patterns, tool names, paths into results. Pure functions and small values."""
