/** Tests how the client decodes responses about collectors and upgrades (sections 2.7 to 2.10 of docs/service.md). */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseRetryAfter } from '../../../../src/base/retry-after.ts';
import { hourMs } from '../../../../src/base/time-units.ts';
import {
  decodeBuilds,
  decodeCollectors,
  decodeCreatedTask,
  decodeTask,
  StringPool,
} from '../../../../src/service/collectors/decode-collectors.ts';
import { parseJson } from '../../../../src/service/json/exact-json.ts';

const bytes = (text: string) => Buffer.from(text, 'utf8');
const collectors = (text: string) => decodeCollectors(bytes(`{"collectors":[${text}]}`), new StringPool());

describe('integers', () => {
  test.each([
    ['{"id":9007199254740993}', { id: '9007199254740993' }],
    ['{"id": -9223372036854775808 ,"x":1}', { id: '-9223372036854775808', x: 1 }],
    ['[9223372036854775807,12]', ['9223372036854775807', 12]],
    ['{"name":"a:9007199254740993,b","id":9007199254740993}', { name: 'a:9007199254740993,b', id: '9007199254740993' }],
    ['{"name":"[9007199254740993]"}', { name: '[9007199254740993]' }],
    ['{"n":1.5,"e":1e20}', { n: 1.5, e: 1e20 }],
  ])('%s keeps all digits', (text, value) => {
    expect(parseJson(text)).toEqual(value);
  });

  test('only integers of 16 digits or more differ from JSON.parse, for any document', () => {
    const awkward = fc.stringMatching(/^[:,[\]" 0-9\\{}-]{0,24}$/);
    const leaf = fc.oneof(awkward, fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean());
    const document = fc.letrec((tie) => ({
      value: fc.oneof(
        leaf,
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(awkward, tie('value'), { maxKeys: 4 }),
      ),
    })).value;
    fc.assert(
      fc.property(document, fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value, id) => {
        const text = `{"id":${id},"value":${JSON.stringify(value)}}`;
        const parsed = parseJson(text) as { id: unknown; value: unknown };
        expect(String(parsed.id)).toBe(String(id));
        const numbers = JSON.stringify(value, (_key, member) =>
          typeof member === 'number' && /^-?\d{16,}$/.test(JSON.stringify(member)) ? JSON.stringify(member) : member,
        );
        expect(JSON.stringify(parsed.value)).toBe(JSON.stringify(JSON.parse(numbers)));
      }),
    );
  });
});

describe('collectors', () => {
  test('unknown members are ignored, missing and null ones are undefined', () => {
    const [whole, bare] = collectors(
      '{"id":1,"name":"a","alive":true,"lastSeenAlive":1788000000000,"osName":"Linux","links":[],"new":{}},{"id":"2","osName":null}',
    );
    expect(whole).toMatchObject({
      id: '1',
      name: 'a',
      alive: true,
      lastSeenAliveMs: 1_788_000_000_000,
      osName: 'Linux',
    });
    expect(bare).toMatchObject({ id: '2', name: '', alive: undefined, osName: undefined, collectorVersion: undefined });
  });

  test('all objects have the same shape', () => {
    const [whole, bare] = collectors('{"id":1,"name":"a","osArch":"amd64","hostName":"h"},{"id":2}');
    expect(Object.keys(whole ?? {})).toEqual(Object.keys(bare ?? {}));
  });

  test.each([
    ['{"name":"a"}', 'collectors[0].id: expected an integer, found nothing'],
    ['{"id":1},{"id":1.5}', 'collectors[1].id: expected an integer, found a value of type number'],
    ['{"id":1,"alive":"yes"}', 'collectors[0].alive: expected true or false, found a value of type string'],
    ['{"id":1,"osName":[]}', 'collectors[0].osName: expected a string, found an array'],
    ['7', 'collectors[0]: expected an object, found a value of type number'],
  ])('%s: the message contains the JSON path', (text, message) => {
    expect(() => collectors(text)).toThrow(message);
  });
});

test('a build without `latest` is not the latest build', () => {
  expect(decodeBuilds(bytes('{"targets":[{"version":"1.2-3","latest":true},{"version":"1.1-1"}]}'))).toEqual([
    { version: '1.2-3', latest: true },
    { version: '1.1-1', latest: false },
  ]);
});

describe('tasks', () => {
  const task = (members: string) =>
    decodeTask(bytes(`{"upgrade":{"id":5,"collectorId":9007199254740993,"toVersion":"1.2-3",${members}}}`));

  test.each([
    [0, 'notStarted'],
    [1, 'pending'],
    [2, 'succeeded'],
    [3, 'failed'],
    [6, 'progressing'],
    [4, 'unknown'],
    [-1, 'unknown'],
  ])('status %d is %s', (statusCode, status) => {
    expect(task(`"status":${statusCode}`)).toMatchObject({
      id: '5',
      collectorId: '9007199254740993',
      statusCode,
      status,
    });
  });

  test.each([
    ['"requestTime":1788000000', 1_788_000_000_000],
    ['"requestTime":1788000000123', 1_788_000_000_123],
    ['"requestedTime":1788000000', 1_788_000_000_000],
    ['"requestTime":null', undefined],
  ])('%s is decoded to milliseconds', (member, requestedMs) => {
    expect(task(`"status":1,${member}`).requestedMs).toBe(requestedMs);
  });

  test('the id of a new task is a string or a number', () => {
    expect(decodeCreatedTask(bytes('{"id":"abc"}'))).toEqual({ taskId: 'abc' });
    expect(decodeCreatedTask(bytes('{"id":9007199254740993}'))).toEqual({ taskId: '9007199254740993' });
  });
});

test.each([
  ['120', 120_000],
  ['0', 0],
  ['1.5', 1_500],
  ['Sun, 01 Nov 2026 00:00:10 GMT', 10_000],
  ['Sat, 31 Oct 2026 00:00:00 GMT', 0],
  ['999999999', 3_600_000],
  ['-1', undefined],
  ['soon', undefined],
  ['', undefined],
  [undefined, undefined],
])('Retry-After %s', (header, delayMs) => {
  expect(parseRetryAfter(header, Date.UTC(2026, 10, 1), hourMs)).toBe(delayMs);
});
