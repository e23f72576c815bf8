"""What ai_eval's catalogue says of each of its graders (R71)."""

DETERMINISTIC = {"kind": "deterministic", "observes_actions": "no", "sees_tool_calls": "n/a"}
ACTING = {"kind": "deterministic", "observes_actions": "yes", "sees_tool_calls": "n/a"}
"""Its verdict rests on what the agent did, not on what it said (R77)."""
JUDGE = {"kind": "llm_judge", "observes_actions": "no", "sees_tool_calls": "no"}
SEEING_JUDGE = {"kind": "llm_judge", "observes_actions": "no", "sees_tool_calls": "yes"}
