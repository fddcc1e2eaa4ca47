/** The rows of a list as CSV (RFC 4180), with a header. */
export function csv(columns: string[], rows: Record<string, unknown>[]): string {
  const lines = rows.map((row) => columns.map((c) => field(row[c])).join(","));
  return [columns.map(field).join(","), ...lines, ""].join("\r\n");
}

/**
 * One field. A text that a spreadsheet would run as a formula gets an apostrophe before it: names
 * and messages come from devices, and a formula can send what is in the sheet elsewhere.
 */
function field(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const safe = /^[=+\-@\t\r\n＝＋－＠]/.test(text) ? "'" + text : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
