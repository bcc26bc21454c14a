/** Lines for who waits for something that does not work. */
import { expect, test } from 'vitest';
import { TroubleLines } from '../../../src/cli/trouble-lines.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

function start() {
  const clock = new VirtualClock();
  const lines: string[] = [];
  return { clock, lines, troubles: new TroubleLines(clock, (line) => lines.push(line)) };
}

test('a failure is told at once, and then less and less often, with how long it has lasted', async () => {
  const { clock, lines, troubles } = start();
  for (let second = 0; second <= 120; second++) {
    troubles.failed('logging/production', 'ServiceUnreachable: nobody listens there.');
    await clock.advance(1_000);
  }
  expect(lines[0]).toBe('logging/production: ServiceUnreachable: nobody listens there. It is tried again.\n');
  expect(lines.slice(1).map((line) => /failed for (\S+),/.exec(line)?.[1])).toEqual(['10s', '30s', '70s']);
});

test('two subjects are told apart, and what works again is told once', async () => {
  const { clock, lines, troubles } = start();
  troubles.failed('a', 'no.');
  troubles.failed('b', 'no.');
  await clock.advance(5_000);
  troubles.works('a');
  troubles.works('a');
  expect(lines.slice(2)).toEqual(['a: it works again after 5s\n']);
});
