// The virtual list as a hook. Heights are guessed, measured once drawn, and kept by key.
import {
  elementScroll,
  measureElement,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
} from '@tanstack/virtual-core';
import type { RefObject } from 'preact';
import { useLayoutEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks';

export interface VirtualOptions {
  count: number;
  scroller: RefObject<HTMLElement | null>;
  guess: (i: number) => number;
  keyOf: (i: number) => string;
  overscan?: number;
  top?: number;
  bottom?: number;
  stamp: unknown[]; // changes when other rows stand at the same places
  moved?: () => void; // the list scrolled by itself
}

export function useVirtual(o: VirtualOptions): Virtualizer<HTMLElement, HTMLElement> {
  const [, draw] = useReducer((n: number) => n + 1, 0);
  // The list takes a new function for new rows and lays all of them out again: it gets one only when they are.
  const latest = useRef(o);
  latest.current = o;
  const guess = useMemo(() => (i: number) => latest.current.guess(i), o.stamp);
  const keyOf = useMemo(() => (i: number) => latest.current.keyOf(i), o.stamp);
  const options = {
    count: o.count,
    getScrollElement: () => o.scroller.current,
    estimateSize: guess,
    getItemKey: keyOf,
    overscan: o.overscan ?? 6,
    paddingStart: o.top ?? 0,
    paddingEnd: o.bottom ?? 0,
    scrollToFn: (
      to: number,
      how: { adjustments?: number; behavior?: ScrollBehavior },
      list: Virtualizer<HTMLElement, HTMLElement>,
    ) => {
      elementScroll(to, how, list);
      latest.current.moved?.();
    },
    observeElementRect,
    observeElementOffset,
    measureElement,
    onChange: () => draw(undefined as never),
    useScrollendEvent: false,
  };
  const [v] = useState(() => new Virtualizer<HTMLElement, HTMLElement>(options));
  v.setOptions(options);
  useLayoutEffect(() => v._didMount(), []);
  useLayoutEffect(() => {
    v._willUpdate();
  });
  return v;
}
