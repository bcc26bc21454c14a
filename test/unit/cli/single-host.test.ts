/** What `logfleet export` makes of what an export says of itself. */
import { expect, test } from 'vitest';
import { SingleHost } from '../../../src/cli/single-host.ts';
import { anotherExport } from '../../../src/export/export-health.ts';
import { sampleExport } from './sample-export.ts';

const said = (message: string) => {
  const condition = {
    type: 'Ready',
    status: 'False',
    reason: 'QueryRefused',
    message,
    lastTransitionTime: '',
  } as const;
  return { ...sampleExport(), status: { conditions: [condition] } };
};

test('nobody without a SearchExport is told to write another one', async () => {
  const host = new SingleHost(sampleExport(), { get: async () => undefined });
  await host.writeStatus('SearchExport', said(`It was answered 400; correct the query${anotherExport}`));
  expect(host.resource.status?.conditions?.[0]?.message).toBe('It was answered 400; correct the query.');
});
