// Jobs in the page itself, one at a time between frames: for a page that is one file and has no worker to load.
import { runJobsWith } from './client.ts';
import { run } from './jobs.ts';

export function useNoWorker(): void {
  let last: Promise<unknown> = Promise.resolve();
  runJobsWith((job) => {
    const mine = last
      .then(() => new Promise((done) => setTimeout(done, 0)))
      .then(() => {
        try {
          return run(job);
        } catch {
          return null;
        }
      });
    last = mine;
    return mine;
  });
}
