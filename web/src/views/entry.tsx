// One row of the conversation, by its kind.
import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Entry } from '../api/types.ts';
import { allText, body, type Block, type Body } from '../model/body.ts';
import { fields, list, member, textOr } from '../model/json.ts';
import { bytes, count, duration, modelName, moment, money, plural, time, tokens } from '../model/format.ts';
import type { Row } from '../model/rows.ts';
import { visible } from '../model/safe.ts';
import { Batch } from '../parts/batch.tsx';
import { Icon } from '../parts/icons.tsx';
import { Picture, ShellRow, ToolRow, type ToolUse } from '../parts/tool.tsx';
import { Prose } from '../parts/text.tsx';
import type { Shown } from '../parts/shown.ts';
import { Menu } from './menu.tsx';
import { seamTokens } from './seam.ts';

export interface RowProps {
  session: Shown;
  row: Row;
  folds: ReadonlySet<string>; // what was opened
  toggle: (name: string) => void;
  goTo: (entryId: string) => void;
  view: (entryId: string) => void; // look at another branch
  label: (entryId: string) => void;
}

function Frame({ p, cls, children }: { p: RowProps; cls: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class={`e ${cls}${p.row.faded ? ' hidden-ctx' : ''}`}>
      <div class="sp">
        <b />
      </div>
      <div class="bd">{children}</div>
    </div>
  );
}

function EntryMenu({ p, id }: { p: RowProps; id: string }): JSX.Element {
  const acts = p.session.mayWrite && !p.session.sub && !p.session.acting;
  const copyText = (): void => {
    const entry = p.session.body(p.session.skeleton.index.get(id)!);
    if (entry) p.session.copy(allText(entry), 'Text');
  };
  return (
    <span class="tools-e">
      <span class="mono hidep">{id.slice(0, 8)}</span>
      <button
        class="mini-b"
        aria-label="Copy link"
        title="Copy link (y)"
        onClick={() => p.session.copy(p.session.address(id), 'Link')}
      >
        <Icon name="link" />
      </button>
      <Menu
        label="Entry"
        cls="mini-b"
        items={[
          ...(acts
            ? [
                { title: 'Continue from here', icon: 'branch', key: 'c', act: () => void p.session.continueFrom(id) },
                { title: 'Label', icon: 'tag', key: 'b', act: () => p.label(id) },
              ]
            : []),
          { title: 'Copy text', icon: 'copy', key: 'Y', act: copyText },
          { title: 'Copy id', icon: 'copy', act: () => p.session.copy(id, 'Id') },
        ]}
      >
        <Icon name="more" />
      </Menu>
    </span>
  );
}

function Labels({ p }: { p: RowProps }): JSX.Element | null {
  const label = p.row.entries.map((i) => p.session.skeleton.labels.get(i)).find(Boolean);
  return label ? <span class="chip tag">{visible(label)}</span> : null;
}

// ‹ 3 of 3 › and the others by name, below a prompt that was tried more than once.
function ForkBar({ p, at }: { p: RowProps; at: number }): JSX.Element | null {
  const s = p.session.skeleton;
  const all = s.attempts(at).filter((i) => {
    const k = s.kindAt(i);
    return k === 'm' || k === 'y' || k === 'b' || k === 'c' || k === 'w';
  });
  if (all.length < 2) return null;
  const here = all.indexOf(at);
  const to = (d: number): void => {
    const next = all[(here + d + all.length) % all.length]!;
    p.view(s.id[next]!);
  };
  const others = all.filter((i) => i !== at).slice(0, 4);
  return (
    <div class="forkbar">
      <span class="pg">
        <button aria-label="Previous branch" onClick={() => to(-1)}>
          ‹
        </button>
        <span class="num">
          {here + 1} of {all.length}
        </span>
        <button aria-label="Next branch" onClick={() => to(1)}>
          ›
        </button>
      </span>
      <span>also tried from here:</span>
      {others.map((i, k) => (
        <span key={i} class="other">
          <button class="lnk trunc" dir="auto" onClick={() => p.view(s.id[i]!)}>
            {visible(p.session.words(i)) || s.id[i]!.slice(0, 8)}
          </button>
          {k < others.length - 1 && <span class="dim">·</span>}
        </span>
      ))}
      {all.length - 1 > others.length && <span class="dim">and {all.length - 1 - others.length} more</span>}
    </div>
  );
}

// What a later edit took out of the context or replaced: a note in its place, what is stored on demand.
function Edited({ p, i, children }: { p: RowProps; i: number; children: ComponentChildren }): JSX.Element {
  const instead = p.session.edits.value.get(i);
  if (instead === undefined) return <>{children}</>;
  const name = `${p.row.key}/stored`,
    open = p.folds.has(name);
  return (
    <>
      <p class="dim edited">
        {instead === null
          ? 'The model no longer sees this: a later edit took it out. '
          : `The model sees this instead: “${visible(instead).slice(0, 280)}” `}
        <button class="lnk" aria-expanded={open} onClick={() => p.toggle(name)}>
          {open ? 'Hide what is stored' : 'Show what is stored'}
        </button>
      </p>
      {open && children}
    </>
  );
}

function EditedResults({ p }: { p: RowProps }): JSX.Element | null {
  const n = p.row.entries.slice(1).filter((i) => p.session.edits.value.has(i)).length;
  return n ? (
    <p class="dim edited">
      {plural(n, 'result')} above {n === 1 ? 'was' : 'were'} replaced or taken out for the model by a later edit.
    </p>
  ) : null;
}

function Waiting({ p, lines }: { p: RowProps; lines: number }): JSX.Element {
  const words = p.row.entries[0] === undefined ? '' : p.session.skeleton.text.get(p.row.entries[0]);
  return words ? (
    <p class="prose soft">{visible(words)}</p>
  ) : (
    <div class="wait" aria-hidden="true">
      {Array.from({ length: lines }, (_, i) => (
        <div key={i} class={`sk w${(i % 4) + 1}`} />
      ))}
    </div>
  );
}

function Prompt(p: RowProps): JSX.Element {
  const i = p.row.entries[0]!,
    id = p.session.skeleton.id[i]!,
    entry = p.session.body(i);
  const b = entry ? body(entry) : null;
  const role = p.session.skeleton.roleAt(i);
  const who = b?.meta
    ? 'Note'
    : p.session.skeleton.kindAt(i) === 'y'
      ? visible(String(entry?.['customType'] ?? 'Note'))
      : role === 'u'
        ? 'You'
        : 'Note';
  return (
    <Frame p={p} cls="usr">
      <div class="hd">
        <span class="who">{who}</span>
        <time class="num" title={moment(p.session.skeleton.time[i]!)}>
          {time(p.session.skeleton.time[i]!)}
        </time>
        <Labels p={p} />
        <span class="end">
          <EntryMenu p={p} id={id} />
        </span>
      </div>
      <div class="bubble">
        {b ? (
          <Edited p={p} i={i}>
            {b.blocks.map((x, k) => (
              <PromptBlock key={k} b={x} id={id} />
            ))}
          </Edited>
        ) : (
          <Waiting p={p} lines={2} />
        )}
      </div>
      <ForkBar p={p} at={i} />
    </Frame>
  );
}

function PromptBlock({ b, id }: { b: Block; id: string }): JSX.Element | null {
  if (b.is === 'text') return <Prose entryId={id} text={b.text} fold />;
  if (b.is === 'image') return <Picture entryId={id} image={b.image} />;
  return b.is === 'unknown' ? <span class="chip">{visible(b.type)}</span> : null;
}

// The results of a reply's calls, wherever they stand below it.
function uses(p: RowProps, b: Body): { tools: ToolUse[]; lone: { id: string; b: Block }[] } {
  const s = p.session.skeleton,
    i0 = p.row.entries[0]!;
  const results: { entry: Entry; i: number; b: Extract<Block, { is: 'result' }>; used: boolean }[] = [],
    lone: { id: string; b: Block }[] = [];
  for (const i of p.row.entries.slice(1)) {
    const entry = p.session.body(i);
    for (const x of entry ? body(entry).blocks : [])
      if (x.is === 'result') results.push({ entry: entry!, i, b: x, used: false });
      else if (x.is === 'shell') lone.push({ id: s.id[i]!, b: x });
  }
  // The last reply of a session that an agent has open: what has no result yet still runs.
  const runs = !!p.session.sessionMeta.value?.live && p.row.entries.includes(s.leaf);
  const tools: ToolUse[] = b.blocks
    .filter((x): x is Extract<Block, { is: 'call' }> => x.is === 'call')
    .map((call) => {
      const r = results.find((x) => !x.used && x.b.id === call.id);
      if (r) r.used = true;
      return {
        call,
        result: r?.b ?? null,
        resultEntry: r ? s.id[r.i]! : '',
        callEntry: s.id[i0]!,
        ms: r ? s.time[r.i]! - s.time[i0]! : null,
        ...(runs && !r ? { since: s.time[i0]! } : {}),
      };
    });
  for (const r of results)
    if (!r.used) tools.push({ call: null as never, result: r.b, resultEntry: s.id[r.i]!, callEntry: '', ms: null });
  return { tools, lone };
}

function Thinking({
  b,
  id,
  open,
  toggle,
}: {
  b: Extract<Block, { is: 'thinking' }>;
  id: string;
  open: boolean;
  toggle: () => void;
}): JSX.Element {
  const size = b.text ? ('text' in b.text ? b.text.text.length : b.text.bytes) : 0;
  if (!size) return <p class="fold">Thinking is not shown</p>;
  return (
    <>
      <button class="fold" aria-expanded={open} onClick={toggle}>
        <Icon name={open ? 'down' : 'right'} />
        Thought<span class="num">· {size > 2000 ? bytes(size) : `${count(size)} characters`}</span>
      </button>
      {open && (
        <div class="thought">
          <ThoughtText id={id} text={b.text!} />
        </div>
      )}
    </>
  );
}

function ThoughtText({
  id,
  text,
}: {
  id: string;
  text: NonNullable<Extract<Block, { is: 'thinking' }>['text']>;
}): JSX.Element {
  return <Prose entryId={id} text={text} />;
}

function costLine(b: Body, ms: number): string {
  const parts: string[] = [];
  if (b.usage?.output) parts.push(`${count(b.usage.output)} tokens`);
  if (b.usage?.cost) parts.push(money(b.usage.cost));
  if (ms > 0 && ms < 3_600_000) parts.push(duration(ms));
  return parts.join(' · ');
}

// Only tools that failed open by themselves: failures are what a reader looks for.
function ToolList({
  p,
  tools,
  lone,
}: {
  p: RowProps;
  tools: ToolUse[];
  lone: { id: string; b: Block }[];
}): JSX.Element | null {
  if (!tools.length && !lone.length) return null;
  return (
    <div class="tools">
      {tools.map((u, k) => {
        const name = `${p.row.key}/t${k}`;
        return <ToolRow key={k} use={u} open={p.folds.has(name)} toggle={() => p.toggle(name)} />;
      })}
      {lone.map((x, k) => {
        const name = `${p.row.key}/s${k}`;
        return x.b.is === 'shell' ? (
          <ShellRow key={`s${k}`} block={x.b} entryId={x.id} open={p.folds.has(name)} toggle={() => p.toggle(name)} />
        ) : null;
      })}
    </div>
  );
}

function Reply(p: RowProps): JSX.Element {
  const s = p.session.skeleton,
    i = p.row.entries[0]!,
    id = s.id[i]!,
    entry = p.session.body(i);
  if (!entry)
    return (
      <Frame p={p} cls={p.row.lead ? '' : 'cont'}>
        {p.row.lead && (
          <div class="hd">
            <span class="who">Assistant</span>
            <time class="num">{time(s.time[i]!)}</time>
          </div>
        )}
        <Waiting p={p} lines={Math.min(6, 1 + Math.floor(s.bytes[i]! / 400))} />
      </Frame>
    );
  const b = body(entry);
  const { tools, lone } = uses(p, b);
  const says = b.blocks.some((x) => x.is === 'text' && ('$ref' in x.text || x.text.text.trim()));
  const parent = s.parent[i]!;
  const head = p.row.lead || says;
  return (
    <Frame p={p} cls={head ? '' : 'tool'}>
      {head && (
        <div class="hd">
          <span class="who">{visible(modelName(b.model))}</span>
          <time class="num" title={moment(s.time[i]!)}>
            {time(s.time[i]!)}
          </time>
          <Labels p={p} />
          <span class="end num">
            <span class="hidep quiet">{costLine(b, parent >= 0 ? s.time[i]! - s.time[parent]! : 0)}</span>
            <EntryMenu p={p} id={id} />
          </span>
        </div>
      )}
      <Edited p={p} i={i}>
        {b.blocks.map((x, k) => {
          if (x.is === 'thinking') {
            const name = `${p.row.key}/h${k}`;
            return <Thinking key={k} b={x} id={id} open={p.folds.has(name)} toggle={() => p.toggle(name)} />;
          }
          if (x.is === 'text')
            return 'text' in x.text && !x.text.text.trim() ? null : <Prose key={k} entryId={id} text={x.text} />;
          return x.is === 'image' ? (
            <Picture key={k} entryId={id} image={x.image} />
          ) : x.is === 'unknown' ? (
            <span key={k} class="chip">
              {visible(x.type)}
            </span>
          ) : null;
        })}
      </Edited>
      {b.error && (
        <div class="banner red">
          <Icon name="alert" small={false} />
          <span>{visible(b.error).slice(0, 400)}</span>
        </div>
      )}
      {b.stop === 'aborted' && <p class="dim">Stopped before it was finished.</p>}
      {head && tools.length + lone.length > 0 && <div class="gap" />}
      <ToolList p={p} tools={tools} lone={lone} />
      <EditedResults p={p} />
      <ForkBar p={p} at={i} />
    </Frame>
  );
}

function Lone(p: RowProps): JSX.Element {
  const s = p.session.skeleton;
  const tools: ToolUse[] = [],
    lone: { id: string; b: Block }[] = [];
  for (const i of p.row.entries) {
    const entry = p.session.body(i);
    for (const x of entry ? body(entry).blocks : []) {
      if (x.is === 'result') tools.push({ call: null, result: x, resultEntry: s.id[i]!, callEntry: '', ms: null });
      else if (x.is === 'shell') lone.push({ id: s.id[i]!, b: x });
    }
  }
  return (
    <Frame p={p} cls="tool">
      {tools.length + lone.length ? <ToolList p={p} tools={tools} lone={lone} /> : <Waiting p={p} lines={1} />}
    </Frame>
  );
}

function summaryText(entry: Entry): Block | null {
  return body(entry).blocks.find((x) => x.is === 'text') ?? null;
}

function Seam(p: RowProps): JSX.Element {
  const s = p.session.skeleton,
    i = p.row.entries[0]!,
    entry = p.session.body(i);
  const { before, after } = seamTokens(p.session, i);
  const open = p.folds.has(`${p.row.key}/sum`);
  const summary = entry ? summaryText(entry) : null;
  const kept = p.session.keptFrom(i),
    path = p.session.viewPath.value;
  const violet = p.row.kind === 'summary';
  const here = path.indexOf(i),
    above = kept >= 0 ? path.indexOf(kept) : here;
  const figures = [
    above > 0 ? plural(above, 'entry', 'entries') : '',
    before !== null ? `${tokens(before)}${after !== null ? ` → ${tokens(after)}` : ''} tokens` : '',
  ]
    .filter(Boolean)
    .join(', ');
  return (
    <div class={`seam-row${violet ? ' violet' : kept >= 0 ? ' keeps' : ''}${p.row.faded ? ' hidden-ctx' : ''}`}>
      <div class="sp">
        <b />
      </div>
      <div>
        <div class="seam">
          <div>
            <strong>
              {violet ? 'Summary of a branch' : s.kindAt(i) === 'z' ? 'Context was cleared' : 'Compacted'}
            </strong>{' '}
            {!violet && <span class="soft num">{figures}</span>}
            <div class="dim">
              {violet
                ? 'The model sees this instead of the branch that was left.'
                : kept >= 0 && !p.row.faded
                  ? `Of what is above, the model sees only the last ${plural(here - above, 'entry', 'entries')}.`
                  : 'The model no longer sees what is above.'}
            </div>
          </div>
          <div class="end">
            {summary && (
              <button class="btn sm" aria-expanded={open} onClick={() => p.toggle(`${p.row.key}/sum`)}>
                Summary
              </button>
            )}
            {kept >= 0 && (
              <button class="btn sm ghost" onClick={() => p.goTo(s.id[kept]!)}>
                What was kept
              </button>
            )}
            {violet && typeof entry?.['fromId'] === 'string' && s.index.has(entry['fromId']) && (
              <button class="btn sm ghost" onClick={() => p.view(String(entry['fromId']))}>
                That branch
              </button>
            )}
          </div>
        </div>
        {open && summary?.is === 'text' && (
          <div class="seam-x">
            <Prose entryId={s.id[i]!} text={summary.text} />
          </div>
        )}
      </div>
    </div>
  );
}

// A tier is a word, or one for each provider.
const tierWords = (t: unknown): string =>
  t && typeof t === 'object'
    ? Object.entries(t)
        .map(([who, tier]) => `${who} ${String(tier)}`)
        .join(', ')
    : String(t);

function changeWords(entry: Entry): string {
  switch (entry.type) {
    case 'model_change':
      return `model ${member(entry, 'modelId', 'model') ?? ''}`;
    case 'thinking_level_change':
      return `thinking ${member(entry, 'thinkingLevel', 'level') ?? ''}`;
    case 'session_info':
    case 'title_change':
    case 'custom-title':
      return `named “${member(entry, 'name', 'title', 'customTitle') ?? ''}”`;
    case 'mode_change':
      return `mode ${entry['mode'] ?? ''}`;
    case 'service_tier_change':
      return `service tier ${tierWords(member(entry, 'serviceTier', 'tier') ?? 'none')}`;
    default:
      return entry.type.replace(/_/g, ' ');
  }
}

function Change(p: RowProps): JSX.Element {
  const shown = p.row.entries.length > 6 ? [...p.row.entries.slice(0, 2), ...p.row.entries.slice(-2)] : p.row.entries;
  const words = shown
    .map((i) => p.session.body(i))
    .filter((e): e is Entry => !!e)
    .map(changeWords);
  const text = words.length ? [...new Set(words)].join(' · ') : plural(p.row.entries.length, 'change');
  return (
    <Frame p={p} cls="quiet-row">
      <p class="dim line trunc">
        {visible(text)}
        {p.row.entries.length > 6 ? `, ${count(p.row.entries.length)} changes in all` : ''}
      </p>
    </Frame>
  );
}

function BatchRow(p: RowProps): JSX.Element {
  const s = p.session.skeleton;
  const ids = p.row.entries.map((i) => s.id[i]!);
  const projection = ids.map((id) => p.session.subagents.value.projectionByEntryId[id]).find(Boolean) ?? null;
  const call = p.session.body(p.row.entries[0]!);
  const tasks = list(call?.['tasks']).map((task) => {
    const t = fields(task);
    return {
      taskId: textOr(t['taskId'], ''),
      agent: textOr(t['agent'], 'worker'),
      prompt: textOr(t['prompt'], undefined),
    };
  });
  return (
    <Frame p={p} cls="tool">
      <Batch
        projection={projection}
        tasks={tasks}
        {...(typeof call?.['description'] === 'string' ? { goal: call['description'] } : {})}
      />
    </Frame>
  );
}

function Raw(p: RowProps): JSX.Element {
  const i = p.row.entries[0]!,
    entry = p.session.body(i),
    name = `${p.row.key}/raw`;
  const open = p.folds.has(name);
  return (
    <Frame p={p} cls="quiet-row">
      <button class="fold" aria-expanded={open} onClick={() => p.toggle(name)}>
        <Icon name={open ? 'down' : 'right'} />
        {visible(entry?.type ?? 'entry')}
        {entry?.['customType'] ? `: ${visible(String(entry['customType']))}` : ''}
        <span class="dim num">{bytes(p.session.skeleton.bytes[i]!)}</span>
      </button>
      {open && entry && (
        <pre class="code boxed" tabIndex={0}>
          {visible(JSON.stringify(entry, null, 1)).slice(0, 8192)}
        </pre>
      )}
    </Frame>
  );
}

// What lies between two turns of a session that is too large to hold; it is loaded when one comes near.
function Gap(p: RowProps): JSX.Element {
  const n = p.session.skeleton.gap.get(p.row.entries[0]!) ?? 0;
  return (
    <Frame p={p} cls="quiet-row gap-row">
      <p class="dim line" style={{ minHeight: `${46 * Math.min(400, n)}px` }}>
        {plural(n, 'entry', 'entries')}, being read
      </p>
    </Frame>
  );
}

const RULES: Record<string, string> = {
  'last-entry': 'Last entry of the file.',
  marker: 'The session says so itself.',
  'last-prompt': 'The agent stored it with its last prompt.',
  store: 'The store keeps it.',
};

function LeafCard(p: RowProps & { resume: string | null; following: boolean }): JSX.Element {
  const meta = p.session.sessionMeta.value!;
  const preview = p.session.isPreview.value;
  const state = p.session.leafState.value;
  const rule = p.session.context.value?.leafReason?.rule;
  const tip = p.session.viewLeaf.value >= 0 ? p.session.skeleton.id[p.session.viewLeaf.value]! : null;
  if (preview) {
    return (
      <Frame p={p} cls="lf last">
        <div class="leafcard off">
          <div class="tx">
            <b>Not on the active path</b> <span class="soft">Viewing this branch does not move the leaf.</span>
          </div>
          {p.session.mayWrite && tip && !p.session.sub && (
            <button class="btn pri" disabled={p.session.acting} onClick={() => void p.session.continueFrom(tip)}>
              Continue from here
            </button>
          )}
          <button class="btn" onClick={() => p.view('')}>
            Back to the leaf
          </button>
        </div>
      </Frame>
    );
  }
  return (
    <Frame p={p} cls="lf last">
      {state.at === 'idle' && state.draft !== null && <Draft p={p} draft={state.draft} />}
      <div class="leafcard" id="leafcard" tabIndex={-1}>
        <div class="tx">
          <b>Leaf</b> <span class="soft">The next message goes on from here.</span>
          <div class="dim">
            {rule ? (RULES[rule] ?? rule) : RULES['last-entry']}
            {meta.live ? ' The agent is still writing.' : ''}
          </div>
        </div>
        {p.resume && (
          <>
            <span class="cmd">{p.resume}</span>
            <button class="btn" onClick={() => p.session.copy(p.resume!, 'Command')}>
              <Icon name="copy" />
              Copy
            </button>
          </>
        )}
      </div>
      {meta.live && p.following && (
        <div class="following">
          <span class="dot live" aria-hidden="true" />
          <b>Following</b>
          <span class="dim">scroll up to stop following</span>
          <kbd>F</kbd>
        </div>
      )}
    </Frame>
  );
}

// The text of a prompt that is to be asked again. It lives here and nowhere else.
function Draft({ p, draft }: { p: RowProps; draft: string }): JSX.Element {
  const [text, setText] = useState(draft);
  const [sending, setSending] = useState(false);
  const meta = p.session.sessionMeta.value!;
  const append = (): void => {
    setSending(true);
    void p.session.append(text).finally(() => setSending(false));
  };
  return (
    <div class="draft">
      <label class="vh" for="draft">
        Your prompt, to edit
      </label>
      <textarea
        id="draft"
        value={text}
        rows={Math.min(12, 2 + text.split('\n').length)}
        data-edited={text !== draft}
        onInput={(e) => setText(e.currentTarget.value)}
      />
      <div class="acts">
        <button class="btn sm ghost" onClick={() => p.session.finishDraft()}>
          Discard
        </button>
        <button class="btn sm" onClick={() => p.session.copy(text, 'Prompt')}>
          <Icon name="copy" />
          Copy the prompt
        </button>
        {p.session.mayWrite && meta.writable !== false && !meta.live && (
          <button class="btn sm pri" disabled={sending || !text.trim()} onClick={append}>
            Append as a message
          </button>
        )}
      </div>
    </div>
  );
}

export function ConversationRow(
  p: RowProps & { resume: string | null; following: boolean; notShown: number; showAll: () => void },
): JSX.Element {
  switch (p.row.kind) {
    case 'prompt':
      return <Prompt {...p} />;
    case 'reply':
      return <Reply {...p} />;
    case 'lone':
      return <Lone {...p} />;
    case 'seam':
    case 'summary':
      return <Seam {...p} />;
    case 'change':
      return <Change {...p} />;
    case 'batch':
      return <BatchRow {...p} />;
    case 'raw':
      return <Raw {...p} />;
    case 'gap':
      return <Gap {...p} />;
    case 'hidden':
      return (
        <Frame p={p} cls="quiet-row">
          <p class="dim line">
            {plural(p.notShown, 'entry', 'entries')} not shown{' '}
            <button class="lnk" onClick={p.showAll}>
              Show all
            </button>
          </p>
        </Frame>
      );
    case 'leaf':
      return <LeafCard {...p} />;
  }
}

// What a screen reader says of a row: author, time, first words.
export function rowLabel(session: Shown, row: Row): string {
  const i = row.entries[0];
  const who: Record<string, string> = {
    prompt: 'You',
    reply: 'Assistant',
    seam: 'Compacted',
    summary: 'Summary of a branch',
    batch: 'Workers',
    change: 'Change',
    leaf: 'Leaf',
    lone: 'Tool',
    raw: 'Entry',
    gap: 'Not loaded yet',
    hidden: 'Not shown',
  };
  if (i === undefined) return who[row.kind]!;
  return [who[row.kind], time(session.skeleton.time[i]!), visible(session.words(i)).slice(0, 80)]
    .filter(Boolean)
    .join(', ');
}
