/** Tests that docs/schedules.md lists every condition reason of a schedule, and that its example files are valid. */
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { checkCredentialsSecret } from '../../../src/account/secret-check.ts';
import { reasons } from '../../../src/api/conditions.ts';
import { checkManifests } from '../../../src/api/manifest-set.ts';
import { firstCells } from './page-table.ts';
import { readText } from './source-file.ts';

const page = readText('docs/schedules.md');
const examples = [...page.matchAll(/\]\(\.\.\/([^)]+\.yaml)\)/g)].map(([, file = '']) => file);

function check(text: string) {
  const { checked, findings } = checkManifests(
    [{ name: 'page', text }],
    checkCredentialsSecret,
    Date.UTC(2026, 10, 21),
  );
  return { checked, findings };
}

describe('docs/schedules.md', () => {
  test('links to example files', () => {
    expect(examples.length).toBeGreaterThan(1);
  });

  test.each(examples)('the example %s has no finding', (file) => {
    expect(check(readText(file))).toEqual({ checked: 1, findings: [] });
  });

  test('lists every reason of a schedule, and no unknown reason', () => {
    const health = readText('src/schedule/schedule-health.ts');
    const used = [...health.matchAll(/reasons\.(\w+)/g)].map(([, name]) => reasons[name as keyof typeof reasons]);
    const others: readonly string[] = [reasons.progressing, reasons.internalError];
    const expected = new Set(used.filter((reason) => !others.includes(reason)));
    expect(new Set(firstCells(page, 'reason'))).toEqual(expected);
  });

  test('names existing fields of the status', () => {
    const { spec } = parse(readText('crds/search-export-schedule.yaml'));
    const status = Object.keys(spec.versions[0].schema.openAPIV3Schema.properties.status.properties);
    const named = [...page.matchAll(/`status\.(\w+)/g)].map(([, field = '']) => field);
    expect(named.length).toBeGreaterThan(4);
    expect(named.filter((field) => !status.includes(field))).toEqual([]);
  });
});
