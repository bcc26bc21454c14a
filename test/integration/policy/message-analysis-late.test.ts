/** Tests message analyses for collectors that reach the target late. */
import { expect, test } from 'vitest';
import { annotations } from '../../../src/api/annotations.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { analyzed } from './analyzed-world.ts';

test('a collector that was upgraded within the analyzed period is not judged', async () => {
  const { world, analysisNow, annotate, status, stage } = analyzed({
    build: { stopsShipping: 1 },
    canary: { maxFailures: '99%' },
    scenario: { upgrade: { duration: '2m', outcomes: [{ share: 0.3, end: 'fail' }] } },
  });
  world.start();
  await world.until(() => analysisNow() !== undefined, 2 * hourMs);
  const { updated = 0 } = stage('canary') ?? {};
  expect(updated).toBeGreaterThan(0);
  expect(updated).toBeLessThan(20);
  world.model.patch({ upgrade: { duration: '2m', outcomes: [] } }, world.service.nowMs());
  await world.clock.advance(30 * minuteMs);
  await annotate(annotations.retry, status()?.rollout?.id ?? '');
  await world.until(() => analysisNow()?.judged !== undefined, 3 * hourMs);
  expect(stage('canary')).toMatchObject({
    updated: 20,
    analysis: { judged: updated, quiet: updated, unjudged: 20 - updated },
  });
});

test('all collectors are judged when the analyzed period is the whole soak, even after a restart', async () => {
  const { world, analysisNow, untilReason } = analyzed({ canary: { soakDuration: '30m' } });
  const first = world.start();
  await world.until(() => analysisNow() !== undefined, 2 * hourMs);
  await world.clock.advance(10 * minuteMs);
  first.kill();
  world.start();
  expect(await untilReason('AllUpdated', 3 * hourMs)).toBe(true);
  expect(analysisNow()).toMatchObject({ judged: 20, unjudged: 0 });
});
