/** Tests NDJSON files. Each row consists of either the exact text that the service sent, or only the chosen fields. */
import { isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NdjsonEncoder, NdjsonFieldsEncoder } from '../../../src/output/ndjson-encoder.ts';
import { encoded, fieldNames, rowMembers, sorted, writings, writtenRow } from './rows.ts';

const whole = (texts: readonly string[], chunkBytes?: number) =>
  encoded((spool) => new NdjsonEncoder(spool), texts, chunkBytes);
const chosen = (names: readonly string[], texts: readonly string[], chunkBytes?: number) =>
  encoded((spool) => new NdjsonFieldsEncoder(spool, names), texts, chunkBytes).toString();

describe('unchanged rows', () => {
  test('keep every byte', () => {
    const texts = ['{"_messageid":"-9007199254740993123","_raw":"é \\u00e9 \\/ \\ud800"}', '{}', '{ "a" : 1.50 }'];
    expect(whole(texts).toString()).toBe(`${texts.join('\n')}\n`);
  });

  test.each([14, 4_096])('are UTF-8 even if the service sends other bytes, in chunks of %d bytes', (chunkBytes) => {
    const rows = [
      Buffer.from('{"a":"\xff\xc3"}', 'latin1'),
      Buffer.from('{"a":\n"é"}'),
      Buffer.from('{"b":"\xc3"}', 'latin1'),
    ];
    const file = encoded((spool) => new NdjsonEncoder(spool), rows, chunkBytes);
    expect(isUtf8(file)).toBe(true);
    expect(file.toString()).toBe('{"a":"\ufffd\ufffd"}\n{"a": "é"}\n{"b":"\ufffd"}\n');
  });

  test('of 256 KB are complete with chunks of any size', () => {
    const texts = [
      `{"_raw":${JSON.stringify('x"\n'.repeat(85_000))}}`,
      '{"a":"b"}',
      `{"_raw":"${'y'.repeat(256_000)}"}`,
    ];
    for (const chunkBytes of [511, 4096, 262_144]) {
      expect(whole(texts, chunkBytes).toString()).toBe(`${texts.join('\n')}\n`);
    }
  });

  test.each([10, 11, 12, 21, 22, 23])('that exactly fill a chunk of %d bytes are complete', (chunkBytes) => {
    const texts = ['{"a":"bc"}', '{"a":\n"b"}', '{"a":"bc"}', '{}', '{"a":"b"}', '{"a":"bcd"}'];
    expect(whole(texts, chunkBytes).toString()).toBe(`${texts.join('\n').replace(':\n', ': ')}\n`);
  });

  test('are one line each, wherever the service breaks lines', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(rowMembers, writings), { maxLength: 5 }), fc.nat(2_000), (rows, size) => {
        const texts = rows.map(([members, writing]) => writtenRow(members, writing));
        const lines = whole(texts, size + 1)
          .toString()
          .split('\n');
        expect(lines.pop()).toBe('');
        expect(lines.map((line) => JSON.parse(line))).toEqual(texts.map((text) => JSON.parse(text)));
        for (const [index, text] of texts.entries()) if (!text.includes('\n')) expect(lines[index]).toBe(text);
      }),
    );
  });
});

describe('chosen fields', () => {
  test('are UTF-8 even if the service sends other bytes', () => {
    const row = Buffer.from('{"a":"\xff\xc3","b":1}', 'latin1');
    const file = encoded((spool) => new NdjsonFieldsEncoder(spool, ['a']), [row]);
    expect(file.toString()).toBe('{"a":"\ufffd\ufffd"}\n');
  });

  test('are written in the chosen order, with unchanged values', () => {
    const row =
      '{"_raw":"a\\u00e9\\/","n":1.50,"o":{"x": [1, "}"]},"e":"","z":null,"_messageid":"-9223372036854775808"}';
    expect(chosen(['_messageid', 'o', 'n', 'z', 'e', '_raw'], [row])).toBe(
      '{"_messageid":"-9223372036854775808","o":{"x": [1, "}"]},"n":1.50,"z":null,"e":"","_raw":"a\\u00e9\\/"}\n',
    );
  });

  test('that a row does not have are omitted', () => {
    expect(chosen(['b', 'a'], ['{"a":"1"}', '{"c":"1"}', '{}', '{"b":"2","a":"3"}'])).toBe(
      '{"a":"1"}\n{}\n{}\n{"b":"2","a":"3"}\n',
    );
  });

  test('of the service are found in any case (10.3), other fields only in their own', () => {
    const rows = ['{"_messagetime":"1","status":"a"}', '{"_MessageTime":"2","Status":"b"}'];
    expect(chosen(['_messageTime', 'status'], rows)).toBe('{"_messageTime":"1","status":"a"}\n{"_messageTime":"2"}\n');
  });

  test('that occur twice in a row have the last value, as with JSON.parse', () => {
    expect(chosen(['a'], ['{"a":"1","b":"2","\\u0061":"3"}', '{"a":"1","a":"2"}'])).toBe('{"a":"3"}\n{"a":"2"}\n');
  });

  test('are found even if every row has other names', () => {
    const rows = Array.from({ length: 25_000 }, (_, index) => `{"id-${index}":"x","a":"${index}"}`);
    expect(chosen(['a'], rows)).toBe(rows.map((_, index) => `{"a":"${index}"}\n`).join(''));
  });

  test('equal the values of JSON.parse for random rows', () => {
    const names = fc.uniqueArray(fieldNames, { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(
        names,
        fc.array(fc.tuple(rowMembers, writings), { maxLength: 6 }),
        fc.nat(300),
        (names, rows, size) => {
          const texts = rows.map(([members, writing]) => writtenRow(members, writing));
          const lines = chosen(names, texts, size + 1)
            .split('\n')
            .slice(0, -1);
          const expected = rows.map(([members]) => {
            const { values } = sorted(names, members);
            const found = names.filter((name) => values.has(name));
            return `{${found.map((name) => `${JSON.stringify(name)}:${JSON.stringify(values.get(name))}`).join()}}`;
          });
          expect(lines.map((line) => JSON.parse(line))).toEqual(expected.map((line) => JSON.parse(line)));
        },
      ),
    );
  });
});
