// What the model sees, and the entry itself.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { get } from '../api/http.ts';
import type { AgentLog, ContextReply, Entry } from '../api/types.ts';
import { body, firstWords } from '../model/body.ts';
import { weigh } from '../model/derive.ts';
import { bytes, count, modelName, moment, money, plural, tokens } from '../model/format.ts';
import { visible } from '../model/safe.ts';
import { Batch } from '../parts/batch.tsx';
import { Icon } from '../parts/icons.tsx';
import { JsonTree } from '../parts/json.tsx';
import { copy } from '../state/app.ts';
import type { SessionState } from '../state/session.ts';
import { Bars } from './lazy.tsx';

export type Tab = 'entry' | 'context' | 'workers' | 'raw';
const TABS: [Tab, string][] = [['entry', 'Entry'], ['context', 'Context'], ['workers', 'Workers'], ['raw', 'Raw']];

const PARTS: Record<string, string> = {
  system: 'System prompt and tools', tools: 'System prompt and tools', overhead: 'System prompt and tools', summary: 'Compaction summary', compaction: 'Compaction summary', summaries: 'Summaries', prompts: 'Your prompts', user: 'Your prompts',
  replies: 'Replies', assistant: 'Replies', toolResults: 'Tool results', results: 'Tool results', toolCalls: 'Tool calls', calls: 'Tool calls', thinking: 'Thinking', images: 'Images', other: 'Other',
};
const WHY: Record<string, string> = {
  'last-entry': 'It is the last entry in the file; nothing marks another one.', marker: 'A mark in the file says so: somebody moved the leaf here.', 'last-prompt': 'The agent stored it with its last prompt.', store: 'The store keeps it beside the session.',
};

const roleOf = (m: any): string => ({ user: 'user', assistant: 'assistant', toolResult: 'result', tool: 'result', compactionSummary: 'summary', branchSummary: 'summary', bashExecution: 'shell' } as Record<string, string>)[m?.role] ?? String(m?.role ?? 'message');
const weight = (m: any): number => { if (typeof m?.tokens === 'number') return m.tokens; if (typeof m?.bytes === 'number') return m.bytes / 4; const w = weigh(m); return w.tokens + w.images; };
const headOf = (m: any): string => m?.head ?? m?.text ?? (m?.toolName ? `${m.toolName} ${firstWords({ type: 'message', message: m })}` : firstWords({ type: 'message', message: m }) || body({ type: 'm', message: m }).blocks.map((b) => (b.is === 'call' ? b.name : '')).filter(Boolean).join(', '));

type Line = { out: string; n: number; at: number } | { message: any; id: string | null; n: number };

// Messages in order, with the runs that were left out where they were.
function inOrder(c: ContextReply, session: SessionState): Line[] {
  const lines: Line[] = [];
  const outs = (c.explain ?? []).filter((e) => !e.included).map((e) => ({ ...e, n: e.count ?? e.to - e.from + 1 })).filter((e) => !/not sent to the model/.test(e.reason) || e.n > 20);
  let k = 0;
  c.messages.forEach((message, i) => {
    const id = c.entryIds[i] ?? null;
    const at = id === null ? undefined : session.skeleton.index.get(id);
    const seq = at === undefined ? Infinity : session.skeleton.seq[at]!;
    while (k < outs.length && outs[k]!.to < seq) { lines.push({ out: outs[k]!.reason, n: outs[k]!.n, at: outs[k]!.from }); k++; }
    lines.push({ message, id, n: i + 1 });
  });
  while (k < outs.length) { lines.push({ out: outs[k]!.reason, n: outs[k]!.n, at: outs[k]!.from }); k++; }
  return lines;
}

function ContextTab({ session, goTo }: { session: SessionState; goTo: (id: string) => void }): JSX.Element {
  const c = session.context.value;
  const leafId = session.isPreview.value && session.viewLeaf.value >= 0 ? session.skeleton.id[session.viewLeaf.value]! : null;
  const [more, setMore] = useState(200);
  useEffect(() => { if (!session.context.value) void session.loadContext(leafId); }, [c === null, leafId]);
  useEffect(() => { void session.loadContext(leafId); }, [leafId]);
  if (!c) return <Bars />;
  const parts = c.parts ?? [];
  const used = c.window?.used ?? parts.reduce((s, p) => s + p.tokens, 0);
  const limit = c.window?.limit ?? null;
  const lines = inOrder(c, session);
  const heaviest = Math.max(1, ...c.messages.map(weight));
  return (
    <div class="pane">
      <div><div class="figrow"><span class="fig num">{count(Math.round(used))}</span><span class="soft">{limit ? `tokens of ${count(limit)}` : 'tokens'}</span>{c.window?.source !== 'usage' && <span class="chip line end">estimate</span>}</div><div class="dim">{plural(c.messages.length, 'message')}{c.leaf && <>, sent from leaf <span class="mono">{c.leaf.slice(0, 8)}</span></>}</div></div>
      {parts.length > 0 && <div class="stack-w"><div class="stack" role="img" aria-label="Share of each part">{parts.map((p, i) => <i key={p.part} class={`p${(i % 6) + 1}`} style={{ flexGrow: p.tokens }} />)}{limit && <i class="p0" style={{ flexGrow: Math.max(0, limit - used) }} />}</div>
        <div class="parts num">{parts.map((p, i) => <div key={p.part}><i class={`p${(i % 6) + 1}`} /><span class="trunc">{PARTS[p.part] ?? visible(p.part)}</span><span>{tokens(p.tokens)}</span><span class="r">{used ? Math.round((p.tokens / used) * 100) : 0} %</span></div>)}</div></div>}
      {c.leafReason && <div class="why"><b>Why this leaf?</b> {WHY[c.leafReason.rule] ?? visible(c.leafReason.rule)}</div>}
      <div class="sect"><h2>What is sent<span class="end">in order</span></h2>
        <div class="msgs">{lines.slice(0, more).map((l, i) => ('out' in l
          ? <button key={i} class="mg out" onClick={() => { const k = session.skeleton.seq.indexOf(l.at); if (k >= 0) goTo(session.skeleton.id[k]!); }}><Icon name="layers" /><span class="trunc">{plural(l.n, 'entry', 'entries')} left out: {visible(l.out)}</span><Icon name="right" /></button>
          : <button key={i} class="mg" onClick={() => { if (l.id) goTo(l.id); }}><span class="bar-bg" style={{ width: `${Math.max(1, (weight(l.message) / heaviest) * 100)}%` }} /><span class="num dim">{l.n}</span><span>{roleOf(l.message)}</span><span class="trunc">{visible(headOf(l.message))}</span><span class="r num">{tokens(weight(l.message))}</span></button>))}
          {lines.length > more && <button class="more" onClick={() => setMore(more + 500)}>{plural(lines.length - more, 'more message')}</button>}</div></div>
      <div class="acts l"><button class="btn sm" onClick={() => void get<ContextReply>(`${session.path}/context`, leafId ? { leaf: leafId } : {}).then((full) => copy(JSON.stringify(full.messages, null, 1), 'Messages'))}><Icon name="copy" />Copy as JSON</button></div>
    </div>
  );
}

function EntryTab({ session, entry, i }: { session: SessionState; entry: Entry; i: number }): JSX.Element {
  const b = body(entry), s = session.skeleton;
  const rows: [string, JSX.Element | string][] = [
    ['Id', <span class="mono">{s.id[i]}</span>], ['Type', visible(entry.type)], ['Time', moment(s.time[i]!)], ['Size', bytes(s.bytes[i]!)],
    ['Place', session.onActivePath.value[i] ? `on the active path, ${session.activePathIds.value.indexOf(i) + 1} of ${session.activePathIds.value.length}` : 'on another branch'],
    ['Children', count([...s.children(i)].length)],
  ];
  if (b.model) rows.push(['Model', `${modelName(b.model)} (${b.model})`]);
  if (b.usage) rows.push(['Tokens', `${count(b.usage.input)} in, ${count(b.usage.output)} out`]);
  if (b.usage?.cost) rows.push(['Cost', money(b.usage.cost)]);
  const label = s.labels.get(i);
  if (label) rows.push(['Label', <span class="chip tag">{visible(label)}</span>]);
  return <div class="pane"><dl class="kv">{rows.map(([k, v]) => [<dt key={k}>{k}</dt>, <dd key={`${k}v`}>{v}</dd>])}</dl></div>;
}

function WorkersTab({ session }: { session: SessionState }): JSX.Element {
  const [agents, setAgents] = useState<AgentLog[] | null>(null);
  useEffect(() => { get<{ agents: AgentLog[] } | AgentLog[]>(`${session.path}/agents`).then((r) => setAgents(Array.isArray(r) ? r : r.agents), () => setAgents([])); }, []);
  const batches = Object.entries(session.subagents.value.projectionByEntryId);
  if (!batches.length && agents && !agents.length) return <div class="pane"><p class="soft">No workers ran in this session.</p></div>;
  return (
    <div class="pane">
      {batches.map(([id, p]) => <Batch key={id} projection={p} tasks={[]} />)}
      {agents && agents.length > 0 && <div class="sect"><h2>Logs of sub-agents</h2><ul class="agents">{agents.map((a) => <li key={a.agentId}><a href={`/s/${encodeURIComponent(session.key)}/agents/${encodeURIComponent(a.agentId)}`}><Icon name="users" /><span class="trunc">{visible(a.name ?? a.agentId)}</span><span class="num dim">{plural(a.entries, 'entry', 'entries')}</span></a></li>)}</ul></div>}
    </div>
  );
}

export function Inspector({ session, tab, setTab, close, goTo }: { session: SessionState; tab: Tab; setTab: (t: Tab) => void; close: () => void; goTo: (id: string) => void }): JSX.Element {
  const id = session.selectedEntryId.value ?? session.sessionMeta.value?.leafEntryId ?? null;
  const i = id === null ? undefined : session.skeleton.index.get(id);
  const entry = i === undefined ? undefined : session.body(i);
  void session.bodyCount.value;
  useEffect(() => { if (id && !entry && (tab === 'entry' || tab === 'raw')) void session.fetchBody(id).catch(() => null); }, [id, tab]);
  return (
    <aside class="insp-p" aria-label="Inspector">
      <div class="tabs"><div role="tablist" aria-label="Inspector">{TABS.map(([t, title]) => <button key={t} role="tab" id={`tab-${t}`} aria-controls="insp-panel" aria-selected={tab === t} tabIndex={tab === t ? 0 : -1} onClick={() => setTab(t)} onKeyDown={(e) => { const d = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0; if (d) { const n = TABS[(TABS.findIndex((x) => x[0] === tab) + d + TABS.length) % TABS.length]![0]; setTab(n); requestAnimationFrame(() => document.getElementById(`tab-${n}`)?.focus()); } }}>{title}</button>)}</div><span class="grow" /><button class="iconbtn s26" aria-label="Close inspector" onClick={close}><Icon name="x" /></button></div>
      <div class="insp-s" role="tabpanel" id="insp-panel" aria-labelledby={`tab-${tab}`} tabIndex={0}>
        {tab === 'context' ? <ContextTab session={session} goTo={goTo} />
          : tab === 'workers' ? <WorkersTab session={session} />
            : !entry ? <div class="pane"><p class="soft">{i === undefined ? 'Select an entry to see it here.' : 'Loading…'}</p></div>
              : tab === 'entry' ? <EntryTab session={session} entry={entry} i={i!} />
                : <div class="pane"><div class="json boxed"><JsonTree value={entry} open /></div><div class="acts l"><button class="btn sm" onClick={() => void copy(JSON.stringify(entry, null, 1), 'Entry')}><Icon name="copy" />Copy as JSON</button></div></div>}
      </div>
    </aside>
  );
}
