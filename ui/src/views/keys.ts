import { computed, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { nextTheme, shortcuts, sound } from "../state/prefs";
import { go, link } from "../state/route";

export const helpOpen = signal(false);

/** The keys of the present view, which the help shows next to the common ones. */
export interface Key {
  key: string;
  does: string;
  /** false: another part of the view that has this key is to do it. */
  run(): unknown;
}

const ofParts = signal<Key[][]>([]);

export const common: Key[] = [
  { key: "?", does: "Show or hide this help", run: () => (helpOpen.value = !helpOpen.value) },
  { key: "g f", does: "Go to the fleet", run: () => go(link("/")) },
  { key: "g i", does: "Go to the incidents", run: () => go(link("/incidents")) },
  { key: "g s", does: "Go to search", run: () => go(link("/search")) },
  { key: "g w", does: "Go to the wall", run: () => go(link("/wall")) },
  { key: "/", does: "Search for a device", run: () => go(link("/search", { find: "device" })) },
  { key: "t", does: "Change the theme", run: nextTheme },
  { key: "m", does: "Sound on or off", run: () => (sound.value = sound.value === "on" ? "off" : "on") },
];

export const viewKeys = computed(() => ofParts.value.flat());

/** Gives a part of the present view keys of its own, while it is shown; ahead of other parts. */
export function useViewKeys(keys: Key[], ahead = false): void {
  useEffect(() => {
    ofParts.value = ahead ? [keys, ...ofParts.peek()] : [...ofParts.peek(), keys];
    return () => {
      ofParts.value = ofParts.peek().filter((other) => other !== keys);
    };
  }, [keys]);
}

/** How long the second key of "g f" may take. */
const sequenceFor = 1200;

export function useKeys(): void {
  useEffect(() => {
    let before = "";
    let at = 0;
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || shortcuts.peek() === "off") return;
      if (isTyping(event.target)) return;
      // A dialog has the keyboard to itself, but the help goes as it came.
      if (document.querySelector("dialog[open]") && !(helpOpen.peek() && event.key === "?")) return;
      const first = Date.now() - at < sequenceFor ? before : "";
      const all = [...viewKeys.peek(), ...common];
      const both = first ? all.filter((k) => k.key === `${first} ${event.key}`) : [];
      const found = both.length > 0 ? both : all.filter((k) => k.key === event.key);
      before = event.key;
      at = Date.now();
      if (found.length === 0) return;
      event.preventDefault();
      found.find((k) => k.run() !== false);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
}

function isTyping(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  return element?.closest?.("input:not([type=checkbox]), textarea, select") != null;
}
