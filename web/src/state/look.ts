// What is looked at of a session, wherever it comes from: its shape, the path that is shown, what is selected,
// folded and filtered. A server (session.ts) or the page itself (single/held.ts) fills it.
import { computed, signal, type ReadonlySignal } from '@preact/signals';
import type { ContextFigures, Entry, SessionRecord, Subagents } from '../api/types.ts';
import { editOf, firstArgument, firstWords } from '../model/body.ts';
import { idle, type LeafState } from '../model/leaf.ts';
import { rail, type Zoom } from '../model/rail.ts';
import { lastSeam, project } from '../model/rows.ts';
import { Skeleton } from '../model/skeleton.ts';
import type { Shown } from '../parts/shown.ts';

export const noSubagents: Subagents = {
  projectionByEntryId: {},
  processEventsByEntryId: {},
  evidenceSummariesByEntryId: {},
  toolRuntimeRoutesByEntryId: {},
  subagentRuntimeByBatchId: {},
  toolRuntimeRoutesByBatchId: {},
};

export abstract class Look implements Shown {
  readonly sessionMeta = signal<SessionRecord | null>(null);
  readonly shape = signal(0); // counts changes of the skeleton
  readonly bodyCount = signal(0); // and arrivals of bodies
  readonly viewLeafId = signal<string | null>(null);
  readonly selectedEntryId = signal<string | null>(null);
  readonly leafState = signal<LeafState>(idle);
  readonly zoom = signal<Zoom>('prompts');
  readonly show = signal<ReadonlySet<string>>(new Set());
  readonly open = signal<ReadonlySet<number>>(new Set());
  readonly shut = signal<ReadonlySet<number>>(new Set());
  readonly hits = signal<{ q: string; hits: { entryId: string }[] } | null>(null);
  readonly arrived = signal(0); // entries that came while the view was not following
  readonly subagents = signal<Subagents>(noSubagents);
  skeleton = new Skeleton();
  // Another zoom or filter of the tree is chosen. A page whose address tells them changes the address instead.
  chosen = (zoom: Zoom, show: ReadonlySet<string>): void => {
    this.zoom.value = zoom;
    this.show.value = show;
  };
  seenSeq = 0; // the last entry that was there when one looked before

  abstract readonly key: string;
  abstract readonly sub: string | null;
  abstract readonly context: ReadonlySignal<ContextFigures | null>;
  abstract readonly acting: boolean;
  abstract readonly mayWrite: boolean;

  // Looks at an entry on whichever branch it is; at the leaf without one.
  lookAt(id: string | null): void {
    const i = id === null ? undefined : this.skeleton.index.get(id);
    const off = i !== undefined && !this.onActivePath.value[i];
    this.viewLeafId.value = off ? this.skeleton.id[this.skeleton.tip(i)]! : null;
  }

  readonly activePathIds = computed(() => {
    this.shape.value;
    return this.skeleton.path(this.skeleton.leaf);
  });
  readonly viewLeaf = computed(() => {
    this.shape.value;
    const id = this.viewLeafId.value;
    if (id === null) return this.skeleton.leaf;
    return id === 'root' ? -1 : (this.skeleton.index.get(id) ?? this.skeleton.leaf);
  });
  readonly viewPath = computed(() => {
    this.shape.value;
    return this.skeleton.path(this.viewLeaf.value);
  });
  readonly onActivePath = computed(() => this.skeleton.mask(this.activePathIds.value));
  readonly isPreview = computed(() => this.viewLeafId.value !== null && this.viewLeaf.value !== this.skeleton.leaf);
  // The last compaction on the path, and the first entry that it left in sight: its body says which.
  readonly seam = computed(() => lastSeam(this.skeleton, this.viewPath.value));
  private readonly inSight = computed(() => {
    this.bodyCount.value;
    return this.seam.value < 0 ? -1 : this.keptFrom(this.seam.value);
  });
  readonly visibleEntries = computed(() => {
    this.shape.value;
    return project(this.skeleton, this.viewPath.value, {
      all: this.zoom.value === 'all',
      leaf: this.sessionMeta.value !== null,
      kept: this.inSight.value,
    });
  });
  // Entries that a later one on the path edits for the model: what it sees instead, null for nothing.
  readonly editing = computed(() => this.viewPath.value.filter((i) => this.skeleton.kindAt(i) === 'e'));
  readonly edits = computed(() => {
    this.bodyCount.value;
    const all = new Map<number, string | null>();
    for (const i of this.editing.value) {
      const entry = this.body(i),
        edit = entry ? editOf(entry) : null,
        at = edit ? this.skeleton.index.get(edit.target) : undefined;
      if (at !== undefined) all.set(at, edit!.instead);
    }
    return all;
  });
  readonly railRows = computed(() => {
    this.shape.value;
    return rail(this.skeleton, {
      zoom: this.zoom.value,
      leaf: this.viewLeaf.value,
      open: this.open.value,
      shut: this.shut.value,
      show: this.show.value,
    });
  });

  abstract body(i: number): Entry | undefined;
  // How much was sent with the first reply after a compaction; null if that is not known.
  contextAfter(_i: number): number | null {
    return null;
  }
  abstract need(who: 'rows' | 'rail', entries: number[], soon?: boolean): void;
  abstract more(
    entryId: string,
    pointer: string,
    offset: number,
    limit: number,
  ): Promise<{ text: string; next: number; total: number }>;
  abstract media(entryId: string, n: number): string | null;
  abstract whole(entryId: string, pointer: string): string | null;
  abstract address(entryId: string): string;
  abstract copy(text: string, what: string): void;
  abstract continueFrom(entryId: string): Promise<void>;
  abstract finishDraft(): void;
  abstract append(prompt: string): Promise<void>;

  // The first entry above a compaction that the model still sees; -1 if there is none, or it is not known yet.
  keptFrom(seam: number): number {
    const id = this.body(seam)?.['firstKeptEntryId'];
    const at = typeof id === 'string' ? (this.skeleton.index.get(id) ?? -1) : -1;
    return at >= 0 && at !== seam && this.skeleton.isAncestor(at, seam) ? at : -1;
  }

  // First words of an entry: from the shape, else from its body.
  words(i: number): string {
    const known = this.skeleton.text.get(i);
    if (known) return this.skeleton.roleAt(i) === 'a' ? firstArgument(known) : known;
    const entry = this.body(i);
    return entry ? firstWords(entry) : '';
  }

  // What a session without a name is called by: its first prompt.
  opening(): string {
    void this.bodyCount.value;
    const first = this.viewPath.value.find((i) => this.skeleton.kindAt(i) === 'm' && this.skeleton.roleAt(i) === 'u');
    return first === undefined ? '' : this.words(first).slice(0, 120);
  }
}
