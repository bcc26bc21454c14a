/** Tests log messages from files: default values, and errors in invalid files. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../../src/base/random.ts';
import { textOf } from '../../base/body.ts';
import type { FieldCase } from '../../log-data/field-case.ts';
import type { LogData } from '../../log-data/log-data.ts';
import { LogFileError, LogFiles } from '../../log-data/stored/log-files.ts';
import { describeLogData } from './conformance.ts';
import { everything } from './plain-search.ts';

const second = 1_000;
const fromMs = Date.UTC(2026, 0, 1);
const toMs = fromMs + 60 * second;

type WrittenLine = Readonly<Record<string, unknown>>;

/** Returns log data with one file per text. The files are named `a.ndjson`, `b.ndjson` and so on. */
function dataOf(texts: readonly string[], fieldCase?: FieldCase): LogData {
  const files = new LogFiles(fieldCase);
  for (const [index, text] of texts.entries()) {
    files.add(`logs/${String.fromCharCode(97 + index)}.ndjson`, [Buffer.from(text)]);
  }
  return files.data();
}

const ndjson = (lines: readonly WrittenLine[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join('');

/** Returns log lines in random order. Many of the lines have the same time. */
function variedLines(seed: number, count: number): WrittenLine[] {
  const random = seededRandom(seed);
  const whole = (below: number) => Math.floor(random.next() * below);
  return Array.from({ length: count }, (_, index) => {
    const time = fromMs + whole(30) * 2 * second + whole(3);
    const raw =
      ['GET /', 'error: "no"', '{"level":"warn"}', 'é漢😀\u2028', 'nul\u0000', '\ud800', ''][whole(7)] +
      'x'.repeat(whole(200));
    return {
      _messageid: `${index % 2 === 0 ? '-' : ''}${seed}${index + 1_000_000}`,
      _raw: raw,
      _messagetime: index % 3 === 0 ? String(time) : time,
      ...(index % 4 === 0 ? { _receipttime: time + whole(20 * second) - 5 * second } : {}),
      ...(index % 5 === 0 ? { _sourceCategory: `prod/${whole(3)}`, _sourceHost: `web-${whole(10)}` } : {}),
      ...(index % 7 === 0 ? { zone: `z${whole(4)}`, _raw2: 'more' } : {}),
    };
  });
}

const sample = (fieldCase: FieldCase) => ({
  data: dataOf([ndjson(variedLines(1, 900)), ndjson(variedLines(2, 600))], fieldCase),
  fromMs: fromMs - 5 * second,
  toMs: toMs + 20 * second,
});
describeLogData('messages from files', sample('specified'));
describeLogData('messages from files with names in lower case', sample('lower'));

test('a search gives up only if it would have to examine more than the maximum number of messages', () => {
  const data = dataOf([ndjson([1, 2, 3].map((index) => ({ _raw: 'text', _messagetime: fromMs + index })))]);
  const isGivenUp = (maxExamined: number) => {
    const search = data.search({ fromMs, toMs, byReceiptTime: false }, everything, maxExamined);
    search.advance(fromMs, Number.POSITIVE_INFINITY);
    return search.isGivenUp;
  };
  expect([isGivenUp(2), isGivenUp(3)]).toEqual([true, false]);
});

type ReadFields = Readonly<Record<string, string>>;

function mapsOf(data: LogData): readonly ReadFields[] {
  const search = data.search({ fromMs: 0, toMs: 10 * toMs, byReceiptTime: false }, everything);
  search.advance(0, Number.POSITIVE_INFINITY);
  const json = textOf(search.page(0, search.found, Number.POSITIVE_INFINITY, true));
  return (JSON.parse(`[${json}]`) as { readonly map: ReadFields }[]).map(({ map }) => map);
}

describe('a line', () => {
  test('needs only a text and a time; all other fields have defaults', () => {
    const data = dataOf([ndjson([{ _raw: 'héllo', _messagetime: fromMs }])]);
    expect(mapsOf(data)).toEqual([
      {
        _messageid: expect.stringMatching(/^-?\d{19}$/),
        _sourceid: expect.stringMatching(/^\d{9}$/),
        _sourceName: 'a.ndjson',
        _sourceHost: 'localhost',
        _sourceCategory: 'log-data',
        _format: expect.stringMatching(/^t:/),
        _size: '6',
        _messagetime: String(fromMs),
        _receipttime: String(fromMs),
        _messagecount: '1',
        _raw: 'héllo',
        _source: 'logs/a.ndjson',
        _collectorId: expect.stringMatching(/^\d{9}$/),
        _collector: 'log-data',
        _blockid: expect.stringMatching(/^-\d{19}$/),
      },
    ]);
  });

  test('gets the same defaults for the same files, with unique ids, some of them negative', () => {
    const texts = [0, 1].map((file) =>
      ndjson(Array.from({ length: 500 }, (_, index) => ({ _raw: `${file} ${index}`, _messagetime: fromMs + index }))),
    );
    const maps = mapsOf(dataOf(texts));
    expect(maps).toEqual(mapsOf(dataOf(texts)));
    const ids = maps.map(({ _messageid = '' }) => _messageid);
    expect(new Set(ids).size).toBe(1_000);
    expect(ids.every((id) => BigInt.asIntN(64, BigInt(id)) === BigInt(id))).toBe(true);
    expect(ids.some((id) => id.startsWith('-'))).toBe(true);
  });

  test('keeps its own values as strings (2.5), whatever the case of the names (10.3)', () => {
    const line =
      '{"_MESSAGEID":-6917529027641081856,"_blockId":9007199254740993,"_messageTime":"1767225600000","_receiptTime":"2026-01-01T01:00:00.5+01:00",' +
      '"_raw":"text","_size":4096,"_sourceHost":"","_collector":null,"ratio":2.50,"ratio":1.50,"big":1e400,"deep":{"a": [1, 9007199254740993]},"ok":true,"none":null}';
    expect(mapsOf(dataOf([line]))).toEqual([
      expect.objectContaining({
        _messageid: '-6917529027641081856',
        _blockid: '9007199254740993',
        _messagetime: '1767225600000',
        _receipttime: '1767225600500',
        _size: '4096',
        _sourceHost: '',
        _collector: '',
        ratio: '1.50',
        big: '1e400',
        deep: '{"a": [1, 9007199254740993]}',
        ok: 'true',
        none: '',
      }),
    ]);
  });

  test('can have other fields, which pages list after those of 2.5, and which other lines lack', () => {
    const data = dataOf([
      ndjson([
        { _raw: 'a', _messagetime: fromMs + 1, user: 'u1' },
        { _raw: 'b', _messagetime: fromMs, pod: 'p1' },
      ]),
    ]);
    expect(data.fields.slice(15)).toEqual([
      { name: 'user', fieldType: 'string', keyField: false },
      { name: 'pod', fieldType: 'string', keyField: false },
    ]);
    const [first, second] = mapsOf(data);
    expect([first?.['user'], first?.['pod'], second?.['user'], second?.['pod']]).toEqual([
      'u1',
      undefined,
      undefined,
      'p1',
    ]);
  });

  test('comes after earlier lines of the same millisecond', () => {
    const texts = ['abc', 'def'].map((letters) => ndjson([...letters].map((_raw) => ({ _raw, _messagetime: fromMs }))));
    expect(mapsOf(dataOf(texts)).map(({ _raw }) => _raw)).toEqual([...'abcdef']);
  });
});

describe('a file', () => {
  const text = ndjson(variedLines(3, 40));

  test('can arrive in chunks that end anywhere, in reused memory', () => {
    const bytes = Buffer.from(text);
    const whole = mapsOf(dataOf([text]));
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1 }), (lengths) => {
        const files = new LogFiles();
        files.add('logs/a.ndjson', piecesOf(bytes, lengths));
        expect(mapsOf(files.data())).toEqual(whole);
      }),
      { numRuns: 50 },
    );
  });

  test('can have Windows line endings, empty lines and a byte order mark, and no line break at the end', () => {
    const files = new LogFiles();
    files.add('logs/a.ndjson', [Buffer.from(`\ufeff${text.replaceAll('\n', '\r\n').trimEnd()}`)]);
    expect(mapsOf(files.data())).toEqual(mapsOf(dataOf([text])));
    const sparse = dataOf(['\n\r\n  \n']);
    expect(mapsOf(sparse)).toEqual([]);
  });

  test.each([
    ['{"_raw":"a","_messagetime":1', '1:29: the line is not JSON; write a comma or } here, not the end of the line'],
    [`{"_raw":'a'}`, "1:9: the line is not JSON; write a value here, not '"],
    ['{"_raw":"a",}', '1:13: the line is not JSON; write a member name in double quotes here, not }'],
    ['{"_raw" "a"}', '1:9: the line is not JSON; write a colon here, not "'],
    ['{"_raw":["a" 1]}', '1:14: the line is not JSON; write a comma or ] here, not 1'],
    ['{"_raw":"a"} {}', '1:14: the line is not JSON; write the end of the line here, not {'],
    ['\n\n  {"a":tru}', '3:8: the line is not JSON; write a value here, not t'],
    ['plain text', '1:1: the line is not JSON; write an object here, not p'],
    ['{"a":"\t"}', '1:6: the line is not JSON; write a value here, not "'],
    [
      '[1]',
      '1:1: the line is not a JSON object; write one, such as {"_raw":"GET /index.html 200","_messagetime":1767225600000}',
    ],
    ['{"_messagetime":1}', '1:1: _raw is missing; set it to the text of the message'],
    ['{"_raw":"a"}', '1:1: _messagetime is missing; set it to ms since the epoch, or to a time with an offset'],
    ['{"_raw":5,"_messagetime":1}', '1:9: _raw is not a string; put the message in double quotes'],
    [
      '{"_raw":"a","x":{"_messagetime":1}, "_messageTime": "2026-01-01T00:00:00"}',
      '1:53: _messageTime is not a time; use ms since the epoch, or a time with an offset, such as 2026-01-01T00:00:00Z',
    ],
    ['{"_raw":"a","_messagetime":1.5}', '1:28: _messagetime is not a time; use ms'],
    ['{"_raw":"a","_messagetime":"2026-02-30T25:00:00Z"}', '1:28: _messagetime is not a time; use ms'],
    ['{"_raw":"a","_messagetime":1,"_receipttime":true}', '1:45: _receipttime is not a time; use ms'],
    [
      '{"_raw":"a","_messagetime":1,"_messageid":"9223372036854775808"}',
      '1:43: _messageid is not an id; use a 64-bit integer, such as -6917529027641081856',
    ],
    ['{"_raw":"a","_messagetime":1,"_sourceid":"x1"}', '1:42: _sourceid is not an id; use'],
    ['{"_raw":"a","_messagetime":1,"_size":-1}', '1:38: _size is not a count; use a whole number, such as 120'],
  ])('%s is refused', (line, problem) => {
    expect(() => dataOf([line])).toThrow(LogFileError);
    expect(() => dataOf([line])).toThrow(`logs/a.ndjson:${problem}`);
  });

  test('is refused if a line is nested too deeply', () => {
    const problem = 'logs/a.ndjson:1:506: the line is not JSON; write less nesting here, not [';
    expect(() => dataOf([`{"a":${'['.repeat(2_000)}`])).toThrow(problem);
  });

  test('is refused if it is not UTF-8', () => {
    const files = new LogFiles();
    files.add('latin1.ndjson', [Buffer.from('{"_raw":"caf\u00e9","_messagetime":1}', 'latin1')]);
    expect(() => files.data()).toThrow('latin1.ndjson:1:1: the line is not UTF-8; save the file as UTF-8');
  });

  test('has its first twenty problems reported, including those of other files', () => {
    const files = new LogFiles();
    files.add('one', [Buffer.from('x\n'.repeat(5))]);
    files.add('two', [Buffer.from('y\n'.repeat(1_000))]);
    const problems = messageOf(() => files.data()).split('\n');
    expect(problems).toHaveLength(20);
    expect(problems[4]).toMatch(/^one:5:1: /);
    expect(problems[19]).toMatch(/^two:15:1: /);
  });
});

/** Splits `bytes` into chunks. Each chunk overwrites the previous chunk, because all chunks use the same memory. */
function* piecesOf(bytes: Buffer, lengths: readonly number[]): Generator<Uint8Array> {
  const memory = Buffer.alloc(Math.max(...lengths));
  for (let start = 0, turn = 0; start < bytes.length; turn++) {
    const length = bytes.copy(memory, 0, start, start + (lengths[turn % lengths.length] as number));
    yield memory.subarray(0, length);
    start += length;
  }
}

function messageOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return (error as Error).message;
  }
  return '';
}
