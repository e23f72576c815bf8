"""Other engines on the same work: one topic of our events, three checks, three verdicts a run."""
