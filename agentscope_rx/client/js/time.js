/** Times of events and of messages. */

const MOMENT =
  /^(\d{4})(-?)(\d\d)\2(\d\d)(?:.(\d\d)(?:(:?)(\d\d)(?:\6(\d\d)(?:[.,](\d+))?)?)?(Z|[+-]\d\d(?::?\d\d(?::?\d\d)?)?)?)?$/s;

/**
 * Turn an event's time into a message's: `2026-01-02T03:04:05.678Z` → `2026-01-02 03:04:05.678`.
 *
 * Cut, not rounded, to milliseconds. A time with another offset is turned into UTC, one without is taken as
 * UTC; what is no ISO 8601 time of a calendar day comes back as it is.
 */
export function formatTimestamp(createdAt) {
  const match = MOMENT.exec(createdAt);
  if (match === null) return createdAt;
  const [year, , month, day, hour = 0, , minute = 0, second = 0] = match.slice(1).map((part) => (part && Number(part)) || part || undefined);
  const date = new Date(0);
  date.setUTCFullYear(Number(year), month - 1, day);
  if (year < 1 || date.getUTCMonth() !== month - 1 || date.getUTCDate() !== Number(day)) return createdAt;
  if (hour > 23 || minute > 59 || second > 59) return createdAt;
  date.setUTCHours(hour, minute, second, Number((match[9] ?? "").padEnd(3, "0").slice(0, 3)));
  const offset = offsetOf(match[10]);
  if (offset === null) return createdAt;
  date.setTime(date.getTime() - offset);
  if (date.getUTCFullYear() < 1 || date.getUTCFullYear() > 9999) return createdAt;
  return date.toISOString().replace("T", " ").replace("Z", "");
}

/** Milliseconds east of Greenwich; null if there is no such place. */
function offsetOf(text) {
  if (text === undefined || text === "Z") return 0;
  const [hours, minutes, seconds] = text.slice(1).replaceAll(":", "").padEnd(6, "0").match(/../g).map(Number);
  if (hours > 23 || minutes > 59 || seconds > 59) return null;
  return (text[0] === "-" ? -1000 : 1000) * ((hours * 60 + minutes) * 60 + seconds);
}
