import { expect, test } from 'vitest';
import { flagOf } from '../../../src/cli/export/field-flags.ts';

test.each([
  ['spec.query', '--query'],
  ['spec.timeRange.from', '--from'],
  ['spec.timeRange.timeZone', '--time-zone'],
  ['spec.output.fields[1]', '--fields'],
  ['spec.destination.s3.endpoint', '--endpoint'],
  ['spec.destination.s3.bucket', '-o'],
  ['spec.queryText', undefined],
  ['spec.paused', undefined],
])('the field %s has the flag %s', (path, flag) => {
  expect(flagOf(path)).toBe(flag);
});
