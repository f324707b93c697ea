// Which words of a text are not in another: for two prompts side by side.
import { diffWordsWithSpace } from 'diff';

export interface WordRun { text: string; only: boolean }

// The text in runs; `only` are the words that the other does not have there.
export function differing(mine: string, others: string): WordRun[] {
  const changes = diffWordsWithSpace(others, mine, { maxEditLength: 4000 });
  if (!changes) return [{ text: mine, only: true }];
  const out: WordRun[] = [];
  for (const c of changes) {
    if (c.removed) continue;
    const last = out[out.length - 1];
    // A space between two marked words is marked with them.
    if (last && last.only && !c.added && /^\s+$/.test(c.value)) last.text += c.value;
    else if (last && last.only === !!c.added) last.text += c.value;
    else out.push({ text: c.value, only: !!c.added });
  }
  return out;
}
