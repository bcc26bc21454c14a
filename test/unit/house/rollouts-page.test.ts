/** Tests that the manifests in examples/ and the tables in docs/rollouts.md are correct. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { checkCredentialsSecret } from '../../../src/account/secret-check.ts';
import { annotations } from '../../../src/api/annotations.ts';
import { reasons } from '../../../src/api/conditions.ts';
import { checkManifests } from '../../../src/api/manifest-set.ts';
import { readText } from './source-file.ts';

const examples = join(import.meta.dirname, '../../../examples');
const page = readText('docs/rollouts.md');

function firstCells(head: string): readonly string[] {
  const [, rows = ''] = page.split(new RegExp(`^\\| ${head} \\|.*\n\\| --- .*\n`, 'm'));
  return [...(rows.split('\n\n')[0] ?? '').matchAll(/^\| `(\w+)` \|/gm)].map(([, cell = '']) => cell);
}

function wordsOf(field: 'stages' | 'history', member: string): readonly string[] {
  const [version] = parse(readText('crds/collector-version-policy.yaml'), { merge: true, maxAliasCount: -1 }).spec
    .versions;
  return version.schema.openAPIV3Schema.properties.status.properties[field].items.properties[member].enum;
}

test.each(readdirSync(examples).filter((name) => name.endsWith('.yaml')))(
  'examples/%s: has no errors and no warnings',
  (name) => {
    const input = { name, text: readText(`examples/${name}`) };
    const { checked, findings } = checkManifests([input], checkCredentialsSecret, Date.UTC(2026, 10, 21));
    expect(findings).toEqual([]);
    expect(checked).toBeGreaterThan(0);
  },
);

describe('tables have', () => {
  test('every state of a stage, and no other', () => {
    expect(firstCells('state')).toEqual(wordsOf('stages', 'state'));
  });

  test('every outcome of a rollout, and no other', () => {
    expect(firstCells('outcome')).toEqual(wordsOf('history', 'outcome'));
  });

  test('only existing reasons', () => {
    const reported = firstCells('reason of `Ready`');
    expect(reported.length).toBeGreaterThan(10);
    expect(reported.filter((reason) => !Object.values<string>(reasons).includes(reason))).toEqual([]);
  });

  test('every annotation', () => {
    expect(Object.values(annotations).filter((name) => !page.includes(`\`${name}`))).toEqual([]);
  });
});
