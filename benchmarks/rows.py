"""All rows, by the part of the library that they measure."""

from __future__ import annotations

from benchmarks import event_rows, import_rows, wire_rows

__all__ = ["GROUPS"]

GROUPS = (event_rows, import_rows, wire_rows)
