// Some lines of an entry's text, as an address names them (?l=120-140), with a few around them.
import type { JSX } from 'preact';
import type { Entry } from '../api/types.ts';
import { allText, body, type Text } from '../model/body.ts';
import { visible } from '../model/safe.ts';
import { MoreBytes, useLong } from './text.tsx';

const AROUND = 3,
  MOST = 400;

export function parseLines(l: string | null): { from: number; to: number } | null {
  const m = /^(\d{1,7})(?:-(\d{1,7}))?$/.exec(l ?? '');
  if (!m) return null;
  const from = Math.max(1, Number(m[1])),
    to = m[2] === undefined ? from : Number(m[2]);
  return to < from ? null : { from, to: Math.min(to, from + MOST) };
}

// A long text is left out of the entry: it is the one whose lines are meant.
function longOf(entry: Entry): Text | null {
  for (const b of body(entry).blocks) {
    const texts =
      b.is === 'text' ? [b.text] : b.is === 'result' ? b.text : b.is === 'shell' && b.output ? [b.output] : [];
    for (const t of texts) if ('$ref' in t) return t;
  }
  return null;
}

export function Lines({ id, entry, from, to }: { id: string; entry: Entry; from: number; to: number }): JSX.Element {
  const ref = longOf(entry),
    long = useLong(id, ref);
  const all = (ref ? long.text : allText(entry)).split('\n');
  const first = Math.max(1, from - AROUND),
    last = Math.min(all.length, to + AROUND);
  return (
    <div class="lines-of">
      <p class="dim">
        Lines {from} to {Math.min(to, all.length)} of {all.length}
        {long.rest ? ' so far' : ''}
      </p>
      {first <= all.length ? (
        <pre class="code boxed" tabIndex={0}>
          {all.slice(first - 1, last).map((text, k) => (
            <div key={k} class={first + k >= from && first + k <= to ? 'on' : undefined}>
              <span class="dim num">{`${String(first + k).padStart(6)}  `}</span>
              {visible(text).slice(0, 2000)}
            </div>
          ))}
        </pre>
      ) : (
        <p class="dim">The text does not have these lines.</p>
      )}
      <MoreBytes long={long} />
    </div>
  );
}
