// Numbers and times as sentences want them.

const plain = new Intl.NumberFormat('en');
const clock = new Intl.DateTimeFormat('en-GB', { hour: 'numeric', minute: '2-digit' });
const clockFull = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const dayLong = new Intl.DateTimeFormat('en-GB', { weekday: 'long', day: 'numeric', month: 'long' });
const dayYear = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', year: 'numeric' });
const dayShort = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const full = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

export const count = (n: number): string => plain.format(n);
export const plural = (n: number, one: string, many = `${one}s`): string => `${count(n)} ${n === 1 ? one : many}`;

export function tokens(n: number): string {
  if (n < 1000) return String(Math.round(n));
  if (n < 100_000) return `${(n / 1000).toFixed(1).replace(/\.0$/, '')}k`;
  if (n < 1_000_000) return `${Math.round(n / 1000)}k`;
  return `${(n / 1e6).toFixed(n < 1e7 ? 1 : 0)} M`;
}

// `estimated` is the part of it that comes from list prices: the sum is then marked as in `grove usage`.
export function money(n: number | null | undefined, estimated = 0): string {
  if (n === null || n === undefined) return '–';
  if (n === 0) return '$0';
  const mark = estimated > 0 ? '~' : '';
  if (n < 0.005) return `${mark}<$0.01`;
  return `${mark}$${n >= 1000 ? plain.format(Math.round(n)) : n.toFixed(2)}`;
}

export function bytes(n: number): string {
  if (n < 1000) return `${n} B`;
  if (n < 1_000_000) return `${(n / 1000).toFixed(n < 10_000 ? 1 : 0)} KB`;
  if (n < 1e9) return `${(n / 1e6).toFixed(1)} MB`;
  return `${(n / 1e9).toFixed(1)} GB`;
}

export function duration(ms: number): string {
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  const s = Math.round(ms / 1000);
  if (s < 60) return `${s} s`;
  const m = Math.floor(s / 60);
  return m < 60 ? `${m} m ${s % 60} s` : `${Math.floor(m / 60)} h ${m % 60} m`;
}

// A stretch of time, roughly.
export function span(ms: number): string {
  const s = Math.round(ms / 1000);
  return s < 60
    ? `${s} s`
    : s < 3600
      ? `${Math.round(s / 60)} min`
      : s < 86_400
        ? `${Math.round(s / 3600)} h`
        : `${Math.round(s / 86_400)} d`;
}

export const midnight = (ms: number): number => new Date(ms).setHours(0, 0, 0, 0);
const daysBefore = (ms: number, now: number): number => Math.round((midnight(now) - midnight(ms)) / 86_400_000);

// Days are those of the calendar, as in the headings of the list.
export function age(then: number, now: number): string {
  const s = Math.max(0, (now - then) / 1000);
  if (s < 60) return 'now';
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h`;
  if (s < 86_400 * 60) return `${daysBefore(then, now)} d`;
  return `${Math.floor(s / 86_400 / 30.4)} mo`;
}

export const time = (ms: number): string => (ms ? clock.format(ms) : '');
export const timeFull = (ms: number): string => (ms ? clockFull.format(ms) : '');
export const moment = (ms: number): string => (ms ? full.format(ms) : '');
export const dayAndMonth = (ms: number): string => dayShort.format(ms);

export function day(ms: number, now: number): string {
  const days = daysBefore(ms, now);
  if (days <= 0) return 'Today';
  if (days === 1) return 'Yesterday';
  return days < 200 ? dayLong.format(ms) : dayYear.format(ms);
}

// "claude-sonnet-4-5" is Sonnet 4.5 to people; an unknown name stays as it is.
export function modelName(id: string | undefined | null): string {
  if (!id) return 'Assistant';
  const m = /^claude-(?:(\d)-(\d)-)?(opus|sonnet|haiku)(?:-(\d{1,2})(?:-(\d{1,2}))?)?(?:-\d{8})?$/.exec(id);
  if (!m) return id;
  const major = m[4] ?? m[1],
    minor = m[4] ? m[5] : m[2];
  return `${m[3]![0]!.toUpperCase()}${m[3]!.slice(1)}${major ? ` ${major}${minor ? `.${minor}` : ''}` : ''}`;
}

const AGENTS: Record<string, [string, string, string]> = {
  pi: ['pi', 'π', 'pi'],
  claude: ['Claude Code', 'C', 'cc'],
  omp: ['oh-my-pi', 'o', 'omp'],
  xcsh: ['xcsh', 'x', 'xcsh'],
  openclaw: ['OpenClaw', 'w', 'oc'],
};
export const agentName = (agent: string): string => AGENTS[agent]?.[0] ?? agent;
export const agentGlyph = (agent: string): string => AGENTS[agent]?.[1] ?? agent[0] ?? '?';
export const agentClass = (agent: string): string => AGENTS[agent]?.[2] ?? 'other';

export const project = (cwd: string | null | undefined): string =>
  (cwd ?? '').replace(/\/+$/, '').split('/').pop() || cwd || '';
