// One way to ask the server. Every failure is an ApiError: with the server's code, or NOANSWER.
import { signal } from '@preact/signals';

export class ApiError extends Error {
  constructor(
    public code: string,
    message: string,
    public status: number,
    public details: any = null,
  ) {
    super(message);
  }
}

// When the server last did not answer; null while it does. `since` is the time of what is shown.
export const offline = signal<{ since: number } | null>(null);
export const lastAnswer = { at: Date.now() };

// Why the server does not let this browser in; null while it does.
export const refused = signal<string | null>(null);

function answered(): void {
  lastAnswer.at = Date.now();
  if (offline.value) offline.value = null;
}

export function silent(): void {
  if (!offline.value) offline.value = { since: lastAnswer.at };
}

async function failure(r: Response): Promise<ApiError> {
  const data = await r.json().catch(() => null);
  const e = data?.error;
  return new ApiError(e?.code ?? `HTTP${r.status}`, e?.message ?? `The server answered ${r.status}.`, r.status, data);
}

interface Ask {
  method?: string;
  body?: unknown;
  signal?: AbortSignal;
  params?: URLSearchParams | Record<string, string | number | undefined>;
}

export function address(path: string, params?: Ask['params']): string {
  const q = params instanceof URLSearchParams ? params : new URLSearchParams();
  if (params && !(params instanceof URLSearchParams))
    for (const [k, v] of Object.entries(params)) if (v !== undefined) q.set(k, String(v));
  const text = q.toString();
  return `/api/v1${path}${text ? `?${text.replace(/%2C/g, ',')}` : ''}`;
}

async function send(path: string, o: Ask): Promise<Response> {
  const writes = o.method && o.method !== 'GET';
  const headers: Record<string, string> = {};
  if (writes) headers['X-Grove'] = '1';
  if (o.body !== undefined) headers['Content-Type'] = 'application/json';
  let r: Response;
  try {
    r = await fetch(address(path, o.params), {
      method: o.method ?? 'GET',
      headers,
      credentials: 'same-origin',
      redirect: 'error',
      ...(o.signal ? { signal: o.signal } : {}),
      ...(o.body !== undefined ? { body: JSON.stringify(o.body) } : {}),
    });
  } catch (e) {
    if (o.signal?.aborted) throw e;
    silent();
    throw new ApiError('NOANSWER', 'The server does not answer.', 0);
  }
  answered();
  if (r.ok) return r;
  const e = await failure(r);
  if (r.status === 401) refused.value = e.message;
  throw e;
}

// A reply that is cut off or is no JSON is a failure like any other.
async function answer<T>(r: Response, signal?: AbortSignal): Promise<T> {
  try {
    return (await r.json()) as T;
  } catch (e) {
    if (signal?.aborted) throw e;
    throw new ApiError('BADREPLY', 'The server’s answer cannot be read.', r.status);
  }
}

export async function get<T>(path: string, params?: Ask['params'], signal?: AbortSignal): Promise<T> {
  const r = await send(path, { ...(params ? { params } : {}), ...(signal ? { signal } : {}) });
  return answer<T>(r, signal);
}

export async function act<T>(method: string, path: string, body?: unknown, params?: Ask['params']): Promise<T> {
  const r = await send(path, { method, ...(body !== undefined ? { body } : {}), ...(params ? { params } : {}) });
  return r.status === 204 ? (null as T) : answer<T>(r);
}

// A stretch of a long text: what came, and how long the whole is.
export async function getText(
  path: string,
  params: Ask['params'],
): Promise<{ text: string; next: number; total: number }> {
  const r = await send(path, { ...(params ? { params } : {}) });
  const text = await r.text();
  const m = /bytes (\d+)-(\d+)\/(\d+)/.exec(r.headers.get('Content-Range') ?? '');
  return m ? { text, next: Number(m[2]) + 1, total: Number(m[3]) } : { text, next: text.length, total: text.length };
}

export const sessionPath = (key: string): string => `/sessions/${encodeURIComponent(key)}`;
export const aborted = (e: unknown): boolean => e instanceof DOMException && e.name === 'AbortError';
