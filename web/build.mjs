// Builds the viewer into dist/, where the server's build takes it from: one page, and code, style and worker with a
// hash of their content in the name. `--tests` builds the unit tests into dist-test/ instead, `--single` the page of
// a session as one file into dist-single/ (it is in dist/ too, as export.html). The build fails when a part grows
// past its gate: what is loaded before the first text is painted must stay small.
import * as esbuild from 'esbuild';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { licenceText } from './licences.mjs';
import { writeTypes } from './wire.mjs';

const here = new URL('.', import.meta.url).pathname;
const args = process.argv.slice(2);
const option = (name) => {
  const i = args.indexOf(name);
  return i < 0 ? undefined : args[i + 1];
};

const KB = 1024;
const GATES = { main: 80 * KB, css: 14 * KB, worker: 60 * KB, chunk: 25 * KB, first: 150 * KB };

const common = {
  absWorkingDir: here,
  bundle: true,
  charset: 'utf8',
  format: 'esm',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  logLevel: 'warning',
  legalComments: 'none',
};

async function buildTests() {
  const out = join(here, 'dist-test');
  rmSync(out, { recursive: true, force: true });
  const tests = readdirSync(join(here, 'test'))
    .filter((f) => f.endsWith('.test.ts'))
    .map((f) => `test/${f}`);
  await esbuild.build({
    ...common,
    entryPoints: tests,
    outdir: out,
    outExtension: { '.js': '.mjs' },
    platform: 'node',
    target: 'node18',
    sourcemap: 'inline',
  });
}

// esbuild names what it writes by a hash of its content; the worker's address has to stand in the main
// bundle, so the worker comes first.
async function bundle(out) {
  const part = (entryPoints, more = {}) =>
    esbuild.build({
      ...common,
      outdir: out,
      minify: true,
      metafile: true,
      entryNames: '[name]-[hash]',
      chunkNames: '[name]-[hash]',
      assetNames: '[name]-[hash]',
      entryPoints,
      ...more,
    });
  const named = (result, name) =>
    Object.keys(result.metafile.outputs)
      .map((f) => basename(f))
      .find((f) => f.startsWith(`${name}-`));
  const worker = await part(['src/worker/worker.ts'], { format: 'iife' });
  const style = await part(['src/styles/app.css']);
  const boot = await part(['src/boot.ts'], { format: 'iife' });
  const workerName = named(worker, 'worker');
  const main = await part(['src/main.tsx'], {
    splitting: true,
    define: { WORKER_URL: JSON.stringify(`/${workerName}`) },
  });
  const mainName = named(main, 'main');
  const linked = main.metafile.outputs[Object.keys(main.metafile.outputs).find((f) => basename(f) === mainName)].imports
    .filter((i) => i.kind === 'import-statement')
    .map((i) => basename(i.path));
  return { main: mainName, linked, worker: workerName, css: named(style, 'app'), boot: named(boot, 'boot') };
}

function page(names) {
  return readFileSync(join(here, 'src/index.html'), 'utf8')
    .replace('{{css}}', `/${names.css}`)
    .replace('{{boot}}', `/${names.boot}`)
    .replace('{{main}}', `/${names.main}`)
    .replace('{{preload}}', names.linked.map((f) => `<link rel="modulepreload" href="/${f}">`).join(''));
}

// What the server will send, and its size when compressed.
function sizes(out, names) {
  return readdirSync(out)
    .sort()
    .map((file) => ({
      file,
      gzip: gzipSync(readFileSync(join(out, file)), { level: 9 }).length,
      first: [names.main, names.css, names.worker, names.boot, ...names.linked].includes(file),
    }));
}

function gate(files, names) {
  const size = (name) => files.find((f) => f.file === name)?.gzip ?? 0;
  const main = size(names.main) + names.linked.reduce((sum, f) => sum + size(f), 0);
  const first = files.filter((f) => f.first || f.file === 'index.html').reduce((sum, f) => sum + f.gzip, 0);
  const lazy = files.filter((f) => f.file.endsWith('.js') && !f.first);
  const checks = [
    ['main', main, GATES.main],
    ['css', size(names.css), GATES.css],
    ['worker', size(names.worker), GATES.worker],
    ['first load', first, GATES.first],
    ...lazy.map((f) => [f.file, f.gzip, GATES.chunk]),
  ];
  const show = checks.map(
    ([n, v, max]) => `${n} ${(v / KB).toFixed(1)} of ${max / KB} KB${v > max ? ' TOO LARGE' : ''}`,
  );
  if (!args.includes('--quiet')) console.log(show.join('\n'));
  if (checks.some(([, v, max]) => v > max)) throw new Error(`too large:\n${show.join('\n')}`);
}

async function build() {
  const out = option('--out') ?? join(here, 'dist');
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const names = await bundle(out);
  writeFileSync(join(out, 'index.html'), page(names));
  writeFileSync(join(out, 'favicon.svg'), readFileSync(join(here, 'src/favicon.svg')));
  writeFileSync(join(out, 'licenses.txt'), licenceText(here));
  await single(out);
  gate(sizes(out, names), names);
}

// A session as one file: a page that asks for nothing else. Data goes in where it says <!--grove:session-->.
async function single(out) {
  const made = await esbuild.build({
    ...common,
    outdir: out,
    write: false,
    minify: true,
    format: 'iife',
    entryPoints: { page: 'src/single/main.tsx', style: 'src/styles/app.css' },
  });
  const part = (ext) => made.outputFiles.find((f) => f.path.endsWith(ext)).text.trim();
  const hash = (text) => `sha256-${createHash('sha256').update(text).digest('base64')}`;
  const fill = {
    code: part('.js').replace(/<(?=\/script|script|!--)/gi, '\\x3c'),
    style: part('.css'),
    licences: licenceText(here),
  };
  if (/<\/script|<!--/i.test(fill.licences)) throw new Error('a licence text would end its element');
  const values = { ...fill, 'code-hash': hash(fill.code), 'style-hash': hash(fill.style) };
  const text = readFileSync(join(here, 'src/single/page.html'), 'utf8').replace(
    /\{\{([\w-]+)\}\}/g,
    (_, name) => values[name],
  );
  mkdirSync(out, { recursive: true });
  writeFileSync(join(out, 'export.html'), text);
}

writeTypes();
await (args.includes('--tests')
  ? buildTests()
  : args.includes('--single')
    ? single(option('--out') ?? join(here, 'dist-single'))
    : build());
