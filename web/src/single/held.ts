// A session whose data is all in the page: nothing is requested, nothing is changed. Its data is lines of JSON
// (see README): what is known of it, its shape, then one entry a line in the order of the shape. An entry is
// parsed when it is looked at, so that a page of many megabytes is there at once.
import { signal } from '@preact/signals';
import type { ContextFigures, Entry, SessionRecord, Subagents, TreeWire } from '../api/types.ts';
import { allText, body } from '../model/body.ts';
import { fields } from '../model/json.ts';
import { Skeleton } from '../model/skeleton.ts';
import { Look, noSubagents } from '../state/look.ts';

// The first line. A sub-agent's transcript says which one it is.
export interface Known {
  session: SessionRecord;
  subagents?: Subagents;
  agent?: { id: string; name?: string };
  notes?: string[];
}

const TEXT_MAX = 8192;
const KEPT_MAX = 400;
const HITS_MAX = 500;
// Members that the parts read as they are stored.
const WHOLE = new Set(['arguments', 'input', 'details', 'toolUseResult', 'data', 'tasks', 'metadata']);

// Where each line begins; the last is where the text ends.
function beginnings(text: string): number[] {
  const at = [0];
  for (let i = text.indexOf('\n'); i >= 0; i = text.indexOf('\n', i + 1)) at.push(i + 1);
  if (at.at(-1)! < text.length) at.push(text.length + 1);
  return at;
}

// Long texts become references, as the server sends them: what is long is shown in steps.
function shorten(v: unknown, pointer: string): unknown {
  if (typeof v === 'string') return v.length > TEXT_MAX ? { $ref: 'here', pointer, bytes: v.length } : v;
  if (Array.isArray(v)) return v.map((x, i) => shorten(x, `${pointer}/${i}`));
  if (!v || typeof v !== 'object') return v;
  return Object.fromEntries(
    Object.entries(v).map(([k, x]) => [
      k,
      WHOLE.has(k) ? x : shorten(x, `${pointer}/${k.replace(/~/g, '~0').replace(/\//g, '~1')}`),
    ]),
  );
}

const resolve = (v: unknown, pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .reduce((x, k) => fields(x)[k.replace(/~1/g, '/').replace(/~0/g, '~')], v);

// All that a person could read of an entry.
function readableText(e: Entry): string {
  return (
    allText(e) +
    body(e)
      .blocks.map((b) =>
        b.is === 'thinking' && b.text && 'text' in b.text
          ? b.text.text
          : b.is === 'call'
            ? `${b.name} ${JSON.stringify(b.args)}`
            : '',
      )
      .join('\n')
  );
}

export class Held extends Look {
  readonly key: string;
  readonly sub = null;
  readonly known: Known;
  readonly context = signal<ContextFigures | null>(null);
  readonly acting = false;
  readonly mayWrite = false;
  private readonly at: number[];
  private readonly kept = new Map<number, Entry>();

  constructor(
    private readonly text: string,
    private readonly told: (text: string) => void = () => undefined,
  ) {
    super();
    this.at = beginnings(text);
    this.known = JSON.parse(this.line(0)) as Known;
    this.skeleton = Skeleton.from(JSON.parse(this.line(1)) as TreeWire);
    this.key = this.known.session.id;
    this.subagents.value = this.known.subagents ?? noSubagents;
    this.readShape();
    this.sessionMeta.value = { ...this.known.session, leafEntryId: this.skeleton.id[this.skeleton.leaf] ?? null };
    this.shape.value++;
  }

  // The shape does not say which of a user's messages are results of tools, or which results failed.
  private readShape(): void {
    const s = this.skeleton;
    for (let i = 0; i < s.n; i++) {
      const role = s.roleAt(i);
      if (role !== 'u' && role !== 't') continue;
      const line = this.line(i + 2);
      if (role === 'u' && line.includes('"tool_use_id"') && body(this.stored(i)!).resultsOnly)
        s.role[i] = 't'.charCodeAt(0);
      if (s.roleAt(i) === 't' && /"(isError|is_error)" ?: ?true/.test(line)) s.failed.set(i, 1);
    }
  }

  private line(n: number): string {
    return n + 1 < this.at.length ? this.text.slice(this.at[n]!, this.at[n + 1]! - 1) : '';
  }

  private stored(i: number): Entry | undefined {
    try {
      return (JSON.parse(this.line(i + 2)) ?? undefined) as Entry | undefined;
    } catch {
      return undefined;
    }
  }

  body(i: number): Entry | undefined {
    const held = this.kept.get(i);
    if (held) return held;
    const entry = this.stored(i);
    if (!entry) return { type: 'not JSON' };
    const short = shorten(entry, '') as Entry;
    this.kept.set(i, short);
    if (this.kept.size > KEPT_MAX) this.kept.delete(this.kept.keys().next().value!);
    return short;
  }

  more(
    entryId: string,
    pointer: string,
    offset: number,
    limit: number,
  ): Promise<{ text: string; next: number; total: number }> {
    const whole = resolve(this.stored(this.skeleton.index.get(entryId) ?? -1), pointer);
    if (typeof whole !== 'string') return Promise.reject(new Error('there is no such text'));
    const end = Math.min(whole.length, offset + limit),
      next = end < whole.length && /[\ud800-\udbff]/.test(whole[end - 1]!) ? end - 1 : end;
    return Promise.resolve({ text: whole.slice(offset, next), next, total: whole.length });
  }

  // Entries that say something, in their order.
  search(q: string): void {
    if (!q) {
      this.hits.value = null;
      return;
    }
    const word = new RegExp(q.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'i'),
      stored = new RegExp(
        JSON.stringify(q)
          .slice(1, -1)
          .replace(/[.*+?^${}()|[\]\\]/g, '\\$&'),
        'i',
      );
    const hits: { entryId: string }[] = [];
    for (let i = 0; i < this.skeleton.n && hits.length < HITS_MAX; i++) {
      const entry = stored.test(this.line(i + 2)) ? this.stored(i) : undefined;
      if (entry && word.test(readableText(entry))) hits.push({ entryId: this.skeleton.id[i]! });
    }
    this.hits.value = { q, hits };
  }

  address(entryId: string): string {
    return location.href.replace(/#.*/, '') + `#${entryId}`;
  }
  copy(text: string, what: string): void {
    const failed = (): void => this.told('Copying is off here.');
    try {
      navigator.clipboard.writeText(text).then(() => this.told(`${what} copied`), failed);
    } catch {
      failed();
    }
  }

  need(): void {
    /* Everything is here. */
  }
  media(): null {
    return null;
  }
  whole(): null {
    return null;
  }
  continueFrom(): Promise<void> {
    return Promise.resolve();
  }
  finishDraft(): void {
    /* There is no draft. */
  }
  append(): Promise<void> {
    return Promise.resolve();
  }
}
