// What the model sees, and the entry itself.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { get } from '../api/http.ts';
import type { Subagent, ContextReply, Entry, MessageHead } from '../api/types.ts';
import { uncoloured } from '../model/ansi.ts';
import { body, firstArgument } from '../model/body.ts';
import { bytes, count, modelName, moment, money, plural, tokens } from '../model/format.ts';
import { visible } from '../model/safe.ts';
import { Batch } from '../parts/batch.tsx';
import { Icon } from '../parts/icons.tsx';
import { JsonTree } from '../parts/json.tsx';
import { copy } from '../state/app.ts';
import type { SessionState } from '../state/session.ts';
import { Bars } from './lazy.tsx';
import { Weights } from './weights.tsx';

export type Tab = 'entry' | 'context' | 'workers' | 'raw';
const TABS: [Tab, string][] = [
  ['entry', 'Entry'],
  ['context', 'Context'],
  ['workers', 'Workers'],
  ['raw', 'Raw'],
];

const WHY: Record<string, string> = {
  'last-entry': 'It is the last entry in the file; nothing marks another one.',
  marker: 'A mark in the file says so: somebody moved the leaf here.',
  'last-prompt': 'The agent stored it with its last prompt.',
  store: 'The store keeps it beside the session.',
};

const roleOf = (m: MessageHead): string =>
  (
    ({
      user: 'user',
      assistant: 'assistant',
      toolResult: 'result',
      tool: 'result',
      compactionSummary: 'summary',
      branchSummary: 'summary',
      bashExecution: 'shell',
    }) as Record<string, string>
  )[m?.role] ?? String(m?.role ?? 'message');
// How a message begins: of a call what was called with, of a text its words without the marks of Markdown.
function headOf(m: MessageHead): string {
  const text = uncoloured(m.head)
    .replace(/(^|\s)#{1,6}\s/g, '$1')
    .replace(/[`*]/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  const given = m.role === 'assistant' && m.title ? firstArgument(text) : text;
  return m.title ? `${m.title} ${given}` : given;
}

type Line = { out: string; n: number; at: number } | { message: MessageHead; id: string | null; n: number };

type Run = NonNullable<ContextReply['explain']>[number];
const size = (r: Run): number => r.count;
// A change of the model, a label and the like never were messages: they are listed together, after the rest.
const neverSent = (r: Run): boolean => /not sent to the model/.test(r.reason);

// Messages in order, with the runs that were left out where they were.
function inOrder(c: ContextReply, session: SessionState): Line[] {
  const lines: Line[] = [];
  const left = (c.explain ?? []).filter((e) => !e.included),
    outs = left.filter((e) => !neverSent(e));
  const tell = (e: Run): void => {
    lines.push({ out: e.reason, n: size(e), at: e.from });
  };
  let k = 0;
  c.messages.forEach((message, i) => {
    const id = c.entryIds[i] ?? null;
    const at = id === null ? undefined : session.skeleton.index.get(id);
    const seq = at === undefined ? Infinity : session.skeleton.seq[at]!;
    while (k < outs.length && outs[k]!.to < seq) tell(outs[k++]!);
    lines.push({ message, id, n: i + 1 });
  });
  outs.slice(k).forEach(tell);
  const never = new Map<string, Run>();
  for (const e of left.filter(neverSent))
    never.set(e.reason, {
      ...e,
      from: never.get(e.reason)?.from ?? e.from,
      count: size(e) + (never.get(e.reason)?.count ?? 0),
    });
  [...never.values()].forEach(tell);
  return lines;
}

function ContextTab({ session, goTo }: { session: SessionState; goTo: (id: string) => void }): JSX.Element {
  const c = session.figures.sent.value;
  const leafId =
    session.isPreview.value && session.viewLeaf.value >= 0 ? session.skeleton.id[session.viewLeaf.value]! : null;
  const [more, setMore] = useState(200);
  useEffect(() => {
    void session.figures.loadSent(leafId);
  }, [leafId]);
  useEffect(
    () => () => {
      session.figures.sent.value = null;
    },
    [session],
  );
  if (!c) return <Bars />;
  const lines = inOrder(c, session);
  const heaviest = c.messages.reduce((most, m) => Math.max(most, m.tokens), 1);
  return (
    <div class="pane">
      <Weights c={c} />
      {c.leafReason && (
        <div class="why">
          <b>Why this leaf?</b> {WHY[c.leafReason.rule] ?? visible(c.leafReason.rule)}
        </div>
      )}
      <div class="sect">
        <h2>
          What is sent<span class="end">in order</span>
        </h2>
        <div class="msgs">
          {lines.slice(0, more).map((l, i) =>
            'out' in l ? (
              <button
                key={i}
                class="mg out"
                onClick={() => {
                  const k = session.skeleton.seq.indexOf(l.at);
                  if (k >= 0) goTo(session.skeleton.id[k]!);
                }}
              >
                <Icon name="layers" />
                <span class="trunc">
                  {plural(l.n, 'entry', 'entries')} left out: {visible(l.out)}
                </span>
                <Icon name="right" />
              </button>
            ) : (
              <button
                key={i}
                class="mg"
                data-entry={l.id ?? ''}
                onClick={() => {
                  if (l.id) goTo(l.id);
                }}
              >
                <span class="bar-bg" style={{ width: `${Math.max(1, (l.message.tokens / heaviest) * 100)}%` }} />
                <span class="num dim">{l.n}</span>
                <span>{roleOf(l.message)}</span>
                <span class="trunc" dir="auto">
                  {visible(headOf(l.message))}
                </span>
                <span class="r num">{tokens(l.message.tokens)}</span>
              </button>
            ),
          )}
          {lines.length > more && (
            <button class="more" onClick={() => setMore(more + 500)}>
              {plural(lines.length - more, 'more message')}
            </button>
          )}
        </div>
      </div>
      <div class="acts l">
        <button
          class="btn sm"
          onClick={() =>
            void get('/sessions/{id}/context', { id: session.key, ...(leafId ? { leaf: leafId } : {}) }).then((full) =>
              copy(JSON.stringify(full.messages, null, 1), 'Messages'),
            )
          }
        >
          <Icon name="copy" />
          Copy as JSON
        </button>
      </div>
    </div>
  );
}

function EntryTab({ session, entry, i }: { session: SessionState; entry: Entry; i: number }): JSX.Element {
  const b = body(entry),
    s = session.skeleton;
  const rows: [string, JSX.Element | string][] = [
    ['Id', <span class="mono">{s.id[i]}</span>],
    ['Type', visible(entry.type)],
    ['Time', moment(s.time[i]!)],
    ['Size', bytes(s.bytes[i]!)],
    [
      'Place',
      session.onActivePath.value[i]
        ? `on the active path, ${session.activePathIds.value.indexOf(i) + 1} of ${session.activePathIds.value.length}`
        : 'on another branch',
    ],
    ['Children', count([...s.children(i)].length)],
  ];
  if (b.model) rows.push(['Model', `${modelName(b.model)} (${b.model})`]);
  if (b.usage) rows.push(['Tokens', `${count(b.usage.input)} in, ${count(b.usage.output)} out`]);
  if (b.usage?.cost) rows.push(['Cost', money(b.usage.cost)]);
  const label = s.labels.get(i);
  if (label) rows.push(['Label', <span class="chip tag">{visible(label)}</span>]);
  return (
    <div class="pane">
      <dl class="kv">{rows.map(([k, v]) => [<dt key={k}>{k}</dt>, <dd key={`${k}v`}>{v}</dd>])}</dl>
    </div>
  );
}

function WorkersTab({ session }: { session: SessionState }): JSX.Element {
  const [agents, setAgents] = useState<Subagent[] | null>(null);
  useEffect(() => {
    get('/sessions/{id}/agents', { id: session.key }).then(
      (r) => setAgents(r.agents),
      () => setAgents([]),
    );
  }, []);
  const batches = Object.entries(session.subagents.value.projectionByEntryId);
  if (!batches.length && agents && !agents.length)
    return (
      <div class="pane">
        <p class="soft">No workers ran in this session.</p>
      </div>
    );
  return (
    <div class="pane">
      {batches.map(([id, p]) => (
        <Batch key={id} projection={p} tasks={[]} />
      ))}
      {agents && agents.length > 0 && (
        <div class="sect">
          <h2>Logs of sub-agents</h2>
          <ul class="agents">
            {agents.map((a) => (
              <li key={a.agentId}>
                <a href={`/s/${encodeURIComponent(session.key)}/agents/${encodeURIComponent(a.agentId)}`}>
                  <Icon name="users" />
                  <span class="trunc">{visible(a.name ?? a.agentId)}</span>
                  <span class="num dim">{a.entries === null ? '' : plural(a.entries, 'entry', 'entries')}</span>
                </a>
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}

export function Inspector({
  session,
  tab,
  setTab,
  close,
  goTo,
}: {
  session: SessionState;
  tab: Tab;
  setTab: (t: Tab) => void;
  close: () => void;
  goTo: (id: string) => void;
}): JSX.Element {
  const id = session.selectedEntryId.value ?? session.sessionMeta.value?.leafEntryId ?? null;
  const i = id === null ? undefined : session.skeleton.index.get(id);
  const entry = i === undefined ? undefined : session.body(i);
  void session.bodyCount.value;
  useEffect(() => {
    if (id && !entry && (tab === 'entry' || tab === 'raw')) void session.fetchBody(id).catch(() => null);
  }, [id, tab]);
  return (
    <aside class="insp-p" aria-label="Inspector">
      <div class="tabs">
        <div role="tablist" aria-label="Inspector">
          {TABS.map(([t, title]) => (
            <button
              key={t}
              role="tab"
              id={`tab-${t}`}
              aria-controls="insp-panel"
              aria-selected={tab === t}
              tabIndex={tab === t ? 0 : -1}
              onClick={() => setTab(t)}
              onKeyDown={(e) => {
                const d = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0;
                if (d) {
                  const n = TABS[(TABS.findIndex((x) => x[0] === tab) + d + TABS.length) % TABS.length]![0];
                  setTab(n);
                  requestAnimationFrame(() => document.getElementById(`tab-${n}`)?.focus());
                }
              }}
            >
              {title}
            </button>
          ))}
        </div>
        <span class="grow" />
        <button class="iconbtn s26" aria-label="Close inspector" onClick={close}>
          <Icon name="x" />
        </button>
      </div>
      <div class="insp-s" role="tabpanel" id="insp-panel" aria-labelledby={`tab-${tab}`} tabIndex={0}>
        {tab === 'context' ? (
          <ContextTab session={session} goTo={goTo} />
        ) : tab === 'workers' ? (
          <WorkersTab session={session} />
        ) : !entry ? (
          <div class="pane">
            <p class="soft">{i === undefined ? 'Select an entry to see it here.' : 'Loading…'}</p>
          </div>
        ) : tab === 'entry' ? (
          <EntryTab session={session} entry={entry} i={i!} />
        ) : (
          <div class="pane">
            <div class="json boxed">
              <JsonTree value={entry} open />
            </div>
            <div class="acts l">
              <button class="btn sm" onClick={() => void copy(JSON.stringify(entry, null, 1), 'Entry')}>
                <Icon name="copy" />
                Copy as JSON
              </button>
            </div>
          </div>
        )}
      </div>
    </aside>
  );
}
