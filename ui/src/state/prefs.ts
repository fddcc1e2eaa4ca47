import { effect, signal, type Signal } from "@preact/signals";

/** What this browser remembers. A browser that forbids storage only forgets it. */
function remembered<T extends string>(key: string, initial: T, allowed?: readonly T[]): Signal<T> {
  const name = `andon.${key}`;
  let value: string | null = null;
  try {
    value = localStorage.getItem(name);
  } catch {
    // Storage is forbidden.
  }
  const known = value !== null && (!allowed || allowed.includes(value as T));
  const kept = signal<T>(known ? (value as T) : initial);
  effect(() => {
    try {
      localStorage.setItem(name, kept.value);
    } catch {
      // Storage is forbidden.
    }
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
