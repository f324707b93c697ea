// Layout of the tree rail, in time linear in the number of nodes.
//
// The chosen child of a node (the one on the active path; elsewhere the one with the newest entry below
// it) goes on in its parent's lane and is drawn last. Every other child is a detour one lane to the right,
// drawn before it, oldest first. So the active path is one straight line at the left edge, no line crosses
// another, and the width is the nesting of branches. The walk is iterative: deep chains are no danger, and
// a parent that does not come before its child makes the child a root.

export const FIRST = 1,
  GOES_ON = 2;
export const LANES_MAX = 6;

export interface Lanes {
  entry: Int32Array; // nodes in drawing order
  lane: Uint16Array;
  pass: Uint8Array; // lanes that pass by, as bits; those past the sixth share the last bit
  flags: Uint8Array; // FIRST of a detour, GOES_ON below
  colour: Uint8Array; // 0 the active path's, 1 to 4 side branches in turn
  count: number;
  width: number;
}

export function lanes(parent: ArrayLike<number>, leaf: number, n = parent.length): Lanes {
  const first = new Int32Array(n).fill(-1),
    next = new Int32Array(n).fill(-1);
  const newest = new Int32Array(n),
    chosen = new Int32Array(n).fill(-1),
    roots: number[] = [];
  const isRoot = (i: number): boolean => parent[i]! < 0 || parent[i]! >= i;
  for (let i = 0; i < n; i++) newest[i] = i;
  for (let i = n - 1; i >= 0; i--) {
    if (isRoot(i)) {
      roots.push(i);
      continue;
    }
    const p = parent[i]!;
    next[i] = first[p]!;
    first[p] = i;
    if (chosen[p]! < 0 || newest[i]! > newest[chosen[p]!]!) chosen[p] = i;
    if (newest[i]! > newest[p]!) newest[p] = newest[i]!;
  }
  for (let i = leaf; i >= 0 && i < n && !isRoot(i); i = parent[i]!) chosen[parent[i]!] = i;
  return walk(n, roots, first, next, chosen);
}

function walk(n: number, roots: number[], first: Int32Array, next: Int32Array, chosen: Int32Array): Lanes {
  const out: Lanes = {
    entry: new Int32Array(n),
    lane: new Uint16Array(n),
    pass: new Uint8Array(n),
    flags: new Uint8Array(n),
    colour: new Uint8Array(n),
    count: 0,
    width: 0,
  };
  const stack: number[] = [];
  // roots stand newest first, so the oldest comes off the stack first.
  for (const r of roots) stack.push(r, 0, 0, 0, 0);
  while (stack.length) {
    const colour = stack.pop()!,
      isFirst = stack.pop()!,
      mask = stack.pop()!,
      lane = stack.pop()!,
      i = stack.pop()!;
    const k = out.count++;
    out.entry[k] = i;
    out.lane[k] = lane;
    out.pass[k] = mask;
    out.flags[k] = isFirst | (first[i]! >= 0 ? GOES_ON : 0);
    out.colour[k] = colour;
    if (lane > out.width) out.width = lane;
    const main = chosen[i]!;
    if (main >= 0) stack.push(main, lane, mask, 0, colour);
    const side: number[] = [];
    for (let x = first[i]!; x >= 0; x = next[x]!) if (x !== main) side.push(x);
    for (let j = side.length - 1; j >= 0; j--)
      stack.push(side[j]!, lane + 1, mask | (1 << Math.min(lane, LANES_MAX - 1)), FIRST, ((colour + j) % 4) + 1);
  }
  return out;
}
