// What a context weighs, part by part.
import type { JSX } from 'preact';
import type { ContextFigures, ContextReply } from '../api/types.ts';
import { count, tokens } from '../model/format.ts';
import { fields, textOr } from '../model/json.ts';
import { visible } from '../model/safe.ts';
import { usualWindow } from '../model/windows.ts';

type Part = NonNullable<ContextReply['parts']>[number];

const WORDS: Record<string, string> = {
  overhead: 'System prompt and tools',
  summary: 'Compaction summary',
  prompts: 'Your prompts',
  replies: 'Replies',
  thinking: 'Thinking',
  toolCalls: 'Tool calls',
  toolResults: 'Tool results',
  images: 'Images',
  other: 'Other',
};
const COLOURS = 8;

// What the last reply says was read, less what the messages weigh, is what the agent sends before them.
export function whole(c: ContextReply): { parts: Part[]; used: number; estimate: boolean } {
  const parts = c.parts ?? [],
    sum = parts.reduce((n, p) => n + p.tokens, 0),
    used = Math.round(c.window?.used ?? sum);
  if (c.window?.source !== 'usage' || used < sum) return { parts, used: sum, estimate: true };
  return {
    parts: used > sum ? [{ part: 'overhead', tokens: used - sum, bytes: 0, count: 0 }, ...parts] : parts,
    used,
    estimate: false,
  };
}

export const modelOf = (c: ContextFigures | null): string | null => textOr(fields(c?.model)['modelId'], null);

// How much was sent, of how much: as the session tells, else as models of this name usually take.
export function windowOf(c: ContextFigures | null): { used: number; limit: number | null } | null {
  const w = c?.window;
  return w ? { used: w.used, limit: w.limit ?? usualWindow(modelOf(c) ?? undefined, w.used) } : null;
}

const share = (n: number, of: number): string => {
  const p = of ? (n / of) * 100 : 0;
  return p > 0 && p < 0.5 ? '< 1 %' : `${Math.round(p)} %`;
};

export function Weights({ c }: { c: ContextReply }): JSX.Element {
  const { parts, used, estimate } = whole(c);
  const limit = windowOf(c)?.limit ?? null;
  const colour = (i: number): string => `p${(i % COLOURS) + 1}`;
  return (
    <>
      <div>
        <div class="figrow">
          <span class="fig num">{count(used)}</span>
          <span class="soft">{limit ? `tokens of ${count(limit)}` : 'tokens'}</span>
          {estimate && <span class="chip line end">estimate</span>}
        </div>
        <div class="dim">
          {count(c.entryIds.length)} {c.entryIds.length === 1 ? 'message' : 'messages'}
          {c.leaf && (
            <>
              , sent from leaf <span class="mono">{c.leaf.slice(0, 8)}</span>
            </>
          )}
        </div>
      </div>
      {parts.length > 0 && (
        <div class="stack-w">
          <div class="stack" role="img" aria-label="Share of each part">
            {parts.map((p, i) => (
              <i key={p.part} class={colour(i)} style={{ flexGrow: p.tokens }} />
            ))}
            {limit && <i class="p0" style={{ flexGrow: Math.max(0, limit - used) }} />}
          </div>
          <div class="parts num">
            {parts.map((p, i) => (
              <div key={p.part} title={`${count(p.tokens)} tokens`}>
                <i class={colour(i)} />
                <span class="trunc">
                  {WORDS[p.part] ?? visible(p.part)}
                  {p.part === 'overhead' && <span class="dim"> by difference</span>}
                </span>
                <span>{tokens(p.tokens)}</span>
                <span class="r">{share(p.tokens, used)}</span>
              </div>
            ))}
          </div>
        </div>
      )}
    </>
  );
}
