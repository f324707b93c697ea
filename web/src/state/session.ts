// One open session: its record, its shape, the bodies on screen, and what the user does with it.
import { computed, signal } from '@preact/signals';
import { act, address, ApiError, get, getText, type Reply } from '../api/http.ts';
import { hub, type GroveEvent } from '../api/hub.ts';
import type { Entry, SessionRecord, TreeWire } from '../api/types.ts';
import { keepSeen, readKept } from '../model/kept.ts';
import { busy } from '../model/leaf.ts';
import { Skeleton } from '../model/skeleton.ts';
import { GAP, merged, type Stretch } from '../model/stretch.ts';
import { sessionAt } from '../model/route.ts';
import { copy, mayWrite, me, say } from './app.ts';
import { Fetching } from './fetching.ts';
import { Figures } from './figures.ts';
import { Look, noSubagents } from './look.ts';
import { Moving } from './moving.ts';

const WHOLE_MAX = 200_000; // up to here the whole shape is held
const END_FIRST = 8000; // above, the end is shown before the rest is asked for
const END = 1500;
const BLOCK = 4096,
  BLOCKS_MAX = 12;
const PREVIEW = 60;
const JOIN_MS = 80; // entries that come within this time are shown together

export class SessionState extends Look {
  readonly figures = new Figures(this);
  readonly moving = new Moving(this);
  private readonly fetching = new Fetching(this);
  readonly context = this.figures.context;
  readonly failure = signal<ApiError | null>(null);
  readonly mark = signal<string | null>(null); // one end of a comparison
  // How its agent goes on with it.
  readonly resume = computed(() => {
    const meta = this.sessionMeta.value;
    return meta && !this.sub
      ? (me.value?.agents.find((a) => a.agent === meta.agent)?.resume?.replace('{id}', meta.id) ?? null)
      : null;
  });
  private late = 0;
  private flushed = 0;
  private readonly off: () => void;

  constructor(
    readonly key: string,
    readonly sub: string | null,
  ) {
    super();
    this.seenSeq = readKept().seen?.[key] ?? 0;
    this.off = hub.on((e) => this.event(e));
    void this.load();
  }

  close(): void {
    this.off();
    this.fetching.stop();
    clearTimeout(this.late);
    this.figures.stop();
    if (this.skeleton.n && !this.sub) keepSeen(this.key, this.skeleton.seq[this.skeleton.n - 1]!);
  }

  // Which log is meant: of the session, or of a sub-agent in it.
  get params(): { id: string; sub?: string } {
    return this.sub ? { id: this.key, sub: this.sub } : { id: this.key };
  }

  // ---- loading -----------------------------------------------------------------

  async load(): Promise<void> {
    try {
      const record = this.sub ? null : await get('/sessions/{id}', { id: this.key });
      this.fetching.clear();
      this.pendingWires.length = 0;
      this.parts = null;
      this.live = [];
      if (record && record.entryCount > END_FIRST) await this.loadLarge(record);
      else await this.loadWhole();
      this.failure.value = null;
    } catch (e) {
      if (e instanceof ApiError) {
        if (!(e.code === 'NOANSWER' && this.sessionMeta.value)) this.failure.value = e;
      } else throw e;
    }
  }

  private tree(params: {
    level: 'turns' | 'all';
    after?: number;
    limit?: number;
    preview?: number;
  }): Promise<Reply<'/sessions/{id}/tree'>> {
    return get('/sessions/{id}/tree', { ...params, ...this.params });
  }
  private snapshot(): Promise<Reply<'/sessions/{id}/snapshot'>> {
    return get('/sessions/{id}/snapshot', {
      entries: 'none',
      parts: 'session,labels,subagents',
      ...this.params,
    });
  }

  private async loadWhole(): Promise<void> {
    const [snapshot, turns, skeleton] = await Promise.all([
      this.snapshot(),
      this.tree({ level: 'turns' }),
      this.wholeTree(),
    ]);
    skeleton.describe(turns);
    this.subagents.value = snapshot.subagents ?? noSubagents;
    this.shows(skeleton, { ...turns.session, ...snapshot.session });
  }

  // The end comes first: it is what a session is opened for. Then the shape, whole or in turns, and what the
  // snapshot tells; the place on the screen stays.
  private async loadLarge(record: SessionRecord): Promise<void> {
    const from = Math.max(0, record.seq - END);
    const end = await this.tree({ level: 'all', after: from });
    const tail: Stretch = { from, to: Infinity, wire: end };
    this.shows(merged(null, [tail], record.entryCount), { ...record, ...end.session });
    await this.fetching.first();
    const huge = record.entryCount > WHOLE_MAX;
    const turns = await this.tree(huge ? { level: 'turns', preview: PREVIEW } : { level: 'turns' });
    if (huge) {
      this.parts = { turns, blocks: new Map(), tail };
      this.rebuild();
    } else {
      const skeleton = await this.wholeTree();
      skeleton.describe(turns);
      this.replace(skeleton);
    }
    // Labels stand in the shape; what the snapshot adds is the workers.
    const told = /[wW]/.test(turns.kind) ? await this.snapshot().catch(() => null) : null;
    if (told?.subagents) this.subagents.value = told.subagents;
  }

  private shows(skeleton: Skeleton, record: SessionRecord): void {
    const leaf = record.leafEntryId;
    skeleton.leaf = leaf === null ? -1 : (skeleton.index.get(leaf) ?? skeleton.leaf);
    this.skeleton = skeleton;
    this.sessionMeta.value = record;
    this.shape.value++;
    if (!this.sub) hub.want({ list: false, sessions: { [this.key]: record.rev } });
  }

  // Another shape of the same session: what is known by place is found again by id.
  private replace(skeleton: Skeleton): void {
    const old = this.skeleton;
    const again = (set: ReadonlySet<number>): ReadonlySet<number> =>
      new Set([...set].flatMap((i) => skeleton.index.get(old.id[i]!) ?? []));
    for (const wire of this.live) skeleton.append(wire);
    const leaf = this.sessionMeta.value!.leafEntryId;
    skeleton.leaf = leaf === null ? -1 : (skeleton.index.get(leaf) ?? skeleton.n - 1);
    this.skeleton = skeleton;
    this.open.value = again(this.open.value);
    this.shut.value = again(this.shut.value);
    this.fetching.forget();
    this.shape.value++;
  }

  // ---- a session too large to hold: turns, and the stretches on screen --------

  private parts: { turns: TreeWire; blocks: Map<number, Stretch>; tail: Stretch } | null = null;
  private live: TreeWire[] = []; // what came since the end was read

  private loading = new Set<number>();

  get inTurns(): boolean {
    return this.parts !== null;
  }
  // The end of a large session is shown, the rest is on its way.
  readonly onlyEnd = computed(() => {
    this.shape.value;
    return this.parts === null && this.skeleton.gap.size > 0;
  });

  private rebuild(): void {
    const p = this.parts!;
    this.replace(merged(p.turns, [...p.blocks.values(), p.tail]));
  }

  private async loadBlock(block: number): Promise<void> {
    const p = this.parts;
    if (!p || block < 0 || p.blocks.has(block) || this.loading.has(block)) return;
    const from = block * BLOCK,
      to = Math.min(from + BLOCK - 1, p.tail.from - 1);
    if (from > to) return;
    this.loading.add(block);
    try {
      const wire = await this.tree({ level: 'all', after: from, limit: to - from + 1 });
      if (p !== this.parts) return;
      p.blocks.set(block, { from, to, wire });
      for (const old of p.blocks.keys()) if (p.blocks.size > BLOCKS_MAX && old !== block) p.blocks.delete(old);
      this.rebuild();
    } catch {
      /* The gap stays a gap, and is requested again when it is on screen. */
    } finally {
      this.loading.delete(block);
    }
  }

  // The entries that a gap stands for come before the one below it.
  private fill(gap: number): void {
    const below = this.skeleton.first[gap]!;
    if (below >= 0) void this.loadBlock(Math.floor((this.skeleton.seq[below]! - 1) / BLOCK));
  }

  // Finds an entry of which only the id is known, and loads what is around it.
  async find(id: string): Promise<boolean> {
    for (let i = 0; i < 100 && this.onlyEnd.value; i++) await new Promise((r) => setTimeout(r, 100));
    if (this.skeleton.index.has(id)) return true;
    if (!this.parts) return false;
    try {
      const { seq } = await get('/sessions/{id}/entries/{entryId}', { entryId: id, ...this.params });
      await this.loadBlock(Math.floor(seq / BLOCK));
    } catch {
      return false;
    }
    return this.skeleton.index.has(id);
  }

  private async wholeTree(): Promise<Skeleton> {
    let page = await this.tree({ level: 'all' });
    const s = Skeleton.from(page);
    while (page.next) {
      page = await this.tree({ level: 'all', after: page.next });
      s.append(page);
    }
    return s;
  }

  // Bodies of these entries are wanted now; what a gap stands for is loaded.
  need(who: 'rows' | 'rail', entries: number[], soon = false): void {
    const gaps = entries.filter((i) => this.skeleton.kindAt(i) === GAP);
    for (const i of gaps) this.fill(i);
    this.fetching.need(who, gaps.length ? entries.filter((i) => !gaps.includes(i)) : entries, soon);
  }

  body(i: number): Entry | undefined {
    return this.fetching.body(i);
  }

  fetchBody(id: string): Promise<Entry | null> {
    return this.fetching.one(id);
  }

  more(
    entryId: string,
    pointer: string,
    offset: number,
    limit: number,
  ): Promise<{ text: string; next: number; total: number }> {
    return getText({
      entryId,
      pointer,
      offset,
      limit,
      ...this.params,
    });
  }

  media(entryId: string, n: number): string | null {
    return address('/sessions/{id}/entries/{entryId}/media/{n}', { entryId, n: String(n), ...this.params });
  }

  whole(entryId: string, pointer: string): string {
    return address('/sessions/{id}/entries/{entryId}/text', { entryId, pointer, ...this.params });
  }

  // ---- live --------------------------------------------------------------------

  private pendingWires: { wire: TreeWire; leafId: string | null }[] = [];

  // True while the session is being deleted: its events no longer matter, and soon there is nothing to read.
  private leaving = false;

  leave(yes: boolean): void {
    this.leaving = yes;
    if (yes) this.figures.stop();
  }

  private event(e: GroveEvent): void {
    if (this.leaving || !this.sessionMeta.value) return;
    if (e.kind === 'poll') void this.poll();
    else if (e.data.key === this.key || e.data.key === this.sessionMeta.value.id) this.heard(e);
  }

  private heard(e: Exclude<GroveEvent, { kind: 'poll' }>): void {
    if ('rev' in e.data && e.data.rev !== null) this.reached(e.data.rev);
    switch (e.kind) {
      case 'append':
        this.grow(e.data, e.data.leafEntryId);
        break;
      case 'leaf':
        this.setLeaf(e.data.entryId);
        break;
      case 'label':
        this.setLabel(e.data.entryId, e.data.text);
        break;
      case 'meta':
        if (e.data.session) this.now(e.data.session);
        break;
      case 'live':
        this.now({ live: e.data.live });
        break;
      case 'reset':
      case 'update':
        void this.load();
        break;
      case 'remove':
        this.failure.value = new ApiError('GONE', 'This session was deleted.', 410);
        break;
    }
  }

  private now(about: Partial<SessionRecord>): void {
    this.sessionMeta.value = { ...this.sessionMeta.value!, ...about };
  }

  private reached(rev: number): void {
    if (rev <= this.sessionMeta.value!.rev) return;
    this.now({ rev });
    hub.saw(this.key, rev);
  }

  // Asks whether the session has changed, when there is no stream.
  private async poll(): Promise<void> {
    const meta = this.sessionMeta.value;
    if (!meta || this.sub) return;
    try {
      const now = await get('/sessions/{id}', { id: this.key });
      if (now.rev === meta.rev) return;
      if (now.generation !== meta.generation) {
        await this.load();
        return;
      }
      const wire = await this.tree({
        level: 'all',
        after: this.skeleton.n ? this.skeleton.seq[this.skeleton.n - 1]! : 0,
      });
      this.sessionMeta.value = { ...meta, ...now };
      this.pendingWires.push({ wire, leafId: now.leafEntryId });
      this.flush();
      if (now.leafEntryId !== (this.skeleton.id[this.skeleton.leaf] ?? null)) this.setLeaf(now.leafEntryId);
    } catch {
      /* The band says that the server is silent. */
    }
  }

  // The first is shown with the next frame; entries that follow closely are shown together.
  private grow(wire: TreeWire, leafId: string | null): void {
    this.pendingWires.push({ wire, leafId });
    const since = performance.now() - this.flushed;
    if (!this.late) this.late = setTimeout(() => this.flush(), Math.max(0, JOIN_MS - since)) as unknown as number;
  }

  private flush(): void {
    this.late = 0;
    this.flushed = performance.now();
    const came: number[] = [];
    let count = 0,
      told = false;
    for (const { wire, leafId } of this.pendingWires.splice(0)) {
      told ||= /[lnW]/.test(wire.kind);
      const added = this.skeleton.append(wire);
      came.push(...added);
      if (this.parts || this.onlyEnd.value) this.live.push(wire);
      count += added.length;
      if (wire.text) this.skeleton.describe(wire);
      const leaf = leafId !== null ? this.skeleton.index.get(leafId) : undefined;
      if (leaf !== undefined) this.skeleton.leaf = leaf;
      else if (added.length) this.skeleton.leaf = added.at(-1)!;
    }
    if (told) void this.retell();
    if (!count) return;
    this.fetching.grew(came);
    const meta = this.sessionMeta.value!;
    this.sessionMeta.value = {
      ...meta,
      entryCount: this.parts ? meta.entryCount + count : this.skeleton.n,
      leafEntryId: this.skeleton.id[this.skeleton.leaf] ?? null,
    };
    this.arrived.value += count;
    this.figures.later();
    this.shape.value++;
  }

  // A label, a name or a result of workers came: the snapshot says what they mean.
  private async retell(): Promise<void> {
    try {
      const s = await this.snapshot();
      if (s.session) this.now({ name: s.session.name });
      this.subagents.value = s.subagents ?? this.subagents.value;
      this.skeleton.labels = new Map(
        Object.entries(s.labelsByEntryId ?? {}).flatMap(([id, text]) => {
          const i = this.skeleton.index.get(id);
          return i === undefined ? [] : [[i, text] as const];
        }),
      );
      this.shape.value++;
    } catch {
      /* The next event tries again. */
    }
  }

  setLeaf(id: string | null): void {
    this.skeleton.leaf = id === null ? -1 : (this.skeleton.index.get(id) ?? this.skeleton.leaf);
    this.sessionMeta.value = { ...this.sessionMeta.value!, leafEntryId: id };
    this.figures.later(0);
    this.shape.value++;
  }

  private setLabel(id: string, text: string | null): void {
    const i = this.skeleton.index.get(id);
    if (i === undefined) return;
    if (text) this.skeleton.labels.set(i, text);
    else this.skeleton.labels.delete(i);
    this.shape.value++;
  }

  // ---- acting ------------------------------------------------------------------

  get mayWrite(): boolean {
    return mayWrite.value;
  }
  copy(text: string, what: string): void {
    void copy(text, what);
  }
  address(entryId: string): string {
    return location.origin + sessionAt(this.key, entryId);
  }
  get acting(): boolean {
    return busy(this.leafState.value);
  }

  continueFrom(entryId: string): Promise<void> {
    return this.moving.continueFrom(entryId);
  }
  finishDraft(): void {
    this.moving.finishDraft();
  }
  append(prompt: string): Promise<void> {
    return this.moving.append(prompt);
  }

  // Shown at once, taken back if refused.
  async label(entryId: string, text: string | null): Promise<void> {
    const i = this.skeleton.index.get(entryId);
    if (i === undefined) return;
    const before = this.skeleton.labels.get(i) ?? null;
    this.setLabel(entryId, text);
    try {
      await act('PUT /sessions/{id}/labels/{entryId}', { id: this.key, entryId }, { text });
    } catch (e) {
      this.setLabel(entryId, before);
      say(e instanceof Error ? e.message : 'The label was refused.', 'bad');
    }
  }

  async rename(name: string): Promise<void> {
    const before = this.sessionMeta.value!;
    this.sessionMeta.value = { ...before, name };
    try {
      await act('PATCH /sessions/{id}', { id: this.key }, { name });
    } catch (e) {
      this.sessionMeta.value = { ...this.sessionMeta.value!, name: before.name };
      say(e instanceof Error ? e.message : 'The name was refused.', 'bad');
    }
  }

  async fork(entryId: string | null): Promise<string | null> {
    try {
      const id = this.key;
      const r = entryId
        ? await act('POST /sessions/{id}/branches', { id }, { entryId })
        : await act('POST /sessions/{id}/fork', { id }, {});
      return r.key;
    } catch (e) {
      say(e instanceof Error ? e.message : 'The fork was refused.', 'bad');
      return null;
    }
  }

  contextAfter(i: number): number | null {
    return this.figures.contextAfter(i);
  }

  async search(q: string): Promise<void> {
    if (!q) {
      this.hits.value = null;
      return;
    }
    try {
      const r = await get('/sessions/{id}/search', { q, limit: 200, ...this.params });
      this.hits.value = { q, hits: r.hits.flatMap(({ entryId }) => (entryId === null ? [] : [{ entryId }])) };
    } catch (e) {
      if (e instanceof ApiError) say(e.message, 'bad');
    }
  }
}
