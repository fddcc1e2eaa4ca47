import { effect, signal, type Signal } from "@preact/signals";
import { signInNeeded } from "../net/api";

/** What this browser remembers. A browser that forbids storage only forgets it. */
function remembered<T extends string>(key: string, initial: T, allowed?: readonly T[]): Signal<T> {
  const name = `andon.${key}`;
  let value: string | null = null;
  try {
    value = localStorage.getItem(name);
  } catch {
    // Storage is forbidden.
  }
  const known = (value: string | null) =>
    value !== null && (!allowed || allowed.includes(value as T)) ? (value as T) : initial;
  const kept = signal<T>(known(value));
  effect(() => {
    try {
      localStorage.setItem(name, kept.value);
    } catch {
      // Storage is forbidden.
    }
  });
  // Another tab has changed it.
  addEventListener("storage", (e) => {
    if (e.key === name) kept.value = known(e.newValue);
  });
  return kept;
}

const themes = ["system", "light", "dark"] as const;
const onOff = ["on", "off"] as const;

export const theme = remembered("theme", "system", themes);
export const sound = remembered("sound", "off", onOff);
/** Whether single keys do something (WCAG 2.1.4: they must be possible to turn off). */
export const shortcuts = remembered("shortcuts", "on", onOff);
/** Who uses this browser: it goes into `by` of what is done here. */
export const myName = remembered<string>("name", "");
effect(() => {
  if (signInNeeded.value) myName.value = ""; // who signs in next may be somebody else
});

const systemDark = matchMedia("(prefers-color-scheme: dark)");

/** True where the page is dark now: canvases need to know. */
export const dark = signal(false);

export function startTheme(): void {
  const show = () => {
    dark.value = theme.value === "system" ? systemDark.matches : theme.value === "dark";
    document.documentElement.dataset.theme = dark.value ? "dark" : "light";
  };
  effect(show);
  systemDark.addEventListener("change", show);
}

export function nextTheme(): void {
  theme.value = themes[(themes.indexOf(theme.value) + 1) % themes.length];
}

export const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
