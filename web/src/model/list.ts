// The session list: threads, days, and an order that holds still under the pointer.
import type { ListItem } from '../api/types.ts';
import { day, midnight } from './format.ts';

export type ListRow =
  | { is: 'day'; key: string; title: string; sessions: number; cost: number | null; estimated: number }
  | { is: 'session'; key: string; item: ListItem; depth: number; more: boolean } // more: another fork follows below
  | { is: 'more'; key: string; parent: string; count: number };

const KIDS_SHOWN = 2;

// A fork hangs below the session it was made from, when that is among them; forks of forks hang below
// the same root, in order of time.
export function threads(items: ListItem[]): { item: ListItem; kids: ListItem[] }[] {
  const byRef = new Map<string, ListItem>();
  for (const s of items) {
    byRef.set(s.id, s);
    if (s.path) byRef.set(s.path, s);
  }
  const rootOf = (s: ListItem): ListItem => {
    let at = s;
    const seen = new Set([s]);
    for (let p = at.parentSession; p;) {
      const up = byRef.get(p);
      if (up && seen.has(up)) return s;
      if (!up) break;
      seen.add(up);
      at = up;
      p = up.parentSession;
    }
    return at;
  };
  // A thread is where the first of its sessions is.
  const groups = new Map<ListItem, ListItem[]>();
  for (const s of items) {
    const root = rootOf(s),
      kids = groups.get(root) ?? [];
    if (root !== s) kids.push(s);
    groups.set(root, kids);
  }
  return [...groups].map(([item, kids]) => ({
    item,
    kids: kids.sort((a, b) => ((a.created ?? '') < (b.created ?? '') ? -1 : 1)),
  }));
}

// By day; what runs comes first in its day, placed by when it began to run, so that two agents that take turns
// do not swap places.
export const changed = (s: ListItem): number => Date.parse(s.modified ?? '') || 0;

export function arranged(items: ListItem[]): ListItem[] {
  const since = (s: ListItem): number => (s.live?.since ? Date.parse(s.live.since) : 0);
  return [...items].sort((a, b) => midnight(changed(b)) - midnight(changed(a)) || since(b) - since(a));
}

export interface RowsOptions {
  now: number;
  days: boolean;
  open: ReadonlySet<string>;
  threads: boolean;
}

type Day = Extract<ListRow, { is: 'day' }>;

// Neighbours of one day. What is held in its place stays under the day it had there.
function days(items: ListItem[], o: RowsOptions): { head: Day | null; items: ListItem[] }[] {
  if (!o.days) return [{ head: null, items }];
  const out: { head: Day; items: ListItem[] }[] = [];
  for (const s of items) {
    const title = day(s.placed ? Date.parse(s.placed) : changed(s), o.now);
    if (out.at(-1)?.head.title !== title)
      out.push({
        head: { is: 'day', key: `day:${title}:${out.length}`, title, sessions: 0, cost: null, estimated: 0 },
        items: [],
      });
    const { head, items: its } = out.at(-1)!;
    its.push(s);
    head.sessions++;
    if (typeof s.cost === 'number') head.cost = (head.cost ?? 0) + s.cost;
    head.estimated += s.estimated ?? 0;
  }
  return out;
}

// A row is under the day that it shows; a fork hangs below its session if that is of the same day.
export function listRows(items: ListItem[], o: RowsOptions): ListRow[] {
  const rows: ListRow[] = [];
  for (const { head, items: its } of days(items, o)) {
    if (head) rows.push(head);
    for (const { item, kids } of o.threads ? threads(its) : its.map((item) => ({ item, kids: [] as ListItem[] }))) {
      rows.push({ is: 'session', key: item.key, item, depth: 0, more: false });
      const shown = o.open.has(item.key) ? kids : kids.slice(0, KIDS_SHOWN);
      shown.forEach((kid, k) =>
        rows.push({ is: 'session', key: kid.key, item: kid, depth: 1, more: k < kids.length - 1 }),
      );
      if (shown.length < kids.length)
        rows.push({ is: 'more', key: `more:${item.key}`, parent: item.key, count: kids.length - shown.length });
    }
  }
  return rows;
}

// New data in the old order: what is known keeps its place and takes its new values, what is gone goes,
// what is new waits until the list may move.
export function holdStill(shown: ListItem[], fresh: ListItem[]): { items: ListItem[]; waiting: number } {
  const now = new Map(fresh.map((s) => [s.key, s]));
  const items = shown
    .filter((s) => now.has(s.key))
    .map((s) => ({ ...now.get(s.key)!, placed: s.placed ?? s.modified }));
  return { items, waiting: fresh.length - items.length };
}

const KINDS: Record<string, string> = { sqlite: 'SQLite', mysql: 'MariaDB' };

// The directories that agents write to are this machine to people; a database is known by its name.
export function storeName(store: string): string {
  const kind = store.split(':')[0]!;
  if (kind === store) return store;
  if (kind === 'file') return 'This machine';
  const last = store
    .slice(kind.length + 1)
    .split(/[?#]/)[0]!
    .split('/')
    .pop()!
    .replace(/\.(db|sqlite3?)$/, '');
  return `${last || store} (${KINDS[kind] ?? kind})`;
}

// Where a store is: the path with the home directory as ~, or the address without who logs in.
export const storePlace = (store: string): string =>
  store.startsWith('file:')
    ? store.slice(5).replace(/^\/(?:(?:home|Users)\/[^/]+|root)(?=\/)/, '~')
    : store.replace(/\/\/[^@/]*@/, '//');

// The counts by store, those of this machine as one: `file:` names them all.
export function byStore(counts: Record<string, number> | undefined): Record<string, number> {
  const out: Record<string, number> = {};
  for (const [store, n] of Object.entries(counts ?? {})) {
    const name = store.startsWith('file:') ? 'file:' : store;
    out[name] = (out[name] ?? 0) + n;
  }
  return out;
}

export const VIEWS: { view: string; title: string; icon: string }[] = [
  { view: '', title: 'All sessions', icon: 'list' },
  { view: 'running', title: 'Running', icon: 'dot' },
  { view: 'labelled', title: 'Labelled', icon: 'tag' },
  { view: 'branched', title: 'Branched', icon: 'branch' },
  { view: 'expiring', title: 'Expiring soon', icon: 'clock' },
  { view: 'damaged', title: 'Damaged', icon: 'alert' },
];

export const SORTS: [string, string][] = [
  ['modified', 'Recent first'],
  ['created', 'Newest first'],
  ['size', 'Largest first'],
  ['cost', 'Most expensive first'],
  ['name', 'By name'],
];

// The address's query as the server wants it.
export function listParams(q: URLSearchParams): URLSearchParams {
  const out = new URLSearchParams();
  for (const key of ['q', 'project', 'agent', 'store', 'sort']) if (q.get(key)) out.set(key, q.get(key)!);
  const view = q.get('view');
  if (view === 'expiring') out.set('expiring', '7');
  else if (view) out.set(view, '1');
  return out;
}
