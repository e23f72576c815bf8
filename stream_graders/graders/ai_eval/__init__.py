"""Graders after ai_eval's: one reply on one dimension, scored from 0 to 5."""
