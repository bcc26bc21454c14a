/** Rows that are found with sixteen-byte operations: only complete and valid ones, with the positions of their ids and times. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { entryLength, found, RowFinder } from '../../../../src/service/pages/row-finder.ts';

const before = '{"messages":[{"map":';

function pageOf(maps: readonly Record<string, string>[]): Buffer {
  return Buffer.from(`{"messages":${JSON.stringify(maps.map((map) => ({ map })))}}`);
}

function rowOf(index: number, text = 'all is well'): Record<string, string> {
  const time = String(1_788_000_000_000 - index);
  return { _messageid: String(-9_007_199_254_740_993n - BigInt(index)), _raw: text, _messagetime: time, _source: '' };
}

interface FoundRow {
  readonly text: string;
  /** End of the row in the page. */
  readonly end: number;
  readonly messageId: string | undefined;
  readonly messageTime: string | undefined;
  readonly receiptTime: string | undefined;
  readonly size: string | undefined;
}

function findAll(finder: RowFinder, page: Buffer, from = before.length): FoundRow[] {
  const rows: FoundRow[] = [];
  for (let at = from; ; at = finder.next) {
    const count = finder.find(page, at, page.length);
    if (count === 0) return rows;
    for (let index = 0; index < count; index++) {
      const textAt = (field: number) => {
        const entry = index * entryLength + field;
        const [start = 0, end = 0] = finder.table.subarray(entry, entry + 2);
        return page.toString('utf8', finder.origin + start, finder.origin + end);
      };
      const hasField = (field: number) => finder.table[index * entryLength + field] !== 0;
      const fieldAt = (field: number) => (hasField(field) ? textAt(field) : undefined);
      rows.push({
        text: textAt(found.row),
        end: finder.origin + (finder.table[index * entryLength + found.row + 1] ?? 0),
        messageId: fieldAt(found.messageId),
        messageTime: fieldAt(found.messageTime),
        receiptTime: fieldAt(found.receiptTime),
        size: fieldAt(found.size),
      });
    }
  }
}

describe('rows as the service writes them', () => {
  test('are found except for the last one, with their ids and times', () => {
    const maps = Array.from({ length: 20_000 }, (_, index) => rowOf(index, 'x'.repeat(index % 70)));
    const rows = findAll(new RowFinder(), pageOf(maps));
    expect(rows.map(({ text }) => JSON.parse(text))).toEqual(maps.slice(0, -1));
    expect(rows.map(({ messageId }) => messageId)).toEqual(maps.slice(0, -1).map((map) => map['_messageid']));
    expect(rows.map(({ messageTime }) => messageTime)).toEqual(maps.slice(0, -1).map((map) => map['_messagetime']));
    expect(rows.every(({ receiptTime }) => receiptTime === undefined)).toBe(true);
  });

  test('may have upper-case names, and the last of repeated names counts', () => {
    const first =
      '{"_MessageTime":"1","_messageTIME":"2","_MESSAGEID":"3","_ReceiptTime":"4","x_messageid":"5","_SiZe":"6"}';
    const page = Buffer.from(`${before}${first}},{"map":{}}]}`);
    const end = before.length + first.length;
    expect(findAll(new RowFinder(), page)).toEqual([
      { text: first, end, messageTime: '2', messageId: '3', receiptTime: '4', size: '6' },
    ]);
  });

  test.each([
    ['whitespace', '{ "a":"b"}'],
    ['a number', '{"a":1}'],
    ['an object', '{"a":{"b":"c"}}'],
    ['an id with an escape', '{"_messageid":"\\u0031"}'],
    ['an escape that is none', '{"a":"\\x"}'],
    ['too few digits', '{"a":"\\u00g0"}'],
    ['a control character', '{"a":"\u0001"}'],
    ['no members', '{}'],
  ])('and none that has %s', (_what, row) => {
    expect(findAll(new RowFinder(), Buffer.from(`${before}${row}},{"map":{}}]}`))).toEqual([]);
  });
});

test('found rows are valid JSON with the values of JSON.parse, whichever byte is changed', () => {
  const finder = new RowFinder();
  const texts = fc.array(fc.string({ unit: 'binary', maxLength: 40 }), { minLength: 2, maxLength: 6 });
  const change = fc.tuple(fc.nat(10_000), fc.oneof(fc.nat(255), fc.constantFrom(...Buffer.from('"\\{},:u'))));
  fc.assert(
    fc.property(texts, change, (raws, [place, byte]) => {
      const page = pageOf(raws.map((raw, index) => rowOf(index, raw)));
      const at = before.length + 1 + (place % (page.length - before.length - 1));
      page[at] = byte;
      for (const { text, end, messageId, messageTime } of findAll(finder, page)) {
        const row = JSON.parse(text) as Record<string, string>;
        const named = (name: string) =>
          Object.entries(row).findLast(([key]) => key.toLowerCase() === name && key.startsWith('_'))?.[1];
        expect([messageId, messageTime]).toEqual([named('_messageid'), named('_messagetime')]);
        expect(page.toString('latin1', end, end + 9)).toBe('},{"map":');
      }
    }),
    { numRuns: 3_000 },
  );
});
