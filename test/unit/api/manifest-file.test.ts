import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { renderExplanation } from '../../../src/api/finding.ts';
import { maxManifestLength, parseManifestFile } from '../../../src/api/manifest-file.ts';
import { randomRuns } from '../../support/random-runs.ts';

const members = (count: number) => Array.from({ length: count }, (_, index) => `k${index}: 1\n`).join('');
const valuesOf = (text: string | Uint8Array) => parseManifestFile(text).documents.map(({ value }) => value);
const at = (line: number, column: number) => ({ line, column });

describe('documents', () => {
  test.each([
    ['one', 'a: 1', [{ a: 1 }]],
    ['several', 'a: 1\n---\nb: 2\n', [{ a: 1 }, { b: 2 }]],
    ['comments only', '# nothing\n---\n# here\n', []],
    ['JSON', '{"a": [1, "x", null]}', [{ a: [1, 'x', null] }]],
    ['a List as its items', 'kind: List\nitems: [{a: 1}, {a: 2}]', [{ a: 1 }, { a: 2 }]],
    [
      'a typed list as items of this kind',
      'apiVersion: x/v1\nkind: ThingList\nitems: [{a: 1}, {kind: Other, a: 2}, 3]',
      [{ apiVersion: 'x/v1', kind: 'Thing', a: 1 }, { kind: 'Other', a: 2 }, 3],
    ],
    ['a kind that ends in List and has no items', 'kind: AllowList', [{ kind: 'AllowList' }]],
    ['a merged key before its own key', 'a: {<<: {x: 1, z: 1}, x: 2}', [{ a: { x: 2, z: 1 } }]],
    ['a merged key after its own key', 'a: {x: 2, <<: {x: 1}}', [{ a: { x: 1 } }]],
    ['two merges', 'a: {<<: {x: 1}, <<: {x: 2}}', [{ a: { x: 2 } }]],
    ['a list of merges', 'a: {<<: [{x: 1}, {x: 2}]}', [{ a: { x: 1 } }]],
    ['merges in a merge', 'a: {x: 1, <<: {x: 2, <<: {x: 3}}}', [{ a: { x: 3 } }]],
    ['anchors and merged keys', 'a: &a {x: 1}\nb: {<<: *a, z: 2}', [{ a: { x: 1 }, b: { x: 1, z: 2 } }]],
  ])('%s', (_, text, expected) => {
    expect(parseManifestFile(text).problems).toEqual([]);
    expect(valuesOf(text)).toEqual(expected);
  });

  test.each([
    ['e2', 'e2'],
    ['[.e2, e-2, 1e2, .5e1, -1.5e+1]', ['.e2', 'e-2', 100, 5, -15]],
    ['yes', true],
    ['Off', false],
    ['"yes"', 'yes'],
    ['19.500-1', '19.500-1'],
    ['2026-12-20', '2026-12-20'],
    ['12:30', '12:30'],
    ['0x1f', 31],
    ['[0o10, 0O10, -0o17, 0X1F, 0B11, 0_10]', [8, 8, -15, 31, 3, 8]],
    ['[1e1_0, 1_000]', [1e10, 1000]],
    ['~', null],
  ])('%s is read as by Kubernetes', (text, expected) => {
    expect(valuesOf(`a: ${text}`)).toEqual([{ a: expected }]);
  });
});

test.each([
  ['UTF-16 as PowerShell writes it', Buffer.from('\ufeffa: "\u00e9"', 'utf16le')],
  ['UTF-16 in big-endian order', Buffer.from('\ufeffa: "\u00e9"', 'utf16le').swap16()],
  ['UTF-8 with a byte order mark', Buffer.from('\ufeffa: "\u00e9"')],
])('%s is read', (_, bytes) => {
  expect(valuesOf(bytes)).toEqual([{ a: '\u00e9' }]);
});

describe('positions', () => {
  const [document] = parseManifestFile('# head\nspec:\n  list: [a, {b: "c"}]\n  flow: {x: 1}\n').documents;

  test.each([
    ['the document', [], 'value', at(2, 1)],
    ['a value', ['spec', 'flow', 'x'], 'value', at(4, 13)],
    ['a name', ['spec', 'flow', 'x'], 'key', at(4, 10)],
    ['an item', ['spec', 'list', 1], 'value', at(3, 13)],
    ['a value in an item', ['spec', 'list', 1, 'b'], 'value', at(3, 17)],
    ['a missing member: its parent', ['spec', 'flow', 'y', 'z'], 'value', at(4, 9)],
    ['a missing item: its list', ['spec', 'list', 7], 'value', at(3, 9)],
  ] as const)('of %s', (_, path, part, expected) => {
    expect(document?.locate(path, part)).toEqual(expected);
  });

  test('in an item of a List and behind an alias', () => {
    const { documents } = parseManifestFile('kind: List\nitems:\n  - a: &x {b: 1}\n    c: *x\n');
    expect(documents[0]?.locate(['c', 'b'])).toEqual(at(3, 15));
  });
});

describe('invalid manifest files', () => {
  const bomb = ['a: &a [x, x, x, x, x, x, x, x, x]'];
  for (const [inner, outer] of ['ab', 'bc', 'cd', 'de', 'ef'])
    bomb.push(`${outer}: &${outer} [${`*${inner}, `.repeat(9)}]`);

  test.each([
    ['a duplicate member', 'a: 1\nb: 2\na: 3', at(3, 1), /keep only one/],
    ['a tab', 'a:\n\tb: 1', at(2, 1), /use spaces/],
    ['a quote without an end', 'a: "x"\nb: "y\nc: {d: 1}\n', at(2, 4), /opens here is never closed; close it/],
    ['an open bracket', 'a: [1, 2', at(1, 9), /use valid YAML or JSON/],
    ['an alias without an anchor', 'a: *b', at(1, 4), /replace each alias/],
    ['aliases that expand to too many values', bomb.join('\n'), at(1, 1), /replace each alias .* with the value/],
    [
      'thousands of aliases',
      `a: &a 1\nb:\n${'- *a\n'.repeat(20_000)}`,
      at(1, 1),
      /replace each alias .* with the value/,
    ],
    ['nesting that is too deep', '['.repeat(100_000), expect.anything(), /nested too deeply/],
    ['a control character', 'a: 1\nb: \u0007\n', at(2, 4), /control character; remove the character/],
    ['a code point that is not a character', 'a: \uffff', at(1, 4), /control character; remove the character/],
    ['a directive', '# c\n%YAML 1.1\n---\na: 1\n', at(2, 1), /directive.*; leave it out/],
    ['text beside a document marker', 'a: 1\n--- b: 2\n', at(2, 1), /document marker; move the text to the next line/],
    ['nothing', '', at(1, 1), /empty; add a manifest/],
    ['only blank lines and markers', '---\r\n\n---\n...\n', at(1, 1), /empty; add a manifest/],
    ['300,000 documents', '---\na: 1\n'.repeat(300_000), at(1, 1), /split it into several files/],
    [
      '300,000 document ends',
      `a: 1\n${'...\n'.repeat(300_000)}`,
      at(1, 1),
      /5000 documents; split it into several files/,
    ],
    ['400,000 members', members(400_000), at(1, 1), /split it into several files/],
    ['a million items', `a: [${'1,'.repeat(1_000_000)}]`, at(1, 1), /split it into several files/],
    ['a million nested items', '- '.repeat(1_000_000), at(1, 1), /split it into several files/],
    ['a member that occurs 20,000 times', 'a: 1\n'.repeat(20_000), at(2, 1), /keep only one/],
    ['5,000 errors', ': x: y: "\n'.repeat(5_000), expect.anything(), /use valid YAML or JSON/],
    ['a percent sign after 100 blank lines', `a: 1${'\n'.repeat(100)}% b`, expect.anything(), /use valid YAML/],
    ['UTF-16 without a byte order mark', Buffer.from('a: 1', 'utf16le'), at(1, 1), /NUL.*; save the file as UTF-8/],
    [
      'bytes that are not UTF-8',
      Buffer.from('a: caf\u00e9', 'latin1'),
      at(1, 1),
      /not valid UTF-8; save the file as UTF-8/,
    ],
    [
      'a truncated UTF-16 text',
      Buffer.from([0xff, 0xfe, 0x61]),
      at(1, 1),
      /not valid UTF-16LE; save the file as UTF-8/,
    ],
    ['too much', 'x'.repeat(maxManifestLength + 1), at(1, 1), /split it into several files/],
  ])('%s', (_, text, position, message) => {
    const { documents, problems } = parseManifestFile(text);
    expect(documents).toEqual([]);
    expect(problems[0]).toMatchObject(position);
    expect(problems[0] && renderExplanation(problems[0])).toMatch(message);
  });

  test.each([
    ['100,000 blank lines', `${'\n'.repeat(100_000)}a: 1`],
    ['30,000 members of one mapping', members(30_000)],
    ['150,000 items of a List', `kind: List\nitems: [${'null,'.repeat(150_000)}]`],
  ])('%s are read without a problem', (_, text) => {
    expect(parseManifestFile(text).problems).toEqual([]);
  });

  test('an error affects only its own document', () => {
    const { documents, problems } = parseManifestFile('a: 1\n---\nb: 1\nb: 2\n---\nc: 3\n');
    expect(documents.map(({ value }) => value)).toEqual([{ a: 1 }, { c: 3 }]);
    expect(problems).toMatchObject([at(4, 1)]);
  });

  test('never throws for any text', () => {
    const piece = fc.constantFrom(
      'a',
      ': ',
      '- ',
      '\n',
      '  ',
      '[',
      '{',
      '}',
      '&x ',
      '*x',
      '!!set ',
      '"',
      '---\n',
      '%YAML 1.1\n',
      '<<',
      '? ',
      '|',
      '\t',
      '0',
      '\u{1F600}',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const text = pieces.join('');
        for (const document of parseManifestFile(text).documents) {
          const { line, column } = document.locate(['a', 0, 'b'], 'key');
          expect(line).toBeGreaterThan(0);
          expect(column).toBeGreaterThan(0);
        }
      }),
      { numRuns: randomRuns(500) },
    );
  });
});
