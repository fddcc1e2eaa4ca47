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

/** Links within the board are followed without loading the page. */
function onClick(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const anchor = (event.target as Element).closest?.("a");
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
  document.addEventListener("click", onClick);
  effect(() => {
    tenant.value = query.value.tenant || "default";
  });
}
