import { computed, effect, signal } from "@preact/signals";
import { toDateInput } from "../model/time";
import { clockAhead } from "../net/api";

/** Now by the server's clock, in milliseconds: what durations are counted from. */
export const now = signal(Date.now());

/** The day of the viewer's zone: it changes at midnight only. */
export const today = computed(() => toDateInput(new Date(now.value)));

/** Ticks every second, at the beginning of one, so that all durations of the page change at once. */
export function startClock(): void {
  const tick = () => {
    const at = Date.now() + clockAhead.peek();
    now.value = at;
    setTimeout(tick, 1000 - (at % 1000) + 5);
  };
  tick();
  effect(() => {
    now.value = Date.now() + clockAhead.value;
  });
}
