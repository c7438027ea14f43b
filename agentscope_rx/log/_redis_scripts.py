"""What the server does in one step. KEYS[1] is a stream, KEYS[2] what its oldest events have come to."""

from __future__ import annotations

from typing import Final

__all__ = ["APPEND", "CONDENSE", "END", "READ"]

# ARGV: the end that is expected or '?', ttl, a name of the batch, whether it is sent again, events.
# Returns time and number of the first, and how many there are now; or the end, if it is another one.
# A batch that is sent again, since the connection broke before the answer, is found by its name.
APPEND: Final = """
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
local found = last[1] and last[1][1] or redis.call('HGET', KEYS[2], 'cursor') or ''
if ARGV[4] == '1' then
    for _, entry in ipairs(redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 10000)) do
        if entry[2][1] == 'batch' and entry[2][2] == ARGV[3] then
            local time, number = entry[1]:match('^(%d+)-(%d+)$')
            return {time, number, redis.call('XLEN', KEYS[1])}
        end
    end
end
if ARGV[1] ~= '?' and ARGV[1] ~= found then
    return found
end
local time, number = found:match('^(%d+)-(%d+)$')
local clock = redis.call('TIME')
local now = math.max(tonumber(clock[1]) * 1000000 + tonumber(clock[2]), tonumber(time or 0) + 1)
local first = tonumber(number or 0) + 1
for i = 5, #ARGV do
    local id = string.format('%.0f-%.0f', now, first + i - 5)
    if i == 5 then
        redis.call('XADD', KEYS[1], id, 'batch', ARGV[3], 'event', ARGV[i])
    else
        redis.call('XADD', KEYS[1], id, 'event', ARGV[i])
    end
end
if ARGV[2] ~= '0' then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    redis.call('PEXPIRE', KEYS[2], ARGV[2])
end
return {string.format('%.0f', now), string.format('%.0f', first), redis.call('XLEN', KEYS[1])}
"""

# ARGV: a cursor, '' for the start, or '?' for none; how many events, and how many bytes of them.
# Returns whether the cursor is known, the base, what has come to it (where needed), and the events.
READ: Final = """
local base = redis.call('HGET', KEYS[2], 'cursor') or ''
local after = ARGV[1]
local known = after == base
if not known and after ~= '?' and after ~= '' then
    known = #redis.call('XRANGE', KEYS[1], after, after) == 1
end
local from = known and after or base
local entries = redis.call('XRANGE', KEYS[1], from == '' and '-' or '(' .. from, '+', 'COUNT', ARGV[2])
local events, size = {}, 0
for i, entry in ipairs(entries) do
    local event = entry[2][#entry[2]]
    size = size + #event
    if i > 1 and size > tonumber(ARGV[3]) then
        break
    end
    events[i] = {entry[1], event}
end
local condensate = false
if not known or ARGV[4] == '1' then
    condensate = redis.call('HGET', KEYS[2], 'condensate')
end
return {known and 1 or 0, base, condensate, events}
"""

# Returns the cursor of the last event.
END: Final = """
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
return last[1] and last[1][1] or redis.call('HGET', KEYS[2], 'cursor') or ''
"""

# ARGV: the base so far, the new one, and what it has come to. Drops the events up to there.
CONDENSE: Final = """
if (redis.call('HGET', KEYS[2], 'cursor') or '') ~= ARGV[1] or redis.call('EXISTS', KEYS[1]) == 0 then
    return 0
end
redis.call('HSET', KEYS[2], 'cursor', ARGV[2], 'condensate', ARGV[3])
local left = redis.call('PTTL', KEYS[1])
if left > 0 then
    redis.call('PEXPIRE', KEYS[2], left)
end
local time, number = ARGV[2]:match('^(%d+)-(%d+)$')
redis.call('XTRIM', KEYS[1], 'MINID', string.format('%s-%.0f', time, tonumber(number) + 1))
return 1
"""
