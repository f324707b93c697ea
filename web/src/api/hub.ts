// One event stream for the whole browser. Tabs elect a leader with the Web Locks API; it subscribes for
// all of them and passes events on over a BroadcastChannel. HTTP/1.1 allows six connections to a server, so
// a stream in every tab would freeze the seventh without an error. Where there are no locks (plain HTTP off
// loopback) only a visible tab holds a stream.
import { signal } from '@preact/signals';
import { silent } from './http.ts';
import type { Events } from './wire.ts';

type Kind = Exclude<keyof Events, 'bye'>;
type Told = { [K in Kind]: { kind: K; data: Events[K] } }[Kind];
// `poll`: there is no stream, and it is time to look whether something changed.
export type GroveEvent = Told | { kind: 'poll' };
type Listener = (e: GroveEvent) => void;

export const live = signal<'connecting' | 'live' | 'polling' | 'lost'>('connecting');
export const nextTry = signal(0); // when the server is asked again, after it fell silent

const KINDS: Kind[] = ['sessions', 'append', 'update', 'leaf', 'meta', 'label', 'live', 'remove', 'reset'];
const WAIT_MAX = 30_000;
const POLL_MS = 4000;

interface Want {
  list: boolean;
  sessions: Record<string, number>;
}

// What tabs tell each other: who is there and wants what; and from the one that has the stream, what came.
type Note =
  | { roll: true }
  | { want: Want; tab: string }
  | { gone: string }
  | { event: Told }
  | { state: typeof live.value }
  | { nextTry: number };

class Hub {
  private listeners = new Set<Listener>();
  private mine: Want = { list: false, sessions: {} };
  private others = new Map<string, Want>();
  private channel = typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel('grove-events');
  private source: EventSource | null = null;
  private subscribed = '';
  private leads = false;
  private wait = 1000;
  private timer = 0;
  private polling = 0;
  private readonly tab = Math.random().toString(36).slice(2);

  start(): void {
    if (this.channel) this.channel.onmessage = (m: MessageEvent<Note>) => this.heard(m.data);
    addEventListener('pagehide', () => this.say({ gone: this.tab }));
    if ('locks' in navigator && this.channel) {
      void navigator.locks.request('grove-events', () => {
        this.leads = true;
        this.say({ roll: true });
        this.connect();
        return new Promise<void>(() => undefined);
      });
    } else {
      const look = (): void => {
        this.leads = document.visibilityState === 'visible';
        if (this.leads) this.connect();
        else this.close();
      };
      document.addEventListener('visibilitychange', look);
      look();
    }
  }

  on(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  // What this tab wants to hear. `rev` is where it stands, so that nothing between load and subscription is lost.
  want(want: Want): void {
    this.mine = want;
    this.say({ want, tab: this.tab });
    if (this.leads) this.connect();
  }

  saw(key: string, rev: number): void {
    if (key in this.mine.sessions) this.mine.sessions[key] = rev;
  }

  retry(): void {
    this.wait = 1000;
    this.subscribed = '';
    if (this.leads) this.connect();
  }

  private say(note: Note): void {
    this.channel?.postMessage(note);
  }

  private heard(m: Note): void {
    if ('roll' in m) this.say({ want: this.mine, tab: this.tab });
    else if ('want' in m) {
      this.others.set(m.tab, m.want);
      if (this.leads) this.connect();
    } else if ('gone' in m) this.others.delete(m.gone);
    else if (this.leads) return;
    else if ('event' in m) this.tell(m.event);
    else if ('state' in m) live.value = m.state;
    else nextTry.value = m.nextTry;
  }

  private tell(e: GroveEvent): void {
    for (const l of [...this.listeners]) l(e);
  }

  private all(): Want {
    const sum: Want = { list: this.mine.list, sessions: { ...this.mine.sessions } };
    for (const w of this.others.values()) {
      sum.list ||= w.list;
      for (const [k, rev] of Object.entries(w.sessions)) sum.sessions[k] = Math.min(sum.sessions[k] ?? rev, rev);
    }
    return sum;
  }

  private connect(): void {
    const want = this.all();
    const keys = Object.keys(want.sessions).sort();
    const name = `${want.list}|${keys.join()}`;
    if (!want.list && !keys.length) return;
    if (this.source && name === this.subscribed && this.source.readyState !== EventSource.CLOSED) return;
    this.close();
    this.subscribed = name;
    const q = new URLSearchParams();
    if (want.list) q.set('list', '1');
    for (const k of keys) q.append('s', `${k}:${want.sessions[k]}`);
    const source = new EventSource(`/api/v1/events?${q}`);
    this.source = source;
    source.onopen = () => {
      this.wait = 1000;
      this.state('live');
    };
    source.onerror = () => {
      if (source === this.source) this.lost();
    };
    for (const kind of KINDS) source.addEventListener(kind, (e) => this.came(kind, e as MessageEvent<string>));
    source.addEventListener('bye', () => this.lost());
  }

  private came(kind: Kind, m: MessageEvent<string>): void {
    let event: Told;
    try {
      event = { kind, data: JSON.parse(m.data) } as Told;
    } catch {
      return;
    }
    this.say({ event });
    this.tell(event);
  }

  private state(s: typeof live.value): void {
    live.value = s;
    this.say({ state: s });
  }

  // The stream ended or was refused. If the server answers otherwise, it has no stream for us: then ask
  // now and then, and try the stream again with growing patience.
  private lost(): void {
    this.close();
    const wait = this.wait * (0.75 + Math.random() / 2);
    this.wait = Math.min(WAIT_MAX, this.wait * 2);
    this.patience(Date.now() + wait);
    clearTimeout(this.timer);
    this.timer = setTimeout(
      () => (document.visibilityState === 'hidden' ? this.whenVisible() : this.connect()),
      wait,
    ) as unknown as number;
    fetch('/api/v1/health').then(
      (r) => {
        if (r.ok) this.poll();
        else this.state('lost');
      },
      () => {
        this.state('lost');
        silent();
      },
    );
  }

  private patience(at: number): void {
    nextTry.value = at;
    this.say({ nextTry: at });
  }

  private poll(): void {
    this.state('polling');
    if (this.polling) return;
    this.polling = setInterval(() => {
      if (live.value !== 'polling') {
        clearInterval(this.polling);
        this.polling = 0;
        return;
      }
      if (document.visibilityState === 'visible') this.tell({ kind: 'poll' });
    }, POLL_MS) as unknown as number;
  }

  private whenVisible(): void {
    const once = (): void => {
      document.removeEventListener('visibilitychange', once);
      this.connect();
    };
    document.addEventListener('visibilitychange', once);
  }

  private close(): void {
    this.source?.close();
    this.source = null;
  }
}

export const hub = new Hub();
