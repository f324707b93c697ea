// The sessions that their agents will delete within a week, and when. To know it the server looks at every
// session and at the agents' settings, so it is asked now and then, beside the list.
import { signal } from '@preact/signals';
import { get } from '../api/http.ts';

export const DAYS = 7;
const AGAIN_MS = 10 * 60_000;
const MOST = 500;

export const expiring = signal<ReadonlyMap<string, string> | null>(null);
let asked = -Infinity;

export async function loadExpiring(): Promise<void> {
  if (performance.now() - asked < AGAIN_MS) return;
  asked = performance.now();
  try {
    const r = await get('/sessions', { expiring: DAYS, limit: MOST });
    expiring.value = new Map(r.sessions.flatMap((s) => (s.expires ? [[s.key, s.expires]] : [])));
  } catch {
    asked = -Infinity; /* The list does without. */
  }
}
