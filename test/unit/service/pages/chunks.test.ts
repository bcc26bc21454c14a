/**
 * Tests that the result of the page scanner does not depend on how a page is split into chunks (section 2.5 of
 * docs/service.md).
 */
import { describe, expect, test } from 'vitest';
import { readReference } from '../../../fuzz/page-scanner/reference.ts';
import { type Cuts, differences, everyNth, scan } from '../../../fuzz/page-scanner/trial.ts';

const latin1 = (text: string) => Buffer.from(text, 'utf8').toString('latin1');

/** Pages for tests that split them into chunks. Together, they contain every kind of syntax element. */
const pages: readonly (readonly [name: string, page: string])[] = [
  ['nothing in it', '{"messages":[]}'],
  ['escapes', '{"messages":[{"map":{"_messag\\u0065id":"\\u002d7","_messagetime":"5","a":"\\\\\\"\\u00e9\\n"}}]}'],
  [
    'text beyond ASCII',
    latin1('{"messages":[{"map":{"é😀":"漢\ufeff","_messageid":"7","_messagetime":"5"}}],"warning":"é"}'),
  ],
  [
    'numbers and literals',
    '{"a":[-1.5e+10,true,false,null,0],"messages":[{"map":{"_messageid":-7,"_messagetime":5}}]}',
  ],
  [
    'two rows',
    '\xef\xbb\xbf {"messages":[{"map":{"_messageid":"1","_messagetime":"5"}},{"x":1,"map":{"_messageid":"2","_messagetime":"6"}}]}',
  ],
  [
    'fields and nesting',
    '{"fields":[{"name":"a","keyField":true}],"x":{"y":[[{}]]},"messages":[{"map":{"_messageid":"1","a":[{}],"_messagetime":"5"}}]}',
  ],
  ['a wrong escape', '{"messages":[{"map":{"_messageid":"1","_messagetime":"5"}},{"map":{"a":"\\u00g0"}}]}'],
  ['a row without an id', '{"messages":[{"map":{"_messageid":"1","_messagetime":"5"}},{"map":{"_messagetime":"5"}}]}'],
  ['half a page', '{"messages":[{"map":{"_messageid":"1","_messagetime":"5"}},{"map":{"_messageid":"2'],
];

describe.each(pages)('%s', (_name, text) => {
  const page = Buffer.from(text, 'latin1');
  const reference = readReference(page);

  function wrongCuts(ways: Iterable<Cuts>): unknown {
    for (const cuts of ways) {
      const found = differences(page, reference, scan(page, cuts));
      if (found.length > 0) return { cuts, found };
    }
    return undefined;
  }

  test('in one chunk', () => {
    expect(reference.disagreement).toBe(undefined);
    expect(wrongCuts([[]])).toBe(undefined);
  });

  test('in chunks of any fixed size, with empty chunks between them', () => {
    const sizes = Array.from({ length: page.length }, (_, index) => index + 1);
    expect(wrongCuts(sizes.map((size) => everyNth(size, page.length)))).toBe(undefined);
    expect(wrongCuts([everyNth(1, page.length).flatMap((cut) => [cut, cut])])).toBe(undefined);
  });

  test('in three chunks of any length', () => {
    expect(wrongCuts(inThree(page.length))).toBe(undefined);
  });

  test('with every combination of five adjacent boundaries', () => {
    expect(wrongCuts(inEveryWay(page.length, 5))).toBe(undefined);
  });
});

test('the smallest page with every combination of boundaries', () => {
  const page = Buffer.from('{"messages":[]}');
  const reference = readReference(page);
  const ways = [...subsetsOf(everyNth(1, page.length))];
  expect(ways).toHaveLength(2 ** (page.length - 1));
  expect(ways.flatMap((cuts) => differences(page, reference, scan(page, cuts)))).toEqual([]);
});

function* inThree(length: number): Generator<Cuts> {
  for (let first = 0; first <= length; first++) {
    for (let second = first; second <= length; second++) yield [first, second];
  }
}

function* inEveryWay(length: number, stretch: number): Generator<Cuts> {
  for (let from = 1; from + stretch <= length; from++) {
    yield* subsetsOf(Array.from({ length: stretch }, (_, index) => from + index));
  }
}

function* subsetsOf(cuts: Cuts): Generator<Cuts> {
  for (let bits = 0; bits < 2 ** cuts.length; bits++) yield cuts.filter((_, index) => (bits >> index) & 1);
}
