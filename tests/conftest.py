"""Fixtures that many tests share."""

from tests.aimock import aimock as aimock
