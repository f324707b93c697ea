// The figures of an open session: what its context weighs, and what it cost.
import { signal } from '@preact/signals';
import { ApiError, get } from '../api/http.ts';
import type { ContextFigures, ContextReply, UsageSum } from '../api/types.ts';
import { say } from './app.ts';
import type { SessionState } from './session.ts';

const FIGURES_MS = 2000; // within this time they are read again only once

interface Turns {
  seq: number[];
  context: number[];
}

export class Figures {
  readonly context = signal<ContextFigures | null>(null);
  readonly sent = signal<ContextReply | null>(null); // with the messages, while they are shown
  readonly cost = signal<Pick<UsageSum, 'cost' | 'estimated'> | null>(null); // what it is billed for, as in the list
  private readonly turns = signal<Turns | null>(null);

  constructor(private readonly of: Pick<SessionState, 'key' | 'sub' | 'params' | 'skeleton' | 'viewPath'>) {}

  stop(): void {
    clearTimeout(this.timer);
    this.timer = 0;
  }

  private contextLeaf: string | null = null;
  private timer = 0;

  // What the header and the inspector tell is read again, once for all that comes within a while; until then
  // the last answer stands, so that nothing blinks while an agent writes.
  later(wait = FIGURES_MS): void {
    if (this.context.value === null || (this.timer && wait)) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = 0;
      void (this.sent.value ? this.loadSent(this.contextLeaf) : this.loadContext(this.contextLeaf));
      void this.loadTurns();
    }, wait) as unknown as number;
  }

  // Context and cost of each reply, by the number of its line.
  async loadTurns(): Promise<void> {
    if (this.of.sub) return;
    try {
      const turns = await get('/sessions/{id}/usage', { id: this.of.key, by: 'turn' });
      this.turns.value = { seq: turns.seq ?? [], context: turns.context ?? [] };
      this.cost.value = (await get('/sessions/{id}/usage', { id: this.of.key, by: 'session' })).totals ?? null;
    } catch {
      /* Nice to have: the page works without. */
    }
  }

  contextAfter(i: number): number | null {
    const t = this.turns.value,
      s = this.of.skeleton;
    if (!t) return null;
    const path = this.of.viewPath.value;
    for (let k = path.indexOf(i) + 1; k > 0 && k < path.length; k++) {
      if (s.kindAt(path[k]!) === 'c') return null;
      const at = s.roleAt(path[k]!) === 'a' ? t.seq.indexOf(s.seq[path[k]!]!) : -1;
      if (at >= 0) return t.context[at] ?? null;
    }
    return null;
  }

  private async ask(leaf: string | null, messages: 'none' | 'head'): Promise<ContextReply | null> {
    this.contextLeaf = leaf;
    const at = leaf ? { leaf } : {};
    try {
      const r = await get('/sessions/{id}/context', { explain: 1, parts: 1, messages, ...at, ...this.of.params });
      this.context.value = r;
      return r as ContextReply;
    } catch (e) {
      if (e instanceof ApiError && e.code !== 'NOANSWER') say(e.message, 'bad');
      return null;
    }
  }

  // With the messages that are sent from another leaf.
  contextAt(leaf: string): Promise<ContextReply> {
    return get('/sessions/{id}/context', {
      id: this.of.key,
      leaf,
      parts: 1,
      messages: 'head',
    }) as Promise<ContextReply>;
  }

  // The figures alone are a few hundred bytes; with how each message begins, megabytes.
  async loadContext(leaf: string | null): Promise<void> {
    await this.ask(leaf, 'none');
  }
  async loadSent(leaf: string | null): Promise<void> {
    this.sent.value = (await this.ask(leaf, 'head')) ?? this.sent.value;
  }
}
