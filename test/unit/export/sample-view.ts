/** Sample data of a running export, from which tests render its status. */
import type { SearchExport } from '../../../src/api/kinds.ts';
import type { CommitRecord } from '../../../src/destination/commit-record.ts';
import { proofRangesOf } from '../../../src/destination/proof-range.ts';
import type { WorkView } from '../../../src/export/work/work-view.ts';

export function viewOf(more: Partial<WorkView> = {}): WorkView {
  return {
    stage: 'exporting',
    isChecking: false,
    location: 'file:///exports/logging/audit/abc',
    progress: {
      ...{
        coveredRatio: 0.425,
        searchesDone: 0.425,
        intervalsDone: 3,
        intervalsPlanned: 8,
        rows: 1_234_567,
        bytes: 98_765,
      },
      ...{ encodedBytes: 98_765, duplicates: 2, scannedBytes: 5_000_000 },
    },
    digestMs: 0,
    intervals: [],
    histogram: () => [],
    searches: 0,
    waitingSearches: 0,
    jobs: [],
    waitsFor: undefined,
    clockBehindMs: 0,
    trouble: undefined,
    lastError: undefined,
    hasServiceAnswered: false,
    isTroubleLasting: false,
    hasFailedOften: false,
    unproven: [],
    messages: [],
    warnings: [],
    undescribedFields: [],
    lockedFiles: 0,
    manifest: undefined,
    requeueAfterMs: Number.POSITIVE_INFINITY,
    ...more,
  };
}

export function intervalOf(fromMs: number, toMs: number, rows: number, more: Partial<CommitRecord> = {}): CommitRecord {
  const sha256 = 'a'.repeat(64);
  const file = { name: `data/${toMs}`, rows, bytes: 10 * rows, encodedBytes: 100 * rows, misfits: 0, sha256 };
  const figures = { received: rows, written: rows, outside: 0, duplicates: 0, left: 0 };
  return { segment: 0, fromMs, toMs, ...figures, count: { rows, source: 'Job' }, files: [file], ...more };
}

export function manifestOf(rows: number, intervals: readonly CommitRecord[]): NonNullable<WorkView['manifest']> {
  const complete = intervals.every(({ incomplete }) => incomplete === undefined);
  const totals = { rows, files: 3, bytes: 77, intervals: 1, received: rows, outside: 0, duplicates: 0 };
  return {
    url: 'file:///exports/logging/audit/abc/manifest.json',
    sha256: 'b'.repeat(64),
    manifest: {
      fingerprint: 'c'.repeat(64),
      export: {} as NonNullable<WorkView['manifest']>['manifest']['export'],
      ...{
        complete,
        intervals,
        proof: proofRangesOf(intervals, []),
        totals: { ...totals, encodedBytes: 0, misfits: 0 },
      },
    },
  };
}

export function exportOf(spec: object = {}, more: Partial<SearchExport> = {}): SearchExport {
  return {
    apiVersion: 'logfleet.dev/v1alpha1',
    kind: 'SearchExport',
    metadata: {
      ...{ name: 'audit', namespace: 'logging', uid: 'u1', generation: 3, resourceVersion: '7' },
      ...{ creationTimestamp: '2026-11-01T00:00:00Z', annotations: {} },
    },
    spec: {
      credentialsSecretRef: { name: 'log-service' },
      query: '*',
      timeRange: { from: '2026-10-01T00:00:00Z', to: '2026-10-02T00:00:00Z' },
      ...{ byReceiptTime: false, autoParsingMode: 'Manual', results: 'Messages', parallelism: 4 },
      output: { format: 'NDJSON', compression: 'Gzip', fields: [], maxPartSize: '256Mi' },
      destination: { volume: { name: 'exports' } },
      ...{ limits: {}, incompletePolicy: 'Fail', proof: 'Digest', settleDelay: '3m', paused: false },
      execution: { mode: 'Operator' },
      ...spec,
    },
    ...more,
  } as SearchExport;
}
