import { useState } from "preact/hooks";
import type { Query } from "../model/address";
import { csv } from "../model/csv";
import type { Escalation } from "../model/fleet";
import { all, reason } from "../net/api";
import { say } from "./toast";

/** A download has this many items at most: it is put together in memory. */
const mostDownloaded = 200_000;

const escalation = ["escalated_to", "escalated_at", "escalated_by", "escalation_note"];

export const deviceColumns = [
  "device", "state", "severity", "since", "time", "received", "operator", ...escalation,
  "incident_since", "silent", "message", "attributes",
];

export const entryColumns = [
  "device", "time", "state", "operator", ...escalation, "message", "attributes",
];

interface Props {
  path: string;
  query: Query;
  columns: string[];
  name: string;
}

/** Saves a whole list, and not only what is shown of it. */
export function Download({ path, query, columns, name }: Props) {
  const [busy, setBusy] = useState(false);
  const save = async (format: "csv" | "json") => {
    setBusy(true);
    try {
      const { items, cut } = await all<Record<string, unknown>>(path, query, mostDownloaded);
      const text = format === "json" ? JSON.stringify(items, null, 1) + "\n" : csv(columns, items.map(flat));
      offer(text, `${name}.${format}`, format === "json" ? "application/json" : "text/csv");
      say(cut ? `Saved the first ${items.length}: there are more` : `Saved ${items.length} ${name}`);
    } catch (error) {
      say(`Nothing is saved: ${reason(error)}`);
    }
    setBusy(false);
  };
  return (
    <span class="downloads" role="group" aria-label={`Save the ${name}`}>
      <button type="button" disabled={busy} onClick={() => void save("csv")}>
        CSV
      </button>
      <button type="button" disabled={busy} onClick={() => void save("json")}>
        JSON
      </button>
    </span>
  );
}

/** A row has a cell for each part of the escalation. */
function flat(item: Record<string, unknown>): Record<string, unknown> {
  const { at, by, note } = (item.escalation ?? {}) as Partial<Escalation>;
  return { ...item, escalated_at: at, escalated_by: by, escalation_note: note };
}

export function offer(text: string, name: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
