/** `make demo` as a person without a terminal starts it, to its end and interrupted. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** The demo may take so long; the guard of the test only has to be longer. */
const guardMs = 150_000;

let temporary: string;
let demo: ChildProcess;
let stdout = '';

beforeEach(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'logfleet-demo-test-'));
  stdout = '';
  // A person's own flags are not meant for the demo.
  const env = { ...process.env, TMPDIR: temporary, LOGFLEET_COLLECTORS: '7', LOGFLEET_WATCH: 'true' };
  demo = spawn(process.execPath, ['demo/main.ts'], { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
  demo.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
});

afterEach(() => {
  demo.kill('SIGKILL');
  rmSync(temporary, { recursive: true });
});

/** Resolves once stderr has shown this text. */
function shown(text: string): Promise<void> {
  return new Promise((resolve) => {
    let seen = '';
    demo.stderr?.setEncoding('utf8').on('data', (piece: string) => {
      seen += piece;
      if (seen.includes(text)) resolve();
    });
  });
}

/** The line of the table that begins with these words, its blanks made single. */
function row(start: string): string | undefined {
  const lines = stdout.split('\n').map((line) => line.trim().replaceAll(/\s+/g, ' '));
  return lines.find((line) => line.startsWith(start));
}

describe('the demo', { timeout: guardMs }, () => {
  test('ends well with a table of what happened, and with commands that work', async () => {
    demo.stderr?.resume();
    const [status] = await once(demo, 'exit');
    expect(status).toBe(0);
    // Of 27, the seven that always fail and four that are offline stay as they were; all others that run are upgraded.
    expect(row('19.253-26')).toBe('19.253-26 27 11');
    expect(row('19.318-6')).toBe('19.318-6 23 4');
    expect(row('19.361-20')).toBe('19.361-20 23 0');
    expect(row('19.404-12')).toBe('19.404-12 26 0');
    expect(row('19.500-1')).toBe('19.500-1 16 100');
    expect(row('Updated 100/107')).toBe('Updated 100/107: 8 offline and 5 skipped of 120 do not count.');
    expect(row('█ updated')).toBe('█ updated 100 16 before, 84 upgraded, 4 of these at the second attempt');
    expect(row('× failed')).toMatch(/^× failed 7 4 × Not enough disk space on C:\. \(legacy-a/);
    expect(row('3 × The installer')).toMatch(/^3 × The installer ended with exit code 1603\. \(legacy-b/);
    expect(row('○ offline 8')).toBeDefined();
    expect(row('- skipped 5 5 × HostedCollector')).toBeDefined();
    // One attempt for each of the 91 that can be upgraded, and one more for the eleven that failed once.
    expect(row('102 upgrade tasks')).toBe('102 upgrade tasks, of which 18 failed.');
    // A request more for each that the service refused for its rate, which a busy machine can bring about.
    expect(stdout).toMatch(/\d+ requests in \d+ s: \d+ to create a task, \d+ to read one, \d+ to list\./);
    expect(stdout).toMatch(/At most \d+ arrivals in any one second, of 4 that the service allows/);
    const offered = stdout.split('\n').flatMap((line) => /^ +npx logfleet (.+)$/.exec(line)?.[1]?.split(' ') ?? []);
    expect(offered.slice(0, 3)).toEqual(['get', 'cvp', 'production']);
    expect(await statusOf(...offered.slice(0, 5))).toBe(0);
    expect(stdout).not.toContain('\u001b');
  });

  test.each(['SIGINT', 'SIGTERM'] as const)(
    '%s ends it and its simulator, and leaves nothing behind',
    async (signal) => {
      await shown('in progress 20');
      demo.kill(signal);
      // The pipes are closed once the simulator, which has inherited them, has ended, too.
      const [status] = await once(demo, 'close');
      expect(status).toBe(130);
      expect(readdirSync(temporary)).toEqual([]);
    },
  );

  test('its simulator ends with it even when it is killed', async () => {
    await shown('in progress 20');
    demo.kill('SIGKILL');
    await once(demo, 'close');
    expect(demo.signalCode).toBe('SIGKILL');
  });
});

async function statusOf(...args: readonly string[]): Promise<number | null> {
  const program = spawn(process.execPath, ['bin/logfleet.js', ...args], { cwd: root, stdio: 'ignore' });
  const [status] = await once(program, 'exit');
  return status;
}
