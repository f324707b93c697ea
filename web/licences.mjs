// Licence texts of what is bundled: the packages of the lock file that are no development tools.
// `node licences.mjs --write` writes ../docs/viewer-licenses.txt; the tests compare it with the lock file.
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export function bundled(here) {
  const lock = JSON.parse(readFileSync(join(here, 'package-lock.json'), 'utf8'));
  return Object.entries(lock.packages)
    .filter(([path, p]) => path && !p.dev && !p.optional)
    .map(([path, p]) => ({
      name: path.slice('node_modules/'.length),
      version: p.version,
      license: p.license,
      path: join(here, path),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function textOf(path) {
  const name = existsSync(path) && readdirSync(path).find((f) => /^licen[cs]e/i.test(f));
  if (!name) throw new Error(`no licence text in ${path}`);
  return readFileSync(join(path, name), 'utf8').trim();
}

// The icons follow Lucide's grid; a few of its outlines were taken over.
const ICONS = `lucide (icon outlines)  ISC

ISC License

Copyright (c) for portions of Lucide are held by Cole Bemis 2013-2022 as part of Feather (MIT).
All other copyright (c) for Lucide are held by Lucide Contributors 2022.

Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is
hereby granted, provided that the above copyright notice and this permission notice appear in all copies.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH REGARD TO THIS SOFTWARE
INCLUDING ALL IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE
FOR ANY SPECIAL, DIRECT, INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES WHATSOEVER RESULTING FROM LOSS
OF USE, DATA OR PROFITS, WHETHER IN AN ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING
OUT OF OR IN CONNECTION WITH THE USE OR PERFORMANCE OF THIS SOFTWARE.`;

export function licenceText(here) {
  const rule = '\n\n' + '-'.repeat(80) + '\n\n';
  const parts = bundled(here).map((p) => `${p.name} ${p.version}  ${p.license}\n\n${textOf(p.path)}`);
  return ['The viewer of grove contains the following software.', ...parts, ICONS].join(rule) + '\n';
}

if (process.argv.includes('--write')) {
  const here = new URL('.', import.meta.url).pathname;
  writeFileSync(join(here, '../docs/viewer-licenses.txt'), licenceText(here));
}
