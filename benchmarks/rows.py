"""All rows, by the part of the library that they measure."""

from __future__ import annotations

from benchmarks import agent_rows, event_rows, fold_rows, import_rows, model_rows, wire_rows

__all__ = ["GROUPS"]

GROUPS = (fold_rows, event_rows, wire_rows, model_rows, agent_rows, import_rows)
