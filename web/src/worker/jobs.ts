// What may be slow or may fail: one job in, one answer out.
import { compare, patchLines } from './diff.ts';
import { highlight } from './highlight.ts';
import { markdown } from './markdown.ts';
import type { Ask } from './nodes.ts';

export function run(j: Ask): unknown {
  switch (j.job) {
    case 'markdown':
      return markdown(j.text);
    case 'code':
      return highlight(j.text, j.lang);
    case 'diff':
      return compare(j.before, j.after, j.lang);
    case 'patch':
      return patchLines(j.lines, j.lang);
  }
}
