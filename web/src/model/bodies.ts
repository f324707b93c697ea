// Bodies of entries, the least recently used leave first: at most 24 MB and 4,000 of them.
import type { Entry } from '../api/types.ts';

export class Bodies {
  private held = new Map<number, { entry: Entry; bytes: number }>();
  bytes = 0;
  constructor(
    private maxBytes = 24e6,
    private maxCount = 4000,
  ) {}

  get(seq: number): Entry | undefined {
    const at = this.held.get(seq);
    if (!at) return undefined;
    this.held.delete(seq);
    this.held.set(seq, at);
    return at.entry;
  }

  has(seq: number): boolean {
    return this.held.has(seq);
  }
  get size(): number {
    return this.held.size;
  }

  put(seq: number, entry: Entry, bytes: number): void {
    this.drop(seq);
    this.held.set(seq, { entry, bytes });
    this.bytes += bytes;
    for (const [old] of this.held) {
      if (this.bytes <= this.maxBytes && this.held.size <= this.maxCount) break;
      if (old !== seq) this.drop(old);
    }
  }

  drop(seq: number): void {
    const at = this.held.get(seq);
    if (!at) return;
    this.bytes -= at.bytes;
    this.held.delete(seq);
  }

  clear(): void {
    this.held.clear();
    this.bytes = 0;
  }
}

// 3,4,5,9 → "3-5,9": what /entries?seq= takes.
export function ranges(seqs: number[]): string {
  const s = [...new Set(seqs)].sort((a, b) => a - b);
  const out: string[] = [];
  for (let i = 0; i < s.length;) {
    let j = i;
    while (j + 1 < s.length && s[j + 1] === s[j]! + 1) j++;
    out.push(i === j ? String(s[i]) : `${s[i]}-${s[j]}`);
    i = j + 1;
  }
  return out.join(',');
}
