// Runs jobs away from the page.
import { run } from './jobs.ts';
import type { Job } from './nodes.ts';

onmessage = (m: MessageEvent<Job>) => {
  let answer: { id: number; value?: unknown; failed?: boolean };
  try {
    answer = { id: m.data.id, value: run(m.data) };
  } catch {
    answer = { id: m.data.id, failed: true };
  }
  postMessage(answer);
};
