// One open session: its record, its shape, the bodies that are on screen, and what one does with it.
import { computed, signal } from '@preact/signals';
import { act, address, ApiError, get, getText, type Reply } from '../api/http.ts';
import { hub, type GroveEvent } from '../api/hub.ts';
import type {
  ContextFigures,
  ContextReply,
  EntriesReply,
  Entry,
  Plan,
  SessionRecord,
  TreeWire,
  UsageSum,
} from '../api/types.ts';
import { Bodies, ranges } from '../model/bodies.ts';
import { body } from '../model/body.ts';
import { keepSeen, readKept } from '../model/kept.ts';
import { busy, idle, step, type LeafEvent, type Written } from '../model/leaf.ts';
import { Skeleton } from '../model/skeleton.ts';
import { GAP, merged, type Stretch } from '../model/stretch.ts';
import { sessionAt } from '../model/route.ts';
import { copy, mayWrite, me, say } from './app.ts';
import { Look, noSubagents } from './look.ts';

const WHOLE_MAX = 200_000; // up to here the whole shape is held
const END_FIRST = 8000; // above, the end is shown before the rest is asked for
const END = 1500;
const BLOCK = 4096,
  BLOCKS_MAX = 12;
const PREVIEW = 60;
const STILL_MS = 60;
const JOIN_MS = 80; // what comes within is shown together
const FIGURES_MS = 2000; // and figures are read again once for all that comes within

interface Turns {
  seq: number[];
  context: number[];
}

export class SessionState extends Look {
  readonly failure = signal<ApiError | null>(null);
  readonly context = signal<ContextFigures | null>(null);
  readonly sent = signal<ContextReply | null>(null); // with the messages, while one looks at them
  readonly mark = signal<string | null>(null); // one end of a comparison
  private readonly turns = signal<Turns | null>(null);
  readonly cost = signal<Pick<UsageSum, 'cost' | 'estimated'> | null>(null); // what it is billed for, as in the list
  // How its agent goes on with it.
  readonly resume = computed(() => {
    const meta = this.sessionMeta.value;
    return meta && !this.sub
      ? (me.value?.agents.find((a) => a.agent === meta.agent)?.resume?.replace('{id}', meta.id) ?? null)
      : null;
  });
  private bodies = new Bodies();
  private asked = new Set<number>();
  private wanted: Record<'rows' | 'rail', number[]> = { rows: [], rail: [] };
  private request: AbortController | null = null;
  private again = false; // more is wanted than was asked for
  private atEnd = false; // the end is on screen: what comes is wanted at once
  private timer = 0;
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
    this.request?.abort();
    clearTimeout(this.timer);
    clearTimeout(this.late);
    clearTimeout(this.figures);
    if (this.skeleton.n && !this.sub) keepSeen(this.key, this.skeleton.seq[this.skeleton.n - 1]!);
  }

  // Which log is meant: of the session, or of a sub-agent in it.
  private get params(): { id: string; sub?: string } {
    return this.sub ? { id: this.key, sub: this.sub } : { id: this.key };
  }

  // ---- loading -----------------------------------------------------------------

  async load(): Promise<void> {
    try {
      const record = this.sub ? null : await get('/sessions/{id}', { id: this.key });
      this.bodies.clear();
      this.asked.clear();
      this.wanted = { rows: [], rail: [] };
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

  // The end first: that is what one opens a session for. Then the shape, whole or in turns, and what the
  // snapshot tells; the place on the screen stays.
  private async loadLarge(record: SessionRecord): Promise<void> {
    const from = Math.max(0, record.seq - END);
    const end = await this.tree({ level: 'all', after: from });
    const tail: Stretch = { from, to: Infinity, wire: end };
    this.shows(merged(null, [tail], record.entryCount), { ...record, ...end.session });
    await this.firstBodies();
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
    this.wanted = { rows: [], rail: [] };
    this.shape.value++;
  }

  // ---- a session too large to hold: turns, and the stretches one looks at --------

  private parts: { turns: TreeWire; blocks: Map<number, Stretch>; tail: Stretch } | null = null;
  private live: TreeWire[] = []; // what came since the end was read

  private loading = new Set<number>();
  private ready: (() => void) | null = null;

  private firstBodies(): Promise<void> {
    return new Promise((done) => {
      this.ready = done;
      setTimeout(done, 1500);
    });
  }

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
      /* The gap stays a gap, and is asked for again when one looks at it. */
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

  body(i: number): Entry | undefined {
    return this.bodies.get(this.skeleton.seq[i]!);
  }

  // Bodies of these entries are wanted now by one part of the page; asked for once the list has been still
  // for a moment. What was wanted before and is no longer is given up.
  need(who: 'rows' | 'rail', entries: number[], soon = false): void {
    const gaps = entries.filter((i) => this.skeleton.kindAt(i) === GAP);
    for (const i of gaps) this.fill(i);
    this.wanted[who] = gaps.length ? entries.filter((i) => !gaps.includes(i)) : entries;
    if (who === 'rows') this.atEnd = soon;
    if (![...this.missing()].some((seq) => !this.asked.has(seq))) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.fetchBodies(), soon ? 0 : STILL_MS) as unknown as number;
  }

  private *missing(): Generator<number> {
    for (const list of Object.values(this.wanted))
      for (const i of list) if (!this.bodies.has(this.skeleton.seq[i]!)) yield this.skeleton.seq[i]!;
  }

  // A request of which something is still wanted is let finish: entries that come faster than answers would
  // else put each other off for ever.
  private async fetchBodies(): Promise<void> {
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
        this.bodyCount.value++;
        if (this.again) void this.fetchBodies();
      }
      this.ready?.();
    }
  }

  private entries(seq: string, signal?: AbortSignal): Promise<EntriesReply> {
    return get('/sessions/{id}/entries', { seq, view: 'ui', maxBody: 8192, ...this.params }, signal);
  }

  private take(r: EntriesReply): void {
    let reshaped = false;
    for (const stored of r.entries) {
      const { seq } = stored,
        entry = stored.entry as Entry;
      const i = this.skeleton.index.get(entry.id ?? entry.uuid ?? '');
      // What is long was left out of it: near enough, and nothing has to be written out to know.
      this.bodies.put(seq, entry, Math.min(32_768, i === undefined ? 1000 : this.skeleton.bytes[i]!));
      // An agent that stores results of tools as the user's messages: they belong to the reply above.
      if (i !== undefined && this.skeleton.roleAt(i) === 'u' && body(entry).resultsOnly) {
        this.skeleton.role[i] = 't'.charCodeAt(0);
        reshaped = true;
      }
    }
    if (reshaped) this.shape.value++;
    this.bodyCount.value++;
  }

  async fetchBody(id: string): Promise<Entry | null> {
    const i = this.skeleton.index.get(id);
    if (i === undefined) return null;
    const held = this.body(i);
    if (held) return held;
    const r = await this.entries(String(this.skeleton.seq[i]));
    this.take(r);
    return this.body(i) ?? null;
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

  // Set while the session is being deleted: its events no longer matter, and soon there is nothing to read.
  leaving = false;

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

  // Without a stream: has the session changed?
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

  // The first is shown with the next frame, what follows closely is joined.
  private grow(wire: TreeWire, leafId: string | null): void {
    this.pendingWires.push({ wire, leafId });
    const since = performance.now() - this.flushed;
    if (!this.late) this.late = setTimeout(() => this.flush(), Math.max(0, JOIN_MS - since)) as unknown as number;
  }

  private flush(): void {
    this.late = 0;
    this.flushed = performance.now();
    let count = 0,
      told = false;
    for (const { wire, leafId } of this.pendingWires.splice(0)) {
      told ||= /[lnW]/.test(wire.kind);
      const added = this.skeleton.append(wire);
      if (this.atEnd) this.wanted.rows = [...this.wanted.rows, ...added];
      if (this.parts || this.onlyEnd.value) this.live.push(wire);
      count += added.length;
      if (wire.text) this.skeleton.describe(wire);
      const leaf = leafId !== null ? this.skeleton.index.get(leafId) : undefined;
      if (leaf !== undefined) this.skeleton.leaf = leaf;
      else if (added.length) this.skeleton.leaf = added.at(-1)!;
    }
    if (told) void this.retell();
    if (!count) return;
    if (this.atEnd) void this.fetchBodies();
    const meta = this.sessionMeta.value!;
    this.sessionMeta.value = {
      ...meta,
      entryCount: this.parts ? meta.entryCount + count : this.skeleton.n,
      leafEntryId: this.skeleton.id[this.skeleton.leaf] ?? null,
    };
    this.arrived.value += count;
    this.figuresLater();
    this.shape.value++;
  }

  // A label, a name or a result of workers came: what they mean is told by the snapshot.
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
      /* The next event tells it again. */
    }
  }

  setLeaf(id: string | null): void {
    this.skeleton.leaf = id === null ? -1 : (this.skeleton.index.get(id) ?? this.skeleton.leaf);
    this.sessionMeta.value = { ...this.sessionMeta.value!, leafEntryId: id };
    this.figuresLater(0);
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

  private send(e: LeafEvent): void {
    this.leafState.value = step(this.leafState.value, e);
  }
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

  private plannedAt = 0;

  private plan(entryId: string): Promise<Plan> {
    this.plannedAt = this.skeleton.n ? this.skeleton.seq[this.skeleton.n - 1]! : 0;
    return act('POST /sessions/{id}/continue', { id: this.key, dryRun: 1 }, { entryId });
  }

  async continueFrom(entryId: string): Promise<void> {
    this.send({ on: 'continue', entryId });
    if (this.leafState.value.at !== 'asking') return;
    try {
      const plan = await this.plan(entryId);
      this.send({ on: 'plan', plan });
      if (plan.outcome === 'append') await this.howToGoOn();
    } catch (e) {
      this.send({ on: 'refusal', message: e instanceof Error ? e.message : String(e) });
    }
  }

  // At the leaf nothing has to move: what one needs is the agent.
  private async howToGoOn(): Promise<void> {
    const command = this.resume.value;
    if (command) await copy(command, 'Resume command', '. Run it in a terminal to go on.');
    else say('The next message goes on from here.');
  }

  async confirm(force = false): Promise<void> {
    this.send({ on: 'confirm' });
    const s = this.leafState.value;
    if (s.at !== 'switching') return;
    const p = s.pendingLeafConfirmation;
    try {
      const r = await act(
        'POST /sessions/{id}/continue',
        { id: this.key },
        { entryId: p.entryId, expectedRev: p.expectedRev, ...(force ? { force } : {}) },
      );
      this.moved(r.leafEntryId !== undefined ? r.leafEntryId : p.leafAfter);
    } catch (e) {
      await this.notMoved(e, p.entryId);
    }
  }

  private moved(leaf: string | null): void {
    this.viewLeafId.value = null;
    this.setLeaf(leaf);
    this.send({ on: 'moved', leaf });
    say('The leaf has moved.');
  }

  private async notMoved(e: unknown, entryId: string): Promise<void> {
    if (!(e instanceof ApiError)) throw e;
    if (e.code === 'NOANSWER') {
      this.send({ on: 'silence' });
      await this.findOut(entryId);
      return;
    }
    if (e.status !== 409) {
      this.send({ on: 'refusal', message: e.message });
      return;
    }
    // The newest entries come with the refusal; those after the plan are what came between.
    const entries: Written[] = (e.details?.entries ?? [])
      .filter((x) => x.seq > this.plannedAt)
      .map((x) => ({ id: x.id ?? '', author: x.role ?? x.kind, text: '' }));
    try {
      this.send({ on: 'conflict', entries, live: e.code === 'LIVE', plan: await this.plan(entryId) });
    } catch (again) {
      this.send({ on: 'refusal', message: again instanceof Error ? again.message : e.message });
    }
  }

  // Nobody said whether the move was made: the session knows.
  private async findOut(entryId: string): Promise<void> {
    for (let wait = 500; this.leafState.value.at === 'unknown'; wait = Math.min(8000, wait * 2)) {
      await new Promise((r) => setTimeout(r, wait));
      try {
        const s = await get('/sessions/{id}', { id: this.key });
        this.send({ on: 'found', leaf: s.leafEntryId, plan: await this.plan(entryId).catch(() => null) });
        await this.load();
      } catch {
        /* Still silent. */
      }
    }
  }

  cancel(): void {
    this.send({ on: 'cancel' });
  }
  finishDraft(): void {
    if (this.leafState.value.at === 'idle') this.leafState.value = idle;
  }

  // The prompt that was edited, as the next message; the agent answers it when it is resumed.
  async append(prompt: string): Promise<void> {
    const leaf = this.sessionMeta.value!.leafEntryId;
    try {
      await act('POST /sessions/{id}/entries', leaf === null ? { id: this.key } : { id: this.key, parent: leaf }, {
        role: 'user',
        content: prompt,
      });
      this.finishDraft();
      say('Appended. The agent answers it when it is resumed.');
    } catch (e) {
      say(e instanceof Error ? e.message : 'The message was refused.', 'bad');
    }
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

  private contextLeaf: string | null = null;
  private figures = 0;

  // What the header and the inspector tell is read again, once for all that comes within a while; until then
  // the last answer stands, so that nothing blinks while an agent writes.
  private figuresLater(wait = FIGURES_MS): void {
    if (this.context.value === null || (this.figures && wait)) return;
    clearTimeout(this.figures);
    this.figures = setTimeout(() => {
      this.figures = 0;
      void (this.sent.value ? this.loadSent(this.contextLeaf) : this.loadContext(this.contextLeaf));
      void this.loadTurns();
    }, wait) as unknown as number;
  }

  // Context and cost of each reply, by the number of its line.
  async loadTurns(): Promise<void> {
    if (this.sub) return;
    try {
      const turns = await get('/sessions/{id}/usage', { id: this.key, by: 'turn' });
      this.turns.value = { seq: turns.seq ?? [], context: turns.context ?? [] };
      this.cost.value = (await get('/sessions/{id}/usage', { id: this.key, by: 'session' })).totals ?? null;
    } catch {
      /* Figures of comfort: the page does without. */
    }
  }

  contextAfter(i: number): number | null {
    const t = this.turns.value,
      s = this.skeleton;
    if (!t) return null;
    const path = this.viewPath.value;
    for (let k = path.indexOf(i) + 1; k > 0 && k < path.length; k++) {
      if (s.kindAt(path[k]!) === 'c') return null;
      const at = s.roleAt(path[k]!) === 'a' ? t.seq.indexOf(s.seq[path[k]!]!) : -1;
      if (at >= 0) return t.context[at] ?? null;
    }
    return null;
  }

  private async askContext(leaf: string | null, messages: 'none' | 'head'): Promise<ContextReply | null> {
    this.contextLeaf = leaf;
    const at = leaf ? { leaf } : {};
    try {
      const r = await get('/sessions/{id}/context', { explain: 1, parts: 1, messages, ...at, ...this.params });
      this.context.value = r;
      return r as ContextReply;
    } catch (e) {
      if (e instanceof ApiError && e.code !== 'NOANSWER') say(e.message, 'bad');
      return null;
    }
  }

  // With the messages that are sent from another leaf.
  contextAt(leaf: string): Promise<ContextReply> {
    return get('/sessions/{id}/context', { id: this.key, leaf, parts: 1, messages: 'head' }) as Promise<ContextReply>;
  }

  // The figures alone are a few hundred bytes; with how each message begins, megabytes.
  async loadContext(leaf: string | null): Promise<void> {
    await this.askContext(leaf, 'none');
  }
  async loadSent(leaf: string | null): Promise<void> {
    this.sent.value = (await this.askContext(leaf, 'head')) ?? this.sent.value;
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
