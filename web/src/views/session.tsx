// A session: tree, conversation, inspector; one address for each place in it.
import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { address, offline } from '../api/http.ts';
import type { Routes } from '../api/wire.ts';
import { allText, body } from '../model/body.ts';
import { agentName, money, plural, project, tokens, dayAndMonth } from '../model/format.ts';
import { keep, readKept } from '../model/kept.ts';
import { formatRoute, sessionAt } from '../model/route.ts';
import { visible } from '../model/safe.ts';
import { Icon } from '../parts/icons.tsx';
import { parseLines } from '../parts/lines.tsx';
import { copy, go, mayWrite, say, setGuard, setTitle } from '../state/app.ts';
import { expiring, loadExpiring } from '../state/expiring.ts';
import { useKeys } from '../state/keys.ts';
import { SessionState } from '../state/session.ts';
import { Conversation } from './conversation.tsx';
import { ContinueDialog, DeleteDialog, LabelDialog, RenameDialog } from './dialogs.tsx';
import type { Tab } from './inspector.tsx';
import { lazy } from './lazy.tsx';
import { usePlace, type SessionRoute } from './place.ts';
import { Menu } from './menu.tsx';
import { useNarrow } from './narrow.ts';
import { Rail, RAIL } from './rail.tsx';
import { Glyph } from './sessions.tsx';
import { modelOf, windowOf } from './weights.tsx';

const Inspector = lazy(() => import('./inspector.tsx').then((m) => m.Inspector));

// What can be downloaded. What others may read is without keys, tokens, home directories and addresses.
const EXPORTS: [string, Omit<Routes['GET /sessions/{id}/export']['params'], 'id' | 'sub'>][] = [
  ['as a web page, without secrets', { format: 'html', redact: 1 }],
  ['as Markdown, without secrets', { format: 'md', redact: 1 }],
  ['as JSON', { format: 'json' }],
];

// The context of larger sessions is requested only when the user wants to see it.
const METER_MAX = 50_000;

// What the header tells of a session beyond its record comes when the conversation is there.
function useFigures(session: SessionState): void {
  const there = session.sessionMeta.value !== null,
    small = (session.sessionMeta.value?.entryCount ?? 0) <= METER_MAX;
  useEffect(() => {
    if (!there || !small) return undefined;
    const t = setTimeout(() => {
      if (!session.context.value) void session.figures.loadContext(null);
      void session.figures.loadTurns();
    }, 400);
    return () => clearTimeout(t);
  }, [session, there]);
}

function Meter({ session, open }: { session: SessionState; open: () => void }): JSX.Element | null {
  const w = windowOf(session.context.value);
  const share = w?.limit ? Math.min(100, (w.used / w.limit) * 100) : 0;
  return (
    <button class="meter" title="What the model would be sent next" onClick={open}>
      <span class="t">
        <span>Context</span>
        <span class="num">{w ? `${tokens(w.used)}${w.limit ? ` of ${tokens(w.limit)}` : ''}` : '–'}</span>
      </span>
      {(!w || w.limit) && (
        <span class="b">
          <i style={{ width: `${share}%` }} />
        </span>
      )}
    </button>
  );
}

function lastModel(session: SessionState): string | null {
  const m = modelOf(session.context.value);
  if (m) return m;
  const path = session.viewPath.value;
  for (let k = path.length - 1; k > path.length - 60 && k >= 0; k--) {
    const e = session.body(path[k]!);
    const model = e && body(e).model;
    if (model) return model;
  }
  return null;
}

export function SessionPage({ r }: { r: SessionRoute }): JSX.Element {
  const session = useMemo(() => new SessionState(r.key, r.agent), [r.key, r.agent]);
  useEffect(() => () => session.close(), [session]);
  return <Loaded key={`${r.key}/${r.agent}`} session={session} r={r} />;
}

function Loaded({ session, r }: { session: SessionState; r: SessionRoute }): JSX.Element {
  const narrow = useNarrow();
  const meta = session.sessionMeta.value;
  useFigures(session);
  const panel = r.query.get('panel') as Tab | null;
  const pane = r.query.get('pane');
  const [railOpen, setRailOpen] = useState(true);
  const [dialog, setDialog] = useState<{ is: 'label'; id: string } | { is: 'rename' } | { is: 'delete' } | null>(null);
  const off = !mayWrite.value || !!session.sub || meta?.writable === false || !!offline.value;

  const { url, jump, setJump, follow, select, goTo, view, chosen, ...reading } = usePlace(session, r, narrow);
  useEffect(() => {
    setTitle(meta?.name ?? (meta ? `Session ${meta.id.slice(0, 8)}` : ''));
    if (meta && !session.sub) keep({ last: { key: session.key, agentId: meta.agentId } });
  }, [meta?.name, meta?.id]);
  useEffect(() => {
    const q = r.query.get('q');
    if (q && meta) void session.search(q);
  }, [r.query.get('q'), meta === null]);
  useEffect(() => {
    const edited = (): boolean => document.querySelector<HTMLElement>('#draft')?.dataset['edited'] === 'true';
    setGuard(() => !edited() || confirm('The prompt you edited is nowhere else. Leave it?'));
    const leave = (e: BeforeUnloadEvent): void => {
      if (edited()) e.preventDefault();
    };
    addEventListener('beforeunload', leave);
    return () => {
      setGuard(null);
      removeEventListener('beforeunload', leave);
    };
  }, []);
  // After a move the card is where the eye should be.
  useEffect(() => {
    const s = session.leafState.value;
    if (s.at === 'idle' && s.moved !== undefined) {
      follow.value = true;
      go(formatRoute({ ...r, entry: null, query: new URLSearchParams() }), { replace: true });
      requestAnimationFrame(() => document.getElementById(s.draft !== null ? 'draft' : 'leafcard')?.focus());
    }
  }, [session.leafState.value]);

  const setTab = (t: Tab | null): void => go(url({ query: { panel: t } }), { replace: true });

  const withEntry = (f: (id: string, i: number) => void) => (): void => {
    const i = chosen();
    if (i !== null) f(session.skeleton.id[i]!, i);
  };
  useKeys({
    ...reading.keys,
    c: withEntry((id) => {
      if (!off) void session.continueFrom(id);
    }),
    b: withEntry((id) => {
      if (!off) setDialog({ is: 'label', id });
    }),
    y: withEntry((id) => void copy(location.origin + sessionAt(session.key, id), 'Link')),
    Y: withEntry((id) => void session.fetchBody(id).then((e) => e && copy(allText(e), 'Text'))),
    r: () => setTab(panel === 'raw' ? null : 'raw'),
    i: () => setTab(panel === 'context' ? null : 'context'),
    ']': () => setTab(panel ? null : 'context'),
    '[': () => setRailOpen(!railOpen),
    m: withEntry((id) => {
      if (session.mark.value === null) {
        session.mark.value = id;
        say('Marked. Mark another entry to compare.');
      } else if (session.mark.value !== id) {
        const a = session.mark.value;
        session.mark.value = null;
        go(formatRoute({ page: 'compare', key: session.key, a, b: id, query: new URLSearchParams() }));
      }
    }),
    e: () => {
      if (!off) setDialog({ is: 'rename' });
    },
    Escape: () => {
      if (panel) setTab(null);
      else if (session.viewLeafId.value) view('');
      else go('/s');
    },
  });

  if (session.failure.value)
    return (
      <main class="wrap" id="main" tabIndex={-1}>
        <div class="empty">
          <b>
            {session.failure.value.status === 404
              ? 'There is no such session'
              : session.failure.value.status === 410
                ? 'This session was deleted'
                : 'The session could not be read'}
          </b>
          <p class="soft">{session.failure.value.message}</p>
          <a class="btn" href="/s">
            All sessions
          </a>
        </div>
      </main>
    );
  const resume = session.resume.value;
  const other = otherTip(session);
  const model = lastModel(session);
  const actions = [
    ...(off
      ? []
      : [
          { title: 'Rename', icon: 'pencil', act: () => setDialog({ is: 'rename' }) },
          {
            title: 'Fork the whole tree',
            icon: 'fork',
            act: () =>
              void session.fork(null).then((k) => {
                if (k) {
                  say('A new session was made.');
                  go(sessionAt(k));
                }
              }),
          },
        ]),
    { title: 'Copy link', icon: 'link', act: () => void copy(location.origin + sessionAt(session.key), 'Link') },
    ...EXPORTS.map(([title, how]) => ({
      title: `Download ${title}`,
      icon: 'file',
      act: () => {
        location.href = address('/sessions/{id}/export', { ...session.params, ...how });
      },
    })),
    ...(off ? [] : [{ title: 'Delete', icon: 'trash', act: () => setDialog({ is: 'delete' }) }]),
  ];
  const leafId = meta?.leafEntryId ?? null;
  const ways = [
    { title: 'From the selected entry', icon: 'play', key: 'c', act: withEntry((id) => void session.continueFrom(id)) },
    ...(leafId
      ? [
          {
            title: 'From the leaf',
            icon: 'arrowd',
            act: () => {
              view('');
              void session.continueFrom(leafId);
            },
          },
        ]
      : []),
    {
      title: 'In a fork, from the selected entry',
      icon: 'fork',
      act: withEntry(
        (id) =>
          void session.fork(id).then((k) => {
            if (k) {
              say('A new session was made.');
              go(sessionAt(k));
            }
          }),
      ),
    },
    ...(resume ? [{ title: 'Copy the resume command', icon: 'copy', act: () => void copy(resume, 'Command') }] : []),
  ];
  const lines = parseLines(r.query.get('l'));
  const shown = narrow ? (pane ?? (panel ? 'context' : 'conversation')) : 'all';
  const rail = (
    <Rail
      session={session}
      choose={reading.choose}
      window={reading.window}
      phone={narrow}
      width={readKept().rail ?? RAIL}
      widen={(w) => keep({ rail: w })}
    />
  );
  return (
    <main
      class={`sess${panel && !narrow ? ' insp' : ''}${railOpen || narrow ? '' : ' norail'} show-${shown}`}
      id="main"
      tabIndex={-1}
    >
      {narrow && shown !== 'conversation' && <h1 class="vh">{visible(meta?.name ?? 'Session')}</h1>}
      {(!narrow && railOpen) || shown === 'tree' ? rail : null}
      {(shown === 'all' || shown === 'conversation') && (
        <section class="conv" aria-label="Session">
          <div class="sh">
            <div class="nm">
              <h1 class="trunc" dir="auto">
                {meta ? visible(meta.name || session.opening() || `Session ${meta.id.slice(0, 8)}`) : '\u00a0'}
              </h1>
              <div class="sub">
                {meta && (
                  <>
                    <Glyph agent={meta.agent} />
                    <span class="trunc">{visible(project(meta.cwd))}</span>
                    {typeof session.figures.cost.value?.cost === 'number' && (
                      <>
                        <i />
                        <span class="num">
                          {money(session.figures.cost.value.cost, session.figures.cost.value.estimated)}
                        </span>
                      </>
                    )}
                    {model && (
                      <>
                        <i />
                        <span class="trunc">
                          {visible(model)}
                          {session.context.value?.thinkingLevel && session.context.value.thinkingLevel !== 'off'
                            ? `, thinking ${session.context.value.thinkingLevel}`
                            : ''}
                        </span>
                      </>
                    )}
                    {session.sub && (
                      <>
                        <i />
                        <a class="go" href={sessionAt(session.key)}>
                          sub-agent {session.sub.slice(0, 12)}, back to the session
                        </a>
                      </>
                    )}
                  </>
                )}
              </div>
            </div>
            {!narrow && <Meter session={session} open={() => setTab('context')} />}
            {other !== null && meta && (
              <a
                class="btn hide"
                aria-label="Compare"
                href={formatRoute({
                  page: 'compare',
                  key: session.key,
                  a: session.skeleton.id[session.viewLeaf.value] ?? meta.leafEntryId ?? '',
                  b: session.skeleton.id[other]!,
                  query: new URLSearchParams(),
                })}
              >
                <Icon name="cols" />
                <span class="lbl">Compare</span>
              </a>
            )}
            {!off && (
              <span class="split hide">
                <button
                  class="btn pri"
                  disabled={session.acting}
                  onClick={withEntry((id) => void session.continueFrom(id))}
                >
                  Continue
                </button>
                <Menu label="Ways to continue" cls="btn pri chev" items={ways}>
                  <Icon name="down" />
                </Menu>
              </span>
            )}
            <button
              class="iconbtn"
              aria-label="Inspector"
              aria-pressed={panel !== null}
              onClick={() => setTab(panel ? null : 'context')}
            >
              <Icon name="panel" small={false} />
            </button>
            <Menu label="More" cls="iconbtn" items={actions}>
              <Icon name="more" small={false} />
            </Menu>
          </div>
          <Bands session={session} />
          <Conversation
            session={session}
            folds={reading.folds}
            toggle={reading.toggle}
            goTo={goTo}
            view={view}
            label={(id) => setDialog({ is: 'label', id })}
            resume={resume}
            jump={jump}
            follow={follow}
            onWindow={(x) => {
              reading.window.value = x;
            }}
            select={select}
            lines={lines && r.entry ? { entry: r.entry, ...lines } : null}
          />
        </section>
      )}
      {panel && (!narrow || shown === 'context') && (
        <Inspector
          session={session}
          tab={panel}
          setTab={setTab}
          close={() => go(url({ query: { panel: null, pane: null } }), { replace: true })}
          goTo={goTo}
        />
      )}
      {narrow && (
        <nav class="tabbar only-phone" aria-label="Session">
          {(
            [
              ['conversation', 'Conversation', 'list'],
              ['tree', 'Tree', 'branch'],
              ['context', 'Context', 'layers'],
            ] as const
          ).map(([p, t, icon]) => (
            <a
              key={p}
              href={url({
                query: { pane: p === 'conversation' ? null : p, panel: p === 'context' ? 'context' : null },
              })}
              aria-current={shown === p ? 'page' : undefined}
            >
              <Icon name={icon} small={false} />
              {t}
            </a>
          ))}
          {!off && (
            <button disabled={session.acting} onClick={withEntry((id) => void session.continueFrom(id))}>
              <Icon name="play" small={false} />
              Continue
            </button>
          )}
        </nav>
      )}
      <ContinueDialog session={session} />
      {dialog?.is === 'label' && (
        <LabelDialog
          now={session.skeleton.labels.get(session.skeleton.index.get(dialog.id) ?? -1) ?? ''}
          close={() => setDialog(null)}
          save={(t) => void session.label(dialog.id, t)}
        />
      )}
      {dialog?.is === 'rename' && meta && (
        <RenameDialog
          item={{ ...meta, key: session.key }}
          close={() => setDialog(null)}
          done={(name) => {
            session.sessionMeta.value = { ...session.sessionMeta.value!, name };
          }}
        />
      )}
      {dialog?.is === 'delete' && meta && (
        <DeleteDialog
          item={{ ...meta, key: session.key }}
          close={() => setDialog(null)}
          done={() => go('/s')}
          leaving={(yes) => session.leave(yes)}
        />
      )}
    </main>
  );
}

// The place that the history kept for this address: (row, pixels), never a word.

// The newest end of another branch: what Compare compares with.
function otherTip(session: SessionState): number | null {
  const s = session.skeleton,
    on = s.mask(session.viewPath.value);
  for (let i = s.n - 1; i >= 0; i--)
    if (!on[i] && s.first[i] === -1 && s.kindAt(i) === 'm' && !s.isAside(i) && !(s.flags[i]! & 20)) return i;
  return null;
}

function Bands({ session }: { session: SessionState }): JSX.Element | null {
  const meta = session.sessionMeta.value;
  const hits = session.hits.value;
  const ends = expiring.value?.get(session.key);
  useEffect(() => {
    const t = setTimeout(() => void loadExpiring(), 1500);
    return () => clearTimeout(t);
  }, []);
  return (
    <>
      {meta?.damaged && (
        <div class="band red" role="alert">
          <Icon name="alert" small={false} />
          <span>
            {[
              meta.damaged.malformed ? plural(meta.damaged.malformed, 'line is not JSON', 'lines are not JSON') : '',
              meta.damaged.torn ? `the last ${meta.damaged.malformed ? 'one' : 'line'} is cut off` : '',
            ]
              .filter(Boolean)
              .join(', and ')}
            . They are kept and skipped.
          </span>
          <code class="mini mono">grove check --fix --dry-run {meta.id.slice(0, 8)}</code>
        </div>
      )}
      {ends && meta && (
        <div class="band amber">
          <Icon name="clock" small={false} />
          <span>
            {agentName(meta.agent)} deletes this session on {dayAndMonth(Date.parse(ends))}.{' '}
            <code class="mono">grove archive</code> keeps it.
          </span>
        </div>
      )}
      {hits && (
        <div class="band plain" role="status">
          <Icon name="search" small={false} />
          <span>
            {plural(hits.hits.length, 'passage')} {hits.hits.length === 1 ? 'says' : 'say'} “{visible(hits.q)}”.{' '}
            <kbd>n</kbd> and <kbd>N</kbd> go through them.
          </span>
          <button
            class="iconbtn s26"
            aria-label="Close"
            onClick={() => {
              session.hits.value = null;
            }}
          >
            <Icon name="x" />
          </button>
        </div>
      )}
    </>
  );
}
