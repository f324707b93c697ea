// Stored JSON is each agent's own: nothing is known of it before it is looked at.
export type Fields = Record<string, unknown>;

export const isFields = (v: unknown): v is Fields => v !== null && typeof v === 'object';
export const fields = (v: unknown): Fields => (isFields(v) ? v : {});
export const list = (v: unknown): unknown[] => (Array.isArray(v) ? v : []);
export const textOr = <T>(v: unknown, other: T): string | T => (typeof v === 'string' ? v : other);
export const numberOr = <T>(v: unknown, other: T): number | T => (typeof v === 'number' ? v : other);

// The first of these members that is there: agents spell the same thing in different ways.
export function member(v: unknown, ...names: string[]): unknown {
  const o = fields(v);
  return names.map((name) => o[name]).find((x) => x !== undefined && x !== null);
}
