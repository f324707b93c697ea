// Two branches side by side, from where they part.
import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { get } from '../api/http.ts';
import type { ContextReply, DiffReply, DiffSide } from '../api/types.ts';
import { body, plainText } from '../model/body.ts';
import { count, money, plural, span, time } from '../model/format.ts';
import { formatRoute, sessionAt, type Route } from '../model/route.ts';
import { project, type Row } from '../model/rows.ts';
import { readable, visible } from '../model/safe.ts';
import { differing } from '../model/words.ts';
import { Icon } from '../parts/icons.tsx';
import { SourceContext } from '../parts/source.ts';
import { go, mayWrite, setTitle } from '../state/app.ts';
import { useKeys } from '../state/keys.ts';
import { SessionState } from '../state/session.ts';
import { ContinueDialog } from './dialogs.tsx';
import { ConversationRow } from './entry.tsx';
import { Bars, Boundary } from './lazy.tsx';
import { Weights } from './weights.tsx';

type CompareRoute = Extract<Route, { page: 'compare' }>;
type Pane = 'conversation' | 'files' | 'context';
const ROWS = 80; // two for each turn: what was asked, and what followed

// The rows of one side behind the fork, in pairs: prompts stand beside prompts, and what followed one beside what
// followed the other.
export function turns(rows: Row[]): Row[][] {
  const out: Row[][] = [];
  for (const r of rows) {
    if (r.kind === 'leaf' || r.kind === 'hidden') continue;
    if (r.kind === 'prompt') out.push([r], []);
    else if (out.length) out.at(-1)!.push(r);
    else out.push([], [r]);
  }
  return out;
}

const clip = (text: string, n: number): string => (text.length > n ? `${text.slice(0, n - 1).trimEnd()}…` : text);

function Head({
  session,
  id,
  side,
  lane,
}: {
  session: SessionState;
  id: string;
  side: DiffSide;
  lane: boolean;
}): JSX.Element {
  const s = session.skeleton,
    i = s.index.get(id)!;
  const active = session.onActivePath.value[i] === 1;
  const start = s.branchStart(i, session.onActivePath.value);
  const first = s.path(i).at(-side.entries);
  const lasted = first === undefined || !side.entries ? 0 : s.time[i]! - s.time[first]!;
  return (
    <div class="cmp-h">
      <span class={lane ? 'dot lane1' : 'dot'} />
      <h2 class="trunc">{active ? 'Active path' : visible(session.words(start)) || id.slice(0, 8)}</h2>
      {i === s.leaf && <span class="chip green">leaf</span>}
      <span class="end dim num">
        {plural(side.entries, 'entry', 'entries')}
        {typeof side.cost === 'number' ? ` · ${money(side.cost, side.estimated)}` : ''}
        {lasted > 0 ? ` · ${span(lasted)}` : ''}
      </span>
    </div>
  );
}

// The text of a prompt that was asked on both sides, with the words that differ marked.
function AskedTwice({
  session,
  row,
  mine,
  others,
}: {
  session: SessionState;
  row: Row;
  mine: string;
  others: string;
}): JSX.Element {
  const runs = useMemo(() => differing(mine, others), [mine, others]);
  const i = row.entries[0]!;
  return (
    <div class="e usr">
      <div class="sp">
        <b />
      </div>
      <div class="bd">
        <div class="hd">
          <span class="who">You</span>
          <time class="num">{time(session.skeleton.time[i]!)}</time>
        </div>
        <div class="bubble">
          <div class="prose">
            <div class="plain">
              {runs.map((r, k) =>
                r.only ? <mark key={k}>{readable(r.text)}</mark> : <span key={k}>{readable(r.text)}</span>,
              )}
            </div>
          </div>
        </div>
      </div>
    </div>
  );
}

const PROMPT_MAX = 8000;

function promptText(session: SessionState, rows: Row[] | undefined): string | null {
  const row = rows?.[0],
    entry = row?.kind === 'prompt' ? session.body(row.entries[0]!) : undefined;
  const blocks = entry ? body(entry).blocks : [];
  const only = blocks.length === 1 && blocks[0]!.is === 'text' ? plainText(blocks[0]!.text) : '';
  return only && only.length <= PROMPT_MAX ? only : null;
}

function Turn({
  session,
  rows,
  against,
  folds,
  toggle,
}: {
  session: SessionState;
  rows: Row[] | undefined;
  against: Row[] | undefined;
  folds: ReadonlySet<string>;
  toggle: (n: string) => void;
}): JSX.Element {
  void session.bodyCount.value;
  const mine = promptText(session, rows),
    others = promptText(session, against);
  const twice = mine !== null && others !== null && mine !== others;
  return (
    <div class="cell">
      {twice && <AskedTwice session={session} row={rows![0]!} mine={mine} others={others} />}
      {(twice ? rows!.slice(1) : rows)?.map((row) => (
        <Boundary key={row.key} what="entry">
          <ConversationRow
            session={session}
            row={row}
            folds={folds}
            toggle={toggle}
            goTo={(id) => go(sessionAt(session.key, id))}
            view={(id) => go(sessionAt(session.key, id || null))}
            label={() => undefined}
            resume={null}
            following={false}
            notShown={0}
            showAll={() => undefined}
          />
        </Boundary>
      ))}
    </div>
  );
}

function Files({ side }: { side: DiffSide }): JSX.Element {
  if (!side.files.length) return <p class="dim pad">No files were changed.</p>;
  return (
    <ul class="files">
      {side.files.map((f) => (
        <li key={f.path}>
          <Icon name="file" />
          <span class="trunc mono">{visible(f.path)}</span>
          <span class="num">
            <span class="plus">+{f.added}</span> <span class="minus">−{f.removed}</span>
          </span>
          <span class="dim num">{plural(f.edits, 'edit')}</span>
        </li>
      ))}
    </ul>
  );
}

function ContextSide({ session, leaf }: { session: SessionState; leaf: string }): JSX.Element {
  const [c, set] = useState<ContextReply | null>(null);
  useEffect(() => {
    session.figures.contextAt(leaf).then(set, () => undefined);
  }, [leaf]);
  if (!c) return <Bars rows={3} />;
  return (
    <div class="pane">
      <Weights c={c} />
    </div>
  );
}

export function ComparePage({ r }: { r: CompareRoute }): JSX.Element {
  const session = useMemo(() => new SessionState(r.key, null), [r.key]);
  const [diff, setDiff] = useState<DiffReply | null>(null);
  const [failed, setFailed] = useState<string | null>(null);
  const [pane, setPane] = useState<Pane>('conversation');
  const [folds, setFolds] = useState<ReadonlySet<string>>(new Set());
  const [shown, setShown] = useState(ROWS);
  useEffect(() => () => session.close(), [session]);
  useEffect(() => {
    setTitle('Compare');
    get('/sessions/{id}/diff', { id: r.key, a: r.a, b: r.b }).then(setDiff, (e) => setFailed(e.message));
  }, [r.a, r.b]);
  useKeys({ Escape: () => go(sessionAt(r.key)) });
  const meta = session.sessionMeta.value;
  const s = session.skeleton,
    ia = s.index.get(r.a),
    ib = s.index.get(r.b);
  const sides = useMemo(() => {
    if (!meta || !diff || ia === undefined || ib === undefined) return null;
    const fork = diff.fork === null ? -1 : (s.index.get(diff.fork) ?? -1);
    const after = (leaf: number): Row[][] => {
      const path = s.path(leaf);
      return turns(project(s, path.slice(path.indexOf(fork) + 1), { all: false, leaf: false }).rows);
    };
    return { fork, a: after(ia), b: after(ib) };
  }, [meta, diff, session.shape.value]);
  useEffect(() => {
    if (sides)
      session.need(
        'rows',
        [...sides.a.slice(0, shown), ...sides.b.slice(0, shown)]
          .flat()
          .flatMap((x) => x.entries)
          .slice(0, 400)
          .concat(sides.fork >= 0 ? [sides.fork] : []),
        true,
      );
  }, [sides, shown]);
  const toggle = (n: string): void => {
    const next = new Set(folds);
    if (next.has(n)) next.delete(n);
    else next.add(n);
    setFolds(next);
  };
  if (failed || (meta && (ia === undefined || ib === undefined)))
    return (
      <main class="wrap" id="main" tabIndex={-1}>
        <div class="empty">
          <b>These cannot be compared</b>
          <p class="soft">{failed ?? 'One of the two entries is not there.'}</p>
          <a class="btn" href={sessionAt(r.key)}>
            Back to the session
          </a>
        </div>
      </main>
    );
  if (!sides || !diff || !meta)
    return (
      <main class="wrap" id="main" tabIndex={-1}>
        <Bars />
      </main>
    );
  const nameOf = (i: number): string =>
    clip(visible(session.words(s.branchStart(i, s.mask(s.path(sides.fork)))) || s.id[i]!.slice(0, 8)), 40);
  const n = Math.max(sides.a.length, sides.b.length);
  const foldedAt =
    sides.fork < 0
      ? ''
      : s.kindAt(sides.fork) === 'c'
        ? 'the compaction'
        : clip(visible(session.words(sides.fork)), 60);
  return (
    <main class="cmp-page" id="main" tabIndex={-1}>
      <div class="sh">
        <div class="nm">
          <h1 class="trunc">
            “{nameOf(ia!)}” and “{nameOf(ib!)}”
          </h1>
          <div class="sub">
            {diff.fork && (
              <>
                <span>parted after</span>
                <span class="mono">{diff.fork.slice(0, 8)}</span>
                <i />
              </>
            )}
            <span class="num">{plural(diff.common, 'entry', 'entries')} in common</span>
            <i />
            <span class="num">
              {count(diff.a.entries)} and {count(diff.b.entries)} after it
            </span>
          </div>
        </div>
        <span class="seg" role="group" aria-label="Show">
          {(['conversation', 'files', 'context'] as const).map((p) => (
            <button key={p} aria-pressed={pane === p} onClick={() => setPane(p)}>
              {p[0]!.toUpperCase() + p.slice(1)}
            </button>
          ))}
        </span>
        <a class="btn hide" href={formatRoute({ ...r, a: r.b, b: r.a })}>
          Swap
        </a>
        {mayWrite.value && (
          <button class="btn pri hide" disabled={session.acting} onClick={() => void session.continueFrom(r.a)}>
            Continue from left
          </button>
        )}
      </div>
      <SourceContext.Provider value={session}>
        <div class="cmp">
          <section>
            <Head session={session} id={r.a} side={diff.a} lane={false} />
          </section>
          <section>
            <Head session={session} id={r.b} side={diff.b} lane />
          </section>
          <a class="bandrow" href={sessionAt(r.key, diff.fork)}>
            <Icon name="right" />
            {plural(diff.common, 'entry', 'entries')} in common{foldedAt ? `, up to ${foldedAt}` : ''}
          </a>
          {pane === 'files' ? (
            <>
              <section>
                <Files side={diff.a} />
              </section>
              <section>
                <Files side={diff.b} />
              </section>
            </>
          ) : pane === 'context' ? (
            <>
              <section>
                <ContextSide session={session} leaf={r.a} />
              </section>
              <section>
                <ContextSide session={session} leaf={r.b} />
              </section>
            </>
          ) : (
            Array.from({ length: Math.min(n, shown) }, (_, k) => [
              <section key={`a${k}`}>
                <Turn session={session} rows={sides.a[k]} against={sides.b[k]} folds={folds} toggle={toggle} />
              </section>,
              <section key={`b${k}`}>
                <Turn session={session} rows={sides.b[k]} against={sides.a[k]} folds={folds} toggle={toggle} />
              </section>,
            ])
          )}
          {pane === 'conversation' && n > shown && (
            <button class="bandrow" onClick={() => setShown(shown + ROWS)}>
              Show {Math.ceil((n - shown) / 2)} more turns
            </button>
          )}
        </div>
      </SourceContext.Provider>
      <ContinueDialog session={session} />
    </main>
  );
}
