import { expect, test } from 'vitest';
import { renderProgressBar } from '../../../../src/cli/render/bars.ts';
import { paintWith } from '../../../../src/cli/render/paint.ts';
import { renderBytes, renderCount } from '../../../../src/cli/render/text.ts';

test.each([
  [0, '0 B'],
  [1_023, '1023 B'],
  [1_024, '1.0 KiB'],
  [1_536 * 1_024, '1.5 MiB'],
  [240 * 2 ** 30, '240 GiB'],
  [1_023.7 * 2 ** 20, '1.0 GiB'],
  [2 ** 50 * 5_000, '5,000 PiB'],
])('%d bytes are %s', (bytes, text) => {
  expect(renderBytes(bytes)).toBe(text);
});

test('renders a count with its noun', () => {
  expect([renderCount(1, 'row'), renderCount(1_234_567, 'row')]).toEqual(['1 row', '1,234,567 rows']);
});

test.each([
  [0, '[        ]'],
  [0.5, '[████    ]'],
  [0.55, '[████▍   ]'],
  [0.999, '[███████▉]'],
  [1, '[████████]'],
  [7, '[████████]'],
])('a bar of %d', (ratio, bar) => {
  expect(renderProgressBar(ratio, 10, paintWith(false))).toBe(bar);
});
