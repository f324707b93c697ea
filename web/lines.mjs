// No line of web/ is longer than 120 columns, also where the formatter does not break one: strings, comments, pages.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const MAX = 120;
const root = new URL('.', import.meta.url);
const options = { cwd: root, encoding: 'utf8' };

// A release has no repository: there is nothing to check then.
function files() {
  try {
    const stdio = ['ignore', 'pipe', 'ignore'];
    return execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { ...options, stdio });
  } catch {
    return '';
  }
}

let long = 0;
for (const file of files().split('\0').filter(Boolean)) {
  const lines = readFileSync(new URL(file, root), 'utf8').split('\n');
  for (const [at, line] of lines.entries()) {
    if ([...line].length <= MAX) continue;
    console.log(`# web/${file}:${at + 1}: ${[...line].length} columns`);
    long++;
  }
}
process.exit(long ? 1 : 0);
