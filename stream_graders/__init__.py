"""Grade the runs of AI agents while they run: incremental checks over a stream of messages and tool calls."""
