import { useState } from "preact/hooks";
import type { Query } from "../model/address";
import { csv } from "../model/csv";
import { all, reason } from "../net/api";
import { say } from "./toast";

/** A download has this many items at most: it is put together in memory. */
const mostDownloaded = 200_000;

export const deviceColumns = [
  "device", "state", "severity", "since", "time", "received", "operator", "escalated_to",
  "incident_since", "silent", "message", "attributes",
];

export const entryColumns = [
  "device", "time", "state", "operator", "escalated_to", "message", "attributes",
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
      const text = format === "json" ? JSON.stringify(items, null, 1) + "\n" : csv(columns, items);
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

function offer(text: string, name: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
