// Single keys and two-key sequences. Views say which keys they have while they are on screen; the newest
// wins. Keys are off in fields and, but for Escape, in dialogs; Ctrl F stays the browser's.
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

export const keysOn = signal(true); // single letters act
export const overlay = signal<'palette' | 'help' | null>(null); // what lies over the page

export type Keys = Record<string, (e: KeyboardEvent) => void>;

const layers: { current: Keys }[] = [];
let before = '',
  beforeAt = 0;

const typing = (t: EventTarget | null): boolean =>
  t instanceof HTMLElement &&
  (t.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(t.tagName)) &&
  (t as HTMLInputElement).type !== 'checkbox';

function name(e: KeyboardEvent): string {
  if (e.ctrlKey || e.metaKey) return `Ctrl ${e.key.toLowerCase()}`;
  return e.key === ' ' ? 'Space' : e.key;
}

addEventListener('keydown', (e) => {
  if (e.defaultPrevented || e.altKey || e.isComposing) return;
  const key = name(e);
  const always = key === 'Ctrl k' || key === 'Escape';
  if (!always && (typing(e.target) || overlay.value || document.querySelector('dialog[open]'))) return;
  if (always && key !== 'Ctrl k' && document.querySelector('dialog[open]')) return;
  if (!always && key.length === 1 && !keysOn.value) return;
  const pair = Date.now() - beforeAt < 1200 ? `${before} ${key}` : '';
  for (const wanted of pair ? [pair, key] : [key]) {
    for (let i = layers.length - 1; i >= 0; i--) {
      const f = layers[i]!.current[wanted];
      if (!f) continue;
      e.preventDefault();
      before = '';
      f(e);
      return;
    }
  }
  before = key;
  beforeAt = Date.now();
});

// Keys that every page has are asked last: `base` says so.
export function useKeys(keys: Keys, base = false): void {
  const layer = useRef({ current: keys }).current;
  layer.current = keys;
  useEffect(() => {
    if (base) layers.unshift(layer);
    else layers.push(layer);
    return () => {
      layers.splice(layers.indexOf(layer), 1);
    };
  }, []);
}
