/** Tests an export's status after a restart: it keeps its reason (H1), and it reports an outage (H2). */
import { describe, expect, test } from 'vitest';
import { findCondition } from '../../../src/api/conditions.ts';
import type { SearchExportStatus } from '../../../src/api/generated/search-export.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { recordReports } from '../../support/reports.ts';
import { ExportWorld, type ExportWorldOptions, evenly, startMs } from './export-world.ts';

/** Simulator settings: a search takes half a minute, and returns at most 200 rows. */
const slow = { search: { messageLimit: 200, duration: '30s' } } as const;
const many: ExportWorldOptions = { messages: evenly(3_000), scenario: slow };

function record({ world }: ExportWorld) {
  return recordReports<SearchExportStatus>(world.api, 'audit');
}

async function restart(exports: ExportWorld, forMs: number) {
  exports.world.replicas[0]?.kill();
  const before = exports.status;
  const reported = record(exports);
  exports.start();
  await exports.world.clock.advance(forMs);
  return { before, reported };
}

const settled: readonly [string, ExportWorldOptions, object][] = [
  ['Exported', {}, {}],
  ['MaxMessagesReached', many, { limits: { maxMessages: 300 } }],
  ['DeadlineExceeded', many, { activeDeadlineSeconds: 90 }],
  ['WaitingToSettle', {}, { timeRange: { from: String(startMs - hourMs), to: String(startMs + 5 * hourMs) } }],
  ['Unauthorized', { scenario: { faults: { no: { kind: 'status', status: 401 } } } }, {}],
  ['ServiceUnavailable', { scenario: { faults: { no: { kind: 'status', status: 503 } } } }, {}],
  ['QueryRefused', {}, { query: '* | wehre a' }],
  ['Paused', {}, { paused: true }],
];

describe('H1: after a restart', () => {
  test.each(settled)('%s stays with its times, and there is no Event', async (reason, options, spec) => {
    const exports = new ExportWorld(options);
    exports.add(spec);
    exports.start();
    expect(await exports.untilReason(reason)).toBe(true);
    await exports.world.clock.advance(minuteMs);
    const { before, reported } = await restart(exports, 5 * minuteMs);
    const times = (status: SearchExportStatus | undefined) =>
      status?.conditions?.map(({ type, status: holds, reason: why, lastTransitionTime }) => [
        ...[type, holds, why, lastTransitionTime],
      ]);
    expect(times(exports.status)).toEqual(expect.arrayContaining(times(before) ?? []));
    expect(reported.verdicts().length).toBeLessThan(2);
    expect(exports.status?.completionTime).toBe(before?.completionTime);
    expect(reported.events.filter((event) => event.reason !== 'Outage')).toEqual([]);
  });

  test('DestinationFull stays until an interval is committed', async () => {
    const exports = new ExportWorld(many);
    let isFull = true;
    exports.onOpen = (destination) => {
      destination.strike = (call) => (isFull && call === 'write' ? { failure: 'full' } : undefined);
    };
    exports.add();
    exports.start();
    expect(await exports.untilReason('DestinationFull')).toBe(true);
    const since = exports.status?.outageStartTime;
    const { reported } = await restart(exports, 20 * minuteMs);
    expect(reported.verdicts()).toEqual(['False/DestinationFull']);
    expect(exports.status?.outageStartTime).toBe(since);
    isFull = false;
    expect(await exports.untilReason('Exported')).toBe(true);
    expect(exports.status?.outageStartTime).toBeUndefined();
    expect(exports.condition('Outage')).toBeUndefined();
  });

  test('the bytes that were scanned before count towards maxBytesScanned', async () => {
    const exports = new ExportWorld(many);
    exports.add();
    exports.start();
    await exports.world.until(() => (exports.status?.progress?.intervalsDone ?? 0) > 3, hourMs);
    exports.world.replicas[0]?.kill();
    const maxBytesScanned = exports.status?.progress?.bytesScanned ?? 0;
    expect(maxBytesScanned).toBeGreaterThan(0);
    exports.patch({ spec: { limits: { maxBytesScanned: String(maxBytesScanned) } } });
    exports.start();
    // A search takes 30 s, so no search ends before the status shows the reason.
    expect(await exports.untilReason('MaxBytesScannedReached', 20_000)).toBe(true);
  });

  test('an estimated end that has passed in the meantime is no longer shown', async () => {
    const exports = new ExportWorld({ messages: evenly(9_000), scenario: slow });
    exports.add();
    exports.start();
    const end = () => exports.status?.estimatedCompletionTime;
    expect(await exports.world.until(() => end() !== undefined, hourMs)).toBe(true);
    exports.world.replicas[0]?.kill();
    await exports.world.clock.advance(3 * hourMs);
    const startedMs = exports.world.clock.now();
    const { reported } = await restart(exports, 2 * minuteMs);
    const ends = reported.statuses
      .slice(1)
      .flatMap(({ estimatedCompletionTime: shown }) => (shown ? [Date.parse(shown)] : []));
    expect(reported.statuses.length).toBeGreaterThan(2);
    for (const shownMs of ends) expect(shownMs).toBeGreaterThan(startedMs + minuteMs);
  });

  test('an export that a user has started again is no longer complete, and is not removed', async () => {
    const exports = new ExportWorld({ scenario: { search: { messageLimit: 200, duration: '10m' } } });
    exports.add({ query: '* | limit 500', ttlSecondsAfterFinished: 600 });
    exports.start();
    expect(await exports.untilReason('IntervalIncomplete')).toBe(true);
    expect(exports.status?.completionTime).toBeDefined();
    await exports.world.clock.advance(9.5 * minuteMs);
    exports.world.replicas[0]?.kill();
    exports.annotate('logfleet.dev/requestedAt', 'anew');
    exports.start();
    await exports.world.clock.advance(minuteMs);
    expect(exports.reason).toBe('Exporting');
    expect(exports.status?.completionTime).toBeUndefined();
  });

  test('the figures of a running export never decrease', async () => {
    const exports = new ExportWorld({ messages: evenly(9_000), scenario: slow });
    exports.add();
    exports.start();
    const figures = (status: SearchExportStatus | undefined) => status?.progress;
    const isPartlyCovered = () => (figures(exports.status)?.coveredPercent ?? 0) > 30;
    expect(await exports.world.until(isPartlyCovered, hourMs)).toBe(true);
    await exports.world.until(() => exports.status?.estimatedCompletionTime !== undefined, hourMs);
    const { before, reported } = await restart(exports, 2 * minuteMs);
    expect(reported.statuses.length).toBeGreaterThan(1);
    for (const member of ['coveredPercent', 'rowsWritten', 'bytesWritten', 'intervalsDone', 'bytesScanned'] as const) {
      const values = [before, ...reported.statuses].map((status) => figures(status)?.[member] ?? -1);
      expect(values, member).toEqual(values.toSorted((left, right) => left - right));
    }
    expect(reported.statuses.every((status) => status.estimatedCompletionTime !== undefined)).toBe(true);
    expect(reported.verdicts()).toEqual(['False/Exporting']);
    expect(reported.events).toEqual([]);
  });
});

describe('H2: a destination that is full', () => {
  test('is a Warning immediately, and a condition ten minutes later', async () => {
    const exports = new ExportWorld(many);
    exports.onOpen = (destination) => {
      destination.strike = (call) => (call === 'write' ? { failure: 'full' } : undefined);
    };
    exports.add();
    exports.start();
    const reported = record(exports);
    expect(await exports.untilReason('DestinationFull')).toBe(true);
    await exports.world.clock.advance(5_000);
    expect(reported.events.at(-1)).toMatchObject({ type: 'Warning', reason: 'DestinationFull' });
    await exports.world.clock.advance(11 * minuteMs);
    expect(exports.reason).toBe('DestinationFull');
    expect(findCondition(exports.status?.conditions, 'Outage')?.status).toBe('True');
  });
});
