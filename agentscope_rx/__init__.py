"""AgentScope's messages and events for Python, on ReactiveX."""
