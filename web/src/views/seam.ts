// What a compaction did to the number of tokens, as far as it is known.
import { fields } from '../model/json.ts';
import type { Shown } from '../parts/shown.ts';

const number = (v: unknown): number | null => (typeof v === 'number' ? v : null);

export function seamTokens(
  session: Pick<Shown, 'body' | 'contextAfter'>,
  i: number,
): { before: number | null; after: number | null } {
  const e = session.body(i),
    told = fields(e?.['compactMetadata']);
  return {
    before: number(e?.['tokensBefore'] ?? told['preTokens']),
    after: number(e?.['tokensAfter'] ?? told['postTokens']) ?? session.contextAfter(i),
  };
}
