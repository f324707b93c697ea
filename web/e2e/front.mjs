// Serves dist/ with the headers of the real server and passes /api on to `grove serve`: for work on the
// viewer without building the program again. node front.mjs PORT GROVE_PORT
import http from 'node:http';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const dist = new URL('../dist/', import.meta.url).pathname;
export const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; " +
  "worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'; trusted-types grove";
const TYPES = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
};

function page(req, res) {
  const path = new URL(req.url, 'http://x').pathname;
  const name = path === '/licenses' ? 'licenses.txt' : path.slice(1);
  const file = join(dist, /^[\w.-]+$/.test(name) && existsSync(join(dist, name)) ? name : 'index.html');
  res.writeHead(200, {
    'Content-Type': TYPES[file.split('.').pop()],
    'Content-Security-Policy': CSP,
    'X-Content-Type-Options': 'nosniff',
  });
  res.end(readFileSync(file));
}

function pass(req, res, port) {
  const headers = { ...req.headers, host: `127.0.0.1:${port}` };
  if (headers.origin) headers.origin = `http://127.0.0.1:${port}`;
  const up = http.request({ host: '127.0.0.1', port, path: req.url, method: req.method, headers }, (r) => {
    res.writeHead(r.statusCode, r.headers);
    r.pipe(res);
  });
  up.on('error', () => res.destroy());
  res.on('close', () => up.destroy());
  req.pipe(up);
}

export function front(port, grovePort) {
  const server = http.createServer((req, res) =>
    req.url.startsWith('/api/') || req.url.startsWith('/auth/') ? pass(req, res, grovePort) : page(req, res),
  );
  return new Promise((done) => {
    server.listen(port, '127.0.0.1', () => done(server));
  });
}

if (process.argv[1]?.endsWith('front.mjs'))
  await front(Number(process.argv[2] ?? 4600), Number(process.argv[3] ?? 4517));
