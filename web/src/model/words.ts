// Which words of a text are not in another: for two prompts side by side.
import { diffWordsWithSpace } from 'diff';

export interface WordRun {
  text: string;
  only: boolean;
}

const LIKE = 0.3;

// The text in runs; `only` are the words that the other does not have there.
export function differing(mine: string, others: string): WordRun[] {
  const changes = diffWordsWithSpace(others, mine, { maxEditLength: 4000 });
  // Where little is the same, marks would say nothing: a comma that both have is no likeness.
  const same = changes?.reduce((n, c) => n + (c.added || c.removed ? 0 : c.value.length), 0) ?? 0;
  if (!changes || same < LIKE * Math.min(mine.length, others.length)) return [{ text: mine, only: false }];
  const out: WordRun[] = [];
  for (const c of changes) {
    if (c.removed) continue;
    // A mark begins with a word.
    const lead = c.added && out.length && !out.at(-1)!.only ? /^\s*/.exec(c.value)![0] : '';
    if (lead) {
      out.at(-1)!.text += lead;
      c.value = c.value.slice(lead.length);
    }
    const last = out[out.length - 1];
    // A space between two marked words is marked with them.
    if (last && last.only && !c.added && /^\s+$/.test(c.value)) last.text += c.value;
    else if (last && last.only === !!c.added) last.text += c.value;
    else out.push({ text: c.value, only: !!c.added });
  }
  return out;
}
