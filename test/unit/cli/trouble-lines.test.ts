/** Tests the lines that `logfleet run` prints about failures that it retries. */
import { expect, test } from 'vitest';
import { TroubleLines } from '../../../src/cli/live/trouble-lines.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

function start() {
  const clock = new VirtualClock();
  const lines: string[] = [];
  return { clock, lines, troubles: new TroubleLines(clock, (line) => lines.push(line)) };
}

test('reports a failure immediately, then at growing intervals with its duration', async () => {
  const { clock, lines, troubles } = start();
  for (let second = 0; second <= 120; second++) {
    troubles.failed('logging/production', 'ServiceUnreachable: nobody listens there.');
    await clock.advance(1_000);
  }
  expect(lines[0]).toBe('logging/production: trying again: ServiceUnreachable: nobody listens there.\n');
  expect(lines.slice(1).map((line) => /failing for (\S+),/.exec(line)?.[1])).toEqual(['10s', '30s', '70s']);
});

test('reports subjects separately, and the end of a failure once', async () => {
  const { clock, lines, troubles } = start();
  troubles.failed('a', 'no.');
  troubles.failed('b', 'no.');
  await clock.advance(5_000);
  troubles.works('a');
  troubles.works('a');
  expect(lines.slice(2)).toEqual(['a: works again after failing for 5s\n']);
});
