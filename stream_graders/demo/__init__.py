"""The whole thing working on one machine: an embedded broker, simulated agents, a worker and a live view."""
