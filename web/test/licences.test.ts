import test from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

// The tests are bundled into dist-test/, one folder below the package.
const here = new URL('..', import.meta.url).pathname;
const lock = JSON.parse(readFileSync(join(here, 'package-lock.json'), 'utf8'));
interface Package {
  version: string;
  license: string;
  dev?: boolean;
  optional?: boolean;
  resolved?: string;
}
const packages = Object.entries<Package>(lock.packages).filter(([path]) => path);
const bundled = packages.filter(([, p]) => !p.dev && !p.optional);

test('the licence text names every bundled package, in its version', () => {
  const text = readFileSync(join(here, '../docs/viewer-licenses.txt'), 'utf8');
  const named = [...text.matchAll(/^(@?[\w./-]+) (\d+\.\d+\.\d+)  (\S+)$/gm)].map((m) => `${m[1]} ${m[2]} ${m[3]}`);
  assert.deepEqual(
    named.sort(),
    bundled.map(([path, p]) => `${path.slice('node_modules/'.length)} ${p.version} ${p.license}`).sort(),
  );
});

test('nothing copyleft is bundled', () => {
  for (const [path, p] of bundled) assert.match(p.license, /^(MIT|BSD-3-Clause|ISC)$/, path);
});

test('the lock file tells no download addresses, and versions are exact', () => {
  for (const [path, p] of packages) assert.equal(p.resolved, undefined, path);
  const own = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'));
  for (const v of [...Object.values<string>(own.dependencies), ...Object.values<string>(own.devDependencies)])
    assert.match(v, /^\d+\.\d+\.\d+$/);
});
