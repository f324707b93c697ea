// What was used: four figures, stacked columns, and the same numbers in a table.
import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { get } from '../api/http.ts';
import { hub } from '../api/hub.ts';
import type { UsageReply, UsageRow, UsageSum } from '../api/types.ts';
import type { Routes } from '../api/wire.ts';
import { agentName, count, dayAndMonth, money, plural, project, tokens } from '../model/format.ts';
import { columns, daysBetween, margin, ticks, topSeries } from '../model/chart.ts';
import { formatRoute } from '../model/route.ts';
import { visible } from '../model/safe.ts';
import { Icon } from '../parts/icons.tsx';
import { go, route, setTitle } from '../state/app.ts';
import { Away } from './away.tsx';
import { sessions } from './sessions.tsx';
import { Bars } from './lazy.tsx';
import { TabBar } from './shell.tsx';

const BY: [string, string][] = [
  ['model', 'Model'],
  ['project', 'Project'],
  ['agent', 'Agent'],
  ['session', 'Session'],
];
const RANGES: [string, string][] = [
  ['7', '7 d'],
  ['30', '30 d'],
  ['90', '90 d'],
  ['all', 'All'],
];
const day = (ago: number): string => new Date(Date.now() - ago * 86_400_000).toLocaleDateString('sv');

const H = 230,
  B = 26,
  T = 10,
  WIDEST = 36;

function Chart({
  rows,
  names,
  byCost,
  estimated,
}: {
  rows: { key: string; stack: Record<string, number> }[];
  names: string[];
  byCost: boolean;
  estimated: Map<string, number>;
}): JSX.Element {
  // On a phone the drawing is narrower, so that its words keep their size.
  const W = innerWidth < 760 ? 420 : 1120;
  const cols = columns(rows, names);
  const lines = ticks(Math.max(...cols.map((c) => c.total), 0));
  const max = lines.at(-1)!;
  const y = (v: number): number => T + (H - T - B) * (1 - v / max);
  const unit = (v: number): string => (byCost ? `$${v}` : tokens(v));
  const L = margin(lines.map(unit));
  const bw = (W - L - 10) / Math.max(1, cols.length),
    wide = Math.min(bw * 0.68, WIDEST);
  const every = Math.max(1, Math.ceil(cols.length / (W < 500 ? 3 : 7)));
  return (
    <svg
      class="chart"
      viewBox={`0 0 ${W} ${H}`}
      role="img"
      aria-label={`${byCost ? 'Cost' : 'Tokens'} by day and model; the table below has the sums`}
    >
      {lines.map((v) => (
        <g key={v}>
          <line x1={L} x2={W - 8} y1={y(v)} y2={y(v)} />
          <text x={L - 8} y={y(v) + 4} text-anchor="end">
            {unit(v)}
          </text>
        </g>
      ))}
      {cols.map((c, i) => (
        <g key={c.key}>
          <title>{`${c.key}: ${byCost ? money(c.total, estimated.get(c.key)) : tokens(c.total)}`}</title>
          {c.parts.map((p) => (
            <rect
              key={p.name}
              class={`q${(names.indexOf(p.name) % 6) + 1}`}
              x={L + i * bw + (bw - wide) / 2}
              y={y(p.from + p.value)}
              width={wide}
              height={Math.max(0, y(p.from) - y(p.from + p.value) - 1)}
              rx={1.5}
            />
          ))}
          {(i % every === 0 || i === cols.length - 1) &&
            (i === cols.length - 1 || cols.length - 1 - i >= every / 2) && (
              <text
                x={L + i * bw + bw / 2 + (i === cols.length - 1 ? wide / 2 : i ? 0 : -wide / 2)}
                y={H - 8}
                text-anchor={i === cols.length - 1 ? 'end' : i ? 'middle' : 'start'}
              >
                {dayAndMonth(Date.parse(`${c.key}T12:00:00`))}
              </text>
            )}
        </g>
      ))}
    </svg>
  );
}

function nameOf(by: string, key: string): string {
  if (by === 'project') return project(key) || 'no directory';
  if (by === 'agent') return agentName(key);
  if (by === 'session') {
    const s = sessions.value.find((x) => x.id === key || x.key === key || x.path === key);
    return s
      ? s.name || s.firstMessage || key
      : key
          .split('/')
          .pop()!
          .replace(/\.jsonl$/, '');
  }
  return key || 'unknown';
}

function toCsv(by: string, rows: UsageRow[]): string {
  const cell = (v: unknown): string => {
    const t = String(v ?? '');
    return /[",\n]|^[=+\-@]/.test(t) ? `"${t.replace(/"/g, '""')}"` : t;
  };
  return (
    [
      [by, 'input', 'output', 'cacheRead', 'cacheWrite', 'totalTokens', 'cost'].join(),
      ...rows.map((r) =>
        [r.key, r.input, r.output, r.cacheRead, r.cacheWrite, r.totalTokens, r.cost ?? ''].map(cell).join(),
      ),
    ].join('\n') + '\n'
  );
}

function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  const a = document.createElement('a');
  a.href = url;
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

const total = (r: UsageSum): number => r.totalTokens || r.input + r.output + r.cacheRead + r.cacheWrite;

// Rounded to be read; the title has all of it.
function Figure({ n, hide = false }: { n: number; hide?: boolean }): JSX.Element {
  return (
    <td class={hide ? 'hidep' : undefined} title={count(n)}>
      {tokens(n)}
    </td>
  );
}

function Table({ by, rows, unpriced }: { by: string; rows: UsageRow[]; unpriced: Set<string> }): JSX.Element {
  const [all, setAll] = useState(false);
  const sorted = [...rows].sort((a, b) => (b.cost ?? -1) - (a.cost ?? -1) || total(b) - total(a));
  const shown = all ? sorted : sorted.slice(0, 50);
  const max = Math.max(...rows.map((r) => r.cost ?? 0), 0);
  return (
    <div class="card scrollx" tabIndex={0} role="group" aria-label="Figures">
      <table class="t">
        <thead>
          <tr>
            <th scope="col">{BY.find((b) => b[0] === by)?.[1] ?? by}</th>
            <th scope="col" class="hidep">
              Input
            </th>
            <th scope="col">Output</th>
            <th scope="col" class="hidep">
              Cache read
            </th>
            <th scope="col" class="hidep">
              Cache write
            </th>
            <th scope="col" class="w">
              <span class="vh">Share</span>
            </th>
            <th scope="col">Cost</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((r) => (
            <tr key={r.key}>
              <td class="k">
                <span class="trunc" title={visible(r.key)}>
                  {visible(nameOf(by, r.key))}
                </span>
              </td>
              <Figure n={r.input} hide />
              <Figure n={r.output} />
              <Figure n={r.cacheRead} hide />
              <Figure n={r.cacheWrite} hide />
              <td class="w">
                {max > 0 && r.cost ? <div class="hb" style={{ width: `${(r.cost / max) * 100}%` }} /> : null}
              </td>
              <td class="cost">
                {r.cost === null || unpriced.has(r.key) ? (
                  <span class="chip">no price known</span>
                ) : (
                  money(r.cost, r.estimated)
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {shown.length < sorted.length && (
        <button class="more" onClick={() => setAll(true)}>
          Show {sorted.length - shown.length} more
        </button>
      )}
    </div>
  );
}

// The server refuses what it does not know.
type By = NonNullable<Routes['GET /usage']['params']['by']>;

export function UsagePage(): JSX.Element {
  const q = route.value.query;
  const by = (q.get('by') ?? 'model') as By,
    range = q.get('range') ?? '30';
  const since = q.get('since') ?? (range === 'all' ? null : day(Number(range) - 1));
  const [days, setDays] = useState<UsageReply | null>(null);
  const [table, setTable] = useState<UsageReply | null>(null);
  const [bySession, setBySession] = useState<UsageRow[] | null>(null);
  const [failed, setFailed] = useState<string | null>(null);
  useEffect(() => {
    setTitle('Usage');
    hub.want({ list: true, sessions: {} });
    if (!sessions.value.length)
      get('/sessions', { limit: 500 }).then(
        (r) => {
          if (!sessions.value.length) sessions.value = r.sessions;
        },
        () => undefined,
      );
  }, []);
  const params: Record<string, string> = since ? { since } : {};
  const fail = (e: Error): void => setFailed(e.message);
  // The columns are by model, whatever the table is by: so the server breaks a day down.
  useEffect(() => {
    get('/usage', { by: 'day', stack: 'model', ...params }).then(setDays, fail);
  }, [since]);
  useEffect(() => {
    get('/usage', { by, ...params }).then((r) => {
      setTable(r);
      if (by === 'session') setBySession(r.rows);
    }, fail);
    if (by !== 'session')
      get('/usage', { by: 'session', ...params }).then(
        (r) => setBySession(r.rows),
        () => undefined,
      );
  }, [by, since]);
  const set = (change: Record<string, string>): void => {
    const query = new URLSearchParams(q);
    for (const [k, v] of Object.entries(change)) query.set(k, v);
    query.delete('since');
    go(formatRoute({ page: 'usage', query }), { replace: true });
  };
  const chart = useMemo(() => {
    if (!days?.rows.length) return null;
    const byCost = days.rows.some((r) => (r.cost ?? 0) > 0);
    const value = (r: UsageSum): number => (byCost ? (r.cost ?? 0) : total(r));
    const stacks = new Map(
      days.rows.map((r) => [r.key, Object.fromEntries(Object.entries(r.stack ?? {}).map(([n, x]) => [n, value(x)]))]),
    );
    const keys = [...stacks.keys()].sort();
    const rows = daysBetween(since && since > keys[0]! ? since : (since ?? keys[0]!), day(0)).map((key) => ({
      key,
      stack: stacks.get(key) ?? {},
    }));
    const { names, rest } = topSeries(rows);
    for (const r of rows) {
      const other = rest.reduce((s, n) => s + (r.stack[n] ?? 0), 0);
      if (other) (r.stack as Record<string, number>)['other'] = other;
    }
    return {
      rows: rows.slice(-400),
      names: rest.length ? [...names, 'other'] : names,
      byCost,
      estimated: new Map(days.rows.map((r) => [r.key, r.estimated ?? 0])),
    };
  }, [days, since]);
  const t = table?.totals;
  const dearest = bySession?.reduce<UsageRow | null>((most, r) => ((r.cost ?? 0) > (most?.cost ?? 0) ? r : most), null);
  const unpriced = new Set((table?.unpriced ?? []).map((u) => u.model));
  const cached = t && total(t) ? Math.round((t.cacheRead / total(t)) * 100) : 0;
  const away = table?.away ?? days?.away;
  return (
    <main class="wrap" id="main" tabIndex={-1}>
      <div class="head">
        <h1>Usage</h1>
        <span class="seg" role="group" aria-label="Group by">
          {BY.map(([v, title]) => (
            <button key={v} aria-pressed={by === v} onClick={() => set({ by: v })}>
              {title}
            </button>
          ))}
        </span>
        <span class="grow" />
        <span class="seg" role="group" aria-label="Range">
          {RANGES.map(([v, title]) => (
            <button key={v} aria-pressed={!q.get('since') && range === v} onClick={() => set({ range: v })}>
              {title}
            </button>
          ))}
        </span>
        <button class="btn" disabled={!table} onClick={() => download(`usage-by-${by}.csv`, toCsv(by, table!.rows))}>
          <Icon name="file" />
          CSV
        </button>
      </div>
      <Away stores={away} />
      {failed ? (
        <div class="empty">
          <b>The figures could not be read</b>
          <p class="soft">{failed}</p>
        </div>
      ) : !t || !days ? (
        <Bars />
      ) : !table.rows.length ? (
        <div class="empty">
          <b>No usage</b>
          <p class="soft">No reply in this period has token counts.</p>
        </div>
      ) : (
        <>
          <div class="kpis">
            <div class="kpi">
              <p>Cost</p>
              <span class="fig num">
                {money(t.cost, t.estimated)}
                <small>
                  {since ? `${dayAndMonth(Date.parse(`${since}T12:00:00`))} – ${dayAndMonth(Date.now())}` : 'all time'}
                </small>
              </span>
            </div>
            <div class="kpi">
              <p>Tokens</p>
              <span class="fig num">
                {tokens(total(t))}
                <small>{cached} % read from cache</small>
              </span>
            </div>
            <div class="kpi">
              <p>Replies</p>
              <span class="fig num">
                {days.replies === undefined ? '–' : count(days.replies)}
                <small>{bySession ? `in ${plural(bySession.length, 'session')}` : ''}</small>
              </span>
            </div>
            <div class="kpi">
              <p>Most expensive session</p>
              <span class="fig num">
                {dearest ? money(dearest.cost, dearest.estimated) : '–'}
                <small class="trunc">{dearest ? visible(nameOf('session', dearest.key)).slice(0, 40) : ''}</small>
              </span>
            </div>
          </div>
          {chart && (
            <div class="card">
              <div class="card-h">
                <h2>{chart.byCost ? 'Cost' : 'Tokens'} by day and model</h2>
                <span class="grow" />
                <span class="legs">
                  {chart.names.map((n, i) => (
                    <span key={n} class="leg">
                      <i class={`q${(i % 6) + 1}`} />
                      {visible(nameOf('model', n))}
                    </span>
                  ))}
                </span>
              </div>
              <Chart {...chart} />
              {days.copies !== undefined && (
                <div class="note">
                  <Icon name="check" />
                  Each reply is counted once:{' '}
                  {days.copies
                    ? `${plural(days.copies, 'copy', 'copies')} in forks, resumed files and sub-agent logs ` +
                      (days.copies === 1 ? 'was left out.' : 'were left out.')
                    : 'there were no copies to leave out.'}
                </div>
              )}
            </div>
          )}
          <Table by={by} rows={table.rows} unpriced={unpriced} />
        </>
      )}
      <TabBar />
    </main>
  );
}
