// What the client works out itself when the server does not tell it.
import type { ContextReply, DiffReply, DiffSide, Entry } from '../api/types.ts';
import { body } from './body.ts';
import type { Skeleton } from './skeleton.ts';
import { changed, family, argument } from './tools.ts';

const BYTES_PER_TOKEN = 4;
const IMAGE_TOKENS = 1500;

function partOf(m: any): string {
  switch (m?.role) {
    case 'compactionSummary': case 'branchSummary': return 'summary';
    case 'user': return Array.isArray(m.content) && m.content.length > 0 && m.content.every((b: any) => b?.type === 'tool_result') ? 'toolResults' : 'prompts';
    case 'assistant': return 'replies';
    case 'toolResult': case 'tool': case 'bashExecution': return 'toolResults';
    default: return 'other';
  }
}

// Tokens of a message by its length; images by a flat figure.
export function weigh(m: any): { tokens: number; images: number } {
  let chars = 0, images = 0;
  const stack: any[] = [m?.content ?? m?.summary ?? m?.output ?? m];
  while (stack.length) {
    const v = stack.pop();
    if (typeof v === 'string') chars += v.length;
    else if (v?.type === 'image') images++;
    else if (v && typeof v === 'object') for (const [k, x] of Object.entries(v)) if (k !== 'signature' && k !== 'thinkingSignature' && k !== 'type' && k !== 'id') stack.push(x);
  }
  return { tokens: Math.ceil(chars / BYTES_PER_TOKEN), images: images * IMAGE_TOKENS };
}

export function contextParts(messages: any[]): NonNullable<ContextReply['parts']> {
  const sums = new Map<string, { tokens: number; count: number }>();
  const add = (part: string, tokens: number): void => { const s = sums.get(part) ?? { tokens: 0, count: 0 }; sums.set(part, { tokens: s.tokens + tokens, count: s.count + 1 }); };
  for (const m of messages) {
    const w = weigh(m);
    add(partOf(m), w.tokens);
    if (w.images) add('images', w.images);
  }
  return ['summary', 'prompts', 'replies', 'toolResults', 'images', 'other'].filter((p) => sums.has(p)).map((part) => ({ part, tokens: sums.get(part)!.tokens, bytes: sums.get(part)!.tokens * BYTES_PER_TOKEN, count: sums.get(part)!.count }));
}

// Reasons entry by entry, joined into runs by seq.
export function explainRuns(explain: any[], s: Skeleton): NonNullable<ContextReply['explain']> {
  const runs: NonNullable<ContextReply['explain']> = [];
  for (const e of explain) {
    if (typeof e.from === 'number') { runs.push(e); continue; }
    const at = s.index.get(e.entryId);
    if (at === undefined) continue;
    const seq = s.seq[at]!, last = runs.at(-1);
    if (last && last.included === e.included && last.reason === e.reason) { last.to = seq; last.count = (last.count ?? 1) + 1; } else runs.push({ from: seq, to: seq, included: e.included, reason: e.reason, count: 1 });
  }
  return runs;
}

export function completeContext(c: ContextReply, s: Skeleton): ContextReply {
  const parts = c.parts ?? contextParts(c.messages ?? []);
  return { ...c, messages: c.messages ?? [], entryIds: c.entryIds ?? [], parts, explain: explainRuns(c.explain ?? [], s), window: c.window ?? { used: parts.reduce((n, p) => n + p.tokens, 0), limit: null, source: 'estimate' } };
}

// Where two paths part, from the shape alone.
export function diffShape(s: Skeleton, a: number, b: number): { fork: number; common: number; a: number[]; b: number[] } {
  const pa = s.path(a), pb = s.path(b);
  let k = 0;
  while (k < pa.length && k < pb.length && pa[k] === pb[k]) k++;
  return { fork: k ? pa[k - 1]! : -1, common: k, a: pa.slice(k), b: pb.slice(k) };
}

function side(s: Skeleton, leaf: number, entries: number[], bodyAt: (i: number) => Entry | undefined): DiffSide {
  const files = new Map<string, { path: string; added: number; removed: number; edits: number }>();
  let cost: number | null = null;
  for (const i of entries) {
    const entry = bodyAt(i);
    if (!entry) continue;
    const b = body(entry);
    if (b.usage?.cost) cost = (cost ?? 0) + b.usage.cost;
    for (const x of b.blocks) {
      if (x.is !== 'call' || !['edit', 'write'].includes(family(x.name))) continue;
      const n = changed(x, null), path = argument(x);
      const f = files.get(path) ?? { path, added: 0, removed: 0, edits: 0 };
      files.set(path, { path, added: f.added + (n?.added ?? 0), removed: f.removed + (n?.removed ?? 0), edits: f.edits + 1 });
    }
  }
  return { leaf: s.id[leaf]!, entries: entries.length, seq: [], cost, files: [...files.values()] };
}

export function diffOf(s: Skeleton, a: number, b: number, bodyAt: (i: number) => Entry | undefined): DiffReply {
  const d = diffShape(s, a, b);
  return { fork: d.fork < 0 ? null : s.id[d.fork]!, common: d.common, a: side(s, a, d.a, bodyAt), b: side(s, b, d.b, bodyAt) };
}
