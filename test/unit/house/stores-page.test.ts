/** Tests that the destinations, fields, keys, reasons and links in docs/stores.md are valid. */
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { checkCredentialsSecret } from '../../../src/account/secret-check.ts';
import { reasons } from '../../../src/api/conditions.ts';
import { checkManifests } from '../../../src/api/manifest-set.ts';
import {
  azureMembers,
  endpointMember,
  requiredStoreMembers,
  serviceAccountMember,
  sessionTokenMember,
} from '../../../src/api/secret-manifest.ts';
import { readText } from './source-file.ts';

const page = readText('docs/stores.md');
const blocks = [...page.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text);
const fragments = blocks.filter((text) => text.startsWith('destination:'));
const [, table = ''] = page.split(/^\| place \| `spec.destination` \|\n.*\n/m);
const rows = [...(table.split('\n\n')[0] ?? '').matchAll(/^\| .*? \| `(.*)` \|$/gm)].map(([, text = '']) => text);

function findingsOf(destination: unknown, execution: object = {}) {
  const text = stringify({
    apiVersion: 'logfleet.dev/v1alpha1',
    kind: 'SearchExport',
    metadata: { name: 'errors', namespace: 'logging' },
    spec: {
      credentialsSecretRef: { name: 'log-service' },
      query: 'error',
      timeRange: { from: '2026-10-01T00:00:00Z', to: '2026-10-02T00:00:00Z' },
      destination,
      execution,
    },
  });
  return checkManifests([{ name: 'page', text }], checkCredentialsSecret, Date.UTC(2026, 10, 21)).findings;
}

describe('docs/stores.md', () => {
  test.each(fragments)('the example %# is valid', (text) => {
    expect(findingsOf(parse(text).destination)).toEqual([]);
  });

  test('begins with a valid example for each kind of destination', () => {
    const destinations = rows.map((text) => parse(`{${text}}`) as Readonly<Record<string, unknown>>);
    for (const each of destinations) {
      expect(findingsOf(each, 'persistentVolumeClaim' in each ? { mode: 'Job' } : {})).toEqual([]);
    }
    const { properties } = parse(readText('crds/search-export.yaml'), { merge: true, maxAliasCount: -1 }).spec
      .versions[0].schema.openAPIV3Schema.properties.spec.properties.destination;
    expect(destinations.flatMap((each) => Object.keys(each)).sort()).toEqual(Object.keys(properties).sort());
  });

  test('has an example of its own for each object store', () => {
    const kinds = fragments.flatMap((text) => Object.keys(parse(text).destination));
    expect(new Set(kinds)).toEqual(new Set(['volume', 's3', 'azureBlob', 'gcs']));
  });

  test.each([
    ...requiredStoreMembers,
    sessionTokenMember,
    ...Object.values(azureMembers),
    serviceAccountMember,
    endpointMember,
  ])('names the key %s of a Secret', (member) => {
    expect(page).toMatch(new RegExp(`(?:\`|=)${member}(?:\`|=)`));
  });

  test('has every reason of a destination that a user must fix, and no unknown reason', () => {
    const [, reported = ''] = page.split(/^\| reason of `Ready` \|.*\n.*\n/m);
    const named = [...reported.matchAll(/^\| `(\w+)` \|/gm)].map(([, reason = '']) => reason);
    const all = Object.values<string>(reasons);
    expect(named.filter((reason) => !all.includes(reason))).toEqual([]);
    // docs/stores.md omits two reasons: the one for damaged files, and the one for a slow destination.
    const others = ['DestinationDamaged', 'DestinationSlow'];
    expect(all.filter((reason) => reason.startsWith('Destination')).sort()).toEqual([...named, ...others].sort());
  });

  test('has links that lead somewhere', () => {
    const slug = (title: string) =>
      title
        .toLowerCase()
        .replace(/[^a-z0-9 -]/g, '')
        .replaceAll(' ', '-');
    const links = [...page.matchAll(/\]\((?!\.\.)([\w.-]*)#([\w-]+)\)/g)];
    expect(links.length).toBeGreaterThan(3);
    for (const [, file = '', anchor = ''] of links) {
      const text = file === '' ? page : readText(`docs/${file}`);
      const anchors = [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) => slug(title));
      expect(anchors, `${file}#${anchor}`).toContain(anchor);
    }
  });
});
