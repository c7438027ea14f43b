"""Fixtures that many tests share."""

from tests.aimock import aimock as aimock
from tests.redis_server import redis_server as redis_server
