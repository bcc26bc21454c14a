import { expect, test } from 'vitest';
import type { SearchExport } from '../../../src/api/kinds.ts';
import { earlierConditionsHold } from '../../../src/export/status/earlier-conditions.ts';
import type { ExportHealth } from '../../../src/export/status/export-health.ts';
import { viewOf } from './sample-view.ts';

const exporting = { ready: 'False', reason: 'Exporting' } as ExportHealth;

function exportWith(reason: string, isOutage: boolean): SearchExport {
  const ready = { type: 'Ready', status: 'False', reason, message: '', observedGeneration: 1 };
  const outage = isOutage ? { outageStartTime: '2026-11-01T00:00:00Z' } : {};
  return { metadata: { generation: 1 }, status: { conditions: [ready], ...outage } } as unknown as SearchExport;
}

const job = { id: '1' } as never;

test.each([
  ['an outage stays while the service has answered no export', 'ServiceUnavailable', true, {}, true],
  [
    'an outage ends when the service has answered another export',
    'ServiceUnavailable',
    true,
    { hasServiceAnswered: true },
    false,
  ],
  [
    'a refused query stays although the service has answered another export',
    'QueryRefused',
    false,
    { hasServiceAnswered: true },
    true,
  ],
  ['a refused query ends when the export has a search job', 'QueryRefused', false, { jobs: [job] }, false],
  [
    'a full destination stays although the export has a search job',
    'DestinationFull',
    true,
    { jobs: [job], hasServiceAnswered: true },
    true,
  ],
])('H1: after a restart, %s', (_, reason, isOutage, view, holds) => {
  expect(
    earlierConditionsHold(exportWith(reason, isOutage), exporting, viewOf({ stage: 'exporting', ...view }), 1_000),
  ).toBe(holds);
});
