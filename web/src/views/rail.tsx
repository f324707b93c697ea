// The tree rail: virtual rows of one height, each with its own piece of the drawing.
import { memo } from './memo.ts';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { count, plural, time, tokens } from '../model/format.ts';
import { fields, textOr } from '../model/json.ts';
import { LANES_MAX } from '../model/lanes.ts';
import type { RailRow, Zoom } from '../model/rail.ts';
import { visible } from '../model/safe.ts';
import { Icon } from '../parts/icons.tsx';
import type { Look } from '../state/look.ts';
import { Bars } from './lazy.tsx';
import { seamTokens } from './seam.ts';

export const RAIL = 324; // its width, until it is dragged
const LANE = 15,
  X0 = 18,
  OVERSCAN = 8;
const colour = (c: number): string => (c === 0 ? 'var(--accent)' : `var(--lane-${c})`);
const laneX = (lane: number): number => X0 + Math.min(lane, LANES_MAX) * LANE;

function NodeShape({ row, x, y }: { row: RailRow; x: number; y: number }): JSX.Element {
  const c = colour(row.colour);
  if (row.leaf)
    return (
      <>
        <circle cx={x} cy={y} r={6.5} fill="none" stroke={c} stroke-width={1.6} />
        <circle cx={x} cy={y} r={3.5} fill={c} />
      </>
    );
  switch (row.node) {
    case 'seam':
      return (
        <rect
          x={x - 4.5}
          y={y - 4.5}
          width={9}
          height={9}
          rx={1.5}
          transform={`rotate(45 ${x} ${y})`}
          fill="var(--amber-soft)"
          stroke="var(--amber-line)"
          stroke-width={1.8}
        />
      );
    case 'summary':
      return <path d={`M${x - 4} ${y - 4}h8v8h-8z`} fill="var(--surface)" stroke={c} stroke-width={1.6} />;
    case 'batch':
      return (
        <>
          <circle cx={x} cy={y} r={4} fill="var(--surface)" stroke={c} stroke-width={1.8} />
          <circle cx={x} cy={y} r={1.3} fill={c} />
        </>
      );
    case 'prompt':
      return <circle cx={x} cy={y} r={4.2} fill={row.onPath ? c : 'var(--surface)'} stroke={c} stroke-width={1.8} />;
    case 'reply':
      return <circle cx={x} cy={y} r={3.2} fill="var(--surface)" stroke={c} stroke-width={1.6} />;
    default:
      return <circle cx={x} cy={y} r={2.5} fill={c} />;
  }
}

function LaneDrawing({
  row,
  height,
  width,
  first,
  passColours,
}: {
  row: RailRow;
  height: number;
  width: number;
  first: boolean;
  passColours: string;
}): JSX.Element {
  const x = laneX(row.lane),
    from = laneX(row.lane - 1),
    mid = height / 2,
    c = colour(row.colour),
    w = row.colour ? 1.6 : 2;
  return (
    <svg class="lane" width={width} height={height} viewBox={`0 0 ${width} ${height}`} fill="none" aria-hidden="true">
      {passColours
        .split(',')
        .map(Number)
        .map((pc, lane) =>
          pc >= 0 ? (
            <path key={lane} d={`M${laneX(lane)} 0V${height}`} stroke={colour(pc)} stroke-width={pc ? 1.6 : 2} />
          ) : null,
        )}
      {row.first ? (
        <path
          d={`M${from} ${-mid * 0.35}C${from} ${mid * 0.55} ${x} ${mid * 0.1} ${x} ${mid}`}
          stroke={c}
          stroke-width={w}
        />
      ) : (
        !first && <path d={`M${x} 0V${mid}`} stroke={c} stroke-width={w} />
      )}
      {row.goesOn && <path d={`M${x} ${mid}V${height}`} stroke={c} stroke-width={w} />}
      <NodeShape row={row} x={x} y={mid} />
    </svg>
  );
}

export function rowText(session: Look, row: RailRow): string {
  const s = session.skeleton;
  if (row.node === 'run') return `${plural(row.steps, 'step')}${row.failed ? `, ${row.failed} failed` : ''}`;
  const words = visible(session.words(row.entry).replace(/\s+/g, ' '));
  if (row.node === 'seam') {
    const { before, after } = seamTokens(session, row.entry);
    return s.kindAt(row.entry) === 'z'
      ? 'Context was cleared'
      : `Compacted${before !== null ? ` · ${tokens(before)}${after !== null ? ` → ${tokens(after)}` : ''}` : ''}`;
  }
  if (row.node === 'summary') return `Summary${words ? `: ${words}` : ''}`;
  if (row.node === 'batch') {
    const tasks = session.body(row.entry)?.['tasks'];
    const agents = (all: unknown[]): string => all.map((t) => textOr(fields(t)['agent'], 'worker')).join(', ');
    return Array.isArray(tasks) ? `${plural(tasks.length, 'worker')} · ${visible(agents(tasks))}` : words || 'Workers';
  }
  if (row.node === 'other' && s.roleAt(row.entry) === 't') return words ? `Result: ${words}` : 'Result';
  if (words) return words;
  if (row.node === 'other')
    return (
      { m: 'result', o: 'model', t: 'thinking level', l: 'label', x: 'custom', n: 'name', W: 'workers’ result' }[
        s.kindAt(row.entry)
      ] ?? 'entry'
    );
  return row.node === 'reply' ? 'Reply' : '…';
}

const Row = memo(function Row({
  session,
  row,
  index,
  height,
  width,
  selected,
  hit,
  total,
  passColours,
  choose,
  version,
}: {
  session: Look;
  row: RailRow;
  index: number;
  height: number;
  width: number;
  selected: boolean;
  hit: boolean;
  total: number;
  passColours: string;
  choose: (r: RailRow) => void;
  version: number;
}): JSX.Element {
  void version;
  const label = session.skeleton.labels.get(row.entry);
  const dim = row.node === 'run' || row.node === 'other';
  const seam = row.node === 'seam' ? ' tseam' : '';
  return (
    <div
      class={`tr${row.onPath ? ' act' : ' off'}${seam}${selected ? ' sel' : ''}${hit ? ' found' : ''}`}
      role="treeitem"
      id={`rail-${index}`}
      aria-level={row.level}
      aria-posinset={index + 1}
      aria-setsize={total}
      aria-selected={selected}
      aria-expanded={row.folded ? false : undefined}
      style={{ transform: `translateY(${index * height}px)`, height: `${height}px` }}
      onClick={() => choose(row)}
    >
      <LaneDrawing row={row} height={height} width={width} first={index === 0} passColours={passColours} />
      <span class="x">
        <span class={`u trunc${dim ? ' dim' : ''}`} dir="auto">
          {rowText(session, row)}
        </span>
        {label && <span class="chip tag">{visible(label)}</span>}
        {row.leaf && <span class="chip green">{session.isPreview.value ? 'shown' : 'leaf'}</span>}
        {row.folded && (
          <span class="chip violet" title={`${row.folded.prompts} prompts, ${row.folded.entries} entries`}>
            {row.folded.prompts} · {count(row.folded.entries)}
          </span>
        )}
        <span class="m num">{row.node === 'run' ? '' : time(session.skeleton.time[row.entry]!)}</span>
      </span>
    </div>
  );
});

// Colours of the lanes that pass a row: of the branch that each lane carries at that place.
function passes(rows: RailRow[], from: number, to: number): string[] {
  const carried: number[] = [];
  const out: string[] = [];
  for (let i = 0; i < to; i++) {
    const r = rows[i]!;
    if (i >= from)
      out.push(Array.from({ length: LANES_MAX }, (_, l) => (r.pass & (1 << l) ? (carried[l] ?? 0) : -1)).join());
    carried[r.lane] = r.colour;
  }
  return out;
}

export const FILTERS: [string, string][] = [
  ['no-tools', 'No tools'],
  ['mine', 'Mine only'],
  ['labelled', 'Labelled'],
  ['errors', 'Errors'],
];

function Filters({ session }: { session: Look }): JSX.Element {
  const [open, setOpen] = useState(false);
  const on = session.show.value;
  const toggle = (f: string): void => {
    const next = new Set(on);
    if (next.has(f)) next.delete(f);
    else next.add(f);
    session.chosen(session.zoom.value, next);
  };
  return (
    <div class="menu-w">
      <button
        class={`iconbtn s26${on.size ? ' on' : ''}`}
        aria-label="Filter tree"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <Icon name="filter" />
      </button>
      {open && (
        <div
          class="menu"
          role="group"
          aria-label="Filter tree"
          onKeyDown={(e) => {
            if (e.key === 'Escape') setOpen(false);
          }}
        >
          {FILTERS.map(([f, t]) => (
            <label key={f}>
              <input type="checkbox" checked={on.has(f)} onChange={() => toggle(f)} />
              {t}
            </label>
          ))}
        </div>
      )}
    </div>
  );
}

interface RailProps {
  session: Look;
  choose: (entry: number) => void;
  window: { value: { from: number; to: number } | null };
  phone: boolean;
  width: number;
  widen: (width: number) => void;
}

export function Rail({ session, choose, window: win, phone, width: wide, widen }: RailProps): JSX.Element {
  const height = phone ? 44 : 30;
  const { rows, width, row: at, prompts, branches } = session.railRows.value;
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  const [railWidth, setRailWidth] = useState(wide);
  const version = session.shape.value + session.bodyCount.value;
  const selectedIndex = session.skeleton.index.get(session.selectedEntryId.value ?? '') ?? -1;
  const selected = nearestRow(session, rows, at, selectedIndex);
  const from = Math.max(0, Math.floor(view.top / height) - OVERSCAN);
  const to = Math.min(rows.length, Math.ceil((view.top + view.height) / height) + OVERSCAN);
  const colours = useMemo(() => passes(rows, from, to), [rows, from, to]);
  const hits = session.hits.value;
  const found = useMemo(
    () =>
      new Set(
        (hits?.hits ?? []).flatMap((h) => {
          const i = session.skeleton.index.get(h.entryId);
          const k = i === undefined ? -1 : nearestRow(session, rows, at, i);
          return k < 0 ? [] : [k];
        }),
      ),
    [hits, rows],
  );
  useLayoutEffect(() => {
    const el = scroller.current!;
    const look = (): void => setView({ top: el.scrollTop, height: el.clientHeight });
    const ro = new ResizeObserver(look);
    ro.observe(el);
    el.addEventListener('scroll', look, { passive: true });
    return () => {
      ro.disconnect();
      el.removeEventListener('scroll', look);
    };
  }, []);
  // The selected row stays in sight.
  useEffect(() => {
    const el = scroller.current;
    if (!el || selected < 0) return;
    const top = selected * height;
    if (top < el.scrollTop + height || top > el.scrollTop + el.clientHeight - 2 * height)
      el.scrollTop = Math.max(0, top - el.clientHeight / 2);
  }, [selected, rows.length, height]);
  // What the shape does not tell (seams' figures, first words) comes from bodies.
  useEffect(() => {
    const want = rows
      .slice(from, to)
      .filter(
        (r) =>
          r.node === 'seam' ||
          r.node === 'batch' ||
          (r.node !== 'run' && r.node !== 'other' && !session.skeleton.text.has(r.entry)),
      )
      .map((r) => r.entry);
    session.need('rail', want);
  }, [from, to, session.shape.value]);
  const pick = (r: RailRow): void => {
    if (r.folded) {
      session.open.value = new Set([...session.open.value, r.entry]);
      session.shut.value = new Set([...session.shut.value].filter((x) => x !== r.entry));
      return;
    }
    choose(r.entry);
  };
  const keys = (e: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15 }[e.key];
    const to2 =
      e.key === 'Home'
        ? 0
        : e.key === 'End'
          ? rows.length - 1
          : step !== undefined
            ? Math.min(rows.length - 1, Math.max(0, selected + step))
            : -1;
    const r = rows[selected];
    if (to2 >= 0) {
      e.preventDefault();
      e.stopPropagation();
      const t = rows[to2];
      if (t) choose(t.entry);
    } else if (e.key === 'ArrowRight' && r?.folded) {
      e.preventDefault();
      pick(r);
    } else if (e.key === 'ArrowLeft' && r && r.lane > 0) {
      e.preventDefault();
      let k = selected;
      while (k > 0 && !(rows[k]!.first && rows[k]!.lane === r.lane)) k--;
      session.shut.value = new Set([...session.shut.value, rows[k]!.entry]);
      choose(rows[k]!.entry);
    } else if (e.key === '*') {
      e.preventDefault();
      session.open.value = new Set(
        rows
          .filter((x) => x.folded)
          .map((x) => x.entry)
          .concat([...session.open.value]),
      );
    }
    // Letters look for a row when one came here by the keyboard; after a click they are the session's keys.
    else if (/^\p{L}$/u.test(e.key) && !e.ctrlKey && !e.metaKey && scroller.current!.matches(':focus-visible')) {
      e.preventDefault();
      typeAhead(e.key);
    }
  };
  const typed = useRef({ text: '', at: 0 });
  const typeAhead = (key: string): void => {
    const t = typed.current;
    t.text = Date.now() - t.at < 700 ? t.text + key.toLowerCase() : key.toLowerCase();
    t.at = Date.now();
    for (let k = 1; k <= rows.length; k++) {
      const r = rows[(Math.max(0, selected) + k) % rows.length]!;
      if (rowText(session, r).toLowerCase().startsWith(t.text)) {
        choose(r.entry);
        return;
      }
    }
  };
  const drag = (e: PointerEvent): void => {
    const start = e.clientX - railWidth;
    const el = e.currentTarget as HTMLElement;
    el.setPointerCapture(e.pointerId);
    let w = railWidth;
    const move = (m: PointerEvent): void => {
      w = Math.min(560, Math.max(220, m.clientX - start));
      setRailWidth(w);
    };
    const up = (): void => {
      el.removeEventListener('pointermove', move);
      el.removeEventListener('pointerup', up);
      widen(w);
    };
    el.addEventListener('pointermove', move);
    el.addEventListener('pointerup', up);
  };
  const svgWidth = laneX(Math.min(width, LANES_MAX)) + 13;
  const zooms: [Zoom, string][] = [
    ['prompts', 'Prompts'],
    ['turns', 'Turns'],
    ['all', 'All'],
  ];
  return (
    <aside class="rail" aria-label="Tree" style={phone ? undefined : { width: `${railWidth}px` }}>
      <div class="rail-h">
        <h2>Tree</h2>
        <span class="grow" />
        <span class="seg" role="group" aria-label="Detail">
          {zooms.map(([z, t]) => (
            <button
              key={z}
              aria-pressed={session.zoom.value === z}
              onClick={() => {
                session.chosen(z, session.show.value);
              }}
            >
              {t}
            </button>
          ))}
        </span>
        <Filters session={session} />
      </div>
      <div
        class="tree"
        ref={scroller}
        role="tree"
        aria-label="Entries"
        tabIndex={0}
        aria-activedescendant={selected >= from && selected < to ? `rail-${selected}` : undefined}
        onKeyDown={keys}
      >
        {session.sessionMeta.value ? (
          <div class="tree-in" role="presentation" style={{ height: `${rows.length * height}px` }}>
            {rows.slice(from, to).map((r, k) => (
              <Row
                key={r.entry}
                session={session}
                row={r}
                index={from + k}
                height={height}
                width={svgWidth}
                selected={from + k === selected}
                hit={found.has(from + k)}
                total={rows.length}
                passColours={colours[k]!}
                choose={pick}
                version={version}
              />
            ))}
            <Thumb session={session} rows={rows} window={win} height={height} />
          </div>
        ) : (
          <Bars rows={8} />
        )}
      </div>
      {found.size > 0 && (
        <div class="ticks" aria-hidden="true">
          {[...found].map((k) => (
            <i key={k} style={{ top: `${(k / Math.max(1, rows.length)) * 100}%` }} />
          ))}
        </div>
      )}
      <div class="rail-f">
        <span class="num">
          {!session.sessionMeta.value ? (
            '\u00a0'
          ) : (
            <>
              {plural(session.sessionMeta.value?.entryCount ?? session.skeleton.n, 'entry', 'entries')} ·{' '}
              {plural(prompts, 'prompt')}
              {branches ? ` · ${plural(branches, 'branch', 'branches')}` : ''}
            </>
          )}
        </span>
      </div>
      {!phone && <div class="grip" onPointerDown={drag} aria-hidden="true" />}
    </aside>
  );
}

// The row of an entry: its own, or of the run or node above it that stands for it.
function nearestRow(session: Look, rows: RailRow[], at: Map<number, number>, entry: number): number {
  for (let i = entry; i >= 0; i = session.skeleton.parent[i]!) {
    const row = at.get(i);
    if (row !== undefined) return row;
  }
  return rows.findIndex((r) => r.leaf && entry < 0);
}

// What part of the path is on screen. Only this is drawn again while the reader scrolls.
function Thumb({
  session,
  rows,
  window: win,
  height,
}: {
  session: Look;
  rows: RailRow[];
  window: { value: { from: number; to: number } | null };
  height: number;
}): JSX.Element | null {
  const path = useMemo(() => rows.flatMap((r, k) => (r.onPath ? [{ entry: r.entry, k }] : [])), [rows]);
  const shown = session.visibleEntries.value.rows,
    w = win.value;
  const first = w ? shown[w.from]?.entries[0] : undefined;
  if (!w || first === undefined || !path.length) return null;
  const last = shown[Math.min(w.to, shown.length - 1)]?.entries[0] ?? Infinity;
  // The last row of the path at or above an entry.
  const row = (entry: number): number => {
    let low = 0,
      high = path.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (path[mid]!.entry <= entry) low = mid + 1;
      else high = mid;
    }
    return path[Math.max(0, low - 1)]!.k;
  };
  const a = row(first),
    b = row(last);
  return (
    <i
      class="view-win"
      style={{ top: `${a * height + 3}px`, height: `${Math.max(height, (b - a + 1) * height) - 6}px` }}
      aria-hidden="true"
    />
  );
}
