/** Base64 from its chunks (R15): chunks padded one by one, or one text that was cut anywhere. */

/**
 * The standard base64 of the bytes that concatenated chunks stand for.
 *
 * 1. Blanks carry no bits.
 * 2. The text starts again after each padded quad.
 * 3. At the end, whole bytes are kept, whether the padding came or not.
 * 4. What is no base64 comes back verbatim.
 */
export function joinBase64(text) {
  const packed = text.replace(/[ \t\r\n]+/g, "");
  if (/[^A-Za-z0-9+/=]/.test(packed)) return text;
  const end = packed.length;
  const padding = packed.indexOf("=");
  if (end % 4 === 0 && (padding < 0 || padding === end - 1 || (padding === end - 2 && packed.endsWith("==")))) {
    return packed.slice(0, -4) + btoa(atob(packed.slice(-4))); // the last bits may be stray
  }
  const parts = [];
  let position = 0;
  while (position < end) {
    const found = packed.indexOf("=", position);
    let body = packed.slice(position, found < 0 ? end : found);
    if (!body) return text;
    position += body.length;
    let padded = 0;
    while (padded < 2 && packed[position] === "=") [padded, position] = [padded + 1, position + 1];
    let missing = (4 - (body.length % 4)) % 4;
    if (position === end && padded === 0 && missing === 3) [body, missing] = [body.slice(0, -1), 0];
    if (missing === 3 || (padded !== missing && (position !== end || padded > missing))) return text;
    parts.push(atob(body));
  }
  return btoa(parts.join(""));
}
