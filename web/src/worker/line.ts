// The worker that jobs run in. A job has 400 ms; one that overruns ends the worker, the others go to a new one,
// and what was asked for is shown as plain text.
import { runJobsWith } from './client.ts';
import type { Ask, Job } from './nodes.ts';

declare const WORKER_URL: string;

const TIME_MAX = 400,
  START_MAX = 4000;

type Waiting = { job: Job; done: (value: unknown) => void };

// What of Trusted Types is used here; TypeScript does not know them yet.
interface TrustedTypes {
  createPolicy(name: string, rules: Policy): Policy;
}
interface Policy {
  createScriptURL(url: string): string;
}

// The one Trusted Types policy: it makes this worker's address and nothing else.
const policy = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes?.createPolicy('grove', {
  createScriptURL: (url: string) => {
    if (url !== WORKER_URL) throw new TypeError('not an address of ours');
    return url;
  },
});

class Line {
  private worker: Worker | null = null;
  private queue: Waiting[] = [];
  private current: Waiting | null = null;
  private timer = 0;
  private next = 1;
  private warm = false;
  restarts = 0;

  ask(job: Ask): Promise<unknown> {
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
    w.onmessage = (m) => {
      this.warm = true;
      if (m.data.id === this.current?.job.id) this.finish(m.data.failed ? null : m.data.value);
    };
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

const line = new Line();

// Jobs go to a worker from now on; its code is loaded while the page asks for its data.
export function useWorker(): void {
  runJobsWith((job) => line.ask(job));
  void line.ask({ job: 'markdown', text: '' });
}
