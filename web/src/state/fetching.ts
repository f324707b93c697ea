// The bodies of entries: fetched for what is on screen, kept within bounds (model/bodies.ts).
import { get } from '../api/http.ts';
import type { EntriesReply, Entry } from '../api/types.ts';
import { Bodies, ranges } from '../model/bodies.ts';
import { body } from '../model/body.ts';
import type { SessionState } from './session.ts';

const STILL_MS = 60;
const FIRST_MS = 1500;
const BYTES_MAX = 32_768; // what is longer was left out of an entry by the server

export class Fetching {
  private bodies = new Bodies();
  private asked = new Set<number>();
  private wanted: Record<'rows' | 'rail', number[]> = { rows: [], rail: [] };
  private request: AbortController | null = null;
  private again = false; // more is wanted than was requested
  private atEnd = false; // the end is on screen: what comes is wanted at once
  private timer = 0;
  private ready: (() => void) | null = null;

  constructor(private readonly of: Pick<SessionState, 'params' | 'skeleton' | 'shape' | 'bodyCount'>) {}

  stop(): void {
    this.request?.abort();
    clearTimeout(this.timer);
  }

  clear(): void {
    this.bodies.clear();
    this.asked.clear();
    this.forget();
  }

  // Entries have other numbers now: what is wanted will be said anew.
  forget(): void {
    this.wanted = { rows: [], rail: [] };
  }

  // Resolves when the first bodies came, or after a moment.
  first(): Promise<void> {
    return new Promise((done) => {
      this.ready = done;
      setTimeout(done, FIRST_MS);
    });
  }

  // Entries came at the end of the log.
  grew(added: number[]): void {
    if (!this.atEnd) return;
    this.wanted.rows = [...this.wanted.rows, ...added];
    void this.fetch();
  }

  body(i: number): Entry | undefined {
    return this.bodies.get(this.of.skeleton.seq[i]!);
  }

  // Bodies of these entries are wanted now by one part of the page; they are requested once the list has been still
  // for a moment. What was wanted before and is no longer is given up.
  need(who: 'rows' | 'rail', entries: number[], soon: boolean): void {
    this.wanted[who] = entries;
    if (who === 'rows') this.atEnd = soon;
    if (![...this.missing()].some((seq) => !this.asked.has(seq))) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.fetch(), soon ? 0 : STILL_MS) as unknown as number;
  }

  private *missing(): Generator<number> {
    for (const list of Object.values(this.wanted))
      for (const i of list) if (!this.bodies.has(this.of.skeleton.seq[i]!)) yield this.of.skeleton.seq[i]!;
  }

  // A request is left to finish if any of it is still wanted: otherwise entries that come faster than answers would
  // postpone each other forever.
  private async fetch(): Promise<void> {
    const seqs = [...this.missing()];
    if (!seqs.length) return;
    if (this.request && seqs.some((seq) => this.asked.has(seq))) {
      this.again = true;
      return;
    }
    this.request?.abort();
    this.again = false;
    const control = new AbortController();
    this.request = control;
    this.asked = new Set(seqs);
    let want = ranges(seqs);
    try {
      while (want) {
        const r = await this.entries(want, control.signal);
        this.take(r);
        want = (r.more ?? []).map(([a, b]) => (a === b ? String(a) : `${a}-${b}`)).join(',');
        if (!r.entries.length) break;
      }
    } catch {
      /* Aborted, or the server is silent: the rows keep their previews and ask again. */
    } finally {
      if (this.request === control) {
        this.asked.clear();
        this.request = null;
        this.of.bodyCount.value++;
        if (this.again) void this.fetch();
      }
      this.ready?.();
    }
  }

  private entries(seq: string, signal?: AbortSignal): Promise<EntriesReply> {
    return get('/sessions/{id}/entries', { seq, view: 'ui', maxBody: 8192, ...this.of.params }, signal);
  }

  private take(r: EntriesReply): void {
    let reshaped = false;
    for (const stored of r.entries) {
      const { seq } = stored,
        entry = stored.entry as Entry;
      const i = this.of.skeleton.index.get(entry.id ?? entry.uuid ?? '');
      // Its size in the log is near enough.
      this.bodies.put(seq, entry, Math.min(BYTES_MAX, i === undefined ? 1000 : this.of.skeleton.bytes[i]!));
      // An agent that stores results of tools as the user's messages: they belong to the reply above.
      if (i !== undefined && this.of.skeleton.roleAt(i) === 'u' && body(entry).resultsOnly) {
        this.of.skeleton.role[i] = 't'.charCodeAt(0);
        reshaped = true;
      }
    }
    if (reshaped) this.of.shape.value++;
    this.of.bodyCount.value++;
  }

  async one(id: string): Promise<Entry | null> {
    const i = this.of.skeleton.index.get(id);
    if (i === undefined) return null;
    const held = this.body(i);
    if (held) return held;
    const r = await this.entries(String(this.of.skeleton.seq[i]));
    this.take(r);
    return this.body(i) ?? null;
  }
}
