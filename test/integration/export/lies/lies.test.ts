/** Tests how an export ends if the service gives false responses about its search jobs (E6). */
import { describe, expect, test } from 'vitest';
import { minuteMs } from '../../../../src/base/time-units.ts';
import { shareOf } from '../../../support/random-runs.ts';
import { ExportWorld } from '../export-world.ts';
import { type Corpus, small } from './corpus.ts';
import { type LieCase, type LieOutcome, lies } from './lie-table.ts';
import { LyingService } from './lying-service.ts';

describe('false responses of the service', () => {
  test.each(shareOf(Object.entries(lies), 4, 0))('%s', async (_name, { outcome, ...lie }) => {
    expect(await exported(lie)).toEqual({ outcome, hasLied: true });
  });
});

describe('false responses of the service to an export by receipt time', () => {
  // If two rows in the same ten-minute period swap their times, the sums for the period stay the same. The export
  // therefore cannot detect the swap.
  const undetectable = ['two rows of different sizes exchange their times'];
  const cases = Object.entries(lies).filter(
    ([name, { outcome }]) => outcome !== 'undetectable' && !undetectable.includes(name),
  );

  test.each(shareOf(cases, 4, 2))('%s', async (_name, { outcome: _outcome, ...lie }) => {
    const { outcome } = await exported({ ...lie, spec: { ...lie.spec, byReceiptTime: true } });
    expect(outcome).not.toBe('undetectable');
  });
});

async function exported({ lie, corpus = small, spec = {}, search = {} }: Omit<LieCase, 'outcome'>) {
  let service: LyingService | undefined;
  const world = new ExportWorld({
    messages: corpus.messages,
    scenario: { search: { duration: '1s', pages: { maxMessages: corpus.pageRows }, ...search } },
    service: (...options) => {
      service = new LyingService(lie, corpus, ...options);
      return service;
    },
  });
  world.add(spec);
  world.start();
  const isOver = () => world.reason === 'Exported' || world.condition('Stalled')?.status === 'True';
  await world.world.until(isOver, 10 * minuteMs);
  return { outcome: outcomeOf(world, corpus), hasLied: service?.hasLied };
}

function outcomeOf(world: ExportWorld, { truth }: Corpus): LieOutcome {
  if (world.reason !== 'Exported') return 'noticed';
  const written = world.writtenRows().map(textOf).sort();
  return JSON.stringify(written) === JSON.stringify(truth.map(textOf).sort()) ? 'whole' : 'undetectable';
}

function textOf(row: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(row).sort());
}
