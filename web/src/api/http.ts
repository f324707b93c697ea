// One way to ask the server. Every failure is an ApiError: with the server's code, or NOANSWER.
import { signal } from '@preact/signals';
import type { Failure, Routes } from './wire.ts';

type Route = keyof Routes;
// Addresses that can be asked for, such as /sessions/{id}.
type Path = Route extends infer R ? (R extends `GET ${infer P}` ? P : never) : never;
type Params<R extends Route> = Routes[R]['params'];
export type Reply<P extends Path> = Routes[`GET ${P}`]['reply'];

export class ApiError extends Error {
  constructor(
    public code: string,
    message: string,
    public status: number,
    public details: Failure | null = null,
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
  const said = (await r.json().catch(() => null)) as Failure | null;
  if (!said?.error) return new ApiError(`HTTP${r.status}`, `The server answered ${r.status}.`, r.status);
  return new ApiError(said.error.code, said.error.message, r.status, said);
}

interface Ask {
  method?: string;
  body?: unknown;
  signal?: AbortSignal | undefined;
}

// The address of a route: parameters whose names stand in it go there, the others behind it.
export function address<P extends Path>(path: P, params: Params<`GET ${P}`>): string {
  return at(path, params);
}

function at(path: string, params: object): string {
  const q = new URLSearchParams();
  let out = path;
  for (const [k, v] of Object.entries(params))
    if (out.includes(`{${k}}`)) out = out.replace(`{${k}}`, encodeURIComponent(String(v)));
    else if (v !== undefined) q.set(k, String(v));
  const text = q.toString();
  return `/api/v1${out}${text ? `?${text.replace(/%2C/g, ',')}` : ''}`;
}

async function send(url: string, o: Ask): Promise<Response> {
  const writes = o.method && o.method !== 'GET';
  const headers: Record<string, string> = {};
  if (writes) headers['X-Grove'] = '1';
  if (o.body !== undefined) headers['Content-Type'] = 'application/json';
  let r: Response;
  try {
    r = await fetch(url, {
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

export async function get<P extends Path>(
  path: P,
  params: Params<`GET ${P}`>,
  signal?: AbortSignal,
): Promise<Reply<P>> {
  return answer<Reply<P>>(await send(at(path, params), { signal }), signal);
}

export async function act<R extends Route>(
  route: R,
  params: Params<R>,
  body?: Routes[R]['body'],
): Promise<Routes[R]['reply']> {
  const [method, path] = route.split(' ') as [string, string];
  const r = await send(at(path, params), { method, body });
  return r.status === 204 ? null : answer<Routes[R]['reply']>(r);
}

// A stretch of a long text: what came, and how long the whole is.
export async function getText(
  params: Params<'GET /sessions/{id}/entries/{entryId}/text'>,
): Promise<{ text: string; next: number; total: number }> {
  const r = await send(at('/sessions/{id}/entries/{entryId}/text', params), {});
  const text = await r.text();
  const m = /bytes (\d+)-(\d+)\/(\d+)/.exec(r.headers.get('Content-Range') ?? '');
  return m ? { text, next: Number(m[2]) + 1, total: Number(m[3]) } : { text, next: text.length, total: text.length };
}

export const aborted = (e: unknown): boolean => e instanceof DOMException && e.name === 'AbortError';
