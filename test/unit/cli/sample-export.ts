/** Sample of a running export, with a value in every field of its status. */
import type { SearchExportStatus } from '../../../src/api/generated/search-export.ts';
import type { ObjectMeta, SearchExport } from '../../../src/api/kinds.ts';
import { ago } from './sample-policy.ts';

export const exportingStatus: SearchExportStatus = {
  observedGeneration: 1,
  summary: { state: 'Exporting', progress: '42%', rows: '1.2M' },
  startTime: ago(200),
  estimatedCompletionTime: ago(-290),
  timeRange: { startTime: '2026-11-01T00:00:00Z', endTime: '2026-11-02T00:00:00Z' },
  fingerprint: 'f'.repeat(64),
  location: 'file:///srv/exports/logging/errors/ffff',
  progress: {
    coveredPercent: 42,
    intervalsPlanned: 40,
    intervalsDone: 17,
    rowsWritten: 1_234_567,
    bytesWritten: 300 * 1024 * 1024,
    bytesScanned: 5 * 2 ** 30,
    duplicatesDropped: 3,
    rowsPerSecond: 41_000,
    bytesPerSecond: 9.8 * 2 ** 20,
  },
  jobs: [
    {
      id: '1A2B',
      from: '2026-11-01T10:00:00Z',
      to: '2026-11-01T12:00:00Z',
      state: 'GATHERING RESULTS',
      messageCount: 23_000,
    },
    { id: '3C4D', from: '2026-11-01T08:30:00.001Z', to: '2026-11-01T10:00:00Z', state: 'NOT STARTED' },
  ],
  rowHistogram: Array.from({ length: 60 }, (_, slice) => (slice < 30 ? -1 : slice < 45 ? 26_660 : 53_340)),
  incomplete: [
    {
      from: '2026-11-01T20:00:00Z',
      to: '2026-11-01T20:10:00Z',
      reason: 'CountDiffers',
      received: 9_999,
      expected: 10_000,
    },
  ],
  pendingErrors: ['A node did not answer.'],
  pendingWarnings: ['A field was cut.'],
  conditions: [
    {
      type: 'Ready',
      status: 'False',
      reason: 'Exporting',
      message: '42% of the export, 2 searches run.',
      lastTransitionTime: ago(200),
    },
    { type: 'Reconciling', status: 'True', reason: 'Exporting', message: 'Exporting.', lastTransitionTime: ago(200) },
  ],
};

interface ExportChanges {
  readonly metadata?: Partial<ObjectMeta>;
  readonly paused?: boolean;
  readonly status?: SearchExportStatus | undefined;
}

export function sampleExport(changes: ExportChanges = {}): SearchExport {
  const status = 'status' in changes ? changes.status : exportingStatus;
  const name = changes.metadata?.name ?? 'errors';
  return {
    apiVersion: 'logfleet.dev/v1alpha1',
    kind: 'SearchExport',
    metadata: {
      name,
      namespace: 'logging',
      uid: `uid-of-${changes.metadata?.namespace ?? 'logging'}-${name}`,
      generation: 1,
      resourceVersion: '1',
      creationTimestamp: ago(300),
      annotations: {},
      ...changes.metadata,
    },
    spec: {
      credentialsSecretRef: { name: 'log-service' },
      query: '_sourceCategory=prod/* error',
      timeRange: { from: '2026-11-01T00:00:00Z', to: '2026-11-02T00:00:00Z' },
      byReceiptTime: false,
      autoParsingMode: 'Manual',
      results: 'Messages',
      requiresRawMessages: true,
      execution: { mode: 'Operator' },
      parallelism: 4,
      output: { format: 'NDJSON', compression: 'Gzip', fields: [], maxPartSize: '256Mi', partitionBy: 'None' },
      destination: { volume: { name: 'exports' } },
      limits: {},
      incompletePolicy: 'Fail',
      proof: 'Digest',
      settleDelay: '3m',
      paused: changes.paused ?? false,
    },
    ...(status === undefined ? {} : { status }),
  };
}
