// A modal dialog. The browser gives the focus back to where it was when it closes.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

export function Dialog({
  title,
  close,
  children,
  wide = false,
  bare = false,
}: {
  title: string;
  close: () => void;
  children: ComponentChildren;
  wide?: boolean;
  bare?: boolean;
}): JSX.Element {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const d = ref.current!;
    const from = document.activeElement as HTMLElement | null;
    d.showModal();
    d.querySelector<HTMLElement>('[data-focus]')?.focus();
    return () => {
      d.close();
      from?.focus?.({ preventScroll: true });
    };
  }, []);
  return (
    <dialog
      ref={ref}
      class={`dialog${wide ? ' wide' : ''}${bare ? ' bare' : ''}`}
      aria-label={title}
      onCancel={(e) => {
        e.preventDefault();
        close();
      }}
      onClick={(e) => {
        if (e.target === ref.current) close();
      }}
    >
      <div class="in">
        {!bare && <h2>{title}</h2>}
        {children}
      </div>
    </dialog>
  );
}
