// A picture of what a program shows in a terminal: tmux runs it, Chromium draws what tmux holds.
import { execFileSync } from 'node:child_process';
import { dirname } from 'node:path';
import Anser from 'anser';

const COLUMNS = 120,
  ROWS = 36;
const STYLE =
  'body { margin: 0; background: #16181d; display: inline-block } ' +
  'pre { margin: 0; padding: 18px 22px; color: #d6d8de; font: 15px/1.35 "DejaVu Sans Mono", monospace }';

export async function terminal(browser, grove, home, [command, ...keys], path) {
  const socket = `grove-shots-${process.pid}`;
  const env = { HOME: home, PATH: `${dirname(grove)}:${process.env.PATH}`, TZ: 'UTC', PS1: '$ ', LANG: 'C.UTF-8' };
  const tmux = (...argv) => execFileSync('tmux', ['-u', '-L', socket, ...argv], { encoding: 'utf8', env });
  const still = () => new Promise((done) => setTimeout(done, 1500));
  tmux('-f', '/dev/null', 'new-session', '-d', '-x', String(COLUMNS), '-y', String(ROWS), 'sh');
  try {
    tmux('send-keys', command, 'Enter');
    await still();
    for (const key of keys) {
      tmux('send-keys', key);
      await still();
    }
    const screen = tmux('capture-pane', '-e', '-p');
    const page = await browser.newPage({ viewport: { width: 1400, height: 900 }, deviceScaleFactor: 1 });
    const html = Anser.ansiToHtml(Anser.escapeForHtml(screen.trimEnd()));
    await page.setContent(`<style>${STYLE}</style><pre>${html}</pre>`);
    await page.locator('body').screenshot({ path });
    await page.close();
  } finally {
    tmux('kill-server');
  }
}
