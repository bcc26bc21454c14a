import { describe, expect, test } from 'vitest';
import { type ManagedFields, readAnnotationWriters } from '../../../src/api/annotation-writers.ts';
import { annotations } from '../../../src/api/annotations.ts';

const { approve, paused } = annotations;

function entry(manager: string | undefined, time: string | undefined, ...names: readonly string[]) {
  const owned = Object.fromEntries(names.map((name) => [`f:${name}`, {}]));
  return {
    manager,
    operation: 'Update',
    apiVersion: 'logfleet.dev/v1alpha1',
    time,
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:metadata': { 'f:annotations': { '.': {}, ...owned } }, 'f:spec': { 'f:paused': {} } },
  };
}

const readOf = (managedFields: readonly ManagedFields[], name: string) => readAnnotationWriters(managedFields)?.[name];

describe('managed fields', () => {
  test('contain the writer and the time of each annotation', () => {
    const fields = [
      entry('kubectl-annotate', '2026-11-21T10:00:00Z', approve),
      entry('logfleet-cli', '2026-11-21T09:00:00Z', paused, 'example.com/note'),
    ];
    expect(readOf(fields, approve)).toEqual({ by: 'kubectl-annotate', atMs: Date.UTC(2026, 10, 21, 10) });
    expect(readOf(fields, paused)).toEqual({ by: 'logfleet-cli', atMs: Date.UTC(2026, 10, 21, 9) });
    expect(readOf(fields, annotations.abort)).toBeUndefined();
  });

  test('count only for annotations of logfleet', () => {
    const fields = [entry('a', '2026-11-21T10:00:00Z', approve, 'example.com/note', 'logfleet.dev/other')];
    expect(Object.keys(readAnnotationWriters(fields) ?? {})).toEqual([approve]);
    expect(readAnnotationWriters([entry('a', '2026-11-21T10:00:00Z', 'example.com/note')])).toBeUndefined();
  });

  test('contain the earliest of several owners', () => {
    const early = entry('first', '2026-11-21T09:00:00Z', approve);
    const late = entry('second', '2026-11-21T10:00:00Z', approve);
    expect(readOf([late, early], approve)?.by).toBe('first');
    expect(readOf([early, late], approve)?.by).toBe('first');
    expect(readOf([entry('timeless', undefined, approve), late], approve)?.by).toBe('second');
  });

  test('may lack a part, and long names are truncated', () => {
    expect(readOf([entry(undefined, '2026-11-21T10:00:00Z', approve)], approve)?.by).toBeUndefined();
    expect(readOf([entry('a', 'yesterday', approve)], approve)).toEqual({ by: 'a', atMs: undefined });
    expect(readOf([entry('m'.repeat(200), undefined, approve)], approve)?.by).toBe('m'.repeat(128));
  });

  test.each([[undefined], [[{}]], [[{ fieldsV1: { 'f:metadata': {} } }]]])('%j give no writers', (fields) => {
    expect(readAnnotationWriters(fields)).toBeUndefined();
  });
});
