import { computed, effect, signal } from "@preact/signals";
import { addressOf, placeOf, queryOf, type Query } from "../model/address";
import { tenant } from "../net/api";

const here = signal(location.pathname + location.search);

export const place = computed(() => placeOf(new URL(here.value, location.origin).pathname));
export const query = computed<Query>(() => queryOf(new URL(here.value, location.origin).search));

/** An address of the board, of the tenant that is shown. */
export function link(path: string, query: Query = {}): string {
  return addressOf(path, query, tenant.value);
}

/** Shows another address. With `replace` it takes the place of the present one in the history. */
export function go(address: string, replace = false): void {
  if (address === here.value) return;
  const pathBefore = location.pathname;
  history[replace ? "replaceState" : "pushState"](null, "", address);
  here.value = address;
  if (location.pathname === pathBefore) return;
  scrollTo(0, 0);
  requestAnimationFrame(() => document.querySelector<HTMLElement>("main h1")?.focus());
}

/** Changes the query of this address: so every view can be shared as it is seen. */
export function setQuery(change: Query, replace = true): void {
  const { tenant: _, ...rest } = query.peek();
  go(link(location.pathname, { ...rest, ...change }), replace);
}

/** The link that the mouse was pressed on, or the row of one, and the pixels at which it was. */
let pressed: { on: Element; anchor: HTMLAnchorElement; x: number; y: number } | undefined;

function onPress({ target, clientX: x, clientY: y }: MouseEvent): void {
  const on = (target as Element).closest?.("a, [data-device][data-row]");
  const anchor = on?.matches("a") ? on : on?.querySelector("a.id");
  pressed = on && anchor ? { on, anchor: anchor as HTMLAnchorElement, x, y } : undefined;
}

/**
 * The link that a click is meant for. A list may move while the mouse is down; the browser then
 * takes the click for one of the whole list.
 */
function clicked(event: MouseEvent): HTMLAnchorElement | null | undefined {
  const target = event.target as Element;
  const was = event.detail > 0 ? pressed : undefined; // 0: of the keyboard
  pressed = undefined;
  const still = was && Math.abs(was.x - event.clientX) + Math.abs(was.y - event.clientY) < 5;
  return still && !was.on.contains(target) ? was.anchor : target.closest?.("a");
}

/** Links within the board are followed without loading the page. */
function onClick(event: MouseEvent): void {
  const anchor = clicked(event);
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (!anchor || anchor.target || anchor.hasAttribute("download")) return;
  if (anchor.origin !== location.origin || /^\/(api|docs|metrics|openapi)/.test(anchor.pathname)) return;
  if (anchor.hash && anchor.pathname === location.pathname) return;
  event.preventDefault();
  go(anchor.pathname + anchor.search);
}

export function startRoutes(): void {
  addEventListener("popstate", () => {
    here.value = location.pathname + location.search;
  });
  document.addEventListener("mousedown", onPress);
  document.addEventListener("click", onClick);
  effect(() => {
    tenant.value = query.value.tenant || "default";
  });
}
