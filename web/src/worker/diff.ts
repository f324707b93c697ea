// Lines of a change, highlighted, with what changed inside a line marked.
import { structuredPatch } from 'diff';
import { intoLines, runs } from './highlight.ts';
import type { DiffLine, Run } from './nodes.ts';

type Line = { sign: ' ' | '+' | '-' | '@'; old: number | null; new: number | null; text: string };

function side(lines: Line[], signs: string, lang: string): Map<Line, Run[]> {
  const mine = lines.filter((l) => signs.includes(l.sign));
  const lit = intoLines(runs(mine.map((l) => l.text).join('\n'), lang));
  return new Map(mine.map((l, i) => [l, lit[i] ?? [['', l.text]]]));
}

// The part of a replaced line that differs, when a run of removed lines meets as many added ones.
function changedWithin(lines: Line[]): Map<Line, [number, number]> {
  const marks = new Map<Line, [number, number]>();
  for (let i = 0; i < lines.length;) {
    let d = i;
    while (lines[d]?.sign === '-') d++;
    let a = d;
    while (lines[a]?.sign === '+') a++;
    for (let k = 0; k < Math.min(d - i, a - d); k++) {
      const o = lines[i + k]!,
        n = lines[d + k]!;
      const at = common(o.text, n.text);
      // A line with nothing in common is simply another line.
      if (at.head + at.tail > Math.min(o.text.length, n.text.length) * 0.3) {
        marks.set(o, [at.head, o.text.length - at.tail]);
        marks.set(n, [at.head, n.text.length - at.tail]);
      }
    }
    i = Math.max(a, i + 1);
  }
  return marks;
}

function common(a: string, b: string): { head: number; tail: number } {
  const max = Math.min(a.length, b.length);
  let head = 0;
  while (head < max && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < max - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  return { head, tail };
}

export function patchLines(lines: Line[], lang: string): DiffLine[] {
  const before = side(lines, ' -', lang),
    after = side(lines, '+', lang);
  const marks = changedWithin(lines);
  return lines.map((l) => ({
    sign: l.sign,
    old: l.old,
    new: l.new,
    runs: (l.sign === '+' ? after.get(l) : before.get(l)) ?? [['', l.text]],
    hi: marks.get(l),
  }));
}

export function compare(before: string, after: string, lang: string): DiffLine[] {
  const patch = structuredPatch('a', 'b', before, after, '', '', { context: 3 });
  const lines: Line[] = [];
  patch.hunks.forEach((h, k) => {
    if (k) lines.push({ sign: '@', old: null, new: null, text: `@@ -${h.oldStart} +${h.newStart} @@` });
    let oldAt = h.oldStart,
      newAt = h.newStart;
    for (const raw of h.lines) {
      const sign = raw[0] as ' ' | '+' | '-';
      if (raw[0] === '\\') continue;
      lines.push({ sign, old: sign === '+' ? null : oldAt++, new: sign === '-' ? null : newAt++, text: raw.slice(1) });
    }
  });
  return patchLines(lines, lang);
}
