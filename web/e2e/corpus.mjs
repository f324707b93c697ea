// Sessions to look at and to test with: written as the agents write them, the same for the same seed.
// node corpus.mjs DIR [small|large]
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';

export function random(seed) {
  let s = seed;
  return () => (s = (s * 48271) % 2147483647) / 2147483647;
}

const hex = (text, n) => createHash('sha256').update(text).digest('hex').slice(0, n);
const uuid = (text) => {
  const h = hex(text, 32);
  return `${h.slice(0, 8)}-${h.slice(8, 12)}-7${h.slice(13, 16)}-8${h.slice(17, 20)}-${h.slice(20, 32)}`;
};

// A pi session under construction: entries are appended below `leaf`.
export class PiSession {
  constructor(name, cwd, start, o = {}) {
    this.id = o.id ?? uuid(`${name}${cwd}${start}`);
    this.lines = [
      {
        type: 'session',
        version: 3,
        id: this.id,
        timestamp: new Date(start).toISOString(),
        cwd,
        ...(o.parent ? { parentSession: o.parent } : {}),
      },
    ];
    this.leaf = null;
    this.time = start;
    this.start = start;
    this.cwd = cwd;
    this.model = o.model ?? 'claude-sonnet-4-5';
    this.read = o.read ?? 18_000; // what a reply reads from the cache
    this.count = 0;
    this.ids = new Set();
    if (!o.bare) {
      this.add('model_change', { provider: 'anthropic', modelId: this.model });
      this.add('thinking_level_change', { thinkingLevel: 'high' });
    }
    if (name) this.add('session_info', { name });
  }

  add(type, more, wait = 1000) {
    this.time += wait;
    let id = hex(`${this.id}${this.count++}`, 8);
    while (this.ids.has(id)) id = hex(`${this.id}${id}`, 8);
    this.ids.add(id);
    this.lines.push({ type, id, parentId: this.leaf, timestamp: new Date(this.time).toISOString(), ...more });
    this.leaf = id;
    return id;
  }

  message(message, wait) {
    return this.add('message', { message: { ...message, timestamp: this.time + (wait ?? 1000) } }, wait);
  }
  user(text, wait = 60_000) {
    return this.message({ role: 'user', content: typeof text === 'string' ? [{ type: 'text', text }] : text }, wait);
  }

  assistant(blocks, o = {}) {
    const output = o.output ?? 400,
      input = o.input ?? 2000,
      cacheRead = o.cacheRead ?? this.read;
    const cost = { input: input * 3e-6, output: output * 15e-6, cacheRead: cacheRead * 3e-7, cacheWrite: 0 };
    return this.message(
      {
        role: 'assistant',
        content: blocks,
        api: 'anthropic-messages',
        provider: 'anthropic',
        model: this.model,
        usage: {
          input,
          output,
          cacheRead,
          cacheWrite: 0,
          totalTokens: input + output + cacheRead,
          cost: { ...cost, total: cost.input + cost.output + cost.cacheRead },
        },
        stopReason: blocks.some((b) => b.type === 'toolCall') ? 'toolUse' : 'stop',
      },
      o.wait ?? 9000,
    );
  }

  say(text, o = {}) {
    return this.assistant(
      [
        ...(o.thinking ? [{ type: 'thinking', thinking: o.thinking, thinkingSignature: 'c2ln' }] : []),
        { type: 'text', text },
      ],
      o,
    );
  }

  // One reply with tool calls, and their results.
  tools(calls, o = {}) {
    const ids = calls.map((c, i) => `toolu_${hex(`${this.id}${this.count}${i}`, 12)}`);
    this.assistant(
      [
        ...(o.text ? [{ type: 'text', text: o.text }] : []),
        ...calls.map((c, i) => ({ type: 'toolCall', id: ids[i], name: c.name, arguments: c.args })),
      ],
      { output: 240, ...o },
    );
    calls.forEach((c, i) =>
      this.message(
        {
          role: 'toolResult',
          toolCallId: ids[i],
          toolName: c.name,
          content: c.content ?? [{ type: 'text', text: c.out ?? 'ok' }],
          ...(c.details ? { details: c.details } : {}),
          isError: c.error === true,
        },
        c.wait ?? 400,
      ),
    );
  }

  steps(n, rnd, fail = 0) {
    for (let i = 0; i < n; i++) {
      const bad = i === fail - 1;
      this.tools(
        [
          rnd() < 0.5
            ? {
                name: 'read',
                args: { path: `src/events/part${i}.ts` },
                out: Array.from(
                  { length: 12 + Math.floor(rnd() * 80) },
                  (_, k) => `export const value${k} = ${k};`,
                ).join('\n'),
              }
            : {
                name: 'bash',
                args: { command: `npm test -- part${i}` },
                out: bad ? 'not ok\n\nCommand exited with code 1' : `ok ${i}\n`,
                error: bad,
              },
        ],
        { wait: 4000 },
      );
    }
  }

  label(id, label) {
    this.add('label', { targetId: id, label });
  }
  file() {
    return `${new Date(this.start).toISOString().replace(/[:.]/g, '-')}_${this.id}.jsonl`;
  }
  text() {
    return this.lines.map((l) => JSON.stringify(l)).join('\n') + '\n';
  }

  write(root) {
    const dir = join(root, `--${this.cwd.replace(/^\//, '').replace(/[/\\:]/g, '-')}--`);
    mkdirSync(dir, { recursive: true });
    const path = join(dir, this.file());
    writeFileSync(path, this.text());
    utimesSync(path, this.time / 1000, this.time / 1000);
    return path;
  }
}

const DIFF = ` 38   async open(req: Request, sink: Sink) {
-39     const since = this.log.head;
+39     const since = cursor(req) ?? this.log.head;
+40     if (since < this.ring.oldest) {
+41       sink.send({ event: "reset", id: this.log.head });
+42     }
 40     for (const e of this.ring.after(since)) sink.send(e);`;

const TEST_OUTPUT = ` \u001b[1;31mFAIL\u001b[0m  test/stream.test.ts
  \u001b[32m✓\u001b[0m \u001b[90msends head on a fresh connect (4 ms)\u001b[0m
  \u001b[31m✗ replays after reconnect (31 ms)\u001b[0m
      \u001b[90mexpected\u001b[0m \u001b[32m[1841, 1842]\u001b[0m \
\u001b[90mgot\u001b[0m \u001b[31m[1840, 1841, 1842]\u001b[0m

Command exited with code 1`;

// A picture of falling bars, made here so that no file has to be kept.
function bars(width, height) {
  const row = 1 + width * 3,
    raw = Buffer.alloc(row * height, 0xff);
  for (let y = 0; y < height; y++) {
    raw[y * row] = 0;
    for (let x = 0; x < width; x++)
      if (x % 16 < 11 && y > height * (0.15 + (0.7 * (((x >> 4) * 37) % 10)) / 10))
        raw.set([0x17, 0x71, 0x4a], y * row + 1 + x * 3);
  }
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]),
      out = Buffer.alloc(body.length + 8);
    out.writeUInt32BE(data.length, 0);
    body.copy(out, 4);
    out.writeUInt32BE(crc(body), body.length + 4);
    return out;
  };
  const head = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0]);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  return Buffer.concat([
    Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]),
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(raw)),
    chunk('IEND', Buffer.alloc(0)),
  ]).toString('base64');
}

function crc(bytes) {
  let c = ~0;
  for (const b of bytes) {
    c ^= b;
    for (let k = 0; k < 8; k++) c = (c >>> 1) ^ (c & 1 ? 0xedb88320 : 0);
  }
  return ~c >>> 0;
}

const PNG = bars(320, 180);

// The session of the drawings: two branches after a compaction, a label, workers, an edit, a failing test.
export function showpiece(now) {
  const rnd = random(7);
  const s = new PiSession('Resume event streams by rev', '/home/ana/ledger-api', now - 100 * 60e3, { read: 104_000 });
  s.user('Why do dashboards miss events after sleep?');
  s.steps(19, rnd);
  s.user('Show me where the id is dropped');
  s.steps(6, rnd);
  const fork1 = s.leaf;
  s.user('Could we poll every second instead?');
  s.steps(8, rnd);
  s.say('We could, but it doubles the read load and still loses what happens between two polls.');
  s.leaf = fork1;
  const findings = s.user('Write down what you found', 15 * 60e3);
  s.say(
    'The stream starts at the newest event on every connect; `Last-Event-ID` is read nowhere.\n\n| place ' +
      '| reads the id |\n|---|---|\n| `stream.ts` | no |\n| `gateway.ts` | passes it on |\n| `proxy.conf` ' +
      '| strips it |\n\n- [x] reproduced\n- [ ] fixed',
  );
  s.label(findings, 'findings');
  const kept = findings;
  s.add(
    'compaction',
    {
      summary:
        '## Goal\nResume event streams after sleep.\n\n## Findings\n- `open()` ignores `Last-Event-ID`.\n' +
        '- The ring keeps 1,000 events.\n\n## Next\nReplay from the ring, `reset` when the client is ' +
        'older.',
      firstKeptEntryId: kept,
      tokensBefore: 148_200,
    },
    8 * 60e3,
  );
  const seam = s.leaf;
  s.read = 7200;
  s.user('Make it a WebSocket');
  s.steps(3, rnd);
  s.add('branch_summary', {
    fromId: s.leaf,
    summary: 'The socket path was dropped: two proxies do not let it through.',
  });
  s.leaf = seam;
  s.user('Same, in a new service: make the stream resume from the last event it saw.');
  s.tools([
    {
      name: 'write',
      args: {
        path: 'services/replay/main.ts',
        content: Array.from({ length: 214 }, (_, i) => `line(${i});`).join('\n'),
      },
    },
    {
      name: 'bash',
      args: { command: 'docker compose up replay' },
      out: 'Error: port 7070 is taken\n\nCommand exited with code 1',
      error: true,
    },
  ]);
  s.say('The service starts, but the gateway can’t reach it: port 7070 is taken by the metrics agent.');
  s.leaf = seam;
  const main = s.user(
    'The dashboard loses events when the laptop sleeps. Make the stream resume from the last event it ' +
      'saw. No polling, and don’t grow memory without a bound.',
    14 * 60e3,
  );
  s.say(
    'The browser already does its half: on reconnect it sends `Last-Event-ID`. We drop it in `open()` ' +
      'and start from the newest event. Two changes are enough:\n\n1. Give every event the session’s `rev` ' +
      'as its id, and keep the last few in a ring.\n2. On connect, replay everything after that id. If it ' +
      'is older than the ring, send one `reset` so that the client reloads.',
    { thinking: 'The header is there. What matters is the bound: a ring by count does not bound bytes.', output: 812 },
  );
  s.read = 56_000;
  s.tools([
    {
      name: 'read',
      args: { path: 'src/events/stream.ts' },
      out: Array.from({ length: 214 }, (_, i) =>
        i === 38 ? '    const since = this.log.head;' : `  // line ${i + 1}`,
      ).join('\n'),
    },
    {
      name: 'grep',
      args: { pattern: 'lastEventId|last-event-id' },
      out: 'src/gateway.ts:12: "last-event-id"\nsrc/gateway.ts:40: lastEventId\nproxy.conf:3: last-event-id',
    },
    {
      name: 'edit',
      args: {
        path: 'src/events/stream.ts',
        oldText: 'const since = this.log.head;',
        newText: 'const since = cursor(req) ?? this.log.head;',
      },
      details: { diff: DIFF },
    },
    { name: 'bash', args: { command: 'npm test -- stream' }, out: TEST_OUTPUT, error: true, wait: 3400 },
  ]);
  s.tools([
    {
      name: 'edit',
      args: {
        path: 'src/events/ring.ts',
        oldText: 'after(id) {\n  return this.list.filter((e) => e.id >= id);\n}',
        newText: 'after(id) {\n  return this.list.filter((e) => e.id > id);\n}',
      },
    },
    { name: 'bash', args: { command: 'npm test -- stream' }, out: '\u001b[32m✓\u001b[0m 14 tests\n', wait: 3100 },
  ]);
  s.add(
    'subagent_batch',
    {
      batchId: 'batch-7',
      description: 'Check everything that reads the stream',
      tasks: [
        {
          taskId: 't1',
          agent: 'audit-callers',
          prompt: 'Find every caller that reads the stream and check whether it reconnects with the id.',
        },
        { taskId: 't2', agent: 'soak-test', prompt: 'Put the stream through two hours of sleep and wake.' },
        { taskId: 't3', agent: 'check-proxies', prompt: 'Does every proxy on the way pass the header through?' },
      ],
    },
    60e3,
  );
  const t0 = s.time;
  s.add(
    'subagent_result',
    {
      batchId: 'batch-7',
      results: [
        {
          taskId: 't1',
          status: 'completed',
          summary: '4 of 6 callers reconnect without the id; patches attached',
          durationMs: 41_000,
          tokens: 18_000,
        },
        {
          taskId: 't2',
          status: 'completed',
          summary: '2 h of sleep and wake in 90 s: 40,000 events, none lost, none twice',
          durationMs: 112_000,
          tokens: 31_000,
        },
        {
          taskId: 't3',
          status: 'completed',
          summary: 'nginx passes the header; the old HAProxy rule strips it',
          durationMs: 29_000,
          tokens: 9_000,
        },
      ],
      metadata: {
        processEvents: [
          { taskId: 't1', event: 'started', timestamp: t0 + 1000, text: 'audit-callers' },
          { taskId: 't1', event: 'finished', timestamp: t0 + 42_000, text: '6 callers read' },
          { taskId: 't3', event: 'started', timestamp: t0 + 1000, text: 'check-proxies' },
          { taskId: 't3', event: 'finished', timestamp: t0 + 30_000, text: '2 proxies read' },
          { taskId: 't2', event: 'started', timestamp: t0 + 1000, text: 'soak-test with 8 clients' },
          { taskId: 't2', event: 'tool', timestamp: t0 + 28_000, text: 'node soak.mjs --clients 8 --drop 0.2' },
          { taskId: 't2', event: 'finished', timestamp: t0 + 112_000, text: 'all clients level' },
        ],
        evidenceSummaries: [
          { taskId: 't2', timestamp: t0 + 106_000, text: 'soak.json: lost 0, duplicated 0, p99 lag 38 ms' },
        ],
        toolRuntimeRoutes: { t2: [{ tool: 'bash', route: 'sandbox-2', fallbackFrom: 'sandbox-1', reason: 'busy' }] },
      },
    },
    115_000,
  );
  const work = s.leaf;
  s.user('Cap it by age');
  s.steps(5, rnd);
  const ring = s.user('Use a ring file');
  s.label(ring, 'maybe');
  s.leaf = work;
  s.user('Spill to disk over 8 MB');
  s.steps(9, rnd, 4);
  s.leaf = work;
  s.user(
    [
      { type: 'text', text: 'Good. Now cap the replay buffer by bytes, not by count. The lag looks like this:' },
      { type: 'image', data: PNG, mimeType: 'image/png' },
    ],
    5 * 60e3,
  );
  s.steps(4, rnd);
  s.say(
    'Done: replay is bounded by 4 MiB a stream. A client that was away for longer gets one `reset` and ' +
      'reloads the snapshot.\n\n```ts\nexport class Ring {\n  push(e: Event): void {\n    this.bytes += ' +
      'e.size;\n    while (this.bytes > LIMIT) this.bytes -= this.list.shift()!.size; // oldest first\n  ' +
      '}\n}\n```',
    { output: 1140, wait: 7700 },
  );
  s.main = main;
  s.seam = seam;
  return s;
}

const NAMES = [
  ['Flaky checkout test', 'checkout.spec.ts fails one time in twenty on CI, never here. Why?', 'storefront'],
  ['', 'what does the retry header mean in this response and are we honouring it anywhere', 'storefront'],
  ['Tunnel drops under load', 'Look at the last capture in ./pcap and tell me who sends the RST first', 'edge-gateway'],
  [
    'Write the architecture decision for event sourcing',
    'Draft ADR-014 from our discussion, keep it to one page',
    'ledger-api',
  ],
  ['Upgrade to Node 24', 'Bump the engines field, fix what breaks, list anything that needs a human', 'storefront'],
  ['Profile cold start', 'p95 of the first request is 2.3 s after deploy. Where does the time go?', 'ledger-api'],
  ['Weekly dependency report', 'Summarise what changed upstream since last Friday', 'ops'],
  [
    'Rate limiter: token bucket or GCRA',
    'Compare both for our traffic shape, with numbers from last month',
    'edge-gateway',
  ],
  [
    'Design tokens for dark mode',
    'Take the palette in figma-export.json and derive a dark set with 4.5:1',
    'storefront',
  ],
  ['', 'why is `make check` so slow on a clean tree', 'edge-gateway'],
  ['Delete the legacy exporter', 'Nobody reads the CSV any more. Remove it with its cron job and docs', 'ledger-api'],
  [
    'Migrate invoices to bigint cents',
    'We still store amounts as floats in three places. Find them all and fix them',
    'ledger-api',
  ],
];

export function small(root, now) {
  const rnd = random(11);
  const main = showpiece(now);
  const path = main.write(root);
  const fork = new PiSession('Byte-capped replay buffer', '/home/ana/ledger-api', now - 40 * 60e3, { parent: path });
  fork.user('Same start, but cap the buffer by bytes and spill to disk');
  fork.steps(6, rnd);
  fork.write(root);
  const second = new PiSession('Replay buffer in shared memory', '/home/ana/ledger-api', now - 35 * 60e3, {
    parent: path,
  });
  second.user('And with shared memory between workers?');
  second.steps(2, rnd);
  second.write(root);
  NAMES.forEach(([name, first, project], i) => {
    const s = new PiSession(name, `/home/ana/${project}`, now - (2 + i * i * 1.7) * 3600e3, {
      model: i % 3 ? 'claude-sonnet-4-5' : 'gpt-5-codex',
    });
    const p = s.user(first);
    s.steps(2 + Math.floor(rnd() * 12), rnd, i % 4 ? 0 : 2);
    s.say('Here is what I found, in short: the cause is known and the change is small.');
    if (i % 4 === 0) s.label(p, i ? 'v2 draft' : 'root cause found');
    if (i % 3 === 0) {
      const at = s.leaf;
      s.user('Try it another way');
      s.say('It works as well, but costs more.');
      s.leaf = at;
      s.user('Keep the first one');
      s.say('Kept.');
    }
    s.write(root);
  });
  return { main };
}

// What the pictures show: the showpiece, which an agent has open, and sessions of four agents, with forks,
// copies, one that its agent will delete and one that is damaged.
export function gallery(home, now) {
  const rnd = random(11),
    pi = join(home, '.pi', 'agent', 'sessions');
  const main = showpiece(now),
    path = main.write(pi);
  const fork = (name, first, parent, at, n, copied = []) => {
    const s = new PiSession(name, parent.cwd, at, { parent: parent.path, model: parent.model });
    s.user(first);
    for (const l of copied) {
      s.lines.push({ ...l, parentId: s.leaf });
      s.leaf = l.id;
    }
    s.steps(n, rnd);
    s.write(pi);
  };
  main.path = path;
  fork(
    'Byte-capped replay buffer',
    'Same start, but cap the buffer by bytes and spill to disk',
    main,
    now - 40 * 60e3,
    6,
    main.lines.slice(5, 23),
  );
  fork('Replay buffer in shared memory', 'And with shared memory between workers?', main, now - 35 * 60e3, 2);
  const agents = ['omp', 'claude', 'xcsh', 'omp', 'claude', 'pi', 'xcsh', 'claude', 'omp', 'pi', 'claude', 'claude'];
  NAMES.forEach(([name, first, project], i) => {
    const start = now - (2 + i * i * 1.7) * 3600e3,
      cwd = `/home/ana/${project}`;
    if (agents[i] === 'claude') {
      claude(join(home, '.claude', 'projects'), start, i, cwd, 0, { prompt: first, title: name });
      return;
    }
    const s = new PiSession(name, cwd, start, {
      model: ['claude-sonnet-4-5', 'gpt-5-codex', 'claude-haiku-4-5'][i % 3],
      read: 20_000 + i * 9000,
    });
    if (agents[i] !== 'pi') s.lines[0].title = name;
    const p = s.user(first);
    s.steps(6 + Math.floor(rnd() * 22), rnd, i % 4 ? 0 : 2);
    s.say('Here is what I found, in short: the cause is known and the change is small.');
    if (i % 4 === 0) s.label(p, i ? 'v2 draft' : 'root cause found');
    if (i % 3 === 0) {
      const at = s.leaf;
      s.user('Try it another way');
      s.say('It works as well, but costs more.');
      s.leaf = at;
      s.user('Keep the first one');
      s.say('Kept.');
    }
    s.path = s.write(agents[i] === 'pi' ? pi : join(home, `.${agents[i]}`, 'agent', 'sessions'));
    if (name === 'Profile cold start')
      fork(
        'Cold start: lazy pool',
        'Try again from the profile, but without touching the pool size',
        s,
        start + 3600e3,
        4,
      );
    if (i === 9) {
      appendFileSync(s.path, '{"type":"message","id":"0000\n{"type":"mess');
      utimesSync(s.path, s.time / 1000, s.time / 1000);
    }
  });
  writeFileSync(join(home, '.claude', 'settings.json'), JSON.stringify({ cleanupPeriodDays: 5 }));
  for (let d = 1; d < 30; d++) {
    const s = new PiSession('', '/home/ana/ops', now - d * 86_400e3 - 7200e3, {
      model: ['claude-sonnet-4-5', 'gpt-5-codex', 'claude-haiku-4-5'][d % 3],
      read: 9000 + ((d * 37) % 11) * 9000,
    });
    s.user(`What changed upstream on day ${d}?`);
    s.steps(4 + ((d * 7) % 13), rnd);
    s.write(pi);
  }
  return { main };
}

// Many entries with many branches, for the figures.
export function large(root, now, entries, branches) {
  const rnd = random(3);
  const s = new PiSession('Large', '/home/ana/large', now - 5 * 86_400e3);
  const forks = [];
  const bulk = 'The quick brown fox jumps over the lazy dog. '.repeat(40);
  while (s.lines.length < entries) {
    s.user(`Prompt ${s.lines.length}: go on with the work`);
    for (let k = 0; k < 6; k++) s.tools([{ name: 'bash', args: { command: `step ${k}` }, out: bulk }], { wait: 500 });
    if (forks.length < branches && rnd() < branches / (entries / 13)) {
      forks.push(s.leaf);
      const at = s.leaf;
      s.user('A side branch');
      s.tools([{ name: 'read', args: { path: 'a.ts' }, out: 'x' }]);
      s.leaf = at;
    }
  }
  s.say('The end of a long session.');
  s.write(root);
  return s;
}

// Batches of workers as they were stored over time: with a projection, told by the tool alone, by the batch's
// own metadata alone, and not at all. All of the same work.
export function batches(root, now) {
  const s = new PiSession('Workers of other days', '/home/ana/workers', now - 6 * 86_400e3);
  const tasks = [{ taskId: 't1', agent: 'auditor', prompt: 'Audit the callers' }],
    told = [{ taskId: 't1', status: 'completed', summary: 'Two callers need work' }];
  s.batches = [];
  s.user('Ask the workers');
  s.batches.push(s.add('subagent_batch', { batchId: 'projected', tasks }));
  s.add('subagent_result', {
    batchId: 'projected',
    results: told,
    metadata: {
      subagentProjection: {
        batchId: 'projected',
        status: 'completed',
        workers: [{ ...tasks[0], ...told[0], events: [] }],
      },
    },
  });
  s.user('Again');
  s.batches.push(s.add('subagent_batch', { batchId: 'by-tool', tasks }));
  s.message({
    role: 'toolResult',
    toolCallId: 'c',
    toolName: 'task',
    content: [],
    details: { batchId: 'by-tool', results: told },
    isError: false,
  });
  s.add('subagent_result', { batchId: 'by-tool', results: [] });
  s.user('And again');
  s.batches.push(s.add('subagent_batch', { batchId: 'by-batch', tasks, metadata: { results: told } }));
  s.add('subagent_result', { batchId: 'by-batch' });
  s.user('Once more');
  s.batches.push(s.add('subagent_batch', { batchId: 'untold', tasks }));
  s.add('subagent_result', { batchId: 'untold' });
  s.write(root);
  return s;
}

// One result of many megabytes, and one of a single line. Written in pieces: it may be larger than a string can be.
export function gigantic(root, now, megabytes, line) {
  const s = new PiSession('Gigantic', '/home/ana/gigantic', now - 7 * 86_400e3);
  s.user('Print everything');
  s.tools([
    { name: 'bash', args: { command: 'cat everything' }, out: '@@LINES@@' },
    { name: 'bash', args: { command: 'cat one-line' }, out: '@@LINE@@' },
  ]);
  s.main = s.lines.find((l) => l.message?.role === 'assistant').id;
  s.say('That was all of it.');
  const file = s.write(root);
  const text = readFileSync(file, 'utf8');
  const out = openSync(file, 'w');
  for (const part of text.split(/(@@LINES@@|@@LINE@@)/)) {
    if (part === '@@LINES@@') {
      const block = 'one line of output of many\\n'.repeat(40_000).slice(0, 1_000_000 - 1) + '.';
      for (let k = 0; k < megabytes; k++) writeSync(out, block);
    } else if (part === '@@LINE@@') {
      const block = 'x'.repeat(1_000_000);
      for (let k = 0; k < line; k++) writeSync(out, block);
    } else writeSync(out, part);
  }
  closeSync(out);
  return s;
}

// A thousand short sessions of four agents under a home; the ten pi sessions that a test may let grow.
export function many(home, now) {
  const pi = [];
  for (let k = 0; k < 250; k++) {
    const start = now - k * 3000e3 - 60_000;
    const s = new PiSession(`Session ${k}`, `/home/ana/${k % 3 ? 'ledger-api' : 'storefront'}`, start);
    s.user(`Do number ${k}`);
    s.say(`Number ${k} is done.`);
    s.write(join(home, '.pi', 'agent', 'sessions'));
    pi.push(s);
    for (const agent of ['xcsh', 'omp']) {
      const o = new PiSession(`${agent} ${k}`, '/home/ana/edge-gateway', start - 1000);
      o.user(`A question of ${agent}`);
      o.say('An answer.');
      o.write(join(home, `.${agent}`, 'agent', 'sessions'));
    }
    claude(join(home, '.claude', 'projects'), start, k);
  }
  return pi.slice(0, 10);
}

// A session of Claude Code: a prompt, a tool and its result, an answer; sub-agents with logs of their own.
export function claude(
  projects,
  start,
  k,
  cwd = '/home/ana/ledger-ui',
  agents = 0,
  { prompt = `Look at the tests of part ${k}`, title } = {},
) {
  const sessionId = uuid(`claude${k}`);
  let parentUuid = null,
    n = 0;
  const line = (type, message, more = {}) => {
    const u = uuid(`${sessionId}${n}`);
    const l = {
      parentUuid,
      isSidechain: false,
      userType: 'external',
      cwd,
      sessionId,
      version: '2.0.0',
      gitBranch: 'main',
      type,
      message,
      uuid: u,
      timestamp: new Date(start + n++ * 1000).toISOString(),
      ...more,
    };
    parentUuid = u;
    return l;
  };
  const said = (content, stop) => ({
    id: `msg_${hex(`${sessionId}${n}`, 16)}`,
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5',
    content,
    stop_reason: stop,
    stop_sequence: null,
    usage: { input_tokens: 1200, output_tokens: 80, cache_read_input_tokens: 9000, cache_creation_input_tokens: 0 },
  });
  const lines = [
    line('user', { role: 'user', content: prompt }),
    line(
      'assistant',
      said(
        [
          { type: 'thinking', thinking: 'The tests first.', signature: 's' },
          { type: 'text', text: 'I look at them.' },
          {
            type: 'tool_use',
            id: `toolu_${k}`,
            name: 'Bash',
            input: { command: 'npm test', description: 'Run the tests' },
          },
        ],
        'tool_use',
      ),
    ),
    line(
      'user',
      {
        role: 'user',
        content: [{ tool_use_id: `toolu_${k}`, type: 'tool_result', content: 'ok 1\nok 2', is_error: false }],
      },
      { toolUseResult: { stdout: 'ok 1\nok 2', stderr: '', interrupted: false, isImage: false } },
    ),
    line('assistant', said([{ type: 'text', text: `Both tests of part ${k} pass.` }], 'end_turn')),
  ];
  if (title) lines.push({ type: 'custom-title', customTitle: title, sessionId });
  const dir = join(projects, cwd.replace(/\W/g, '-'));
  mkdirSync(dir, { recursive: true });
  const file = join(dir, `${sessionId}.jsonl`);
  writeFileSync(file, lines.map((l) => JSON.stringify(l)).join('\n') + '\n');
  utimesSync(file, new Date(start + 5000), new Date(start + 5000));
  for (let a = 0; a < agents; a++) {
    const agentId = `a${hex(`${sessionId}${a}`, 16)}`,
      side = { isSidechain: true, agentId };
    parentUuid = null;
    const log = [
      line('user', { role: 'user', content: `Part ${a}` }, side),
      line('assistant', said([{ type: 'text', text: `Part ${a} is done.` }], 'end_turn'), side),
    ];
    mkdirSync(join(dir, sessionId, 'subagents'), { recursive: true });
    writeFileSync(
      join(dir, sessionId, 'subagents', `agent-${agentId}.jsonl`),
      log.map((l) => JSON.stringify(l)).join('\n') + '\n',
    );
  }
  return sessionId;
}

// Sessions that try to be more than text: markup, addresses, control characters, and what makes parsers slow.
const MARKUP = [
  '<script>document.title="owned"</script>',
  '<script src="https://evil.example/x.js"></script>',
  '<img src=x onerror="document.title=\'owned\'">',
  '<svg onload=alert(1)></svg>',
  '<svg><script>alert(1)</script></svg>',
  '<svg><use href="https://evil.example/#x"/></svg>',
  '<iframe src="https://evil.example"></iframe>',
  '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
  '<math><mtext></mtext></math>',
  '<style>*{display:none}</style>',
  '<link rel="stylesheet" href="https://evil.example/a.css">',
  '<base href="https://evil.example/">',
  '<object data="x"></object>',
  '<embed src="https://evil.example/x.swf">',
  '<form action="https://evil.example"><input></form>',
  '<meta http-equiv="refresh" content="0;url=https://evil.example">',
  '<details ontoggle=alert(1) open>',
  '<video src="https://evil.example/a.mp4" autoplay></video>',
  '<audio src=x onerror=alert(1)>',
  '<body onload=alert(1)>',
  '<input autofocus onfocus=alert(1)>',
  '<marquee onstart=alert(1)>x</marquee>',
  '<template><script>alert(1)</script></template>',
  '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
  '<!--><img src=x onerror=alert(1)>-->',
  '<![CDATA[<script>alert(1)</script>]]>',
  '<x-y is="z" onclick=alert(1)>x</x-y>',
  '&lt;script&gt;alert(1)&lt;/script&gt;',
  '</script></style></textarea><script>alert(1)</script>',
  '<a href="data:text/html,<script>1</script>">x</a>',
];
const ADDRESSES = [
  '[a](javascript:document.title="owned")',
  '[a](JaVaScRiPt:alert(1))',
  '[a](java\tscript:alert(1))',
  '[a](&#106;avascript:alert(1))',
  '![x](https://evil.example/track.png)',
  '![x](javascript:alert(1))',
  '[bank.example](https://evil.example/login)',
  '[https://bank.example](https://bank.example@evil.example/)',
  '[x](data:text/html;base64,PHNjcmlwdD4=)',
  '[x](vbscript:1)',
  '[x](file:///etc/passwd)',
  '[x](blob:https://evil.example/1)',
  '[ref]: javascript:alert(1)\n[ref]',
  '<https://evil.example/auto>',
  '[x](//evil.example/relative)',
  '[x](https://xn--pple-43d.example/)',
];
const CONTROL = [
  '\u202egnp.exe',
  'a\u200bb\u200c\u2060c',
  '\u001b]8;;https://evil.example\u0007click\u001b]8;;\u0007',
  '\u001b[2J\u001b[1;1Hgone',
  '\u001b]0;owned\u0007',
  '\u0000\u0001\u0008x',
  'one\rtwo\b\b',
];
// Of 20 KB and more, and known to be slow in one parser or another.
const SLOW = [
  `${'> '.repeat(3000)}deep`,
  '['.repeat(4000),
  '*a '.repeat(6000),
  `${'`'.repeat(5000)}x`,
  `| a |\n|---|\n${'| <b>x</b> |\n'.repeat(300)}`,
  'x'.repeat(60_000),
  `${'- '.repeat(2000)}x`,
  '![['.repeat(3000),
  `${'_a__b'.repeat(4000)}`,
  '<'.repeat(20_000),
];

export function hostile(root, now) {
  const s = new PiSession('<b>Hostile</b> \u202e title', '/home/ana/hostile', now - 3 * 3600e3);
  s.slow = SLOW.length;
  s.cases = [...MARKUP, ...ADDRESSES, ...CONTROL, ...SLOW];
  for (const c of s.cases) {
    s.user(c);
    s.say(c, { thinking: c });
    s.tools([
      { name: 'bash', args: { command: c.slice(0, 200) }, out: c },
      { name: '<b>odd</b>', args: { a: c.slice(0, 500) }, out: c.slice(0, 2000) },
    ]);
  }
  s.label(s.say('A reply with a long label'), 'label '.repeat(50));
  s.write(root);
  return s;
}

if (process.argv[1]?.endsWith('corpus.mjs')) {
  const [, , dir, what = 'small'] = process.argv;
  const root = join(dir, 'sessions');
  if (what === 'large') large(root, Date.now(), 30_000, 400);
  else {
    small(root, Date.now());
    hostile(root, Date.now());
  }
}
