"""Graders of the DataRobot benchmarks: what the final reply gives away."""
