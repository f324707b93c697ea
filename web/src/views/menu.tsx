// A menu that floats above everything: the browser shows it, closes it and gives the focus back.
import type { ComponentChildren, JSX } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import { Icon } from '../parts/icons.tsx';

export interface MenuItem {
  title: string;
  icon: string;
  key?: string;
  act: () => void;
}

const ROOM = 240; // below this much room it opens upwards

export function Menu({
  label,
  cls,
  items,
  children,
}: {
  label: string;
  cls: string;
  items: MenuItem[];
  children: ComponentChildren;
}): JSX.Element | null {
  const id = useId(),
    button = useRef<HTMLButtonElement>(null),
    box = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);
  if (!items.length) return null;
  const place = (): void => {
    const b = button.current!.getBoundingClientRect(),
      up = innerHeight - b.bottom < ROOM && b.top > ROOM;
    const { style } = box.current!;
    style.left = `${b.right}px`;
    style.top = `${up ? b.top - 4 : b.bottom + 4}px`;
    style.transform = `translate(-100%, ${up ? '-100%' : '0'})`;
  };
  const step = (d: number): void => {
    const all = [...box.current!.querySelectorAll('button')],
      at = all.indexOf(document.activeElement as HTMLButtonElement);
    all[(at + d + all.length) % all.length]?.focus();
  };
  const keys = (e: KeyboardEvent): void => {
    const d = e.key === 'ArrowDown' ? 1 : e.key === 'ArrowUp' ? -1 : 0;
    if (d) {
      e.preventDefault();
      step(d);
    }
    if (e.key !== 'Tab') e.stopPropagation();
  };
  return (
    <>
      <button
        ref={button}
        class={cls}
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={open}
        popovertarget={id}
      >
        {children}
      </button>
      <div
        ref={box}
        id={id}
        popover="auto"
        class="menu float"
        role="menu"
        aria-label={label}
        onKeyDown={keys}
        onClick={(e) => e.stopPropagation()}
        onBeforeToggle={(e: ToggleEvent) => {
          const now = e.newState === 'open';
          if (now) place();
          setOpen(now);
        }}
        onToggle={(e: ToggleEvent) => {
          if (e.newState === 'open') box.current?.querySelector('button')?.focus();
        }}
      >
        {open &&
          items.map((i) => (
            <button
              key={i.title}
              role="menuitem"
              onClick={() => {
                box.current?.hidePopover();
                i.act();
              }}
            >
              <Icon name={i.icon} />
              <span class="grow">{i.title}</span>
              {i.key && <kbd aria-hidden="true">{i.key}</kbd>}
            </button>
          ))}
      </div>
    </>
  );
}
