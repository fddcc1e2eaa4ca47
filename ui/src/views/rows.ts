import { useEffect, useRef, useState } from "preact/hooks";

/** The rows of a long list that are on the screen, with some above and below them. */
export interface Seen {
  from: number;
  to: number;
  height: number; // of a row, in pixels
}

const spare = 6;

/**
 * Which rows of a list are seen while the page scrolls. The list is as high as all its rows, and
 * only those that are seen are in the document.
 */
export function useSeenRows(count: number) {
  const ref = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState<Seen>({ from: 0, to: 30, height: 48 });
  const look = () => {
    const list = ref.current;
    if (!list) return;
    const height = rowHeight(list);
    const top = -list.getBoundingClientRect().top;
    const from = Math.max(0, Math.floor(top / height) - spare);
    const to = Math.max(from, Math.ceil((top + innerHeight) / height) + spare);
    setSeen((s) => (s.from === from && s.to === to && s.height === height ? s : { from, to, height }));
  };
  useEffect(() => {
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    const grown = new ResizeObserver(look); // of what is above the list
    grown.observe(document.body);
    return () => {
      grown.disconnect();
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, []);
  useEffect(look, [count === 0]);
  return { ref, seen };
}

/** The height of a row is set by the style sheet, in rem, on the list. */
function rowHeight(list: HTMLElement): number {
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  return (parseFloat(getComputedStyle(list).getPropertyValue("--row")) || 3) * rem;
}
