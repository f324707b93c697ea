// Going on from an entry: the plan, the question, the move, and what may come between (model/leaf.ts).
import { act, ApiError, get } from '../api/http.ts';
import type { Plan } from '../api/types.ts';
import { idle, step, type LeafEvent, type Written } from '../model/leaf.ts';
import { copy, say } from './app.ts';
import type { SessionState } from './session.ts';

export class Moving {
  constructor(private readonly of: SessionState) {}

  private send(e: LeafEvent): void {
    this.of.leafState.value = step(this.of.leafState.value, e);
  }
  private plannedAt = 0;

  private plan(entryId: string): Promise<Plan> {
    this.plannedAt = this.of.skeleton.n ? this.of.skeleton.seq[this.of.skeleton.n - 1]! : 0;
    return act('POST /sessions/{id}/continue', { id: this.of.key, dryRun: 1 }, { entryId });
  }

  async continueFrom(entryId: string): Promise<void> {
    this.send({ on: 'continue', entryId });
    if (this.of.leafState.value.at !== 'asking') return;
    try {
      const plan = await this.plan(entryId);
      this.send({ on: 'plan', plan });
      if (plan.outcome === 'append') await this.howToGoOn();
    } catch (e) {
      this.send({ on: 'refusal', message: e instanceof Error ? e.message : String(e) });
    }
  }

  // At the leaf nothing has to move: the user only needs the agent.
  private async howToGoOn(): Promise<void> {
    const command = this.of.resume.value;
    if (command) await copy(command, 'Resume command', '. Run it in a terminal to go on.');
    else say('The next message goes on from here.');
  }

  async confirm(force = false): Promise<void> {
    this.send({ on: 'confirm' });
    const s = this.of.leafState.value;
    if (s.at !== 'switching') return;
    const p = s.pendingLeafConfirmation;
    try {
      const r = await act(
        'POST /sessions/{id}/continue',
        { id: this.of.key },
        { entryId: p.entryId, expectedRev: p.expectedRev, ...(force ? { force } : {}) },
      );
      this.moved(r.leafEntryId !== undefined ? r.leafEntryId : p.leafAfter);
    } catch (e) {
      await this.notMoved(e, p.entryId);
    }
  }

  private moved(leaf: string | null): void {
    this.of.viewLeafId.value = null;
    this.of.setLeaf(leaf);
    this.send({ on: 'moved', leaf });
    say('The leaf has moved.');
  }

  private async notMoved(e: unknown, entryId: string): Promise<void> {
    if (!(e instanceof ApiError)) throw e;
    if (e.code === 'NOANSWER') {
      this.send({ on: 'silence' });
      await this.findOut(entryId);
      return;
    }
    if (e.status !== 409) {
      this.send({ on: 'refusal', message: e.message });
      return;
    }
    // The newest entries come with the refusal; those after the plan are what came between.
    const entries: Written[] = (e.details?.entries ?? [])
      .filter((x) => x.seq > this.plannedAt)
      .map((x) => ({ id: x.id ?? '', author: x.role ?? x.kind, text: '' }));
    try {
      this.send({ on: 'conflict', entries, live: e.code === 'LIVE', plan: await this.plan(entryId) });
    } catch (again) {
      this.send({ on: 'refusal', message: again instanceof Error ? again.message : e.message });
    }
  }

  // No answer says whether the move was made: the session itself shows it.
  private async findOut(entryId: string): Promise<void> {
    for (let wait = 500; this.of.leafState.value.at === 'unknown'; wait = Math.min(8000, wait * 2)) {
      await new Promise((r) => setTimeout(r, wait));
      try {
        const s = await get('/sessions/{id}', { id: this.of.key });
        this.send({ on: 'found', leaf: s.leafEntryId, plan: await this.plan(entryId).catch(() => null) });
        await this.of.load();
      } catch {
        /* There is still no answer. */
      }
    }
  }

  cancel(): void {
    this.send({ on: 'cancel' });
  }
  finishDraft(): void {
    if (this.of.leafState.value.at === 'idle') this.of.leafState.value = idle;
  }

  // The prompt that was edited, as the next message; the agent answers it when it is resumed.
  async append(prompt: string): Promise<void> {
    const leaf = this.of.sessionMeta.value!.leafEntryId;
    try {
      await act(
        'POST /sessions/{id}/entries',
        leaf === null ? { id: this.of.key } : { id: this.of.key, parent: leaf },
        {
          role: 'user',
          content: prompt,
        },
      );
      this.finishDraft();
      say('Appended. The agent answers it when it is resumed.');
    } catch (e) {
      say(e instanceof Error ? e.message : 'The message was refused.', 'bad');
    }
  }
}
