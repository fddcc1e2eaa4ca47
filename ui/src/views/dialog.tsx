import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** A dialog in front of the page: the browser keeps the focus in it and gives it back. */
export function Dialog(props: { title: string; onClose(): void; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null);
  // Before the next key: it is for the dialog, and not for the page.
  useLayoutEffect(() => {
    const dialog = ref.current!;
    const before = document.activeElement as HTMLElement | null;
    dialog.showModal();
    return () => {
      dialog.close();
      if (before?.isConnected) before.focus();
    };
  }, []);
  const onClick = (e: MouseEvent) => {
    if (e.target === ref.current) props.onClose();
  };
  const onCancel = (e: Event) => {
    e.preventDefault();
    props.onClose();
  };
  return (
    <dialog ref={ref} aria-label={props.title} onCancel={onCancel} onClick={onClick}>
      <div class="sheet">
        <header>
          <h2>{props.title}</h2>
          <button type="button" class="plain" aria-label="Close" onClick={props.onClose}>
            ✕
          </button>
        </header>
        {props.children}
      </div>
    </dialog>
  );
}
