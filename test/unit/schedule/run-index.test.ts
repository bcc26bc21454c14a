/** Tests the index of a schedule's runs. */
import { expect, test } from 'vitest';
import type { SearchExport } from '../../../src/api/kinds.ts';
import type { ResourceSource } from '../../../src/host/host.ts';
import { RunIndex, runStateOf } from '../../../src/schedule/run-index.ts';
import { sampleExport } from '../cli/sample-export.ts';

test('reports runs that are paused, stalled or deleted, but not runs that exist at the start', () => {
  const base = sampleExport();
  const owner = { kind: 'SearchExportSchedule', name: 'errors', uid: 'schedule-1' };
  const run = { ...base, metadata: { ...base.metadata, owner } } as SearchExport;
  let existing: SearchExport[] = [run];
  const source = { list: () => existing, get: () => existing[0], subscribe: () => () => {}, synced: () => true };
  const changed: string[] = [];
  const index = new RunIndex(source as unknown as ResourceSource<SearchExport>, ({ name }) => changed.push(name));
  const schedule = { namespace: run.metadata.namespace, name: 'errors' };
  expect(index.runsOf(schedule)).toEqual([run]);
  expect(changed).toEqual([]);
  existing = [{ ...run, status: { conditions: [{ type: 'Ready', reason: 'Paused' }] } } as unknown as SearchExport];
  index.update(run.metadata);
  expect(changed.splice(0)).toContain('errors');
  index.update(run.metadata);
  expect(changed).toEqual([]);
  for (const reason of ['SecretNotFound', 'CredentialsRejected']) {
    const conditions = [
      { type: 'Ready', status: 'False', reason },
      { type: 'Stalled', status: 'True', reason },
    ];
    existing = [{ ...run, status: { conditions } } as unknown as SearchExport];
    index.update(run.metadata);
    expect(changed.splice(0)).toContain('errors');
  }
  existing = [];
  index.update(run.metadata);
  expect(index.runsOf(schedule)).toEqual([]);
  expect(changed).toEqual(['errors']);
});

test('a run whose fingerprint was removed from the status is not complete, because its record needs the fingerprint', () => {
  const conditions = [{ type: 'Complete', status: 'True' }];
  const stateOf = (more: object) =>
    runStateOf({ ...sampleExport(), status: { conditions, ...more } } as unknown as SearchExport);
  expect(stateOf({ manifest: {}, fingerprint: 'a' })).toBe('Complete');
  expect(stateOf({ manifest: {} })).toBe('Active');
});
