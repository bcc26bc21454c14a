/** Schedule of hourly exports for tests. */
import type { SearchExportSchedule } from '../../../src/api/kinds.ts';
import { sampleExport } from './sample-export.ts';

const { metadata, spec } = sampleExport();
const { timeRange: _, ttlSecondsAfterFinished: __, paused: ___, ...runSpec } = spec;

export const sampleSchedule: SearchExportSchedule = {
  apiVersion: 'logfleet.dev/v1alpha1',
  kind: 'SearchExportSchedule',
  metadata,
  spec: {
    ...{ schedule: '0 * * * *', timeZone: 'UTC', paused: false, maxActive: 2, backfillOrder: 'NewestFirst' },
    ...{ successfulRunsHistoryLimit: 3, failedRunsHistoryLimit: 3, template: { spec: runSpec } },
  },
};
