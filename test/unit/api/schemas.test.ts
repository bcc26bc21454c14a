import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { applyDefaults } from '../../../src/api/schemas.ts';

const smallest = {
  credentialsSecretRef: { name: 'log-service' },
  target: { version: '19.500-1' },
  selector: {},
};
const defaults = {
  allowDowngrade: false,
  priority: 0,
  mode: 'Enforce',
  paused: false,
  offlinePolicy: 'Skip',
  resyncInterval: '5m',
  strategy: { maxInProgress: '5%', order: 'OldestVersionFirst' },
  retryPolicy: { limit: 2, backoff: { duration: '5m', factor: 2, cap: '1h' } },
};
const specOf = (spec: object) => applyDefaults('CollectorVersionPolicy', { spec }).spec;

describe('applyDefaults', () => {
  test('fills in every default of the smallest policy', () => {
    expect(specOf(smallest)).toEqual({ ...smallest, ...defaults });
  });

  test('adds defaults to written members at every depth', () => {
    const written = { ...smallest, strategy: { order: 'Name' }, retryPolicy: { backoff: { factor: 3 } } };
    expect(specOf(written)).toEqual({
      ...smallest,
      ...defaults,
      strategy: { maxInProgress: '5%', order: 'Name' },
      retryPolicy: { limit: 2, backoff: { duration: '5m', factor: 3, cap: '1h' } },
    });
  });

  test('treats null as absent, with or without a default', () => {
    expect(specOf({ ...smallest, priority: null, exclude: null })).toEqual({ ...smallest, ...defaults });
  });

  test('does not modify its input, and shares no objects between resources', () => {
    const spec = Object.freeze({ ...smallest });
    const [first, second] = [specOf(spec), specOf(spec)] as { readonly strategy?: object }[];
    expect(first?.strategy).not.toBe(second?.strategy);
    expect(spec).toEqual(smallest);
  });

  test('keeps invalid values, and is idempotent', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (strategy, retryPolicy) => {
        const once = applyDefaults('CollectorVersionPolicy', { spec: { strategy, retryPolicy } });
        expect(applyDefaults('CollectorVersionPolicy', once)).toEqual(once);
      }),
    );
  });
});
