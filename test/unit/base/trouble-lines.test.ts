/** Tests log lines about failures that are retried. */
import { expect, test } from 'vitest';
import { TroubleLines } from '../../../src/base/trouble-lines.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

function start() {
  const clock = new VirtualClock();
  const lines: string[] = [];
  return { clock, lines, troubles: new TroubleLines(clock, (line) => lines.push(line)) };
}

test('reports a failure immediately, and then at increasing intervals with its start', async () => {
  const { clock, lines, troubles } = start();
  const reportedAt: number[] = [];
  for (let second = 0; second <= 120; second++) {
    troubles.failed('logging/production', 'ServiceUnreachable: nobody listens there');
    if (lines.length > reportedAt.length) reportedAt.push(second);
    await clock.advance(1_000);
  }
  expect(reportedAt).toEqual([0, 10, 30, 70]);
  const line = 'logging/production: trying again: ServiceUnreachable: nobody listens there';
  expect(lines[0]).toBe(line);
  expect(new Set(lines.slice(1))).toEqual(new Set([`${line}. This has lasted since 2026-11-01T00:00:00Z.`]));
});

test('reports a lasting failure every ten minutes', async () => {
  const { clock, lines, troubles } = start();
  for (let minute = 0; minute < 24 * 60; minute++) {
    troubles.failed('a', 'no.');
    await clock.advance(60_000);
  }
  expect(lines.length).toBeGreaterThan(24 * 6 - 1);
});

test('reports subjects separately, and the end of a failure once', async () => {
  const { clock, lines, troubles } = start();
  troubles.failed('a', 'no.');
  troubles.failed('b', 'no.');
  await clock.advance(5_000);
  troubles.works('a');
  troubles.works('a');
  expect(lines.slice(2)).toEqual(['a: works again after failing for 5s']);
});
