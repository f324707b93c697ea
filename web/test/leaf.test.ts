import test from 'node:test';
import assert from 'node:assert/strict';
import type { Plan } from '../src/api/types.ts';
import { busy, idle, step, textOf, type LeafEvent, type LeafState } from '../src/model/leaf.ts';

const plan: Plan = {
  outcome: 'replay',
  leafAfter: 'd1',
  leavesBehind: 872,
  content: [{ type: 'text', text: 'again' }],
  contextTokens: 23300,
  rev: 7,
  generation: 1,
  openBy: null,
};
const run = (...events: LeafEvent[]): LeafState => events.reduce(step, idle);

test('a prompt: asked, confirmed, moved; its text comes back as a draft', () => {
  const pending = run({ on: 'continue', entryId: 'e' }, { on: 'plan', plan });
  assert.equal(pending.at, 'pending');
  assert.equal(pending.at === 'pending' && pending.pendingLeafConfirmation.text, 'again');
  const moving = step(pending, { on: 'confirm' });
  assert.equal(moving.at === 'switching' && moving.switchingLeafEntryId, 'e');
  assert.ok(busy(moving));
  assert.deepEqual(step(moving, { on: 'moved', leaf: 'd1' }), { at: 'idle', draft: 'again', moved: 'd1' });
});

test('a switch leaves no draft', () => {
  const s = run(
    { on: 'continue', entryId: 'e' },
    { on: 'plan', plan: { ...plan, outcome: 'switch', leafAfter: 'e' } },
    { on: 'confirm' },
    { on: 'moved', leaf: 'e' },
  );
  assert.deepEqual(s, { at: 'idle', draft: null, moved: 'e' });
});

test('the leaf itself: nothing moves, no dialog', () => {
  assert.deepEqual(
    run({ on: 'continue', entryId: 'e' }, { on: 'plan', plan: { ...plan, outcome: 'append', leafAfter: 'e' } }),
    { at: 'idle', draft: null, moved: 'e' },
  );
});

test('a conflict goes back to pending with a fresh plan and who wrote what', () => {
  const s = run(
    { on: 'continue', entryId: 'e' },
    { on: 'plan', plan },
    { on: 'confirm' },
    {
      on: 'conflict',
      live: false,
      entries: [{ id: 'n', author: 'pi', text: 'two' }],
      plan: { ...plan, rev: 9, leavesBehind: 874 },
    },
  );
  assert.ok(s.at === 'pending' && s.conflict?.entries.length === 1 && s.pendingLeafConfirmation.expectedRev === 9);
});

test('no answer: unknown, then whatever is true', () => {
  const unknown = run({ on: 'continue', entryId: 'e' }, { on: 'plan', plan }, { on: 'confirm' }, { on: 'silence' });
  assert.equal(unknown.at, 'unknown');
  assert.equal(step(unknown, { on: 'found', leaf: 'd1', plan: null }).at, 'idle');
  assert.equal(step(unknown, { on: 'found', leaf: 'elsewhere', plan }).at, 'pending');
});

test('what comes late or out of turn changes nothing', () => {
  for (const e of [
    { on: 'plan', plan },
    { on: 'confirm' },
    { on: 'moved', leaf: null },
    { on: 'silence' },
  ] as LeafEvent[])
    assert.equal(step(idle, e), idle);
  const moving = run({ on: 'continue', entryId: 'e' }, { on: 'plan', plan }, { on: 'confirm' });
  assert.equal(step(moving, { on: 'cancel' }), moving);
  assert.equal(step(moving, { on: 'continue', entryId: 'other' }), moving);
});

test('a refusal is shown, and the user may try again', () => {
  const s = run({ on: 'continue', entryId: 'e' }, { on: 'refusal', message: 'read only' });
  assert.ok(s.at === 'refused' && s.message === 'read only');
  assert.equal(step(s, { on: 'continue', entryId: 'e' }).at, 'asking');
});

test('text of a prompt: a string, or its text blocks', () => {
  assert.equal(textOf('a'), 'a');
  assert.equal(textOf([{ type: 'text', text: 'a' }, { type: 'image' }, { type: 'text', text: 'b' }]), 'a\nb');
  assert.equal(textOf([{ type: 'image' }]), null);
});
