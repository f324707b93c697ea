// The list of sessions, and the same page with passages when something is searched for.
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { aborted, ApiError, get } from '../api/http.ts';
import { hub } from '../api/hub.ts';
import type { Facets, Hit, ListItem, SearchReply, UsageRow } from '../api/types.ts';
import type { Routes } from '../api/wire.ts';
import { uncoloured } from '../model/ansi.ts';
import { age, agentClass, agentGlyph, agentName, count, money, plural, project } from '../model/format.ts';
import {
  arranged,
  byStore,
  changed,
  holdStill,
  listParams,
  listRows,
  SORTS,
  storeName,
  storePlace as place,
  VIEWS,
  type ListRow,
} from '../model/list.ts';
import { formatRoute, sessionAt, type Route } from '../model/route.ts';
import { visible } from '../model/safe.ts';
import { Icon, Logo } from '../parts/icons.tsx';
import { go, mayWrite, me, route, setTitle } from '../state/app.ts';
import { expiring, loadExpiring } from '../state/expiring.ts';
import { useKeys } from '../state/keys.ts';
import { Away } from './away.tsx';
import { DeleteDialog, RenameDialog } from './dialogs.tsx';
import { Bars } from './lazy.tsx';
import { TabBar } from './shell.tsx';
import { useVirtual } from './virtual.ts';

const PAGE = 200;
const WAIT_MAX = 90;
const AGAIN_MS = 15_000; // a store that did not answer is asked again

export const sessions = signal<ListItem[]>([]);
const facets = signal<Facets>({});
const total = signal<number | null>(null);
const failure = signal<ApiError | null>(null);
const away = signal<string[]>([]);
const waiting = signal(0);
const week = signal<{ days: number[]; sum: number; estimated: number } | null>(null);
let next: string | null = null;
let held = false;

export function Glyph({ agent }: { agent: string }): JSX.Element {
  return (
    <span class={`glyph g-${agentClass(agent)}`} role="img" aria-label={agentName(agent)} title={agentName(agent)}>
      {agentGlyph(agent)}
    </span>
  );
}

function daysLeft(expires: string): number {
  return Math.max(0, Math.ceil((Date.parse(expires) - Date.now()) / 86_400_000));
}

function RowChip({ s }: { s: ListItem }): JSX.Element | null {
  const ends = s.expires ?? expiring.value?.get(s.key);
  if (s.damaged)
    return (
      <span class="chip red">
        <Icon name="alert" />
        damaged
      </span>
    );
  if (ends)
    return (
      <span class="chip amber">
        <Icon name="clock" />
        {daysLeft(ends) ? `expires in ${daysLeft(ends)} d` : 'expires today'}
      </span>
    );
  return s.labels?.length ? <span class="chip tag">{visible(s.labels[0]!)}</span> : null;
}

// A fork that stands alone says what it was made from.
function Forked({ s }: { s: ListItem }): JSX.Element {
  const from = sessions.value.find((x) => x.id === s.parentSession || x.path === s.parentSession);
  const title = `Forked from ${visible(from?.name || from?.firstMessage || 'another session')}`;
  return (
    <span class="forked" role="img" aria-label={title} title={title}>
      <Icon name="fork" />
    </span>
  );
}

export function SessionRow({
  s,
  depth = 0,
  more = false,
  on = false,
  now,
}: {
  s: ListItem;
  depth?: number;
  more?: boolean;
  on?: boolean;
  now: number;
}): JSX.Element {
  const first = visible(s.firstMessage ?? '');
  return (
    <a class={`row${depth ? ' kid' : ''}${on ? ' on' : ''}`} href={sessionAt(s.key)} data-key={s.key}>
      {depth > 0 && <span class={more ? 'thread on' : 'thread'} aria-hidden="true" />}
      <Glyph agent={s.agent} />
      <span class="ttl">
        {s.live && <span class="dot live" role="img" aria-label="running" />}
        {s.parentSession && depth === 0 && <Forked s={s} />}
        {s.name && (
          <span class="name trunc" dir="auto">
            {visible(s.name)}
          </span>
        )}
        <RowChip s={s} />
        <span class={`prev trunc${s.name ? '' : ' solo'}`} dir="auto" title={first || undefined}>
          {first || (s.name ? '' : 'No message yet')}
        </span>
      </span>
      <span class="proj trunc">{visible(project(s.cwd))}</span>
      <span class="r num c-br">{s.branches ? count(s.branches) : <span class="dim">–</span>}</span>
      <span class="r num c-n">{count(s.entries ?? s.messageCount ?? 0)}</span>
      <span class="r num c-cost">{money(s.cost, s.estimated)}</span>
      <span class="r c-age">{s.modified ? age(Date.parse(s.modified), now) : ''}</span>
    </a>
  );
}

function hrefWith(r: Route, change: Record<string, string | null>): string {
  const query = new URLSearchParams(r.query);
  query.delete('focus');
  for (const [k, v] of Object.entries(change))
    if (v) query.set(k, v);
    else query.delete(k);
  return formatRoute({ page: 'sessions', query });
}

function FacetLink({
  name,
  value,
  title,
  n,
  lead,
}: {
  name: string;
  value: string;
  title: string;
  n: number | undefined;
  lead: JSX.Element;
}): JSX.Element {
  const on = (route.value.query.get(name) ?? '') === value;
  return (
    <a href={hrefWith(route.value, { [name]: on && value ? null : value })} aria-current={on ? 'true' : undefined}>
      {lead}
      <span class="trunc">{visible(title)}</span>
      <span class="n num">{n === undefined ? '' : count(n)}</span>
    </a>
  );
}

const SHOWN = 5;

function FacetGroup({
  title,
  name,
  values,
  lead,
  label,
}: {
  title: string;
  name: string;
  values: Record<string, number> | undefined;
  lead: (v: string) => JSX.Element;
  label: (v: string) => string;
}): JSX.Element | null {
  const [open, setOpen] = useState(false);
  const all = Object.entries(values ?? {}).sort((a, b) => b[1] - a[1]);
  if (!all.length) return null;
  const on = route.value.query.get(name);
  const shown = open || all.length <= SHOWN ? all : all.filter(([v], i) => i < SHOWN - 1 || v === on);
  const rest = all.filter((x) => !shown.includes(x));
  return (
    <>
      <h2>{title}</h2>
      {shown.map(([v, n]) => (
        <FacetLink key={v} name={name} value={v} title={label(v)} n={n} lead={lead(v)} />
      ))}
      {rest.length > 0 && (
        <button class="facet-more" onClick={() => setOpen(true)}>
          <Icon name="more" />
          <span>{rest.length} more</span>
          <span class="n num">{count(rest.reduce((s, x) => s + x[1], 0))}</span>
        </button>
      )}
    </>
  );
}

const viewCount = (view: string): number | undefined =>
  view === 'expiring' ? expiring.value?.size : facets.value.view?.[view];

function Side(): JSX.Element {
  const f = facets.value;
  const stores = byStore(f.store);
  return (
    <aside class="side" aria-label="Filters">
      <h2>View</h2>
      {VIEWS.map((v) => (
        <FacetLink
          key={v.view}
          name="view"
          value={v.view}
          title={v.title}
          n={v.view ? viewCount(v.view) : f.view?.['all']}
          lead={v.icon === 'dot' ? <span class="dot live inset" /> : <Icon name={v.icon} />}
        />
      ))}
      <FacetGroup
        title="Project"
        name="project"
        values={f.project}
        lead={() => <Icon name="folder" />}
        label={project}
      />
      <FacetGroup title="Agent" name="agent" values={f.agent} lead={(a) => <Glyph agent={a} />} label={agentName} />
      {Object.keys(stores).length > 1 && (
        <FacetGroup title="Store" name="store" values={stores} lead={() => <Icon name="layers" />} label={storeName} />
      )}
    </aside>
  );
}

function Spark(): JSX.Element | null {
  const w = week.value;
  if (!w) return null;
  const max = Math.max(...w.days, 0.01);
  return (
    <a class="spark-w" href="/usage" title="Cost of the last 14 days">
      <span class="spark" aria-hidden="true">
        {w.days.map((d, i) => (
          <i
            key={i}
            class={i === w.days.length - 1 ? 'now' : undefined}
            style={{ height: `${2 + (d / max) * 16}px` }}
          />
        ))}
      </span>
      <span class="num">
        {money(w.sum, w.estimated)} <span class="dim">this week</span>
      </span>
    </a>
  );
}

async function loadWeek(): Promise<void> {
  const since = new Date(Date.now() - 13 * 86_400_000).toLocaleDateString('sv');
  try {
    const u = await get('/usage', { by: 'day', since });
    const rows = Array.from({ length: 14 }, (_, i) =>
      u.rows.find((r) => r.key === new Date(Date.now() - (13 - i) * 86_400_000).toLocaleDateString('sv')),
    );
    const sum = (value: (r: UsageRow) => number): number => rows.slice(-7).reduce((n, r) => n + (r ? value(r) : 0), 0);
    if (rows.some((r) => r?.cost))
      week.value = {
        days: rows.map((r) => r?.cost ?? 0),
        sum: sum((r) => r.cost ?? 0),
        estimated: sum((r) => r.estimated ?? 0),
      };
  } catch {
    /* Nice to have: the list works without. */
  }
}

// ---- data ------------------------------------------------------------------------

// In order of time sessions stand under their day, forks below their session; any other order is one of
// sessions alone.
const inThreads = (query: URLSearchParams): boolean => (query.get('sort') ?? 'modified') === 'modified';

type ListParams = Routes['GET /sessions']['params'];
type SearchParams = Routes['GET /search']['params'];
// The query of the page's own address is passed to the server as it is; the server refuses what it does not know.
const asked = (q: URLSearchParams): ListParams => Object.fromEntries(q) as ListParams;
const inSearch = (q: URLSearchParams): SearchParams => Object.fromEntries(q) as unknown as SearchParams;

function pageParams(query: URLSearchParams): URLSearchParams {
  const params = listParams(query);
  params.delete('q');
  params.set('limit', String(PAGE));
  params.set('fields', 'shape,cost');
  return params;
}

async function loadList(query: URLSearchParams, signal?: AbortSignal): Promise<void> {
  const params = pageParams(query);
  params.set('facets', '1');
  const r = await get('/sessions', asked(params), signal);
  facets.value = r.facets ?? {};
  total.value = r.total;
  next = r.next;
  failure.value = null;
  away.value = r.away ?? [];
  if (held && sessions.value.length) {
    const still = holdStill(sessions.value, r.sessions);
    sessions.value = still.items;
    waiting.value = still.waiting;
  } else {
    sessions.value = inThreads(query) ? arranged(r.sessions) : r.sessions;
    waiting.value = 0;
  }
}

async function loadMore(query: URLSearchParams): Promise<void> {
  if (!next) return;
  const params = pageParams(query);
  params.set('cursor', next);
  next = null;
  const r = await get('/sessions', asked(params));
  const known = new Set(sessions.value.map((s) => s.key));
  sessions.value = [...sessions.value, ...r.sessions.filter((s) => !known.has(s.key))];
  next = r.next;
}

function useList(query: URLSearchParams): void {
  const filter = listParams(query);
  filter.delete('q');
  const name = filter.toString();
  useEffect(() => {
    const c = new AbortController();
    const refused = (e: unknown): void => {
      if (e instanceof ApiError && e.code !== 'NOANSWER') failure.value = e;
      else if (!aborted(e) && !(e instanceof ApiError)) throw e;
    };
    const load = (): void => void loadList(query, c.signal).catch(refused);
    sessions.value = [];
    total.value = null;
    load();
    hub.want({ list: true, sessions: {} });
    let timer = 0;
    const off = hub.on((e) => {
      if (['poll', 'sessions', 'live', 'meta', 'remove', 'append'].includes(e.kind) && !timer)
        timer = setTimeout(() => {
          timer = 0;
          load();
        }, 500) as unknown as number;
    });
    const again = setInterval(() => {
      if (away.value.length) load();
    }, AGAIN_MS);
    return () => {
      c.abort();
      off();
      clearTimeout(timer);
      clearInterval(again);
    };
  }, [name]);
}

// A group names its session by id; the list knows the rest.
interface Found extends Omit<SearchReply, 'groups'> {
  groups: { session: ListItem; hits: Hit[]; more: number }[];
}

function known(reply: SearchReply): Found {
  const groups = (reply.groups ?? []).map((g) => {
    const { id, name, cwd, agent, store, modified } = g.session;
    const unlisted = { key: id, dialect: '', created: null, firstMessage: '', size: 0, writable: false };
    const listed = sessions.value.find((x) => x.id === id) ?? { ...unlisted, agentId: null, live: null };
    const found = { id, cwd: cwd ?? '', agent: agent ?? '', store: store ?? '', modified };
    return { ...g, session: { ...listed, ...found, ...(name ? { name } : {}) } };
  });
  return { ...reply, groups };
}

// A project is a name here, the search wants directories: those that sessions of this project have.
const directories = new Map<string, string[]>();
const DIRECTORIES_MAX = 4;

async function searchIn(params: URLSearchParams, signal: AbortSignal): Promise<SearchReply> {
  const name = params.get('project');
  if (!name || name.includes('/')) return get('/search', inSearch(params), signal);
  const known = directories.get(name) ?? [
    ...new Set((await get('/sessions', { project: name, limit: PAGE }, signal)).sessions.flatMap((s) => s.cwd ?? [])),
  ];
  directories.set(name, known);
  const replies = await Promise.all(
    known.slice(0, DIRECTORIES_MAX).map((cwd) => get('/search', { ...inSearch(params), project: cwd }, signal)),
  );
  return {
    ...replies[0]!,
    groups: replies.flatMap((r) => r.groups ?? []),
    total: replies.reduce((n, r) => n + r.total, 0),
  };
}

// How long the last answer took. The next search waits as long after a key, so that a quick server is asked at once
// and a slow one is not asked with every key.
let took = 0;

function useSearch(query: URLSearchParams): { reply: Found | null; busy: boolean; failed: string | null } {
  const q = query.get('q') ?? '';
  const name = query.toString();
  const [state, set] = useState<{ name: string; reply: Found | null; failed: string | null }>({
    name: '',
    reply: null,
    failed: null,
  });
  useEffect(() => {
    if (q.trim().length < 2) {
      set({ name, reply: null, failed: null });
      return undefined;
    }
    const c = new AbortController();
    const t = setTimeout(
      () => {
        const params = listParams(query);
        params.set('group', 'session');
        if (query.get('in')) params.set('in', query.get('in')!);
        const asked = performance.now();
        searchIn(params, c.signal).then(
          (reply) => {
            took = performance.now() - asked;
            set({ name, reply: known(reply), failed: null });
          },
          (e) => {
            if (!aborted(e)) set({ name, reply: null, failed: e instanceof Error ? e.message : String(e) });
          },
        );
      },
      Math.min(WAIT_MAX, took),
    );
    return () => {
      clearTimeout(t);
      c.abort();
    };
  }, [name]);
  return {
    reply: state.reply,
    busy: state.name !== name && q.trim().length >= 2,
    failed: state.name === name ? state.failed : null,
  };
}

// ---- search ----------------------------------------------------------------------

const VERBATIM = new Set(['tool', 'toolResult', 'tool-result', 'bash', 'call']);
const ROLES: Record<string, string> = {
  user: 'You',
  assistant: 'Assistant',
  toolResult: 'Result',
  'tool-result': 'Result',
  tool: 'Result',
  call: 'Call',
  bash: 'Shell',
  system: 'System',
  title: 'Title',
  label: 'Label',
  compaction: 'Summary',
  'branch-summary': 'Summary',
  thinking: 'Thinking',
  custom: 'Note',
};

// The server counts bytes of UTF-8, strings count in units of their own.
export function marksInText(text: string, marks: number[][]): [number, number][] {
  const bytes = new TextEncoder().encode(text);
  const decode = new TextDecoder();
  return marks.map(([a, b]) => [
    decode.decode(bytes.subarray(0, a)).length,
    decode.decode(bytes.subarray(0, b)).length,
  ]);
}

// Marks by position where the server gives them; else between double asterisks, as it prints them.
export function Snippet({ hit }: { hit: Hit }): JSX.Element {
  const plain = (text: string): string =>
    visible(VERBATIM.has(hit.role) ? uncoloured(text) : text.replace(/```\w*/g, '').replace(/(^|\s)#{1,6} /g, '$1'));
  const parts: { text: string; on: boolean }[] = [];
  if (hit.marks?.length) {
    let at = 0;
    for (const [a, b] of marksInText(hit.snippet, hit.marks)) {
      parts.push({ text: hit.snippet.slice(at, a), on: false }, { text: hit.snippet.slice(a, b), on: true });
      at = b;
    }
    parts.push({ text: hit.snippet.slice(at), on: false });
  } else hit.snippet.split('**').forEach((text, i) => parts.push({ text, on: i % 2 === 1 }));
  // Code between single backticks is shown as code, where they come in pairs.
  const ticks = hit.snippet.includes('```') ? 0 : hit.snippet.split('`').length - 1;
  let code = false;
  return (
    <>
      {parts.map((p, i) =>
        p.on ? (
          <mark key={i} class={code ? 'mono' : undefined}>
            {visible(p.text)}
          </mark>
        ) : ticks && ticks % 2 === 0 ? (
          p.text.split('`').map((text, k) => {
            if (k) code = !code;
            return code ? (
              <span key={`${i}.${k}`} class="mono">
                {visible(text)}
              </span>
            ) : (
              plain(text)
            );
          })
        ) : (
          plain(p.text)
        ),
      )}
    </>
  );
}

function HitRow({ session, hit }: { session: ListItem; hit: Hit }): JSX.Element {
  // A title or a label belongs to the session as a whole, not to a path.
  const badge =
    hit.role === 'title' || hit.role === 'label' || !hit.entryId ? null : !hit.onActivePath ? (
      <span class="chip violet">other branch</span>
    ) : !hit.inContext ? (
      <span class="chip amber">hidden by compaction</span>
    ) : null;
  return (
    <a class="hit" href={sessionAt(session.key, hit.entryId || null)}>
      <span />
      <span class="dim trunc">{ROLES[hit.role] ?? visible(hit.role)}</span>
      <span class={VERBATIM.has(hit.role) ? 'trunc mono' : 'trunc'} dir="auto">
        <Snippet hit={hit} />
      </span>
      <span>{badge}</span>
    </a>
  );
}

function Results({
  query,
  now,
  selected,
}: {
  query: URLSearchParams;
  now: number;
  selected: string | null;
}): JSX.Element {
  const q = query.get('q')!;
  const { reply, busy, failed } = useSearch(query);
  const lower = q.toLowerCase();
  const byName = sessions.value
    .filter((s) => [s.name ?? '', s.firstMessage ?? '', project(s.cwd)].some((x) => x.toLowerCase().includes(lower)))
    .slice(0, 20);
  if (failed)
    return (
      <div class="empty">
        <b>{failed}</b>
      </div>
    );
  // The server sends the best hits first; a page in order of time sorts them by time.
  const byTime = inThreads(query);
  const groups = byTime
    ? [...(reply?.groups ?? [])].sort((a, b) => changed(b.session) - changed(a.session))
    : (reply?.groups ?? []);
  const inGroups = new Set(groups.map((g) => g.session.key));
  const names = byName.filter((s) => !inGroups.has(s.key));
  if (reply && !busy && !groups.length && !names.length)
    return (
      <>
        <Away stores={reply.away} />
        <Nothing q={q} reply={reply} query={query} />
      </>
    );
  return (
    <div class={busy ? 'results stale' : 'results'}>
      <Away stores={reply?.away} />
      {reply && (
        <h2 class="day">
          {plural(groups.length, 'session')}, {plural(reply.total, 'passage')}
          <span>
            {reply.tookMs === undefined ? '' : `in ${Math.round(reply.tookMs)} ms · `}
            {byTime ? 'newest first' : 'best first'}
            {reply.index?.state === 'building' ? ' · the index is being built' : ''}
          </span>
        </h2>
      )}
      {groups.map((g) => (
        <div key={g.session.key}>
          <SessionRow s={g.session} now={now} on={g.session.key === selected} />
          {g.hits.map((h, i) => (
            <HitRow key={i} session={g.session} hit={h} />
          ))}
          {g.more > 0 && (
            <a class="hit" href={`${sessionAt(g.session.key)}?q=${encodeURIComponent(q)}`}>
              <span />
              <span />
              <span class="dim">{plural(g.more, 'more passage')}</span>
              <span />
            </a>
          )}
        </div>
      ))}
      {names.length > 0 && (
        <>
          <h2 class="day">By name or project</h2>
          {names.map((s) => (
            <SessionRow key={s.key} s={s} now={now} on={s.key === selected} />
          ))}
        </>
      )}
      {!reply && busy && !names.length && <Bars />}
    </div>
  );
}

function Nothing({ q, reply, query }: { q: string; reply: Found; query: URLSearchParams }): JSX.Element {
  const narrowed = ['project', 'agent', 'store', 'view'].some((k) => query.has(k));
  return (
    <div class="empty">
      <b>No results for “{visible(q)}”</b>
      {reply.suggest && (
        <p class="soft">
          Did you mean{' '}
          <a class="go" href={hrefWith(route.value, { q: reply.suggest })}>
            {visible(reply.suggest)}
          </a>
          ?
        </p>
      )}
      {narrowed ? (
        <a class="btn sm" href={`/s?q=${encodeURIComponent(q)}`}>
          Search everywhere
        </a>
      ) : (
        query.get('in') !== 'all' && (
          <a class="btn sm" href={hrefWith(route.value, { in: 'all' })}>
            Search tool results too
          </a>
        )
      )}
    </div>
  );
}

// ---- page ------------------------------------------------------------------------

// Where the agents keep theirs: none of these is there yet.
const USUAL = [
  '~/.pi/agent/sessions',
  '~/.omp/agent/sessions',
  '~/.xcsh/agent/sessions',
  '~/.openclaw',
  '~/.claude/projects',
];

function Empty(): JSX.Element {
  const [open, setOpen] = useState(false);
  if (route.value.query.size > 0)
    return (
      <div class="empty">
        <b>No matching sessions</b>
        <p class="soft">No session matches the filters on the left.</p>
        <a class="btn" href="/s">
          Show all sessions
        </a>
      </div>
    );
  return (
    <div class="empty">
      <Logo size={34} />
      <b>No sessions yet</b>
      <p class="soft">
        grove looks where pi, oh-my-pi, xcsh and Claude Code keep theirs. Start one and it appears here.
      </p>
      {open ? (
        <ul class="mini mono">
          {(me.value?.stores.length ? me.value.stores.map((s) => place(s.store)) : USUAL).map((s) => (
            <li key={s}>{s}</li>
          ))}
        </ul>
      ) : (
        <button class="btn" onClick={() => setOpen(true)}>
          Where does it look?
        </button>
      )}
    </div>
  );
}

function guess(r: ListRow): number {
  return r.is === 'day' ? 43 : r.is === 'more' ? 34 : 40;
}

function List({
  now,
  selected,
  scroller,
}: {
  now: number;
  selected: string | null;
  scroller: { current: HTMLElement | null };
}): JSX.Element {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const q = route.value.query;
  const threads = inThreads(q);
  const rows = useMemo(
    () => listRows(sessions.value, { now, days: threads, open, threads }),
    [sessions.value, now, threads, open],
  );
  const v = useVirtual({
    count: rows.length,
    scroller,
    guess: (i) => guess(rows[i]!),
    keyOf: (i) => rows[i]!.key,
    overscan: 10,
    bottom: 72,
    stamp: [rows],
  });
  const items = v.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last > rows.length - 40) void loadMore(q).catch(() => undefined);
  }, [last, rows.length]);
  useEffect(() => {
    const at = rows.findIndex((r) => r.key === selected);
    if (at >= 0) v.scrollToIndex(at, { align: 'auto' });
  }, [selected]);
  return (
    <ul class="vlist" style={{ height: `${v.getTotalSize()}px` }}>
      {items.map((it) => {
        const r = rows[it.index]!;
        return (
          <li
            key={it.key}
            ref={(el) => {
              if (el) v.measureElement(el);
            }}
            data-index={it.index}
            style={{ transform: `translateY(${it.start}px)` }}
          >
            {r.is === 'day' ? (
              <h2 class="day">
                {r.title}
                <span>
                  {plural(r.sessions, 'session')}
                  {r.cost !== null ? ` · ${money(r.cost, r.estimated)}` : ''}
                </span>
              </h2>
            ) : r.is === 'more' ? (
              <button class="more-kids" onClick={() => setOpen(new Set([...open, r.parent]))}>
                {plural(r.count, 'more fork')}
              </button>
            ) : (
              <SessionRow s={r.item} depth={r.depth} more={r.more} on={r.key === selected} now={now} />
            )}
          </li>
        );
      })}
    </ul>
  );
}

export function SessionsPage(): JSX.Element {
  const query = route.value.query;
  const q = query.get('q') ?? '';
  const [now, setNow] = useState(Date.now());
  const [selected, select] = useState<string | null>(null);
  const [dialog, setDialog] = useState<{ is: 'rename' | 'delete'; item: ListItem } | null>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);
  useList(query);
  useEffect(() => {
    setTitle('Sessions');
    void loadWeek();
    void loadExpiring();
    const t = setInterval(() => setNow(Date.now()), 30_000);
    return () => clearInterval(t);
  }, []);
  useEffect(() => {
    if (query.has('focus')) input.current?.focus();
  }, [query]);
  // What is shown, in its order: of a search the sessions that were found.
  const searching = q.trim().length >= 2;
  const order = (): string[] =>
    searching
      ? [...(scroller.current?.querySelectorAll<HTMLElement>('.row') ?? [])].map((e) => e.dataset['key']!)
      : listRows(sessions.value, { now, days: inThreads(query), open: new Set(), threads: inThreads(query) }).flatMap(
          (r) => (r.is === 'session' ? [r.key] : []),
        );
  const move = (d: number): void => {
    const keys = order(),
      at = selected === null ? -1 : keys.indexOf(selected);
    const to = keys[Math.min(keys.length - 1, Math.max(0, at < 0 ? 0 : at + d))];
    if (!to) return;
    select(to);
    held = true;
    requestAnimationFrame(() =>
      scroller.current
        ?.querySelector<HTMLElement>(`[data-key="${CSS.escape(to)}"]`)
        ?.focus({ preventScroll: !searching }),
    );
  };
  const chosen = (): ListItem | undefined => sessions.value.find((s) => s.key === selected);
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Enter: () => {
      if (selected) go(sessionAt(selected));
    },
    o: () => {
      if (selected) window.open(sessionAt(selected), '_blank', 'noopener');
    },
    e: () => {
      const item = chosen();
      if (item && mayWrite.value) setDialog({ is: 'rename', item });
    },
    Delete: () => {
      const item = chosen();
      if (item && mayWrite.value) setDialog({ is: 'delete', item });
    },
    '/': () => {
      input.current?.focus();
      input.current?.select();
    },
    Escape: () => {
      if (q) go(hrefWith(route.value, { q: null }));
      select(null);
    },
  });
  const type = (text: string): void => go(hrefWith(route.value, { q: text || null }), { replace: true });
  const tokens = ['project', 'agent', 'store'].filter((k) => query.get(k));
  const sort = query.get('sort') ?? 'modified';
  return (
    <main class="list-page" id="main" tabIndex={-1}>
      <h1 class="vh">Sessions</h1>
      <Side />
      <div
        class="main"
        ref={scroller}
        onPointerEnter={() => {
          held = true;
        }}
        onPointerLeave={() => {
          held = false;
          if (waiting.value) void loadList(query).catch(() => undefined);
        }}
      >
        <div class="bar">
          <label class="field">
            <Icon name="search" />
            {tokens.map((k) => (
              <span key={k} class="tok">
                {k}:{' '}
                {k === 'project'
                  ? visible(project(query.get(k)))
                  : k === 'agent'
                    ? agentName(query.get(k)!)
                    : storeName(query.get(k)!)}
              </span>
            ))}
            <input
              ref={input}
              aria-label="Search sessions"
              placeholder="Search names and all that was said"
              value={q}
              onInput={(e) => type(e.currentTarget.value)}
              onKeyDown={(e) => {
                if (e.key === 'Escape') e.currentTarget.blur();
              }}
            />
            <kbd>/</kbd>
          </label>
          <div class="facets" role="group" aria-label="View">
            {VIEWS.map((v) => (
              <a
                key={v.view}
                class={(query.get('view') ?? '') === v.view ? 'chip green' : 'chip line'}
                href={hrefWith(route.value, { view: v.view || null })}
              >
                {v.view ? v.title.replace(' soon', '') : 'All'}
                {v.view && viewCount(v.view) ? ` ${count(viewCount(v.view)!)}` : ''}
              </a>
            ))}
          </div>
          <span class="grow" />
          <Spark />
          <label class="btn pick">
            <Icon name="filter" />
            <select
              aria-label="Order"
              value={sort}
              onChange={(e) =>
                go(hrefWith(route.value, { sort: e.currentTarget.value === 'modified' ? null : e.currentTarget.value }))
              }
            >
              {SORTS.map(([v, t]) => (
                <option key={v} value={v}>
                  {t}
                </option>
              ))}
            </select>
          </label>
        </div>
        {failure.value ? (
          <div class="empty">
            <b>The list could not be read</b>
            <p class="soft">{failure.value.message}</p>
          </div>
        ) : searching ? (
          <Results query={query} now={now} selected={selected} />
        ) : (
          <>
            <Away stores={away.value} />
            <div class="colhead" aria-hidden="true">
              <span />
              <span>Session</span>
              <span>Project</span>
              <span class="r">Branches</span>
              <span class="r">Entries</span>
              <span class="r">Cost</span>
              <span class="r">Active</span>
            </div>
            {total.value === null ? (
              <Bars rows={10} />
            ) : sessions.value.length ? (
              <List now={now} selected={selected} scroller={scroller} />
            ) : (
              <Empty />
            )}
          </>
        )}
        {waiting.value > 0 && (
          <button
            class="follow"
            onClick={() => {
              held = false;
              void loadList(query).catch(() => undefined);
            }}
          >
            <Icon name="arrowd" />
            {plural(waiting.value, 'new session')}
          </button>
        )}
      </div>
      <TabBar />
      {dialog?.is === 'rename' && (
        <RenameDialog item={dialog.item} close={() => setDialog(null)} done={() => void loadList(query)} />
      )}
      {dialog?.is === 'delete' && (
        <DeleteDialog item={dialog.item} close={() => setDialog(null)} done={() => void loadList(query)} />
      )}
    </main>
  );
}
