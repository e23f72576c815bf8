"""Graders of the AgentLasso checks reference: tool calls and replies, by name and text."""
