/** Tests exports from a service that stores some messages more than once (E6, E9). */
import { expect, test } from 'vitest';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { ExportWorld, startMs } from './export-world.ts';

const messages = Array.from({ length: 1_000 }, (_, index) => ({
  at: startMs - 2 * hourMs + Math.floor((index * hourMs) / 1_000),
  raw: `message ${index}`,
  fields: { _messageid: String(1_000 + index) },
}));

test.each([
  [90, 'Exported', undefined],
  [600, 'IntervalIncomplete', 'set spec.proof to Count'],
])('%i messages that are stored twice: %s', async (count, reason, remedy) => {
  const twice = [...messages, ...messages.slice(0, count)].sort((left, right) => left.at - right.at);
  const world = new ExportWorld({ messages: twice, scenario: { search: { duration: '1s' } } });
  world.add();
  world.start();
  await world.world.until(() => world.reason === reason, 30 * minuteMs);
  if (remedy !== undefined) expect(world.condition('Ready')?.message).toContain(remedy);
  else expect(world.writtenRows()).toHaveLength(messages.length);
});
