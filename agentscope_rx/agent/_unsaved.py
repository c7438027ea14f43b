"""What is said of a session that could not be stored when its call had failed already."""

from __future__ import annotations

from agentscope_rx.errors import StateError

__all__ = ["add_unsaved"]


def add_unsaved(error: Exception, unsaved: Exception) -> None:
    """Note on a call's error that the session could not be stored either; once, and where it is news."""
    note = f"and the session could not be saved: {unsaved!r}"
    if not isinstance(error, StateError) and note not in getattr(error, "__notes__", ()):
        error.add_note(note)
