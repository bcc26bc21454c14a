/** Tests the service's result pages, with messages or aggregation rows, on the simulator or on a real deployment. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hourMs } from '../../src/base/time-units.ts';
import { expectError, expectNoPage, expectThere, openDeployment, testSimulated } from './contract-test.ts';
import { type Deployment, onSimulator } from './deployment.ts';
import { type ContractJob, createJob, finishedJob, jobsPath, startJob } from './job-session.ts';
import { type FieldDescription, fieldOf, messageFields, type PageMessage } from './page-fields.ts';
import { logDataOf, logDay } from './simulated-deployment.ts';

let service: Deployment;
beforeAll(async () => {
  service = await openDeployment();
});
afterAll(() => service.close());

const aggregation = (by = '_sourceHost') => ({ query: `${service.logs.query} | count by ${by}` });
const timeOf = (message: PageMessage) => Number(fieldOf(message, '_messagetime'));

describe('4.3 page of messages', () => {
  let job: ContractJob;
  let messages: readonly PageMessage[];
  let fields: readonly FieldDescription[];
  beforeAll(async () => {
    job = await createJob(service);
    await job.pollUntilDone();
    ({ messages, fields } = (await job.messages(0, 100)).json);
  });
  afterAll(async () => {
    await job.delete();
  });

  test('200 with warning, fields and messages, each with only a map (2.5)', async ({ skip }) => {
    const { status, headers, json } = await job.messages();
    expect(status).toBe(200);
    expect(headers['content-type']).toMatch(/^application\/json/);
    expect(json).toMatchObject({ warning: expect.any(String), fields: expect.any(Array), messages: expect.any(Array) });
    expectThere(skip, json.messages.length > 0, 'messages');
    for (const message of json.messages) expect(message).toEqual({ map: expect.any(Object) });
    if (onSimulator) expect(json.messages).toHaveLength(100);
  });

  test('fields have name, type and keyField, which is false for fields of messages (2.4)', ({ skip }) => {
    expectThere(skip, fields.length > 0, 'messages');
    for (const field of fields) {
      expect(field).toMatchObject({ name: expect.any(String), fieldType: expect.any(String), keyField: false });
    }
  });

  test.for(messageFields)('$name is a $fieldType (2.5)', ({ name, fieldType }, { skip }) => {
    const field = fields.find((each) => (onSimulator ? each.name === name : RegExp(`^${name}$`, 'i').test(each.name)));
    const values = messages.flatMap((message) => fieldOf(message, name) ?? []);
    expectThere(skip, field !== undefined && values.length > 0, 'messages with this field');
    expect(field?.fieldType).toBe(fieldType);
    if (onSimulator) expect(values).toHaveLength(messages.length);
    // The service may return an empty string for a field without a value, even if the field is numeric.
    if (fieldType !== 'string') for (const value of values) expect(value).toMatch(/^(?:-?\d+)?$/);
  });

  test('every value is a string, even numbers (2.5)', ({ skip }) => {
    expectThere(skip, messages.length > 0, 'messages');
    for (const { map } of messages) for (const value of Object.values(map)) expect(value).toEqual(expect.any(String));
  });

  test('messages are ordered by _messagetime, newest first', async ({ skip }) => {
    const times = (await job.messages(0, 1_000)).json.messages.map(timeOf);
    expectThere(skip, new Set(times).size > 1, 'messages with several times');
    for (const time of times) expect(time).toEqual(expect.any(Number));
    expect(times).toEqual([...times].sort((left, right) => right - left));
  });

  test('offset is the first message, and limit the maximum number of messages', async ({ skip }) => {
    const idsOf = async (offset: number, limit: number) =>
      (await job.messages(offset, limit)).json.messages.map((message: PageMessage) => fieldOf(message, '_messageid'));
    const six = await idsOf(0, 6);
    expect(six.length).toBeLessThanOrEqual(6);
    expectThere(skip, six.length === 6, 'six messages');
    expect(await idsOf(2, 4)).toEqual(six.slice(2));
    expect(await idsOf(0, 1)).toEqual(six.slice(0, 1));
  });

  test('an offset beyond the last message returns an empty page', async () => {
    expect((await job.messages(50_000_000, 10)).json.messages).toEqual([]);
  });

  testSimulated(
    'a page of a running job contains the messages found so far',
    { why: 'needs searches with a known speed', scenario: { search: { duration: '10s' } } },
    async (simulator) => {
      const running = await startJob(simulator);
      expect((await running.messages()).json.messages).toEqual([]);
      await simulator.pass(5_000);
      const { messageCount } = (await running.status()).json;
      expect((await running.messages(0, 10_000)).json.messages).toHaveLength(messageCount);
      expect(messageCount).toBeGreaterThan(0);
    },
  );
});

describe('4.4 page of records', () => {
  test('200 with warning, fields and records, each with only a map (2.6)', async ({ skip }) => {
    const [job, { recordCount }] = await finishedJob(service, aggregation());
    const { status, headers, json } = await job.records();
    expect(status).toBe(200);
    expect(headers['content-type']).toMatch(/^application\/json/);
    expect(json).toMatchObject({ warning: expect.any(String), fields: expect.any(Array), records: expect.any(Array) });
    expect(json.records).toHaveLength(Math.min(recordCount, 100));
    expectThere(skip, json.records.length > 0, 'messages');
    for (const record of json.records) expect(record).toEqual({ map: expect.any(Object) });
    if (onSimulator) expect(json.records.length).toBeGreaterThan(1);
  });

  test('keyField is true for grouping fields, and computed fields have their type (2.4, 2.6)', async ({ skip }) => {
    const [job] = await finishedJob(service, aggregation());
    const { fields, records } = (await job.records()).json;
    expectThere(skip, records.length > 0, 'messages');
    expect(fields).toHaveLength(2);
    expect(fields.find(({ name }: FieldDescription) => /^_sourcehost$/i.test(name))).toMatchObject({
      fieldType: 'string',
      keyField: true,
    });
    expect(fields).toContainEqual({ name: '_count', fieldType: 'int', keyField: false });
    const names = fields.map(({ name }: FieldDescription) => name).sort();
    for (const { map } of records) expect(Object.keys(map).sort()).toEqual(names);
  });

  test('every value is a string, even numbers (2.6), and the counts add up to the messages', async ({ skip }) => {
    const [job, { messageCount, recordCount }] = await finishedJob(service, aggregation());
    const { records } = (await job.records(0, 10_000)).json;
    expectThere(skip, records.length > 0, 'messages');
    for (const { map } of records) for (const value of Object.values(map)) expect(value).toEqual(expect.any(String));
    const counts = records.map(({ map }: PageMessage) => Number(map['_count']));
    if (recordCount <= 10_000) expect(counts.reduce((sum: number, count: number) => sum + count, 0)).toBe(messageCount);
  });

  test('offset is the first record, and limit the maximum number of records', async ({ skip }) => {
    const [job] = await finishedJob(service, aggregation());
    const six = (await job.records(0, 6)).json.records;
    expect((await job.records(50_000_000, 10)).json.records).toEqual([]);
    expectThere(skip, six.length > 2, 'messages from three hosts');
    if (onSimulator) expect(six).toHaveLength(6);
    expect((await job.records(2, 4)).json.records).toEqual(six.slice(2));
  });

  test('a query with an aggregation has messages, too', async ({ skip }) => {
    const [job, { messageCount }] = await finishedJob(service, { ...aggregation(), requiresRawMessages: true });
    const { messages } = (await job.messages(0, 10)).json;
    expectThere(skip, messageCount > 0, 'messages');
    expect(messages).toHaveLength(Math.min(messageCount, 10));
  });
});

describe('7.4 rejected pages', () => {
  const wrong = [
    ['offset.missing', 'limit=10'],
    ['offset.negative', 'offset=-1&limit=10'],
    ['limit.missing', 'offset=0'],
    ['limit.zero', 'offset=0&limit=0'],
    ['limit.negative', 'offset=0&limit=-1'],
  ] as const;

  test.each(wrong)('400 %s for messages?%s', async (code, parameters) => {
    expectError(await (await startJob(service)).send('GET', `/messages?${parameters}`), 400, code);
  });

  test.each(wrong)('400 %s for records?%s', async (code, parameters) => {
    expectError(await (await startJob(service, aggregation())).send('GET', `/records?${parameters}`), 400, code);
  });

  test.each(['messages', 'records'])('400 jobid.invalid for %s of a job that never existed', async (kind) => {
    const path = `${jobsPath}/0000000000000000/${kind}?offset=0&limit=10`;
    expectNoPage(await service.send('GET', path), 400);
  });

  test('400 no.records.not.an.aggregation.query for records of a query without one (4.4)', async () => {
    const [job] = await finishedJob(service);
    expectError(await job.records(), 400, 'no.records.not.an.aggregation.query');
  });
});

describe('8 limits of pages', () => {
  const twoHours = { from: String(logDay.fromMs), to: String(logDay.fromMs + 2 * hourMs) };

  test('page of messages: at most 10,000 for any limit (4.3)', async ({ skip }) => {
    const [job, { messageCount }] = await finishedJob(service, onSimulator ? twoHours : {});
    skip(!onSimulator && messageCount <= 10_000, 'needs more than 10,000 messages');
    expect(messageCount).toBeGreaterThan(10_000);
    expect((await job.messages(0, 10_000)).json.messages).toHaveLength(10_000);
    expect((await job.messages(0, messageCount)).json.messages).toHaveLength(10_000);
    const rest = Math.min(messageCount - 10_000, 10_000);
    expect((await job.messages(10_000, 10_000)).json.messages).toHaveLength(rest);
  });

  testSimulated(
    'page of messages: at most 100 MB, so a page may have fewer messages than requested (4.3)',
    {
      why: 'needs more than 100 MB of messages',
      logData: logDataOf({
        amount: { messages: 16_000 },
        size: { typicalBytes: 65_536, largeShare: 1, largestBytes: 262_144 },
      }),
    },
    async (simulator) => {
      const [job, { messageCount }] = await finishedJob(simulator, twoHours);
      const { text } = await job.messages(0, messageCount);
      const rows = text.split('{"map":').length - 1;
      expect(rows).toBeLessThan(messageCount);
      expect(text.length).toBeLessThan(101_000_000);
      expect(text.length).toBeGreaterThan(99_000_000);
      const rest = await job.messages(rows, messageCount);
      expect(rest.json.messages).toHaveLength(messageCount - rows);
    },
  );

  testSimulated(
    'page of records: at most 10,000 for any limit (4.4)',
    { why: 'needs more than 10,000 records' },
    async (simulator) => {
      const [job, { recordCount }] = await finishedJob(simulator, { ...aggregation('_messageid'), ...twoHours });
      expect(recordCount).toBeGreaterThan(15_000);
      expect((await job.records(0, 10_000)).json.records).toHaveLength(10_000);
      expect((await job.records(0, 15_000)).json.records).toHaveLength(10_000);
      expect((await job.records(10_000, 10_000)).json.records).toHaveLength(recordCount - 10_000);
    },
  );
});
