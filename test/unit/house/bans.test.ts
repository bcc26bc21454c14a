import { describe, expect, test } from 'vitest';
import { banViolations } from './bans.ts';
import { parseSource, simulatorSources, sourcesBelow } from './source-file.ts';

describe('what only ports may touch', () => {
  test('is touched by nothing else in src and simulator', () => {
    expect([...sourcesBelow('src'), ...simulatorSources()].flatMap(banViolations)).toEqual([]);
  });

  test.each([
    ['Date.now()', 'Date.now is the clock'],
    [`Date['now']()`, 'Date.now is the clock'],
    ['const started = new Date();', 'Date without an argument is the clock'],
    ['setTimeout(run, 5);', 'setTimeout is the clock'],
    ['const later = { timer: setInterval };', 'setInterval is the clock'],
    ['const { setTimeout } = globalThis;', 'globalThis is the clock'],
    ['performance.now();', 'performance is the clock'],
    [`import { setTimeout as delay } from 'node:timers/promises';`, 'import of node:timers/promises is the clock'],
    ['AbortSignal.timeout(5);', 'AbortSignal.timeout is the clock'],
    ['Math.random();', 'Math.random is randomness'],
    ['crypto.randomUUID();', 'crypto.randomUUID is randomness'],
    [`import { randomBytes } from 'node:crypto';`, 'randomBytes is randomness'],
    [`import * as net from 'node:net';`, 'import of node:net is the network'],
    [`import { request } from 'http';`, 'import of http is the network'],
    [`await fetch('https://example.com');`, 'fetch is the network'],
    [`const fs = await import('node:fs');`, 'import of node:fs is the disk'],
    ['const home = process.env.HOME;', 'process.env is the process'],
    ['process.exit(1);', 'process.exit is the process'],
  ])('%s is refused in policy', (text, reason) => {
    expect(banViolations(parseSource('src/policy/made-up.ts', text))).toContainEqual(expect.stringContaining(reason));
  });

  test.each([
    ['src/policy/a.ts', `new Date(5).toISOString(); new Date('2026-11-01');`],
    ['src/policy/a.ts', 'queue.setTimeout(5); const options = { performance: 1, fetch: 2 };'],
    ['src/policy/a.ts', `// Date.now()\nconst text = 'Math.random()';`],
    ['src/base/clock.ts', 'export const now = () => Date.now();'],
    ['src/service/transport/pool.ts', `import { Pool } from 'undici';`],
    ['src/cli/run/run.ts', `import { readFileSync } from 'node:fs'; process.env['HOME'];`],
  ])('%s: %s is allowed', (path, text) => {
    expect(banViolations(parseSource(path, text))).toEqual([]);
  });
});
