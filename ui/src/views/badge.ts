import { inkOn, type StateDef } from "../model/states";

let shown = "";
let original = "";

/** Shows the severest state that any device is in as the icon of the tab. */
export function showBadge(state: StateDef | undefined): void {
  const icon = document.querySelector<HTMLLinkElement>("link[rel=icon]");
  if (!icon) return;
  original ||= icon.href;
  const key = state ? `${state.colour} ${state.letter}` : "";
  if (key === shown) return;
  shown = key;
  icon.href = state ? "data:image/svg+xml," + encodeURIComponent(drawing(state)) : original;
}

function drawing({ colour, letter }: StateDef): string {
  const text = letter.replace(/[<>&"']/g, "?");
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="6" ` +
    `fill="${colour}"/><text x="16" y="24" font-family="system-ui" font-size="23" font-weight="800" ` +
    `text-anchor="middle" fill="${inkOn(colour)}">${text}</text></svg>`
  );
}
