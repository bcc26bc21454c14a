/**
 * Tests an export that is restored from a backup. The export is complete only after its files have been read again
 * (E3).
 */
import { describe, expect, test } from 'vitest';
import { reasons } from '../../../src/api/conditions.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { exportsPath } from '../../support/world.ts';
import { ExportWorld, evenly } from './export-world.ts';

interface BackedUpExport {
  readonly metadata: { readonly uid: string };
  readonly spec: object;
  readonly status: object;
}

async function restore({ world }: ExportWorld): Promise<void> {
  const path = `${exportsPath}/audit`;
  const { metadata, spec, status } = world.api.get(path) as unknown as BackedUpExport;
  for (const replica of [...world.replicas]) replica.kill();
  world.api.remove(path);
  await world.clock.advance(minuteMs);
  const created = { apiVersion: 'logfleet.dev/v1alpha1', kind: 'SearchExport', metadata: { name: 'audit' }, spec };
  world.api.create(exportsPath, created as never);
  world.api.patch(`${path}/status`, { status });
  expect((world.api.get(path) as unknown as BackedUpExport).metadata.uid).not.toBe(metadata.uid);
}

describe('an export that is restored with the status of its backup', () => {
  async function exported(): Promise<ExportWorld> {
    const world = new ExportWorld();
    world.add();
    world.start();
    expect(await world.untilReason(reasons.exported)).toBe(true);
    await restore(world);
    return world;
  }

  test('is complete when its files have been read again, without a search', async () => {
    const world = await exported();
    const { jobsCreated, opened } = world;
    world.start();
    expect(await world.world.until(() => world.opened > opened, minuteMs)).toBe(true);
    await world.world.clock.advance(minuteMs);
    expect(world.reason).toBe(reasons.exported);
    expect(world.jobsCreated).toBe(jobsCreated);
    const { creationTimestamp } = world.world.export('audit')?.metadata ?? {};
    expect(Date.parse(world.status?.completionTime ?? '')).toBeGreaterThanOrEqual(Date.parse(creationTimestamp ?? ''));
    // A process that starts after the check does not read the files again.
    world.start();
    await world.world.clock.advance(hourMs);
    expect(world.opened).toBe(opened + 1);
  });

  test('writes every row again if the destination has no files', async () => {
    const world = await exported();
    world.store.objects.clear();
    world.start();
    expect(await world.world.until(() => world.condition('Complete') === undefined, minuteMs)).toBe(true);
    expect(await world.untilReason(reasons.exported)).toBe(true);
    expect(world.rows()).toEqual(
      evenly(600)
        .map(({ raw }) => raw)
        .sort(),
    );
  });

  test('is not complete while the destination cannot be opened', async () => {
    const world = await exported();
    world.onOpen = (destination) => {
      destination.strike = () => ({ failure: 'away' });
    };
    world.start();
    expect(await world.world.until(() => world.condition('Complete') === undefined, hourMs)).toBe(true);
    expect(world.condition('Ready')?.status).not.toBe('True');
  });
});
