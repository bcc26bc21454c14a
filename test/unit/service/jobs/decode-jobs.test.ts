/**
 * Tests how the client decodes responses about search jobs, including responses with missing or unknown members
 * (sections 2.2 to 2.6 of docs/service.md).
 */
import { describe, expect, test } from 'vitest';
import { decodeCreatedJob, decodeJobStatus, decodeRecordPage } from '../../../../src/service/jobs/decode-jobs.ts';
import { newTextOf, withoutCookieNotice } from '../../../../src/service/jobs/job-client.ts';

const bytes = (text: string) => Buffer.from(text, 'utf8');
const status = (members: string) => decodeJobStatus(bytes(`{"state":"GATHERING RESULTS","messageCount":7,${members}}`));

describe('a created job (2.2)', () => {
  test.each([
    ['{"id":"37589506F194FC80","link":{"rel":"self"},"warning":null}', '37589506F194FC80'],
    ['{"id":9007199254740993}', '9007199254740993'],
  ])('%s keeps its complete id', (body, id) => {
    expect(decodeCreatedJob(bytes(body))).toEqual({ id, warning: undefined });
  });

  test.each([['{}'], ['{"id":""}'], ['{"id":{}}'], ['[]']])('%s is invalid', (body) => {
    expect(() => decodeCreatedJob(bytes(body))).toThrow(/expected/);
  });
});

describe('the state (3.1)', () => {
  test.each([
    ['NOT STARTED', 'notStarted'],
    ['GATHERING RESULTS', 'gatheringResults'],
    ['GATHERING RESULTS FROM SUBQUERIES', 'gatheringSubqueries'],
    ['FORCE PAUSED', 'forcePaused'],
    ['DONE GATHERING RESULTS', 'doneGatheringResults'],
    ['DONE GATHERING HISTOGRAM', 'doneGatheringHistogram'],
    ['CANCELLED', 'cancelled'],
    ['CANCELED', { unknown: 'CANCELED' }],
  ])('%s', (text, state) => {
    expect(decodeJobStatus(bytes(JSON.stringify({ state: text, messageCount: 0 }))).state).toEqual(state);
  });

  test.each([[undefined], [null], [''], [' ']])('%j is a missing state', (state) => {
    expect(() => decodeJobStatus(bytes(JSON.stringify({ state, messageCount: 0 })))).toThrow(/^state: expected/);
  });

  test('an unknown state is kept up to a maximum length', () => {
    const { state } = decodeJobStatus(bytes(JSON.stringify({ state: 'X'.repeat(9_999), messageCount: 0 })));
    expect(state).toEqual({ unknown: 'X'.repeat(100) });
  });
});

describe('a status (2.3)', () => {
  test('accepts any order of members and ignores unknown members', () => {
    const body = {
      searchedTimeRange: { start: 1 },
      usageDetails: { dataScannedInBytes: 1_048_576, tier: 'x' },
      pendingWarnings: ['slow'],
      recordCount: 3,
      histogramBuckets: [{ logLevel: null, count: 5, length: 60_000, startTimestamp: 1_788_000_000_000 }],
      timeElapsed: '1s',
      pendingErrors: ['broken'],
      messageCount: 12,
      state: 'DONE GATHERING RESULTS',
      warning: 'mind the gap',
    };
    expect(decodeJobStatus(bytes(JSON.stringify(body)))).toEqual({
      state: 'doneGatheringResults',
      messageCount: 12,
      recordCount: 3,
      buckets: [{ startMs: 1_788_000_000_000, lengthMs: 60_000, count: 5 }],
      pendingErrors: ['broken'],
      pendingWarnings: ['slow'],
      scannedBytes: 1_048_576,
      warning: 'mind the gap',
    });
  });

  test.each([
    ['nothing', '"x":1'],
    [
      'null',
      '"recordCount":null,"histogramBuckets":null,"pendingErrors":null,"pendingWarnings":null,"usageDetails":null',
    ],
    ['an empty usage', '"usageDetails":{"dataScannedInBytes":null},"warning":null'],
  ])('accepts %s for optional members', (_name, members) => {
    expect(status(members)).toEqual({
      state: 'gatheringResults',
      messageCount: 7,
      recordCount: undefined,
      buckets: [],
      pendingErrors: [],
      pendingWarnings: [],
      scannedBytes: undefined,
      warning: undefined,
    });
  });

  test('accepts more scanned bytes than fifteen digits', () => {
    expect(status('"usageDetails":{"dataScannedInBytes":1234567890123456}').scannedBytes).toBe(1_234_567_890_123_456);
  });

  test.each(['NOT STARTED', 'GATHERING RESULTS FROM SUBQUERIES', 'CANCELLED'])(
    'may have no count while %s',
    (state) => {
      expect(decodeJobStatus(bytes(JSON.stringify({ state }))).messageCount).toBe(0);
      expect(decodeJobStatus(bytes(JSON.stringify({ state, messageCount: 3 }))).messageCount).toBe(3);
    },
  );

  test.each(['GATHERING RESULTS', 'FORCE PAUSED', 'DONE GATHERING RESULTS', 'DONE GATHERING HISTOGRAM', 'RESTING'])(
    'is invalid without a count while %s',
    (state) => {
      expect(() => decodeJobStatus(bytes(JSON.stringify({ state })))).toThrow(
        'messageCount: expected a whole number from 0 on, found nothing',
      );
    },
  );

  test.each([
    ['"recordCount":-1', 'recordCount: expected a whole number from 0 on, found a value of type number'],
    ['"recordCount":1.5', 'recordCount: expected a whole number from 0 on, found a value of type number'],
    ['"recordCount":"many"', 'recordCount: expected a whole number from 0 on, found a value of type string'],
    ['"pendingErrors":"x"', 'pendingErrors: expected an array, found a value of type string'],
    ['"pendingErrors":["a",1]', 'pendingErrors[1]: expected a string, found a value of type number'],
    [
      '"histogramBuckets":[{}]',
      'histogramBuckets[0].startTimestamp: expected milliseconds since the epoch, found nothing',
    ],
    [
      '"histogramBuckets":[{"startTimestamp":1,"length":2,"count":3},{"startTimestamp":1,"length":2}]',
      'histogramBuckets[1].count: expected a whole number from 0 on, found nothing',
    ],
    ['"usageDetails":[]', 'usageDetails: expected an object, found an array'],
    ['"warning":{}', 'warning: expected a string, found a value of type object'],
  ])('%s is invalid, and the message contains the JSON path', (members, message) => {
    expect(() => status(members)).toThrow(message);
  });
});

describe('a page of records (2.6)', () => {
  const page = (text: string) => decodeRecordPage(bytes(text));

  test('keeps values as written, even numbers above 2^53', () => {
    const { records, fields } = page(
      '{"fields":[{"name":"host","fieldType":"string","keyField":true},{"name":"_count","fieldType":"int"}],' +
        '"records":[{"map":{"host":"a","_count":"1.788E12","id":-9223372036854775808,"empty":"","gone":null,"__proto__":"x"}}]}',
    );
    expect(fields.map(({ name, keyField }) => [name, keyField])).toEqual([
      ['host', true],
      ['_count', false],
    ]);
    expect([...(records[0] ?? [])]).toEqual([
      ['host', 'a'],
      ['_count', '1.788E12'],
      ['id', '-9223372036854775808'],
      ['empty', ''],
      ['__proto__', 'x'],
    ]);
  });

  test.each([
    ['{"fields":[]}', 'records: expected an array, found nothing'],
    ['{"records":[{}]}', 'records[0].map: expected an object, found nothing'],
    ['{"records":[{"map":{"a":"1"}},{"map":{"canary":{}}}]}', 'records[1].map.*: expected a string'],
  ])('%s is invalid, and no message contains data', (body, message) => {
    expect(() => page(body)).toThrow(message);
    expect(() => page(body)).not.toThrow(/canary/);
  });
});

describe('a warning without the notice about cookies (2.2, 10.2)', () => {
  const notice =
    'A 404 status (Page Not Found) on a follow-up request may be due to a cookie not accompanying the request';

  test.each([
    [notice, undefined],
    [`${notice}.`, undefined],
    [undefined, undefined],
    ['', undefined],
    [`${notice}. The query was simplified.`, 'The query was simplified.'],
    [`Half of the data is missing!\n${notice}`, 'Half of the data is missing!'],
    ['The field `cookie` was cut off.', 'The field `cookie` was cut off.'],
    ['A lookup table was not found.', 'A lookup table was not found.'],
    ['Send our cookies back, or get a 404.', undefined],
  ])('%s', (warning, news) => {
    expect(withoutCookieNotice(warning)).toBe(news);
  });

  test('is recognised by the text of the creation, in any language', () => {
    const own = 'Bitte Kekse mitsenden; sonst kennen wir Sie nicht.';
    expect(newTextOf(own, own)).toBeUndefined();
    expect(newTextOf(`${own} Das Limit ist nah.`, own)).toBe('Das Limit ist nah.');
    expect(newTextOf('Das Limit ist nah.', own)).toBe('Das Limit ist nah.');
    expect(newTextOf('a warning', 'a')).toBe('a warning');
    expect(newTextOf(notice, undefined)).toBeUndefined();
  });
});
