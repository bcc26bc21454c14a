/**
 * Tests how the page scanner reads message pages (section 2.5 of docs/service.md): the values of rows (E9), and errors
 * with their offset.
 */
import { describe, expect, test } from 'vitest';
import { DecodeError } from '../../../../src/service/json/json-members.ts';
import { PageError } from '../../../../src/service/pages/page-content.ts';
import { PageScanner } from '../../../../src/service/pages/page-scanner.ts';

interface ShapedRow {
  readonly text: string;
  readonly time: number;
  readonly id: string;
  readonly receipt: number | undefined;
  readonly size: number | undefined;
}

function scan(page: string | Uint8Array) {
  const rows: ShapedRow[] = [];
  const scanner = new PageScanner({
    row({ bytes, messageTimeMs, messageId, receiptTimeMs, size }) {
      rows.push({
        text: Buffer.from(bytes).toString('utf8'),
        time: messageTimeMs,
        id: messageId,
        receipt: receiptTimeMs,
        size,
      });
    },
  });
  scanner.write(typeof page === 'string' ? Buffer.from(page, 'utf8') : page);
  return { rows, end: scanner.end() };
}

function errorOf(page: string | Uint8Array): PageError {
  try {
    scan(page);
  } catch (error) {
    if (error instanceof PageError) return error;
    throw error;
  }
  throw new Error('the page was taken');
}

const pageOf = (members: string) => `{"messages":[{"map":{${members}}}]}`;
const time = '"_messagetime":"1788000000123"';
const id = '"_messageid":"-5"';

describe('pages', () => {
  test('rows are passed on unchanged, with their three values', () => {
    const map =
      '{"_messageid":"-9223372036854775808","_raw":"a \\"b\\" \\u00e9 é","_messagetime":"1788000000123","_receipttime":"1788000000456"}';
    const { rows, end } = scan(
      `{"warning":"","fields":[{"name":"_raw","fieldType":"string","keyField":false}],"messages":[{"map":${map}}]}`,
    );
    expect(rows).toEqual([
      { text: map, time: 1_788_000_000_123, id: '-9223372036854775808', receipt: 1_788_000_000_456 },
    ]);
    expect(end).toMatchObject({
      rows: 1,
      warning: '',
      fields: [{ name: '_raw', fieldType: 'string', keyField: false }],
    });
  });

  test.each([
    ['no messages', '{"messages":[]}'],
    ['messages that are null', '{"messages":null}'],
    ['a byte order mark', '\ufeff{"messages":[]}'],
    ['white space everywhere', ' \r\n\t{ "messages" : [ ] } \n'],
    ['unknown members', '{"a":{"messages":[1,{"b":[]}]},"messages":[],"c":"]}","d":-1.5e-7,"e":[[],{}],"f":null}'],
    ['similar names', '{"Messages":5,"messages ":6,"messages":[],"Fields":7,"Warning":[]}'],
    ['names with escapes', '{"mess\\u0061ges":[],"fi\\u0065lds":null}'],
  ])('%s', (_name, page) => {
    const { rows, end } = scan(page);
    expect(rows).toEqual([]);
    expect(end).toEqual({ rows: 0, warning: undefined, fields: [], bytes: Buffer.byteLength(page) });
  });

  test('members may have any order', () => {
    const { rows, end } = scan(
      `{"messages":[{"x":1,"map":{${time},${id}},"y":{"map":{}}}],"fields":null,"warning":"late"}`,
    );
    expect(rows.map(({ text }) => text)).toEqual([`{${time},${id}}`]);
    expect(end.warning).toBe('late');
  });

  test('the last of two warnings and of two lists of fields counts, as with JSON.parse', () => {
    const { end } = scan('{"warning":"a","fields":[{"name":"a"}],"fields":[],"messages":[],"warning":"b\\n"}');
    expect(end).toMatchObject({ warning: 'b\n', fields: [] });
  });

  test('invalid UTF-8 in strings is passed on unchanged', () => {
    const page = Buffer.from(pageOf(`${time},${id},"_raw":"\xff\xc3\xe2\x82"`), 'latin1');
    expect(scan(page).rows.map(({ text }) => text)).toEqual([expect.stringContaining('\ufffd')]);
    const slices: Buffer[] = [];
    new PageScanner({ row: ({ bytes }) => slices.push(Buffer.from(bytes)) }).write(page);
    expect(slices[0]?.includes(Buffer.of(0xff, 0xc3, 0xe2, 0x82))).toBe(true);
  });
});

describe('values of a row', () => {
  test.each([
    ['names in any case', '"_messageTime":"1788000000123","_MESSAGEID":"-5"'],
    ['names with escapes', '"\\u005fmessagetime":"1788000000123","_m\\u0065ssageid":"-5"'],
    ['values with escapes', '"_messagetime":"178800000\\u0030123","_messageid":"\\u002d5"'],
    ['numbers', '"_messagetime":1788000000123,"_messageid":-5'],
    ['a computed number', '"_messagetime":"1.788000000123E12","_messageid":"-5"'],
    ['the last of two values', '"_messagetime":"1","_messageid":{},"_messageTime":"1788000000123","_messageid":"-5"'],
    ['members inside of other values do not count', `"a":{"_messagetime":"1"},${time},${id},"b":[{"_messageid":"7"}]`],
    ['white space', ' "_messagetime" : "1788000000123" ,\n"_messageid"\t:\r"-5" '],
  ])('%s', (_name, members) => {
    expect(scan(pageOf(members)).rows).toMatchObject([{ time: 1_788_000_000_123, id: '-5', receipt: undefined }]);
  });

  test.each([
    ['', undefined],
    [',"_size":""', undefined],
    [',"_size":"-1"', undefined],
    [',"_size":"1.5"', undefined],
    [',"_size":"0"', 0],
    [',"_Size":120', 120],
    [',"_size":"1.2E3"', 1_200],
  ])('size: %s', (member, size) => {
    expect(scan(pageOf(`${time},${id}${member}`)).rows).toMatchObject([{ size }]);
  });

  test.each([
    ['', undefined],
    [',"_receipttime":""', undefined],
    [',"_receipttime":null', undefined],
    [',"_receiptTime":"12"', 12],
    [',"_receipttime":"12","_receipttime":""', undefined],
    [',"_receipttime":-12', -12],
  ])('receipt time: %s', (member, receipt) => {
    expect(scan(pageOf(`${time},${id}${member}`)).rows).toMatchObject([{ receipt }]);
  });

  test.each(['0', '9007199254740993', '9223372036854775807', '-9223372036854775808'])(
    'id %s keeps all digits, as a string and as a number',
    (text) => {
      expect(scan(pageOf(`${time},"_messageid":"${text}"`)).rows).toMatchObject([{ id: text }]);
      expect(scan(pageOf(`${time},"_messageid":${text}`)).rows).toMatchObject([{ id: text }]);
    },
  );
});

describe('E9: a row without a readable time or id', () => {
  const start = '{"messages":[{"map":'.length;
  test.each([
    [
      'no time',
      id,
      start + id.length + 1,
      /messages\[0\]\.map: expected a field named _messagetime, found none, at byte 38$/,
    ],
    [
      'an empty time',
      `"_messagetime":"",${id}`,
      start + 16,
      /_messagetime: expected milliseconds since the epoch, found nothing/,
    ],
    ['null instead of a time', `"_messagetime":null,${id}`, start + 16, /_messagetime: .*found nothing/],
    ['a word instead of a time', `"_messagetime":"now",${id}`, start + 16, /_messagetime: .*found something else/],
    ['a time after the last date', `"_messagetime":"8640000000000001",${id}`, start + 16, /_messagetime/],
    ['half a millisecond', `"_messagetime":"1.5",${id}`, start + 16, /_messagetime/],
    ['a time that a double cannot represent', `"_messagetime":"9007199254740993",${id}`, start + 16, /_messagetime/],
    ['no id', time, start + time.length + 1, /expected a field named _messageid, found none/],
    ['an empty id', `"_messageid":"",${time}`, start + 14, /_messageid: expected an integer of 64 bits, found nothing/],
    ['an id of 65 bits', `"_messageid":"9223372036854775808",${time}`, start + 14, /_messageid/],
    ['a negative id of 65 bits', `"_messageid":"-9223372036854775809",${time}`, start + 14, /_messageid/],
    ['a fraction instead of an id', `"_messageid":1.5,${time}`, start + 14, /_messageid/],
    ['an id with an escaped letter', `"_messageid":"\\u102d1",${time}`, start + 14, /_messageid/],
    ['an object instead of an id', `"_messageid":{"a":1},${time}`, start + 14, /_messageid/],
    ['an invalid receipt time', `"_receipttime":"x",${time},${id}`, start + 16, /_receipttime/],
  ])('%s', (_name, members, offset, message) => {
    const error = errorOf(pageOf(members));
    expect(error.offset).toBe(offset);
    expect(error.message).toMatch(message);
  });

  test('the message contains the number of the row and no value', () => {
    const error = errorOf(`{"messages":[{"map":{${time},${id}}},{"map":{${time},"_messageid":"secret"}}]}`);
    expect(error.message).toContain('messages[1].map: _messageid');
    expect(error.message).not.toContain('secret');
  });
});

describe('invalid pages', () => {
  test.each([
    ['', 0, /^the page: expected a value, found the end of the page, at byte 0$/],
    ['[]', 0, /^the page: expected an object, found an array/],
    ['"x"', 0, /expected an object, found a string/],
    ['<html>', 0, /^the page: expected a value, found < \(0x3c\), at byte 0$/],
    ['{}', 1, /^the page: expected a field named messages, found none/],
    ['{"messages":[]', 14, /^the page: expected a comma or }, found the end of the page, at byte 14$/],
    ['{"messages":[]}}', 15, /^the page: expected nothing more, found } \(0x7d\)/],
    ['{"messages":[]} {"messages":[]}', 16, /expected nothing more/],
    ['{"messages":{}}', 12, /^messages: expected an array, found an object/],
    ['{"messages":[],"messages":[]}', 15, /^the page: expected messages once/],
    ['{"messages":[],"warning":5}', 25, /^warning: expected a string, found a number/],
    ['{"messages":[],"fields":{}}', 24, /^fields: expected an array, found an object/],
    ['{"messages":[],"fields":[{"name":5}]}', 24, /fields\[0\]\.name: expected a string/],
    ['{"messages":[5]}', 13, /^messages\[0\]: expected an object, found a number/],
    ['{"messages":[{}]}', 14, /^messages\[0\]: expected a field named map, found none/],
    ['{"messages":[{"map":null}]}', 20, /^messages\[0\]\.map: expected an object, found null/],
    [`{"messages":[{"map":{${time},${id}},"map":{}}]}`, 71, /^messages\[0\]: expected map once/],
    [
      `{"messages":[{"map":{${time},${id},"a"}},{"map":{${time},${id}}}]}`,
      73,
      /messages\[0\]\.map: expected a colon, found }/,
    ],
    ['\xef\xbb{"messages":[]}', 2, /expected the rest of a byte order mark/],
    ['{"messages":[]}\xef\xbb\xbf', 15, /expected nothing more, found 0xef/],
  ])('%s', (page, offset, message) => {
    const error = errorOf(Buffer.from(page, 'latin1'));
    expect(error.offset).toBe(offset);
    expect(error.message).toMatch(message);
  });

  // Each invalid row is followed by another row, because the scanner reads all rows except the last one with faster
  // code.
  test.each([
    ['"a":"x\\,"b":"c"', 7],
    ['"a\\:"b","c":"d"', 3],
    ['"a":"x\n,"b":"c"', 6],
    ['"a":"\\u00g0","b":"c"', 9],
    ['"a":"x" "b":"c"', 8],
    ['"a":"x","b" "c"', 12],
    ['"a":"x",,"b":"c"', 8],
    ['"a":"x","b":c"', 12],
  ])('a row with %j before another row is rejected, as by JSON.parse', (members, place) => {
    const map = `{${time},${id},${members}}`;
    const page = `{"messages":[{"map":{${time},${id}}},{"map":${map}},{"map":{${time},${id}}}]}`;
    expect(() => JSON.parse(page)).toThrow(SyntaxError);
    expect(errorOf(page).offset).toBe(page.indexOf(members) + place);
  });

  // The scanner skips values that it does not need, checking only their syntax.
  test.each([
    ['01', 1],
    ['-', 1],
    ['-a', 1],
    ['1.', 2],
    ['.5', 0],
    ['1e+', 3],
    ['+1', 0],
    ['tru', 3],
    ['nul1', 3],
    ['True', 0],
    ['NaN', 0],
    ['"\t"', 1],
    ['"\x1f"', 1],
    ['"\\x"', 2],
    ['"\\u12g4"', 5],
    ['"\\u', 3],
    ["'a'", 0],
    ['[1,]', 3],
    ['[1 2]', 3],
    ['[1}', 2],
    ['[', 1],
    ['{"a":1,}', 7],
    ['{"a" 1}', 5],
    ['{"a":}', 5],
    ['{a:1}', 1],
    ['{1:1}', 1],
    ['{"a":1]', 6],
    ['{,}', 1],
    ['\xa0', 0],
    ['\f', 0],
  ])('%j is rejected, as by JSON.parse', (value, place) => {
    const page = Buffer.from(`{"x":${value},"messages":[]}`, 'latin1');
    expect(() => JSON.parse(page.toString('latin1'))).toThrow(SyntaxError);
    expect(errorOf(page).offset).toBe(5 + place);
  });

  test('an error is that of an unreadable response', () => {
    expect(errorOf('{}')).toBeInstanceOf(DecodeError);
  });
});
