// What the parts ask to be worked out: Markdown, highlighting, diffs, of at most 64 KB. Where it runs is the
// page's choice: a worker (line.ts), or the page itself (inline.ts) where there can be none.

import type { Ask, DiffLine, Node, PatchLine, Run } from './nodes.ts';

export const TEXT_MAX = 64 * 1024;
const KEPT_MAX = 300;

// What a job comes to is what its kind says (jobs.ts); the asker knows which kind it asked for.
type Runner = (job: Ask) => Promise<unknown>;
let run: Runner = () => Promise.resolve(null);
const ask = <T>(job: Ask): Promise<T | null> => run(job) as Promise<T | null>;
export function runJobsWith(runner: Runner): void {
  run = runner;
}

const kept = new Map<string, unknown>();
const waiting = new Map<string, ((v: never) => void)[]>();

// Answers are kept by what was asked, so that a row that scrolls back is there at once; what is asked twice
// before the answer is worked out once.
function cached<T>(key: string, work: () => Promise<T | null>, use: (v: T | null) => void): T | null | undefined {
  if (kept.has(key)) {
    const v = kept.get(key) as T | null;
    kept.delete(key);
    kept.set(key, v);
    return v;
  }
  const others = waiting.get(key);
  if (others) {
    others.push(use);
    return undefined;
  }
  waiting.set(key, [use]);
  void work().then((v) => {
    kept.set(key, v);
    if (kept.size > KEPT_MAX) kept.delete(kept.keys().next().value!);
    for (const f of waiting.get(key) ?? []) f(v as never);
    waiting.delete(key);
  });
  return undefined;
}

export const askMarkdown = (text: string, use: (v: Node[] | null) => void): Node[] | null | undefined =>
  text.length > TEXT_MAX ? null : cached(`m${text}`, () => ask({ job: 'markdown', text }), use);
export const askCode = (
  text: string,
  lang: string,
  use: (v: { lines: Run[][]; cut: number } | null) => void,
): { lines: Run[][]; cut: number } | null | undefined =>
  text.length > TEXT_MAX ? null : cached(`c${lang}\n${text}`, () => ask({ job: 'code', text, lang }), use);
export const askDiff = (
  before: string,
  after: string,
  lang: string,
  use: (v: DiffLine[] | null) => void,
): DiffLine[] | null | undefined =>
  before.length + after.length > TEXT_MAX
    ? null
    : cached(`d${lang}\n${before}\u0000${after}`, () => ask({ job: 'diff', before, after, lang }), use);
export const askPatch = (
  lines: PatchLine[],
  lang: string,
  use: (v: DiffLine[] | null) => void,
): DiffLine[] | null | undefined =>
  lines.length > 4000
    ? null
    : cached(`p${lang}\n${JSON.stringify(lines)}`, () => ask({ job: 'patch', lines, lang }), use);
