// Stacked columns: the arithmetic behind the drawing.

export interface Column {
  key: string;
  parts: { name: string; value: number; from: number }[];
  total: number;
}

// A round step that gives at most `lines` lines.
export function ticks(max: number, lines = 5): number[] {
  if (!(max > 0)) return [0, 1];
  const rough = max / (lines - 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 3, 5, 10].map((m) => m * power).find((s) => s >= rough)!;
  const out: number[] = [];
  for (let k = 0; k * step < max + step * 0.999 && k <= lines; k++) out.push(Math.round(k * step * 1e9) / 1e9);
  return out;
}

// Room to the left of the drawing for its longest label. A digit is at most 7 wide at the labels' size.
export function margin(labels: string[]): number {
  return Math.max(44, 10 + 7 * Math.max(...labels.map((l) => l.length)));
}

export function columns(rows: { key: string; stack: Record<string, number> }[], names: string[]): Column[] {
  return rows.map((r) => {
    let from = 0;
    const parts = names
      .filter((n) => (r.stack[n] ?? 0) > 0)
      .map((name) => {
        const part = { name, value: r.stack[name]!, from };
        from += part.value;
        return part;
      });
    return { key: r.key, parts, total: from };
  });
}

// The largest series by sum, the rest as one. A single one keeps its name: it takes no more room than "other".
export function topSeries(rows: { stack: Record<string, number> }[], max = 5): { names: string[]; rest: string[] } {
  const sum = new Map<string, number>();
  for (const r of rows) for (const [n, v] of Object.entries(r.stack)) sum.set(n, (sum.get(n) ?? 0) + v);
  const names = [...sum].sort((a, b) => b[1] - a[1]).map(([n]) => n);
  const shown = names.length === max + 1 ? max + 1 : max;
  return { names: names.slice(0, shown), rest: names.slice(shown) };
}

// Every day of a range, so that a day without work is a gap and not missing.
export function daysBetween(from: string, to: string): string[] {
  const out: string[] = [];
  for (
    let t = Date.parse(`${from}T12:00:00Z`), end = Date.parse(`${to}T12:00:00Z`);
    t <= end && out.length < 400;
    t += 86_400_000
  )
    out.push(new Date(t).toISOString().slice(0, 10));
  return out;
}
