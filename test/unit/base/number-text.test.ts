import { describe, expect, test } from 'vitest';
import { counted, pluralOf } from '../../../src/base/number-text.ts';
import { renderCount } from '../../../src/cli/render/text.ts';

describe('the regular plural', () => {
  test.each([
    ['file', 'files'],
    ['running search', 'running searches'],
    ['class', 'classes'],
    ['box', 'boxes'],
    ['hash', 'hashes'],
    ['time range', 'time ranges'],
    ['run record', 'run records'],
  ])('of %s is %s', (noun, several) => {
    expect(pluralOf(noun)).toBe(several);
  });

  test('is used for each number except 1', () => {
    expect([0, 1, 2].map((count) => counted(count, 'search'))).toEqual(['0 searches', '1 search', '2 searches']);
    expect([1, 1_234].map((count) => renderCount(count, 'search'))).toEqual(['1 search', '1,234 searches']);
  });
});
