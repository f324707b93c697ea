// Tool calls of one reply: a bordered list of folded rows, each with its result in a word.
import type { JSX } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import type { Block, Image, Text } from '../model/body.ts';
import { bytes, duration, span } from '../model/format.ts';
import { fields, textOr } from '../model/json.ts';
import { visible } from '../model/safe.ts';
import {
  argument,
  editPairs,
  exitStatus,
  family,
  inAWord,
  patchOf,
  todos,
  type Call,
  type Result,
  type Word,
} from '../model/tools.ts';
import { Ansi, Code, MadeDiff, StoredDiff } from './code.tsx';
import { Icon } from './icons.tsx';
import { JsonTree } from './json.tsx';
import { SourceContext } from './source.ts';
import { Markdown, MoreBytes, useLong } from './text.tsx';

export interface ToolUse {
  call: Call | null;
  result: Result | null;
  resultEntry: string;
  callEntry: string;
  ms: number | null;
  since?: number;
} // since: it still runs, from then on

const PIXELS_MAX = 40e6;

export function Picture({ entryId, image }: { entryId: string; image: Image }): JSX.Element {
  const source = useContext(SourceContext);
  const [broken, setBroken] = useState(false);
  if (!('media' in image)) return <Inline image={image} />;
  const { $media, type, width, height } = image.media;
  const url = source?.media(entryId, $media);
  if (!url || broken || (width ?? 0) * (height ?? 0) > PIXELS_MAX)
    return (
      <span class="chip">
        <Icon name="image" />
        {type}
        {width ? ` ${width} × ${height}` : ''}, {bytes(image.media.bytes)}, not shown
      </span>
    );
  return (
    <a class="pic" href={url} target="_blank" rel="noopener">
      <img
        src={url}
        alt={`Image, ${type}${width ? `, ${width} by ${height}` : ''}`}
        loading="lazy"
        decoding="async"
        onError={() => setBroken(true)}
      />
    </a>
  );
}

const INLINE = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
const INLINE_MAX = 4e6;

// An image whose bytes are in the entry itself: decoded here, shown from memory.
function Inline({ image }: { image: Extract<Image, { data: string }> }): JSX.Element {
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    if (!INLINE.includes(image.type) || !image.data || image.bytes > INLINE_MAX) return undefined;
    let made = '';
    try {
      made = URL.createObjectURL(
        new Blob([Uint8Array.from(atob(image.data), (c) => c.charCodeAt(0))], { type: image.type }),
      );
      setUrl(made);
    } catch {
      return undefined;
    }
    return () => URL.revokeObjectURL(made);
  }, [image.data]);
  return url ? (
    <span class="pic">
      <img src={url} alt={`Image, ${image.type}`} decoding="async" onError={() => setUrl(null)} />
    </span>
  ) : (
    <span class="chip">
      <Icon name="image" />
      {image.type}, {bytes(image.bytes)}
    </span>
  );
}

function WordView({ word }: { word: Word }): JSX.Element {
  if (word.added !== undefined)
    return (
      <span class="num">
        {word.added > 0 || !word.removed ? <span class="plus">+{word.added}</span> : null}
        {word.removed ? <span class="minus"> −{word.removed}</span> : null}
      </span>
    );
  return word.tone === 'plain' ? (
    <span>{word.text}</span>
  ) : (
    <span class={`chip ${word.tone === 'good' ? 'green' : 'red'}`}>{word.text}</span>
  );
}

function ResultText({ use }: { use: ToolUse }): JSX.Element | null {
  const r = use.result;
  if (!r) return <p class="dim pad">There is no result for this call.</p>;
  return (
    <>
      {r.text.map((t, i) => (
        <OneText key={i} entryId={use.resultEntry} text={t} use={use} />
      ))}
      {r.images.map((im, i) => (
        <div key={i} class="pad">
          <Picture entryId={use.resultEntry} image={im} />
        </div>
      ))}
    </>
  );
}

function OneText({ entryId, text, use }: { entryId: string; text: Text; use: ToolUse }): JSX.Element {
  const long = useLong(entryId, text);
  const kind = use.call ? family(use.call.name) : 'other';
  const failed = use.result?.error || (exitStatus(use.result!) ?? 0) !== 0;
  const view =
    kind === 'read' && !failed ? (
      <Code
        text={long.text}
        lang={use.call ? argument(use.call) : ''}
        start={Number(fields(use.call?.args)['offset']) || 1}
      />
    ) : kind === 'web' || kind === 'task' ? (
      <div class="prose pad">
        <Markdown text={long.text} />
      </div>
    ) : (
      <Ansi text={long.text} tail={failed} />
    );
  return (
    <>
      {view}
      <MoreBytes long={long} />
    </>
  );
}

function Opened({ use }: { use: ToolUse }): JSX.Element {
  const { call, result } = use;
  if (!call) return <ResultText use={use} />;
  const kind = family(call.name),
    path = argument(call);
  if ((kind === 'edit' || kind === 'write') && !result?.error) {
    const patch = patchOf(result),
      pairs = editPairs(call.args);
    if (patch) return <StoredDiff patch={patch} lang={path} />;
    if (pairs.length)
      return (
        <>
          {pairs.map(([o, n], i) => (
            <MadeDiff key={i} before={o} after={n} lang={path} />
          ))}
        </>
      );
    const written = fields(call.args)['content'];
    if (typeof written === 'string') return <MadeDiff before="" after={written.replace(/\n$/, '')} lang={path} />;
  }
  if (kind === 'todo' && todos(call).length)
    return (
      <ul class="todo">
        {todos(call).map((t, i) => (
          <li key={i} class={t.state}>
            <span class={t.state === 'done' ? 'box on' : 'box'} role="img" aria-label={t.state} />
            {visible(t.text)}
          </li>
        ))}
      </ul>
    );
  const command = textOr(fields(call.args)['command'], '');
  if (kind === 'shell' && command.includes('\n'))
    return (
      <>
        <Code text={command} lang="bash" />
        <ResultText use={use} />
      </>
    );
  if (kind === 'other' || kind === 'task')
    return (
      <>
        <div class="json">
          <JsonTree value={call.args} open />
        </div>
        <ResultText use={use} />
      </>
    );
  return <ResultText use={use} />;
}

// A call whose result the agent still waits for.
function Running({ since }: { since: number }): JSX.Element {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const t = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(t);
  }, []);
  return (
    <>
      <span class="dot live" aria-hidden="true" />
      <span class="num">running for {span(Math.max(0, now - since))}</span>
    </>
  );
}

export function ToolRow({ use, open, toggle }: { use: ToolUse; open: boolean; toggle: () => void }): JSX.Element {
  const name = use.call?.name ?? use.result?.name ?? 'result';
  const word: Word = use.call ? inAWord(use.call, use.result) : { text: 'without a call', tone: 'plain' };
  const size =
    use.result && use.call && family(use.call.name) === 'shell'
      ? use.result.text.reduce((n, t) => n + ('$ref' in t ? t.bytes : 0), 0)
      : 0;
  return (
    <>
      <button class="tool-r" aria-expanded={open} onClick={toggle}>
        <Icon name={open ? 'down' : 'right'} />
        <span class="nm">{visible(name)}</span>
        <span class="arg trunc">{use.call ? visible(argument(use.call)).slice(0, 300) : ''}</span>
        <span class="end">
          {size > 0 && <span class="num">{bytes(size)}</span>}
          {use.since ? <Running since={use.since} /> : <WordView word={word} />}
          {use.ms !== null && use.ms > 50 && <span class="hidep num">{duration(use.ms)}</span>}
        </span>
      </button>
      {open && (
        <div class="tool-x">
          <Opened use={use} />
        </div>
      )}
    </>
  );
}

export function ShellRow({
  block,
  entryId,
  open,
  toggle,
}: {
  block: Extract<Block, { is: 'shell' }>;
  entryId: string;
  open: boolean;
  toggle: () => void;
}): JSX.Element {
  const bad = block.cancelled || (block.exit ?? 0) !== 0;
  return (
    <>
      <button class="tool-r" aria-expanded={open} onClick={toggle}>
        <Icon name={open ? 'down' : 'right'} />
        <span class="nm">!</span>
        <span class="arg trunc">{visible(block.command).slice(0, 300)}</span>
        <span class="end">
          <span class={`chip ${bad ? 'red' : 'green'}`}>
            {block.cancelled ? 'cancelled' : `exit ${block.exit ?? 0}`}
          </span>
        </span>
      </button>
      {open && (
        <div class="tool-x">
          <ShellOutput entryId={entryId} output={block.output} bad={bad} />
        </div>
      )}
    </>
  );
}

function ShellOutput({ entryId, output, bad }: { entryId: string; output: Text | null; bad: boolean }): JSX.Element {
  const long = useLong(entryId, output);
  return (
    <>
      <Ansi text={long.text} tail={bad} />
      <MoreBytes long={long} />
    </>
  );
}
