// The page's side of the worker. A job has 400 ms and 64 KB; one that overruns ends the worker, the others
// go to a new one, and what was asked for is shown as plain text.
import type { DiffLine, Job, Node, Run } from './nodes.ts';

declare const WORKER_URL: string;

const TIME_MAX = 400, START_MAX = 4000;
export const TEXT_MAX = 64 * 1024;
const KEPT_MAX = 300;

type Waiting = { job: Job; done: (value: any) => void };

// The one Trusted Types policy: it makes this worker's address and nothing else.
const policy = (globalThis as any).trustedTypes?.createPolicy('grove', {
  createScriptURL: (url: string) => { if (url !== WORKER_URL) throw new TypeError('not an address of ours'); return url; },
});

class Line {
  private worker: Worker | null = null;
  private queue: Waiting[] = [];
  private current: Waiting | null = null;
  private timer = 0;
  private next = 1;
  private warm = false;
  restarts = 0;

  ask(job: any): Promise<any> {
    return new Promise((done) => {
      this.queue.push({ job: { ...job, id: this.next++ }, done });
      this.pump();
    });
  }

  private pump(): void {
    if (this.current || !this.queue.length) return;
    this.current = this.queue.shift()!;
    this.worker ??= this.start();
    this.worker.postMessage(this.current.job);
    // The first job also waits for the worker's code to load.
    this.timer = setTimeout(() => this.overran(), this.warm ? TIME_MAX : START_MAX) as unknown as number;
  }

  private start(): Worker {
    const w = new Worker(policy ? policy.createScriptURL(WORKER_URL) : WORKER_URL);
    this.warm = false;
    w.onmessage = (m) => { this.warm = true; if (m.data.id === this.current?.job.id) this.finish(m.data.failed ? null : m.data.value); };
    w.onerror = () => this.overran();
    return w;
  }

  private finish(value: unknown): void {
    clearTimeout(this.timer);
    this.current?.done(value);
    this.current = null;
    this.pump();
  }

  private overran(): void {
    this.worker?.terminate();
    this.worker = null;
    this.restarts++;
    this.finish(null);
  }
}

export const line = new Line();
const kept = new Map<string, unknown>();
const waiting = new Map<string, ((v: any) => void)[]>();

// Answers are kept by what was asked, so that a row that scrolls back is there at once; what is asked twice
// before the answer is worked out once.
function cached<T>(key: string, ask: () => Promise<T | null>, use: (v: T | null) => void): T | null | undefined {
  if (kept.has(key)) {
    const v = kept.get(key) as T | null;
    kept.delete(key);
    kept.set(key, v);
    return v;
  }
  const others = waiting.get(key);
  if (others) { others.push(use); return undefined; }
  waiting.set(key, [use]);
  void ask().then((v) => {
    kept.set(key, v);
    if (kept.size > KEPT_MAX) kept.delete(kept.keys().next().value!);
    for (const f of waiting.get(key) ?? []) f(v);
    waiting.delete(key);
  });
  return undefined;
}

// Loads the worker's code while the page asks for its data.
export function warmUp(): void { void line.ask({ job: 'markdown', text: '' }); }

export const askMarkdown = (text: string, use: (v: Node[] | null) => void): Node[] | null | undefined =>
  text.length > TEXT_MAX ? null : cached(`m${text}`, () => line.ask({ job: 'markdown', text }), use);
export const askCode = (text: string, lang: string, use: (v: { lines: Run[][]; cut: number } | null) => void): { lines: Run[][]; cut: number } | null | undefined =>
  text.length > TEXT_MAX ? null : cached(`c${lang}\n${text}`, () => line.ask({ job: 'code', text, lang }), use);
export const askDiff = (before: string, after: string, lang: string, use: (v: DiffLine[] | null) => void): DiffLine[] | null | undefined =>
  before.length + after.length > TEXT_MAX ? null : cached(`d${lang}\n${before}\u0000${after}`, () => line.ask({ job: 'diff', before, after, lang }), use);
export const askPatch = (lines: any[], lang: string, use: (v: DiffLine[] | null) => void): DiffLine[] | null | undefined =>
  lines.length > 4000 ? null : cached(`p${lang}\n${JSON.stringify(lines)}`, () => line.ask({ job: 'patch', lines, lang }), use);
