import { expect, test } from 'vitest';
import { decodeResource } from '../../../../src/host/kubernetes/resource-decoding.ts';

const metadata = { name: 'production', namespace: 'logging', uid: 'u-1', resourceVersion: '7', generation: 2 };
const manager = { manager: 'kubectl-annotate', operation: 'Update', time: '2026-11-21T10:00:00Z' };
const owning = (annotation: string) => ({ 'f:metadata': { 'f:annotations': { [`f:${annotation}`]: {} } } });

function decoded(more: object) {
  return decodeResource('CollectorVersionPolicy', { metadata: { ...metadata, ...more }, spec: {} })?.metadata;
}

test('keeps only the writers of logfleet annotations of the managed fields', () => {
  const managedFields = [
    { ...manager, fieldsV1: owning('logfleet.dev/approve') },
    { ...manager, fieldsV1: owning('example.com/note') },
    { ...manager, fieldsV1: { 'f:spec': { 'f:paused': {} } } },
  ];
  expect(decoded({ managedFields })).toEqual({
    ...metadata,
    creationTimestamp: '',
    annotations: {},
    annotationWriters: { 'logfleet.dev/approve': { by: 'kubectl-annotate', atMs: Date.UTC(2026, 10, 21, 10) } },
  });
});

test('keeps no managed fields without annotations of logfleet', () => {
  expect(decoded({ managedFields: [{ ...manager, fieldsV1: owning('example.com/note') }] })).not.toHaveProperty(
    'annotationWriters',
  );
});

test.each([
  ['SearchExport', '2026-11-21T09:59:59Z', false],
  ['SearchExport', '2026-11-21T10:00:00Z', true],
  ['CollectorVersionPolicy', '2026-11-21T09:59:59Z', true],
  ['SearchExportSchedule', '2026-11-21T09:59:59Z', true],
] as const)('of a %s, keeps a status whose Ready is from %s: %s', (kind, lastTransitionTime, isKept) => {
  const created = { ...metadata, creationTimestamp: '2026-11-21T10:00:00.900Z' };
  const status = { conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }] };
  expect(decodeResource(kind, { metadata: created, spec: {}, status })?.status !== undefined).toBe(isKept);
});
