import { describe, expect, test } from 'vitest';
import type { SearchExportStatus } from '../../../src/api/generated/search-export.ts';
import { proofRangesOf } from '../../../src/destination/proof-range.ts';
import { requestOf } from '../../../src/export/resource/export-spec.ts';
import { type ExportDefinition, exportDefinition } from '../../../src/export/search/export-definition.ts';
import { exportHealth } from '../../../src/export/status/export-health.ts';
import type { Pace } from '../../../src/export/status/export-pace.ts';
import {
  describeExportEssentials,
  describeExportFigures,
  verdictsOf,
} from '../../../src/export/status/export-status.ts';
import { resourceWording } from '../../../src/export/status/export-wording.ts';
import type { WorkView } from '../../../src/export/work/work-view.ts';
import { exportOf, intervalOf, manifestOf, viewOf } from './sample-view.ts';

const wallMs = Date.UTC(2026, 10, 3);
const definition = exportDefinition(requestOf(exportOf()), 'service.example.com') as ExportDefinition;
const noPace: Pace = { rowsPerSecond: 0, bytesPerSecond: 0, leftMs: undefined };

function described(view: WorkView | undefined, before?: SearchExportStatus, pace = noPace, created?: string) {
  const { metadata, ...sample } = exportOf({}, before ? { status: before } : {});
  const resource = { ...sample, metadata: { ...metadata, ...(created && { creationTimestamp: created }) } };
  const health = exportHealth({
    pausedBy: undefined,
    problem: undefined,
    view,
    limits: undefined,
    wording: resourceWording,
  });
  const input = { resource, before, health, startedAtMs: wallMs - 60_000, definition, view, hasChecked: true, wallMs };
  const essentials = describeExportEssentials(input);
  return { essentials, status: { ...essentials, ...describeExportFigures(input, pace) } };
}

describe('fields that are written immediately', () => {
  test('are the identity and the conditions of the export', () => {
    expect(described(viewOf()).essentials).toEqual({
      observedGeneration: 3,
      startTime: '2026-11-02T23:59:00Z',
      timeRange: { startTime: '2026-10-01T00:00:00.000Z', endTime: '2026-10-02T00:00:00.000Z' },
      fingerprint: definition.fingerprint,
      location: 'file:///exports/logging/audit/abc',
      conditions: [
        expect.objectContaining({ type: 'Ready', status: 'False', reason: 'Exporting', observedGeneration: 3 }),
        expect.objectContaining({ type: 'Reconciling', status: 'True', reason: 'Exporting' }),
      ],
    });
  });

  test('do not include figures, in messages or as numbers', () => {
    const [before, after] = [viewOf(), viewOf({ searches: 3, progress: undefined })].map(
      (view) => described(view).status,
    );
    expect(verdictsOf(after as SearchExportStatus)).toEqual(verdictsOf(before as SearchExportStatus));
  });

  test('include the completion time and the manifest', () => {
    const view = viewOf({ stage: 'complete', manifest: manifestOf(5, [intervalOf(0, 10, 5)]) });
    const { essentials } = described(view);
    expect(essentials.completionTime).toBe('2026-11-03T00:00:00Z');
    expect(essentials.manifest).toEqual({
      ...{ url: 'file:///exports/logging/audit/abc/manifest.json', sha256: 'b'.repeat(64) },
      ...{ rows: 5, files: 3, bytes: 77, complete: true, proof: 'Search' },
    });
    const later = described(view, { ...essentials, completionTime: '2026-11-02T00:00:00Z' });
    expect(later.essentials.completionTime).toBe('2026-11-02T00:00:00Z');
  });

  test('include the time of a failure, until the export continues', () => {
    const failed = described(viewOf({ waitsFor: { kind: 'deadline' } })).essentials;
    expect(failed.completionTime).toBe('2026-11-03T00:00:00Z');
    expect(failed.conditions?.map(({ type }) => type)).toEqual(['Ready', 'Stalled', 'Failed']);
    const goesOn = described(viewOf(), failed).essentials;
    expect(goesOn.completionTime).toBeUndefined();
    expect(goesOn.conditions?.map(({ type }) => type)).toEqual(['Ready', 'Reconciling']);
  });

  test('have no time before the creation of the export, even if the clock is slow', () => {
    const view = viewOf({ stage: 'complete', manifest: manifestOf(5, []) });
    const created = '2026-11-03T00:00:05Z';
    const { completionTime, conditions = [] } = described(view, undefined, noPace, created).essentials;
    expect(completionTime).toBe(created);
    expect(new Set(conditions.map(({ lastTransitionTime }) => lastTransitionTime))).toEqual(new Set([created]));
  });

  test('include the manifest until it is known to be missing', () => {
    const complete = described(viewOf({ stage: 'complete', manifest: manifestOf(5, []) })).essentials;
    expect(described(undefined, complete).essentials.manifest).toEqual(complete.manifest);
    expect(described(viewOf({ stage: 'loading' }), complete).essentials.manifest).toEqual(complete.manifest);
    expect(described(viewOf({ stage: 'planning' }), complete).essentials).not.toHaveProperty('manifest');
  });

  test('include a new completion time if the export had failed before', () => {
    const failed = described(viewOf({ waitsFor: { kind: 'deadline' } })).essentials;
    const view = viewOf({ stage: 'complete', manifest: manifestOf(5, []) });
    const before = { ...failed, completionTime: '2026-11-01T00:00:00Z' };
    expect(described(view, before).essentials.completionTime).toBe('2026-11-03T00:00:00Z');
  });
});

describe('figures', () => {
  test('show the progress', () => {
    const { status } = described(viewOf(), undefined, { rowsPerSecond: 10, bytesPerSecond: 90, leftMs: 120_000 });
    expect(status.summary).toEqual({ state: 'Exporting', progress: '42%', rows: '1.2M' });
    expect(status.progress).toEqual({
      ...{ coveredPercent: 42, intervalsPlanned: 8, intervalsDone: 3, rowsWritten: 1_234_567, bytesWritten: 98_765 },
      ...{ bytesScanned: 5_000_000, duplicatesDropped: 2, rowsPerSecond: 10, bytesPerSecond: 90 },
    });
    expect(status.estimatedCompletionTime).toBe('2026-11-03T00:02:00Z');
  });

  test('stay unchanged while the export is not worked on, except its jobs', () => {
    const before = described(viewOf({ jobs: [jobOf(1)] })).status;
    const { status } = described(undefined, before);
    expect(status).toMatchObject({
      progress: before.progress,
      summary: { state: 'Progressing', rows: '1.2M' },
      jobs: [],
    });
  });

  test('stay unchanged until the destination was read', () => {
    const unproven = [
      { order: { segment: 0, fromMs: 0, toMs: 10 }, reason: 'CountDiffers', message: 'two lack', figures: undefined },
    ] as const;
    const before = described(viewOf({ unproven, messages: ['two lack'], jobs: [jobOf(1)] })).status;
    const { status } = described(viewOf({ stage: 'loading', progress: undefined, jobs: [] }), before);
    const { progress, rowHistogram, incomplete, pendingErrors } = before;
    expect(incomplete).toHaveLength(1);
    expect(status).toMatchObject({ progress, rowHistogram, incomplete, pendingErrors, jobs: [] });
  });

  test('of scanned bytes never decrease, although a new process knows fewer', () => {
    const before = described(viewOf()).status;
    const progress = { ...viewOf().progress, scannedBytes: 7 } as NonNullable<WorkView['progress']>;
    expect(described(viewOf({ progress }), before).status.progress?.bytesScanned).toBe(5_000_000);
  });

  test('have no rate and no estimated end when the export is complete', () => {
    const view = viewOf({ stage: 'complete', manifest: manifestOf(5, []) });
    const { status } = described(view, undefined, { rowsPerSecond: 10, bytesPerSecond: 90, leftMs: 120_000 });
    expect(status.estimatedCompletionTime).toBeUndefined();
    expect(status.progress).not.toHaveProperty('rowsPerSecond');
  });

  test('name the jobs by the ids of the service, with a maximum number', () => {
    const jobs = Array.from({ length: 60 }, (_, index) => jobOf(index));
    const { status } = described(viewOf({ jobs }));
    expect(status.jobs).toHaveLength(50);
    expect(status.jobs?.[0]).toEqual({
      ...{ id: 'job-0', from: '1970-01-01T00:00:00.000Z', to: '1970-01-01T00:00:00.100Z' },
      ...{ state: 'GATHERING RESULTS', messageCount: 7 },
    });
    const odd = { ...jobOf(1), state: { unknown: 'x'.repeat(100) }, recordCount: 3 };
    expect(described(viewOf({ jobs: [odd] })).status.jobs?.[0]).toMatchObject({
      state: 'x'.repeat(64),
      recordCount: 3,
    });
  });

  test('name incomplete intervals, newest first, with a maximum number', () => {
    const kept = Array.from({ length: 30 }, (_, index) =>
      intervalOf(index, index + 1, 4, {
        incomplete: { reason: 'CountDiffers' },
        count: { rows: 6, source: 'Aggregate' },
      }),
    );
    const order = { segment: 0, fromMs: 50, toMs: 60 };
    const message = 'differs';
    const unproven = [{ order, reason: 'CountDiffers' as const, message, figures: { received: 2, expected: 3 } }];
    const { status } = described(viewOf({ intervals: kept, unproven }));
    expect(status.incomplete).toHaveLength(20);
    expect(status.incomplete?.slice(0, 2)).toEqual([
      { from: '1970-01-01T00:00:00.050Z', to: '1970-01-01T00:00:00.060Z', reason: 'differs', received: 2, expected: 3 },
      {
        ...{ from: '1970-01-01T00:00:00.029Z', to: '1970-01-01T00:00:00.030Z', reason: 'CountDiffers' },
        ...{ received: 4, expected: 6 },
      },
    ]);
    expect(status.progress?.intervalsIncomplete).toBe(30);
  });

  test('count a time range whose rows differ from the digest as incomplete', () => {
    const intervals = [intervalOf(0, 10, 5)];
    const incomplete = [{ fromMs: 0, toMs: 10, written: { rows: 5 }, counted: { rows: 6 } }];
    const proof = proofRangesOf(intervals, [{ round: 4, proven: [], differing: [], segments: [], incomplete }]);
    const stored = manifestOf(5, intervals);
    const manifest = { ...stored, manifest: { ...stored.manifest, complete: false, proof } };
    const { status } = described(viewOf({ intervals, manifest }));
    expect(status.progress?.intervalsIncomplete).toBe(1);
    expect(status.incomplete).toMatchObject([{ reason: 'DigestDiffers', received: 5, expected: 6 }]);
  });

  test('have the messages of searches, with a maximum length', () => {
    const { status } = described(viewOf({ messages: ['x'.repeat(600)], warnings: ['slow'] }));
    expect(status.pendingErrors).toEqual(['x'.repeat(512)]);
    expect(status.pendingWarnings).toEqual(['slow']);
  });
});

test('the histogram is copied unchanged', () => {
  expect(described(viewOf({ histogram: () => [-1, 0, 5] })).status.rowHistogram).toEqual([-1, 0, 5]);
});

function jobOf(index: number): WorkView['jobs'][number] {
  return {
    ...{ id: `job-${index}`, fromMs: 0, toMs: 100, state: 'gatheringResults', messageCount: 7, recordCount: undefined },
    ...{ warnings: [], purpose: 'Rows' },
  };
}
