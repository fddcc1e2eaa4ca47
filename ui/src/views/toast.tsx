import { signal } from "@preact/signals";

const text = signal("");
let timer: ReturnType<typeof setTimeout> | undefined;

/** Says for a moment what was done. */
export function say(words: string): void {
  clearTimeout(timer);
  text.value = words;
  timer = setTimeout(() => (text.value = ""), 6000);
}

export function Toast() {
  return (
    <div class={`toast ${text.value ? "shown" : ""}`} role="status">
      {text.value}
    </div>
  );
}
