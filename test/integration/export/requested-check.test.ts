/**
 * Tests that an export performs every check that a user requests with an annotation, even after faults and restarts.
 */
import { describe, expect, test } from 'vitest';
import { annotations } from '../../../src/api/annotations.ts';
import { minuteMs } from '../../../src/base/time-units.ts';
import type { DestinationCall, DestinationFault } from '../../support/memory-destination.ts';
import type { SimulatedProcess } from '../../support/simulated-process.ts';
import { ExportWorld, type ExportWorldOptions, evenly } from './export-world.ts';

type Strike = (call: DestinationCall, name: string) => DestinationFault | undefined;

/** Simulator settings: a search takes half a minute, and returns at most 200 rows. */
const slow: ExportWorldOptions = {
  messages: evenly(3_000),
  scenario: { search: { messageLimit: 200, duration: '30s' } },
};

/** An export whose destination can be slow or fail at any time. */
class CheckWorld extends ExportWorld {
  strike: Strike = () => undefined;

  constructor(options: ExportWorldOptions = {}) {
    super(options);
    this.onOpen = (destination) => {
      destination.strike = (call, name) => this.strike(call, name);
    };
  }

  /** Delays the selected calls to the destination until the returned function is called. */
  hold(isHeld: (call: DestinationCall, name: string) => boolean): () => void {
    const { promise: until, resolve } = Promise.withResolvers<void>();
    this.strike = (call, name) => (isHeld(call, name) ? { until } : undefined);
    return () => {
      this.strike = () => undefined;
      resolve();
    };
  }

  /** Starts the operator, and waits until the export has ended. */
  async ended(reason: string, spec: object = {}): Promise<SimulatedProcess> {
    this.add(spec);
    const process = this.start();
    expect(await this.untilReason(reason)).toBe(true);
    await this.world.clock.advance(minuteMs);
    return process;
  }

  loseFile(): void {
    const name = [...this.store.objects.keys()].find((each) => each.includes('/data/'));
    expect(this.store.objects.delete(name ?? '')).toBe(true);
  }

  request(value: string): void {
    this.annotate(annotations.requestedAt, value);
  }

  get confirmed(): string | undefined {
    return this.status?.lastHandledReconcileAt;
  }

  untilConfirmed(value: string): Promise<boolean> {
    return this.world.until(() => this.confirmed === value, 5 * minuteMs);
  }
}

const isRead = (call: DestinationCall) => call === 'read' || call === 'list';

describe('a requested check', () => {
  const ends: readonly [string, ExportWorldOptions, object, string][] = [
    ['Exported', {}, {}, 'DestinationDamaged'],
    ['MaxMessagesReached', slow, { limits: { maxMessages: 300 } }, 'MaxMessagesReached'],
  ];

  test.each(ends)(
    'of an export with the result %s is confirmed when it has ended',
    async (result, options, spec, found) => {
      const world = new CheckWorld(options);
      const process = await world.ended(result, spec);
      world.loseFile();
      const release = world.hold(isRead);
      world.request('again');
      await world.world.clock.advance(minuteMs);
      const isFinished = process.watchEnd();
      await world.world.clock.advance(minuteMs);
      expect([world.reason, world.confirmed, isFinished()]).toEqual([result, undefined, false]);
      release();
      expect(await world.untilConfirmed('again')).toBe(true);
      expect(world.reason).toBe(found);
      expect(await world.world.until(isFinished, minuteMs)).toBe(true);
    },
  );

  test.each(ends)('of an export with the result %s is repeated after a crash', async (result, options, spec, found) => {
    const world = new CheckWorld(options);
    const process = await world.ended(result, spec);
    world.loseFile();
    world.hold(isRead);
    world.request('again');
    await world.world.clock.advance(minuteMs);
    process.kill();
    const { opened } = world;
    world.strike = () => undefined;
    world.start();
    expect(await world.untilConfirmed('again')).toBe(true);
    expect([world.reason, world.opened]).toEqual([found, opened + 1]);
  });

  test('begins again if it is requested again while it runs', async () => {
    const world = new CheckWorld();
    await world.ended('Exported');
    let isListed = false;
    const release = world.hold((call, name) => {
      const isHeld = isListed && isRead(call);
      isListed ||= call === 'list' && name.endsWith('/data');
      return isHeld;
    });
    world.request('first');
    await world.world.clock.advance(minuteMs);
    expect(isListed).toBe(true);
    world.loseFile();
    world.request('second');
    await world.world.clock.advance(minuteMs);
    release();
    expect(await world.untilConfirmed('second')).toBe(true);
    expect(world.reason).toBe('DestinationDamaged');
  });

  test('is not lost if it is requested while the export manifest is being written', async () => {
    const world = new CheckWorld();
    world.add();
    let isWritten = false;
    const release = world.hold((call, name) => {
      const isHeld = call === 'create' && name.endsWith('/manifest.json');
      isWritten ||= isHeld;
      return isHeld;
    });
    world.start();
    expect(await world.world.until(() => isWritten, 10 * minuteMs)).toBe(true);
    world.loseFile();
    world.request('again');
    await world.world.clock.advance(minuteMs);
    release();
    expect(await world.untilConfirmed('again')).toBe(true);
    expect(world.reason).toBe('DestinationDamaged');
  });

  test('is not lost if it is requested while a complete export closes its destination', async () => {
    const world = new CheckWorld();
    const { promise: closing, resolve: close } = Promise.withResolvers<void>();
    const { onOpen } = world.exports;
    world.onOpen = (destination) => {
      onOpen(destination, { kind: 'volume' } as never);
      destination.close = () => closing;
    };
    await world.ended('Exported');
    world.loseFile();
    world.request('again');
    await world.world.clock.advance(minuteMs);
    expect(world.confirmed).toBeUndefined();
    close();
    expect(await world.untilConfirmed('again')).toBe(true);
    expect(world.reason).toBe('DestinationDamaged');
  });

  test('shows an outage of the store, and ends after the outage', async () => {
    const world = new CheckWorld();
    await world.ended('Exported');
    world.strike = (call) => (isRead(call) ? { failure: 'away' } : undefined);
    world.request('again');
    expect(await world.untilReason('DestinationUnavailable', minuteMs)).toBe(true);
    expect(world.condition('Complete')).toBeUndefined();
    expect(world.confirmed).toBeUndefined();
    world.strike = () => undefined;
    expect(await world.untilConfirmed('again')).toBe(true);
    expect(world.reason).toBe('Exported');
  });

  test('of a complete export prevents its removal while the check fails', async () => {
    const world = new CheckWorld();
    await world.ended('Exported', { ttlSecondsAfterFinished: 600 });
    world.strike = (call) => (isRead(call) ? { failure: 'away' } : undefined);
    world.request('again');
    expect(await world.untilReason('DestinationUnavailable', minuteMs)).toBe(true);
    await world.world.clock.advance(20 * minuteMs);
    expect(world.reason).toBe('DestinationUnavailable');
    world.strike = () => undefined;
    expect(await world.world.until(() => !world.status, 30 * minuteMs)).toBe(true);
  });

  test.each([
    ['', false],
    [' and a restart', true],
  ])('of an incomplete export waits for the end of a pause%s', async (_, isRestarted) => {
    const world = new CheckWorld(slow);
    world.add();
    const process = world.start();
    expect(await world.world.until(() => (world.status?.progress?.intervalsDone ?? 0) > 1, 30 * minuteMs)).toBe(true);
    world.patch({ spec: { paused: true } });
    world.request('again');
    expect(await world.untilReason('Paused')).toBe(true);
    if (isRestarted) {
      process.kill();
      world.start();
    }
    await world.world.clock.advance(10 * minuteMs);
    expect([world.reason, world.confirmed]).toEqual(['Paused', undefined]);
    const { opened } = world;
    world.patch({ spec: { paused: false } });
    expect(await world.untilConfirmed('again')).toBe(true);
    expect(world.opened).toBe(opened + 1);
  });

  test('of a complete export waits for the end of a pause, and finds a lost file then', async () => {
    const world = new CheckWorld();
    const process = await world.ended('Exported');
    const { opened } = world;
    world.loseFile();
    world.patch({ spec: { paused: true } });
    world.request('again');
    const isFinished = process.watchEnd();
    await world.world.clock.advance(10 * minuteMs);
    expect([isFinished(), world.reason, world.confirmed, world.opened]).toEqual([true, 'Exported', undefined, opened]);
    world.patch({ spec: { paused: false } });
    expect(await world.untilConfirmed('again')).toBe(true);
    expect(world.reason).toBe('DestinationDamaged');
  });

  test('of a complete export leaves its completion time and its conditions as they are', async () => {
    const world = new CheckWorld();
    await world.ended('Exported');
    const { lastHandledReconcileAt: _, ...before } = world.status ?? {};
    world.request('again');
    expect(await world.untilConfirmed('again')).toBe(true);
    expect(world.status).toMatchObject({ conditions: before.conditions, completionTime: before.completionTime });
  });

  test.each<[string, object]>([
    ['DeadlineExceeded', { activeDeadlineSeconds: 600 }],
    ['Paused', {}],
  ])('does not keep a process running while the store is away and the export is %s', async (reason, spec) => {
    const world = new CheckWorld();
    world.strike = (call) => (isRead(call) ? { failure: 'away' } : undefined);
    world.add(spec);
    const process = world.start();
    expect(await world.untilReason('DestinationUnavailable')).toBe(true);
    if (reason === 'Paused') world.patch({ spec: { paused: true } });
    expect(await world.untilReason(reason)).toBe(true);
    const isFinished = process.watchEnd();
    await world.world.clock.advance(10 * minuteMs);
    expect([isFinished(), world.reason]).toEqual([true, reason]);
  });

  test('is not confirmed because the API server cannot be reached', async () => {
    const world = new CheckWorld();
    await world.ended('Exported');
    world.world.api.onRequest = ({ method, collection }) =>
      method === 'GET' && collection.includes('secrets') ? { kind: 'status', status: 500, when: 'before' } : undefined;
    world.request('again');
    await world.world.clock.advance(minuteMs);
    expect([world.reason, world.confirmed]).toEqual([expect.any(String), undefined]);
    world.world.api.onRequest = () => undefined;
    expect(await world.untilConfirmed('again')).toBe(true);
    expect(world.reason).toBe('Exported');
  });

  test('of a complete export leaves its completion time as it is although one read fails', async () => {
    const world = new CheckWorld();
    await world.ended('Exported');
    const { completionTime } = world.status ?? {};
    let reads = 0;
    world.strike = (call) => (isRead(call) && reads++ === 0 ? { failure: 'away' } : undefined);
    world.request('again');
    expect(await world.untilConfirmed('again')).toBe(true);
    expect([world.reason, world.status?.completionTime, reads > 1]).toEqual(['Exported', completionTime, true]);
  });
});
