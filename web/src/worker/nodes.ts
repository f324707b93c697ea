// What the worker hands back: plain data that parts make into elements. No string in it is ever markup.

export type Run = [string, string]; // class of a token ("" for none), its text

export type Inline =
  | string
  | { t: 'code'; x: string }
  | { t: 'b' | 'i' | 's'; c: Inline[] }
  | { t: 'a'; href: string; c: Inline[] }
  | { t: 'img'; href: string; x: string }
  | { t: 'html'; x: string }
  | { t: 'br' };

export type Node =
  | { t: 'p'; c: Inline[] }
  | { t: 'h'; level: number; c: Inline[] }
  | { t: 'ul' | 'ol'; start: number; items: { task: boolean | null; c: Node[] }[] }
  | { t: 'quote'; c: Node[] }
  | { t: 'pre'; lang: string; lines: Run[][]; cut: number }
  | { t: 'table'; head: Inline[][]; align: (string | null)[]; rows: Inline[][][]; cut: number }
  | { t: 'html'; x: string }
  | { t: 'hr' };

export type DiffLine = {
  sign: ' ' | '+' | '-' | '@';
  old: number | null;
  new: number | null;
  runs: Run[];
  hi?: [number, number] | undefined;
};

export type PatchLine = { sign: ' ' | '+' | '-' | '@'; old: number | null; new: number | null; text: string };

export type Ask =
  | { job: 'markdown'; text: string }
  | { job: 'code'; text: string; lang: string }
  | { job: 'diff'; before: string; after: string; lang: string }
  | { job: 'patch'; lines: PatchLine[]; lang: string };
export type Job = Ask & { id: number };
