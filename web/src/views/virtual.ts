// The virtual list as a hook. Heights are guessed, measured once drawn, and kept by key.
import { elementScroll, measureElement, observeElementOffset, observeElementRect, Virtualizer } from '@tanstack/virtual-core';
import type { RefObject } from 'preact';
import { useLayoutEffect, useReducer, useState } from 'preact/hooks';

export interface VirtualOptions {
  count: number;
  scroller: RefObject<HTMLElement | null>;
  guess: (i: number) => number;
  keyOf: (i: number) => string;
  overscan?: number;
  top?: number;
  bottom?: number;
}

export function useVirtual(o: VirtualOptions): Virtualizer<HTMLElement, HTMLElement> {
  const [, draw] = useReducer((n: number) => n + 1, 0);
  const options = {
    count: o.count, getScrollElement: () => o.scroller.current, estimateSize: o.guess, getItemKey: o.keyOf, overscan: o.overscan ?? 6,
    paddingStart: o.top ?? 0, paddingEnd: o.bottom ?? 0, scrollToFn: elementScroll, observeElementRect, observeElementOffset, measureElement,
    onChange: () => draw(undefined as never), useScrollendEvent: false,
  };
  const [v] = useState(() => new Virtualizer<HTMLElement, HTMLElement>(options));
  v.setOptions(options);
  useLayoutEffect(() => v._didMount(), []);
  useLayoutEffect(() => { v._willUpdate(); });
  return v;
}
