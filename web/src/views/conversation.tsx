// The conversation: a virtual feed of rows along the viewed path, which follows the leaf while the reader is at
// its end and lets go on any upward move.
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import { plural, time } from '../model/format.ts';
import { guessHeight } from '../model/rows.ts';
import { Icon } from '../parts/icons.tsx';
import { Lines } from '../parts/lines.tsx';
import { SourceContext } from '../parts/source.ts';
import type { Look } from '../state/look.ts';
import { ConversationRow, rowLabel, type RowProps } from './entry.tsx';
import { Boundary, Bars } from './lazy.tsx';
import { useFeed, type Place } from './feed.ts';

const NEAR_END = 80,
  HOLD_MS = 400,
  EDITS_MAX = 200;

// Where to go: to an entry, or back to a place that the history kept.
export interface Jump {
  entry: string;
  align: 'start' | 'center' | 'auto';
  place?: Place;
  n: number;
}

interface Props extends Omit<RowProps, 'row' | 'session'> {
  session: Look;
  resume: string | null;
  jump: Jump | null;
  follow: { value: boolean };
  onWindow: (w: { from: number; to: number }) => void;
  select: (entryId: string) => void;
  lines: { entry: string; from: number; to: number } | null;
}

export function Conversation(p: Props): JSX.Element {
  const { session } = p;
  const scroller = useRef<HTMLDivElement>(null);
  const { rows, rowOf, notShown } = session.visibleEntries.value;
  const selected = session.selectedEntryId.value;
  const newSince = useSignal<{ entry: number } | null>(null);
  void session.bodyCount.value;
  void session.subagents.value;
  const rowOfKey = (key: string): number | undefined => {
    if (key[0] === '#') {
      for (let k = rows.length - 1; k >= 0 && !rows[k]!.entries.length; k--) if (rows[k]!.key === key) return k;
      return undefined;
    }
    const i = session.skeleton.index.get(key);
    return i === undefined ? undefined : rowOf.get(i);
  };
  const feed = useFeed(
    rows,
    rowOfKey,
    scroller,
    (r) => guessHeight(session.skeleton, r),
    () => p.follow.value && !p.jump,
  );
  const { v, seat } = feed;
  const items = v.getVirtualItems();
  const from = seat + (items[0]?.index ?? 0),
    to = seat + (items.at(-1)?.index ?? 0);
  const size = v.getTotalSize();

  // Bodies of what is on screen, and a page ahead in the direction of travel.
  useEffect(() => {
    if (!rows.length) return;
    const ahead = Math.max(4, to - from);
    const a = v.scrollDirection === 'backward' ? from - ahead : from,
      b = v.scrollDirection === 'backward' ? to : to + ahead;
    const want: number[] = [];
    for (let k = Math.max(0, a); k <= Math.min(rows.length - 1, b); k++)
      want.push(...rows[k]!.entries.slice(0, 60), ...rows[k]!.entries.slice(-2));
    if (session.seam.value >= 0) want.push(session.seam.value);
    want.push(...session.editing.value.slice(-EDITS_MAX));
    session.need('rows', want, session.bodyCount.value === 0 || p.follow.value);
    p.onWindow({ from, to });
  }, [from, to, rows, session.bodyCount.value]);

  // At the end while following, whatever grows.
  useLayoutEffect(() => {
    if (p.follow.value && !p.jump) feed.toEnd();
  }, [size, rows.length, session.bodyCount.value]);

  useLayoutEffect(() => {
    if (!p.jump) return;
    const i = session.skeleton.index.get(p.jump.entry);
    const row = i === undefined ? undefined : rowOf.get(i);
    if (row !== undefined && !(p.jump.place && feed.toPlace(p.jump.place))) feed.toRow(row, p.jump.align);
  }, [p.jump?.n, rows.length === 0]);

  // The first text is there: what the page is for. (Two frames later it has been painted.)
  const useful = useRef(false);
  useEffect(() => {
    if (useful.current || !items.length) return;
    const shown = items.map((it) => rows[seat + it.index]).filter((r) => r && r.entries.length > 0 && r.kind !== 'gap');
    if (!shown.length || !shown.slice(-10).every((r) => session.body(r!.entries[0]!))) return;
    useful.current = true;
    requestAnimationFrame(() => requestAnimationFrame(() => performance.mark('grove:useful')));
  });

  // Back and forward come back to the same pixels.
  useEffect(() => {
    const el = scroller.current!;
    let timer = 0;
    const keepPlace = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        history.replaceState({ ...history.state, at: latest.current() }, '');
      }, 200) as unknown as number;
    };
    el.addEventListener('scroll', keepPlace, { passive: true });
    return () => {
      el.removeEventListener('scroll', keepPlace);
      clearTimeout(timer);
    };
  }, []);
  const latest = useRef(() => feed.place());
  latest.current = () => (p.follow.value ? null : feed.place());

  useEffect(() => {
    const el = scroller.current!;
    const letGo = (): void => {
      if (p.follow.value && el.scrollTop + el.clientHeight < el.scrollHeight - 2) p.follow.value = false;
    };
    // While entries come, the end is scrolled to again and again: an upward move counts for a moment.
    let upAt = -Infinity;
    const up = (): void => {
      p.follow.value = false;
      upAt = performance.now();
    };
    const wheel = (e: WheelEvent): void => {
      if (e.deltaY < 0) up();
    };
    const key = (e: KeyboardEvent): void => {
      if (['ArrowUp', 'PageUp', 'Home'].includes(e.key)) up();
    };
    let touch = 0;
    const start = (e: TouchEvent): void => {
      touch = e.touches[0]!.clientY;
    };
    const moved = (e: TouchEvent): void => {
      if (e.touches[0]!.clientY > touch + 4) up();
    };
    const scrolled = (): void => {
      if (performance.now() - upAt < HOLD_MS) return;
      const end = el.scrollTop + el.clientHeight >= el.scrollHeight - NEAR_END;
      if (end && !p.follow.value && el.scrollHeight > el.clientHeight && !session.isPreview.value) {
        session.arrived.value = 0;
        if (el.scrollTop + el.clientHeight >= el.scrollHeight - 2) p.follow.value = true;
      }
    };
    el.addEventListener('wheel', wheel, { passive: true });
    el.addEventListener('keydown', key);
    el.addEventListener('touchstart', start, { passive: true });
    el.addEventListener('touchmove', moved, { passive: true });
    el.addEventListener('scroll', scrolled, { passive: true });
    document.addEventListener('selectionchange', letGoIfSelecting);
    function letGoIfSelecting(): void {
      const s = document.getSelection();
      if (s && !s.isCollapsed && el.contains(s.anchorNode)) letGo();
    }
    return () => {
      el.removeEventListener('wheel', wheel);
      el.removeEventListener('keydown', key);
      el.removeEventListener('touchstart', start);
      el.removeEventListener('touchmove', moved);
      el.removeEventListener('scroll', scrolled);
      document.removeEventListener('selectionchange', letGoIfSelecting);
    };
  }, []);

  // "New since you looked": the first entry that was not there the last time.
  useEffect(() => {
    if (!session.seenSeq || newSince.value) return;
    const at = session.viewPath.value.find((i) => session.skeleton.seq[i]! > session.seenSeq);
    if (at !== undefined) newSince.value = { entry: at };
  }, [session.sessionMeta.value === null]);

  const take = (): void => {
    session.arrived.value = 0;
    p.follow.value = true;
    const el = scroller.current!;
    el.scrollTop = el.scrollHeight;
  };
  const named = p.lines ? (session.skeleton.index.get(p.lines.entry) ?? -1) : -1;
  const selectedRow = selected === null ? -1 : (rowOf.get(session.skeleton.index.get(selected) ?? -1) ?? -1);
  return (
    <SourceContext.Provider value={session}>
      <div
        class="flow"
        ref={scroller}
        tabIndex={0}
        role="feed"
        aria-label="Conversation"
        aria-busy={!session.sessionMeta.value}
      >
        {!session.sessionMeta.value && <Bars rows={8} />}
        <div class="flow-in" style={{ height: `${size}px` }}>
          {items.map((it) => {
            // A click selects the row before what was clicked acts: that may go elsewhere.
            const index = seat + it.index,
              row = rows[index]!;
            const mark = newSince.value !== null && row.entries.includes(newSince.value.entry);
            return (
              <article
                key={it.key}
                ref={(el) => {
                  if (el) v.measureElement(el);
                }}
                data-index={it.index}
                data-row={index}
                class={index === selectedRow ? 'on' : undefined}
                tabIndex={-1}
                aria-posinset={index + 1}
                aria-setsize={rows.length}
                aria-label={rowLabel(session, row)}
                style={{ transform: `translateY(${it.start}px)` }}
                onClickCapture={() => {
                  if (row.entries[0] !== undefined) p.select(session.skeleton.id[row.entries[0]]!);
                }}
              >
                {mark && (
                  <div class="newline">
                    <span>new since you looked, {time(session.skeleton.time[newSince.value!.entry]!)}</span>
                  </div>
                )}
                <Boundary what="entry">
                  <ConversationRow
                    {...p}
                    row={row}
                    following={p.follow.value}
                    notShown={notShown}
                    showAll={() => {
                      session.chosen('all', session.show.value);
                    }}
                  />
                  {named >= 0 && row.entries.includes(named) && session.body(named) && (
                    <Lines id={p.lines!.entry} entry={session.body(named)!} from={p.lines!.from} to={p.lines!.to} />
                  )}
                </Boundary>
              </article>
            );
          })}
        </div>
      </div>
      {!p.follow.value && session.arrived.value > 0 && !session.isPreview.value && (
        <button class="follow" onClick={take}>
          <Icon name="arrowd" />
          {plural(session.arrived.value, 'new entry', 'new entries')}
        </button>
      )}
      {session.isPreview.value && (
        <div class="preview-pill" role="status">
          <span>Preview of another branch</span>
          <button class="lnk" onClick={() => p.view('')}>
            Back to the leaf
          </button>
        </div>
      )}
      <div class="vh" role="status" aria-live="polite">
        {session.arrived.value > 0 ? plural(session.arrived.value, 'new entry', 'new entries') : ''}
      </div>
    </SourceContext.Provider>
  );
}
