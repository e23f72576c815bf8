"""Our own graders: what only the whole course of a run can show."""
