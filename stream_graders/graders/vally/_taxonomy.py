"""What the origin's pages say of its graders (R1, R24)."""

TAXONOMY = {
    "determinism": "static",
    "cost": "free",
    "reference": "reference-free",
    "temporal_scope": "trajectory-level",
    "score_kind": "code",
}
"""Of the graders whose page says nothing else."""

LOW_COST = {**TAXONOMY, "cost": "low"}
