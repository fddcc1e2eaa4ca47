import { useSignal, useSignalEffect } from "@preact/signals";
import { useRef } from "preact/hooks";
import { announcement } from "../model/alarms";
import { risen } from "../state/live";

/** In a storm a screen reader that announced each change would never come to an end. */
const pauseBetween = 5000;

/** Says new trouble to a screen reader, not more often than it can be listened to. */
export function Announcer() {
  const text = useSignal("");
  const last = useRef(0);
  useSignalEffect(() => {
    const rises = risen.value;
    if (rises.length === 0 || Date.now() - last.current < pauseBetween) return;
    last.current = Date.now();
    text.value = announcement(rises);
  });
  return (
    <div class="sr" role="log" aria-live="polite" aria-label="New trouble">
      {text.value}
    </div>
  );
}
