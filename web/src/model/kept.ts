// The one key in localStorage: theme, width of the rail, where the user was, and the last entry seen of
// the last 50 sessions, as a number. Never a word of a session's content; at most 4 KB.

export interface Kept {
  theme?: 'light' | 'dark';
  rail?: number;
  keys?: boolean;
  last?: { key: string; agentId: string | null };
  seen?: Record<string, number>;
}

const KEY = 'grove';
const SEEN_MAX = 50;
const BYTES_MAX = 4096;

export function readKept(): Kept {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(KEY) ?? '{}');
    return value && typeof value === 'object' ? (value as Kept) : {};
  } catch {
    return {};
  }
}

// The text that is stored: the newest sessions last, the oldest dropped first.
export function keptText(kept: Kept): string {
  const seen = Object.entries(kept.seen ?? {}).slice(-SEEN_MAX);
  let text = JSON.stringify({ ...kept, seen: Object.fromEntries(seen) });
  while (text.length > BYTES_MAX && seen.length) {
    seen.shift();
    text = JSON.stringify({ ...kept, seen: Object.fromEntries(seen) });
  }
  return text;
}

export function keep(change: Partial<Kept>): void {
  try {
    localStorage.setItem(KEY, keptText({ ...readKept(), ...change }));
  } catch {
    // Storage may be off or full; nothing depends on it.
  }
}

export function keepSeen(key: string, seq: number): void {
  const seen = { ...readKept().seen };
  delete seen[key];
  seen[key] = seq;
  keep({ seen });
}
