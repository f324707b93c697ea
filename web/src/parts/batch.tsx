// A batch of workers, from the canonical projection alone: prompt and result first, then what happened,
// and where this was taken from.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Projection, Worker } from '../api/types.ts';
import { duration, plural, timeFull } from '../model/format.ts';
import { fields, list, member, textOr } from '../model/json.ts';
import { visible } from '../model/safe.ts';
import { Icon } from './icons.tsx';

const when = (v: unknown): number => {
  const t = member(v, 'timestamp', 'time', 'at');
  return typeof t === 'number' ? t : Date.parse(textOr(t, '')) || 0;
};
const said = (v: unknown): string =>
  textOr(v, null) ?? String(member(v, 'text', 'summary', 'detail', 'message', 'command', 'name') ?? '');

function route(v: unknown): string {
  const r = fields(v),
    reason = r['reason'] ? `: ${r['reason']}` : '',
    fallback = r['fallbackFrom'] ? ` (fallback from ${r['fallbackFrom']}${reason})` : '';
  return `${r['tool'] ?? 'tool'} → ${member(r, 'route', 'target') ?? '?'}${fallback}`;
}

// Events, evidence and routes of a worker as one list, in order of time where they tell it.
export function timeline(w: Worker): { at: number; what: string; text: string }[] {
  const rows = [
    ...list(w.events).map((e) => ({ at: when(e), what: String(member(e, 'event', 'type') ?? 'event'), text: said(e) })),
    ...list(w.evidence).map((e) => ({ at: when(e), what: 'evidence', text: said(e) })),
    ...list(w.toolRoutes).map((r) => ({ at: when(r), what: 'route', text: route(r) })),
  ];
  return rows
    .map((r, i) => ({ r, i }))
    .sort((a, b) => (a.r.at && b.r.at ? a.r.at - b.r.at : 0) || a.i - b.i)
    .map(({ r }) => r);
}

// From the first to the last that is known of it.
function sinceFirst(w: Worker): number {
  const times = [...list(w.events), ...list(w.evidence)].map(when).filter(Boolean);
  return times.length > 1 ? Math.max(...times) - Math.min(...times) : 0;
}

const TONES: Record<string, string> = {
  completed: 'green',
  failed: 'red',
  cancelled: 'amber',
  partial: 'amber',
  running: 'blue',
  pending: '',
};

function WorkerRow({ w, prompt }: { w: Worker; prompt: string | null }): JSX.Element {
  const [open, setOpen] = useState(false);
  const rows = open ? timeline(w) : [];
  const lasted = sinceFirst(w);
  const summary = textOr(w.summary, ''),
    status = textOr(w.status, 'unknown');
  return (
    <>
      <button class="wk" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={open ? 'down' : 'right'} />
        <span class="ag trunc">{visible(textOr(w.agent, 'worker'))}</span>
        <span class="sum trunc">{visible(summary)}</span>
        <span class="num dim">
          {status !== 'completed' && <span class={`chip ${TONES[status] ?? ''}`}>{visible(status)}</span>}{' '}
          {lasted ? duration(lasted) : ''}
        </span>
      </button>
      {open && (
        <div class="evs">
          {prompt && (
            <div class="ev">
              <span class="dim">prompt</span>
              <span class="wide">{visible(prompt)}</span>
            </div>
          )}
          {summary && (
            <div class="ev">
              <span class="dim">result</span>
              <span class="wide">{visible(summary)}</span>
            </div>
          )}
          {rows.map((r, i) => (
            <div class="ev" key={i}>
              <span class="num dim">{r.at ? timeFull(r.at) : ''}</span>
              <span>{visible(r.what)}</span>
              <span class={r.what === 'tool' ? 'tx mono' : 'tx'}>{visible(r.text)}</span>
            </div>
          ))}
          {!rows.length && !prompt && <p class="dim">Nothing more is known about this worker.</p>}
        </div>
      )}
    </>
  );
}

export function Provenance({ d }: { d: Projection['diagnostics'] }): JSX.Element {
  const others = d.inputSources.filter((s) => s !== d.selectedSource);
  if (d.selectedSource === 'none') return <div class="prov">Only the call is known: no result was stored.</div>;
  return (
    <div class={d.fallbackUsed ? 'prov warn' : 'prov'}>
      <span>
        Shown from <b>{d.selectedSource}</b>
      </span>
      {others.length > 0 && (
        <>
          <span>·</span>
          <span>also present: {others.join(', ')}</span>
        </>
      )}
      <span>·</span>
      <span>{d.fallbackUsed ? 'a fallback was used' : 'no fallback'}</span>
    </div>
  );
}

export function Batch({
  projection,
  tasks,
  goal: told,
}: {
  projection: Projection | null;
  tasks: { taskId: string; agent: string; prompt?: string }[];
  goal?: string;
}): JSX.Element {
  const workers: Worker[] =
    projection?.workers ??
    tasks.map((t) => ({
      taskId: t.taskId,
      agent: t.agent,
      status: 'pending',
      summary: null,
      events: [],
      evidence: [],
      toolRoutes: [],
    }));
  const status = projection ? textOr(projection.status, 'unknown') : 'pending';
  const goal = told ?? (tasks.length === 1 ? tasks[0]!.prompt : undefined);
  return (
    <div class="batch">
      <div class="batch-h">
        <Icon name="users" />
        {plural(workers.length, 'worker')}
        <span class="dim trunc">{goal ? visible(goal) : ''}</span>
        <span class={`chip end ${TONES[status] ?? ''}`}>{status === 'completed' ? 'all done' : status}</span>
      </div>
      {workers.map((w) => (
        <WorkerRow key={w.taskId} w={w} prompt={tasks.find((t) => t.taskId === w.taskId)?.prompt ?? null} />
      ))}
      {projection ? <Provenance d={projection.diagnostics} /> : <div class="prov">No result yet.</div>}
    </div>
  );
}
