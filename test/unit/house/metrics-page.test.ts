/** Compares the table in docs/metrics.md with the metrics of a running operator. */
import { expect, test } from 'vitest';
import { metricDefinitions } from '../../support/metric-catalogue.ts';
import { readText } from './source-file.ts';

const page = readText('docs/metrics.md');

test('docs/metrics.md lists each metric with its type, its labels and its help text', async () => {
  const definitions = [...(await metricDefinitions())].sort(([left], [right]) => (left < right ? -1 : 1));
  const rows = definitions.map(([name, { type, labels, help }]) => {
    const labelCell = labels.map((label) => `\`${label}\``).join(', ');
    return `| \`${name}\` | ${type} | ${labelCell} | ${help} |`;
  });
  const listed = [...page.matchAll(/^\| `logfleet_.*\|$/gm)].map(([row]) => row.replaceAll(/ +/g, ' '));
  expect(listed).toEqual(rows.map((row) => row.replaceAll(/ +/g, ' ')));
});
