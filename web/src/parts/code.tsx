// Code, diffs and terminal output: lines of (class, text).
import Anser from 'anser';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { terminal } from '../model/ansi.ts';
import { cutLine, visible } from '../model/safe.ts';
import type { Patch } from '../model/tools.ts';
import { askCode, askDiff, askPatch } from '../worker/client.ts';
import type { DiffLine, Run } from '../worker/nodes.ts';

function Runs({ runs }: { runs: Run[] }): JSX.Element {
  return (
    <>
      {runs.map(([cls, text], i) =>
        cls ? (
          <span key={i} class={cls}>
            {visible(text)}
          </span>
        ) : (
          visible(text)
        ),
      )}
    </>
  );
}

export function CodeLines({ lines, cut, lang }: { lines: Run[][]; cut: number; lang?: string }): JSX.Element {
  return (
    <pre class="code" tabIndex={0} aria-label={lang ? `Code, ${lang}` : 'Code'}>
      {lines.map((l, i) => (
        <span key={i} class="ln">
          <Runs runs={l} />
          {'\n'}
        </span>
      ))}
      {cut > 0 && <span class="c">{`… ${cut} more lines`}</span>}
    </pre>
  );
}

export function Code({ text, lang, start }: { text: string; lang: string; start?: number }): JSX.Element {
  const [, again] = useState(0);
  const made = askCode(text, lang, () => again((n) => n + 1));
  const lines: Run[][] =
    made?.lines ??
    text.split('\n').map((l) => {
      const c = cutLine(l);
      return [['', c.text + (c.cut ? ` … ${c.cut} more characters` : '')]];
    });
  return start === undefined ? (
    <CodeLines lines={lines} cut={made?.cut ?? 0} lang={lang} />
  ) : (
    <pre class="code numbered" tabIndex={0} aria-label="Code">
      {lines.map((l, i) => (
        <span key={i} class="ln">
          <span class="no">{start + i}</span>
          <Runs runs={l} />
          {'\n'}
        </span>
      ))}
    </pre>
  );
}

// Splits runs at the marked stretch, so that the change within a line can stand out.
function marked(runs: Run[], hi: [number, number]): { runs: Run[]; on: boolean }[] {
  const out: { runs: Run[]; on: boolean }[] = [
    { runs: [], on: false },
    { runs: [], on: true },
    { runs: [], on: false },
  ];
  let at = 0;
  for (const [cls, text] of runs) {
    const cuts = [
      0,
      Math.min(text.length, Math.max(0, hi[0] - at)),
      Math.min(text.length, Math.max(0, hi[1] - at)),
      text.length,
    ];
    for (let k = 0; k < 3; k++) if (cuts[k + 1]! > cuts[k]!) out[k]!.runs.push([cls, text.slice(cuts[k], cuts[k + 1])]);
    at += text.length;
  }
  return out;
}

function DiffView({ lines }: { lines: DiffLine[] }): JSX.Element {
  const [all, setAll] = useState(false);
  const shown = all ? lines : lines.slice(0, 200);
  return (
    <div class="diff" tabIndex={0} role="group" aria-label="Changes">
      {shown.map((l, i) => (
        <div key={i} class={l.sign === '+' ? 'a' : l.sign === '-' ? 'd' : l.sign === '@' ? 'h' : undefined}>
          <span>{l.old ?? ''}</span>
          <span>{l.new ?? ''}</span>
          <span class="sg">{l.sign === '-' ? '−' : l.sign === '+' ? '+' : ''}</span>
          <code>
            {l.hi ? (
              marked(l.runs, l.hi).map((m, k) =>
                m.on ? (
                  <em key={k}>
                    <Runs runs={m.runs} />
                  </em>
                ) : (
                  <Runs key={k} runs={m.runs} />
                ),
              )
            ) : (
              <Runs runs={l.runs} />
            )}
          </code>
        </div>
      ))}
      {shown.length < lines.length && (
        <button class="more" onClick={() => setAll(true)}>
          Show {lines.length - shown.length} more lines
        </button>
      )}
    </div>
  );
}

export function StoredDiff({ patch, lang }: { patch: Patch; lang: string }): JSX.Element {
  const [, again] = useState(0);
  const made = askPatch(patch.lines, lang, () => again((n) => n + 1));
  return <DiffView lines={made ?? patch.lines.map((l) => ({ ...l, runs: [['', l.text]] }))} />;
}

export function MadeDiff({ before, after, lang }: { before: string; after: string; lang: string }): JSX.Element {
  const [, again] = useState(0);
  const made = askDiff(before, after, lang, () => again((n) => n + 1));
  if (made) return <DiffView lines={made} />;
  const side = (text: string, sign: '-' | '+'): DiffLine[] =>
    text
      .split('\n')
      .map((t, i) => ({ sign, old: sign === '-' ? i + 1 : null, new: sign === '+' ? i + 1 : null, runs: [['', t]] }));
  return <DiffView lines={[...(before ? side(before, '-') : []), ...side(after, '+')]} />;
}

const COLOURS: Record<string, string> = {
  'ansi-black': 'a-d',
  'ansi-red': 'a-r',
  'ansi-green': 'a-g',
  'ansi-yellow': 'a-y',
  'ansi-blue': 'a-b',
  'ansi-magenta': 'a-m',
  'ansi-cyan': 'a-c',
  'ansi-white': '',
  'ansi-bright-black': 'a-d',
  'ansi-bright-red': 'a-r',
  'ansi-bright-green': 'a-g',
  'ansi-bright-yellow': 'a-y',
  'ansi-bright-blue': 'a-b',
  'ansi-bright-magenta': 'a-m',
  'ansi-bright-cyan': 'a-c',
  'ansi-bright-white': 'a-w',
};

function styleOf(p: { fg: string | null; decorations: string[] }): string {
  const list = [COLOURS[p.fg ?? ''] ?? ''];
  if (p.decorations.includes('bold')) list.push('a-w');
  if (p.decorations.includes('dim')) list.push('a-d');
  if (p.decorations.includes('underline')) list.push('a-u');
  if (p.decorations.includes('italic')) list.push('a-i');
  return list.filter(Boolean).join(' ');
}

const PEEK = 20;

// Terminal output. One that failed shows its end first, any other its beginning.
export function Ansi({ text, tail }: { text: string; tail: boolean }): JSX.Element {
  const [all, setAll] = useState(false);
  const lines = terminal(text.replace(/\n$/, '')).split('\n');
  const shown = all || lines.length <= PEEK + 4 ? lines : tail ? lines.slice(-PEEK) : lines.slice(0, PEEK);
  const hidden = lines.length - shown.length;
  const more = hidden > 0 && (
    <button class="more" onClick={() => setAll(true)}>
      Show {hidden} more {hidden === 1 ? 'line' : 'lines'}
    </button>
  );
  const parts = Anser.ansiToJson(
    shown
      .map((l) => {
        const c = cutLine(l);
        return c.text + (c.cut ? ` … ${c.cut} more characters` : '');
      })
      .join('\n'),
    { json: true, remove_empty: true, use_classes: true },
  );
  return (
    <>
      {tail && more}
      <pre class="ansi" tabIndex={0} aria-label="Output">
        {parts.map((p, i) => {
          const cls = styleOf(p as never);
          return cls ? (
            <span key={i} class={cls}>
              {visible(p.content)}
            </span>
          ) : (
            visible(p.content)
          );
        })}
      </pre>
      {!tail && more}
    </>
  );
}
