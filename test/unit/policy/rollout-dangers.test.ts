/** What would hurt a fleet that nobody looks at over a weekend, once through with the whole operator. */
import { describe, expect, test } from 'vitest';
import { before, canary, hourMs, rest, staged, target } from './staged-world.ts';

const fails = { outcomes: [{ share: 1, end: 'fail', message: 'disk full' }] } as const;

describe('a rollout that is complete (R5)', () => {
  const stages = [{ ...canary, maxFailures: 0 }, rest];

  test.each(['Rollback', 'Pause'] as const)('is not stopped by who comes later and fails, with %s', async (action) => {
    const { world, tasks, at, status, untilReason } = staged({
      stages,
      spec: { resyncInterval: '1h', failurePolicy: { maxFailures: 1, minSamples: 1, action } },
    });
    world.start();
    await untilReason('AllUpdated');
    world.model.patch({ groups: { bad: { count: 2, version: before, upgrade: fails } } }, world.service.nowMs());
    expect(await untilReason('CollectorsFailed', 4 * hourMs)).toBe(true);
    expect(world.ready('production')?.message).toContain('2 of 32 attempts of the rollout failed, and 1 is tolerated');
    world.model.patch({ groups: { late: { count: 1, version: before } } }, world.service.nowMs());
    expect(await world.until(() => status()?.collectors?.updated === 31, 4 * hourMs)).toBe(true);
    expect(tasks().filter(({ toVersion }) => toVersion !== target)).toEqual([]);
    expect(at(target)).toBe(31);
    expect(status()?.history).toMatchObject([{ outcome: 'Completed' }]);
  });

  test('is not taken back because somebody tolerates less afterwards', async () => {
    const { world, tasks, patch, untilReason } = staged({
      scenario: {
        groups: { web: { count: 10, version: before }, bad: { count: 2, version: before, upgrade: fails } },
      },
      stages: [],
      spec: {
        strategy: { maxInProgress: 5, order: 'Name' },
        failurePolicy: { maxFailures: 5, minSamples: 1, action: 'Rollback' },
      },
    });
    world.start();
    await untilReason('AllUpdated');
    patch({ spec: { failurePolicy: { maxFailures: 0 } } });
    expect(await untilReason('CollectorsFailed')).toBe(true);
    await world.clock.advance(2 * hourMs);
    expect(tasks()).toHaveLength(12);
  });

  test('is judged again for whom another selection brings in, and stopped without taking back who was there', async () => {
    const { world, tasks, at, patch, untilReason } = staged({
      scenario: {
        groups: { web: { count: 10, version: before }, bad: { count: 20, version: before, upgrade: fails } },
      },
      stages: [],
      spec: {
        selector: { matchNames: ['web-*'] },
        strategy: { maxInProgress: 2, order: 'Name' },
        failurePolicy: { maxFailures: 1, minSamples: 1, action: 'Rollback' },
      },
    });
    world.start();
    await untilReason('AllUpdated');
    patch({ spec: { selector: { matchNames: ['web-*', 'bad-*'] } } });
    expect(await untilReason('RolloutStopped')).toBe(true);
    await world.clock.advance(2 * hourMs);
    expect(tasks().length).toBeLessThanOrEqual(14);
    expect(at(target)).toBe(10);
  });
});
