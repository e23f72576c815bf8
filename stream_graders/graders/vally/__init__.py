"""Graders of Vally's reference pages: what an agent says, and what of its tools it repeats."""
