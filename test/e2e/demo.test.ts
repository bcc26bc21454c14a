/** Tests `make demo` without a terminal: once until it ends, and once interrupted. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
let temporary: string;
let demo: ChildProcess;
let stdout = '';

beforeEach(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'logfleet-demo-test-'));
  stdout = '';
  // The demo must ignore logfleet's settings in the user's environment variables.
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

function shown(text: RegExp): Promise<void> {
  return new Promise((resolve) => {
    let seen = '';
    demo.stderr?.setEncoding('utf8').on('data', (piece: string) => {
      seen += piece;
      if (text.test(seen)) resolve();
    });
  });
}

/** Returns the report line that starts with `start`. Consecutive spaces are collapsed into one. */
function row(start: string): string | undefined {
  const lines = stdout.split('\n').map((line) => line.trim().replaceAll(/\s+/g, ' '));
  return lines.find((line) => line.startsWith(start));
}

describe('the demo', () => {
  test('shows a stopped rollout, a completed rollout, an export, a report, and commands that work', async () => {
    const stderr = text(demo.stderr as Readable);
    // The `exit` event can occur before the whole output has been read.
    const [status] = await once(demo, 'close');
    expect({ status, stderr: status === 0 ? '' : await stderr }).toEqual({ status: 0, stderr: '' });
    expect(row('The canary stopped it')).toBe(
      'The canary stopped it: all 3 upgrades succeeded, but app-003 and web-016 no longer ship messages.',
    );
    expect(row('The other 57')).toBe('The other 57 collectors were not changed.');
    expect(row('logging/production: RolloutStopped')).toContain('2 failures in stage canary');
    expect(row('The manifest now names')).toContain('names 19.500-1 instead of 19.480-2');
    expect(row('logging/production: AllUpdated')).toContain('40 of 60 collectors run 19.500-1');
    expect(row('1-19.480-2 Stopped')).toMatch(/^1-19\.480-2 Stopped 3 /);
    expect(row('2-19.500-1 Completed')).toMatch(/^2-19\.500-1 Completed 40 /);
    // Fifteen collectors keep an old version: three because their upgrades always fail, and twelve because they are
    // offline.
    expect(row('19.253-26')).toBe('19.253-26 15 9');
    expect(row('19.318-6')).toBe('19.318-6 14 6');
    expect(row('19.361-20')).toBe('19.361-20 11 0');
    expect(row('19.404-12')).toBe('19.404-12 15 0');
    expect(row('19.480-2')).toBeUndefined();
    expect(row('19.500-1')).toBe('19.500-1 0 40');
    expect(row('Updated 40/43')).toBe('Updated 40/43: 12 offline and 5 skipped of 60 do not count.');
    expect(row('█ updated')).toBe('█ updated 40 first 3 in the canary, then the others');
    expect(row('× failed')).toMatch(/^× failed 3 2 × Not enough disk space on C:\. \(legacy-a/);
    expect(row('1 × The installer')).toMatch(/^1 × The installer ended with exit code 1603\. \(legacy-b/);
    expect(row('○ offline 12')).toBeDefined();
    expect(row('- skipped 5 5 × HostedCollector')).toBeDefined();
    // The first rollout stops after three upgrade tasks. The second rollout creates 43 upgrade tasks.
    expect(row('46 upgrade tasks')).toBe('46 upgrade tasks, 3 of them failed.');
    // The numbers of requests vary: on a busy machine, the service refuses some requests, and the operator repeats
    // them.
    expect(stdout).toMatch(/\d+ requests in \d+ s: \d+ create a task, \d+ read a task, \d+ list the fleet\./);
    expect(stdout).toMatch(/At most \d+ requests arrived in any second \(the service allows 4\)/);
    expect(row('range ok')).toMatch(/ 2 intervals, no gap, no overlap$/);
    expect(row('Proven:')).toBe('Proven: 154,800 rows, each of them once.');
    expect(stdout).toMatch(/\d+ requests in \d+ s: \d+ searches, and \d+ pages of their results\./);
    const offered = stdout.split('\n').flatMap((line) => /^ +npx logfleet (.+)$/.exec(line)?.[1]?.split(' ') ?? []);
    expect(offered.slice(0, 3)).toEqual(['get', 'cvp', 'production']);
    expect(await statusOf(...offered.slice(0, 5))).toBe(0);
    expect(await statusOf('verify', offered[offered.indexOf('verify') + 1] ?? '')).toBe(0);
    expect(stdout).not.toContain('\u001b');
  });

  test('SIGINT ends it and its simulator, and leaves nothing behind', async () => {
    await shown(/in progress [1-9]/);
    demo.kill('SIGINT');
    // The `close` event occurs only after the simulator has also ended, because the simulator writes to the same pipes.
    const [status] = await once(demo, 'close');
    expect(status).toBe(130);
    expect(readdirSync(temporary)).toEqual([]);
  });

  test('ends its simulator even when it is killed', async () => {
    await shown(/in progress [1-9]/);
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
