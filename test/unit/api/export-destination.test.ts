/** Tests that logfleet can open a destination with any settings accepted by the CRD. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { validateResource } from '../../../src/api/validation.ts';
import { bucketRoot, volumeRoot } from '../../../src/destination/export-layout.ts';
import { checkS3Settings, type S3Settings } from '../../../src/destination/s3/s3-settings.ts';
import { nameProblem } from '../../../src/destination/store/object-name.ts';

function takes(destination: object): boolean {
  const findings = validateResource('SearchExport', {
    apiVersion: 'logfleet.dev/v1alpha1',
    kind: 'SearchExport',
    metadata: { name: 'errors' },
    spec: { credentialsSecretRef: { name: 's' }, query: 'error', timeRange: { from: '0', to: '1' }, destination },
  });
  return findings.every(({ severity }) => severity !== 'error');
}

/** Strings that are almost valid names. */
const nearNames = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '/',
        '//',
        '.',
        '..',
        '-',
        ' ',
        '\\',
        '\n',
        '\u0000',
        '%',
        '~',
        '@',
        'a',
        'Z',
        '9',
        '_',
        'é',
        '\u202e',
      ),
      fc.string({ unit: 'grapheme-ascii', maxLength: 4 }),
      fc.constant('x'.repeat(120)),
    ),
    { minLength: 1, maxLength: 6 },
  )
  .map((pieces) => pieces.join(''));

test.each([
  ['volume', (path: string) => ({ volume: { name: 'exports', path } }), (path: string) => volumeRoot('logging', path)],
  [
    'bucket',
    (prefix: string) => ({ s3: { bucket: 'log-exports', prefix } }),
    (prefix: string) => bucketRoot(prefix, 'logging'),
  ],
] as const)('a folder in a %s', (_, destinationOf, rootOf) => {
  let taken = 0;
  fc.assert(
    fc.property(nearNames, (folder) => {
      if (!takes(destinationOf(folder))) return;
      taken++;
      expect(nameProblem(rootOf(folder))).toBeUndefined();
    }),
    { seed: 1, numRuns: 2_000 },
  );
  expect(taken).toBeGreaterThan(200);
});

test('the longest folder leaves enough length for file names', () => {
  const longest = [...'ab'].map((letter) => letter.repeat(255)).join('/');
  expect(takes({ s3: { bucket: 'log-exports', prefix: longest } })).toBe(true);
  const [namespace, name, fingerprint] = ['n'.repeat(63), 'x'.repeat(190), 'f'.repeat(64)];
  const file = `data/000003-20261102T000000000Z-001-${'w'.repeat(64)}.ndjson.zst`;
  expect(nameProblem(`${bucketRoot(longest, namespace)}/${name}/${fingerprint}/${file}`)).toBeUndefined();
});

test('a store', () => {
  const near = (...usual: readonly string[]) =>
    fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...usual) }, nearNames);
  const stores = fc.record(
    {
      bucket: near('log-exports', 'abc', 'a.b.c', 'ab', 'A-bucket'),
      region: near('eu-central-1', 'EU'),
      endpoint: near(
        'https://store.example.com',
        'http://store',
        'https://10.0.0.1:9000',
        'https://[::1]:9000/s3',
        'https://a@b',
      ),
      serverSideEncryption: fc.record(
        { type: fc.constantFrom('AES256', 'aws:kms', 'aws:kms:dsse'), kmsKeyID: fc.constant('alias/a') },
        { requiredKeys: ['type'] },
      ),
      insecure: fc.boolean(),
    },
    { requiredKeys: ['bucket', 'insecure'] },
  );
  let taken = 0;
  fc.assert(
    fc.property(stores, (store) => {
      if (!takes({ s3: store })) return;
      taken++;
      expect(() => checkS3Settings({ ...store, root: '', credentials: 'ambient' } as S3Settings)).not.toThrow();
    }),
    { seed: 1, numRuns: 2_000 },
  );
  expect(taken).toBeGreaterThan(100);
});
