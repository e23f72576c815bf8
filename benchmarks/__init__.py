"""What the numbers in the README come from; ``make bench`` runs all of it."""
