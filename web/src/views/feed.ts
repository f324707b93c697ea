// The rows of a conversation in a virtual list: at most 20,000 of them around the place that is shown (a
// browser lays out elements of limited height), re-seated while nothing moves. The place is kept as (row,
// pixels): whatever is loaded, measured or re-seated, the row stays where it is.
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Virtualizer } from '@tanstack/virtual-core';
import type { Row } from '../model/rows.ts';
import { useVirtual } from './virtual.ts';

export const SEATS = 20_000;
const EDGE = 2000;

export interface Place {
  row: string;
  px: number;
} // the key of a row, and how far it is scrolled out at the top

export interface Feed {
  v: Virtualizer<HTMLElement, HTMLElement>;
  seat: number; // the first row that has a seat
  toRow: (row: number, align: 'start' | 'center' | 'auto') => void;
  toEnd: () => void;
  place: () => Place | null;
  toPlace: (p: Place) => boolean;
}

// Where the window of rows begins so that this row is well inside.
export function seatFor(row: number, rows: number, seat: number): number {
  const end = Math.min(rows, seat + SEATS);
  const inside = (seat === 0 || row >= seat + EDGE) && (end === rows || row < end - EDGE) && row < end && row >= seat;
  return inside ? Math.min(seat, Math.max(0, rows - 1)) : Math.max(0, Math.min(rows - SEATS, row - SEATS / 2));
}

export function useFeed(
  rows: Row[],
  rowOfKey: (key: string) => number | undefined,
  scroller: RefObject<HTMLElement | null>,
  guess: (r: Row) => number,
  following: () => boolean,
): Feed {
  const [seat, setSeat] = useState(0);
  const held = useRef<Place | null>(null);
  const pin = useRef<Place | null>(null),
    pinnedAt = useRef<number | null>(null); // below
  const before = useRef<{ rows: Row[]; seat: number } | null>(null);
  const heldRow =
    before.current !== null && before.current.rows !== rows && held.current ? rowOfKey(held.current.row) : undefined;
  const at = following()
    ? Math.max(0, rows.length - SEATS)
    : heldRow !== undefined
      ? seatFor(heldRow, rows.length, seat)
      : Math.min(seat, Math.max(0, rows.length - 1));
  const v = useVirtual({
    count: Math.min(SEATS, rows.length - at),
    scroller,
    guess: (i) => guess(rows[at + i]!),
    keyOf: (i) => rows[at + i]!.key,
    overscan: 4,
    top: 8,
    bottom: 64,
    stamp: [rows, at],
    moved: () => {
      if (pin.current) pinnedAt.current = scroller.current!.scrollTop;
    },
  });

  const startOf = (row: number): number | undefined => {
    v.getTotalSize();
    return v.measurementsCache[row - at]?.start;
  };
  // The first row on screen that is there for good: a gap may be replaced by what it stands for.
  const place = (): Place | null => {
    const top = v.scrollOffset ?? 0;
    const list = v.measurementsCache;
    let low = 0,
      high = list.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (list[mid]!.end <= top) low = mid + 1;
      else high = mid;
    }
    while (low < list.length && rows[at + low]?.kind === 'gap') low++;
    const item = list[low];
    return item && rows[at + low] ? { row: rows[at + low]!.key, px: top - item.start } : null;
  };
  const offsetOf = (p: Place): number | undefined => {
    const row = rowOfKey(p.row);
    const start = row === undefined || row < at ? undefined : startOf(row);
    return start === undefined ? undefined : Math.max(0, start + p.px);
  };

  // The rows or their seats changed: the list is computed for where the place is now, so that no frame shows another.
  const changed = before.current !== null && (before.current.rows !== rows || before.current.seat !== at);
  let wanted: number | undefined;
  if (changed && !following() && held.current) {
    wanted = offsetOf(held.current);
    if (wanted !== undefined && Math.abs(wanted - (v.scrollOffset ?? 0)) >= 1) v.scrollOffset = wanted;
    else wanted = undefined;
  }
  before.current = { rows, seat: at };
  useLayoutEffect(() => {
    if (wanted !== undefined && scroller.current) scroller.current.scrollTop = wanted;
    // While the reader scrolls up, heights that become known move the rows without a scroll event: the place is
    // what is on screen now.
    else if (held.current) held.current = place();
  });
  useLayoutEffect(() => {
    if (seat !== at) setSeat(at);
  }, [at]);

  useEffect(() => {
    const el = scroller.current!;
    let timer = 0;
    const rest = (): void => {
      const p = held.current,
        row = p ? latest.current.rowOfKey(p.row) : undefined;
      if (row !== undefined && !latest.current.following()) setSeat((s) => seatFor(row, latest.current.rows.length, s));
    };
    const look = (): void => {
      unpin();
      held.current = latest.current.place();
      clearTimeout(timer);
      timer = setTimeout(rest, 150) as unknown as number;
    };
    el.addEventListener('scroll', look, { passive: true });
    return () => {
      el.removeEventListener('scroll', look);
      clearTimeout(timer);
    };
  }, []);
  const latest = useRef({ rows, rowOfKey, following, place, offsetOf });
  latest.current = { rows, rowOfKey, following, place, offsetOf };

  // A place that one went to is held while heights become known, until one moves: by hand, or by what scrolls
  // without a key or a pointer (the browser's own search).
  const unpin = (): void => {
    const el = scroller.current!,
      to = pin.current ? latest.current.offsetOf(pin.current) : undefined;
    // Heights may have become known since the list scrolled, so that the place is not there any more.
    if (pinnedAt.current !== null && Math.abs(el.scrollTop - pinnedAt.current) < 1) return;
    if (to !== undefined && Math.abs(Math.min(to, el.scrollHeight - el.clientHeight) - el.scrollTop) > 2)
      pin.current = null;
  };
  useLayoutEffect(() => {
    const el = scroller.current,
      to = pin.current && el ? offsetOf(pin.current) : undefined;
    if (to === undefined) return;
    const wanted = Math.min(to, el!.scrollHeight - el!.clientHeight);
    if (Math.abs(el!.scrollTop - wanted) >= 1) {
      if (pinnedAt.current !== null && Math.abs(el!.scrollTop - pinnedAt.current) >= 1) {
        pin.current = null;
        return;
      }
      el!.scrollTop = wanted;
    }
    pinnedAt.current = el!.scrollTop;
  });
  useEffect(() => {
    const el = scroller.current!,
      kinds = ['wheel', 'touchstart', 'pointerdown', 'keydown'];
    const letGo = (): void => {
      pin.current = null;
    };
    for (const k of kinds) el.addEventListener(k, letGo, { passive: true });
    return () => {
      for (const k of kinds) el.removeEventListener(k, letGo);
    };
  }, []);

  const pending = useRef<{ row: number; align: 'start' | 'center' | 'auto'; px: number } | null>(null);
  const settle = (): void => {
    const p = pending.current;
    if (!p || p.row < at || p.row >= at + SEATS) return;
    pending.current = null;
    if (p.px) {
      const start = startOf(p.row);
      if (start !== undefined && scroller.current) scroller.current.scrollTop = start + p.px;
    } else v.scrollToIndex(p.row - at, { align: p.align });
  };
  useLayoutEffect(settle, [at]);
  const toRow = (row: number, align: 'start' | 'center' | 'auto', px = 0): void => {
    pending.current = { row, align, px };
    pin.current = align === 'start' && rows[row] ? { row: rows[row]!.key, px } : null;
    pinnedAt.current = null;
    const to = seatFor(row, rows.length, at);
    if (row >= at && row < Math.min(rows.length, at + SEATS)) settle();
    else {
      held.current = null;
      setSeat(to);
    }
  };
  const toPlace = (p: Place): boolean => {
    const row = rowOfKey(p.row);
    if (row === undefined) return false;
    toRow(row, 'start', p.px || 0.01);
    return true;
  };
  const toEnd = (): void => {
    pin.current = null;
    const el = scroller.current;
    if (el) el.scrollTop = el.scrollHeight;
  };
  return { v, seat: at, toRow, toEnd, place, toPlace };
}
