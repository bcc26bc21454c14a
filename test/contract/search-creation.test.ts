/** Tests the creation of search jobs, on the simulator or on a real deployment. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectError, expectThere, openDeployment, testSimulated } from './contract-test.ts';
import { type Deployment, onSimulator } from './deployment.ts';
import { finishedJob, type JobBody, jobsPath, orderFor, requestJob, startJob } from './job-session.ts';
import { fieldOf, messageFields, type PageMessage } from './page-fields.ts';

let service: Deployment;
beforeAll(async () => {
  service = await openDeployment();
});
afterAll(() => service.close());

/** Runs a search job until it ends. Returns the number of messages found. */
async function countOf(changes: JobBody): Promise<number> {
  const [, { messageCount }] = await finishedJob(service, changes);
  return messageCount;
}

/** Runs a search job until it ends. Returns its messages with the field `_raw`, which a service may omit by default. */
async function messagesOf(changes: JobBody): Promise<readonly PageMessage[]> {
  const [job] = await finishedJob(service, { requiresRawMessages: true, ...changes });
  return (await job.messages()).json.messages;
}

describe('4.1 create a search job', () => {
  test('202 with id, link and warning (2.1, 2.2), and the address in the header Location', async () => {
    const { id, created } = await startJob(service);
    expect(created.status).toBe(202);
    expect(created.headers['content-type']).toMatch(/^application\/json/);
    expect(created.json).toMatchObject({
      id: expect.stringMatching(/./),
      link: { rel: 'self', href: expect.stringMatching(new RegExp(`${jobsPath}/${id}$`)) },
      warning: expect.any(String),
    });
    expect(created.headers['location']).toBe(`${service.baseURL}${jobsPath}/${id}`);
  });

  test('the warning mentions cookies (2.2)', async () => {
    const { created } = await startJob(service);
    expect(created.json.warning).toMatch(/cookie/i);
  });

  test.each(['query', 'from', 'to', 'timeZone'])('400 without %s, which is required', async (member) => {
    expect((await requestJob(service, { [member]: undefined })).status).toBe(400);
  });

  describe('from, to and timeZone', () => {
    const zones = [
      ['UTC', 0],
      ['Asia/Tokyo', 9],
      ['America/Phoenix', -7],
    ] as const;

    test.for(zones)(
      'local date-times of %s select the same range as ms since the epoch',
      async ([timeZone, hoursAhead], { skip }) => {
        const { fromMs, toMs } = service.logs;
        const local = (atMs: number) => new Date(atMs + hoursAhead * 3_600_000).toISOString().slice(0, 19);
        const found = await countOf({ from: local(fromMs), to: local(toMs), timeZone });
        expect(found).toBe(await countOf({}));
        expectThere(skip, found > 0, 'messages');
      },
    );

    test('the time zone does not matter if both times are in ms', async ({ skip }) => {
      const found = await countOf({ timeZone: 'Asia/Tokyo' });
      expect(found).toBe(await countOf({}));
      expectThere(skip, found > 0, 'messages');
    });

    test('timezone is another spelling of timeZone', async ({ skip }) => {
      const { fromMs, toMs } = service.logs;
      const local = (atMs: number) => new Date(atMs + 9 * 3_600_000).toISOString().slice(0, 19);
      const times = { from: local(fromMs), to: local(toMs), timeZone: undefined, timezone: 'Asia/Tokyo' };
      const found = await countOf(times);
      expect(found).toBe(await countOf({}));
      expectThere(skip, found > 0, 'messages');
    });

    test('only messages with a time in the range are found', async ({ skip }) => {
      const { fromMs, toMs } = service.logs;
      const messages = await messagesOf({ from: String(fromMs + 60_000) });
      expectThere(skip, messages.length > 0, 'messages');
      for (const message of messages) {
        expect(Number(fieldOf(message, '_messagetime'))).toBeGreaterThanOrEqual(fromMs + 60_000);
        expect(Number(fieldOf(message, '_messagetime'))).toBeLessThanOrEqual(toMs);
      }
    });
  });

  describe('byReceiptTime', () => {
    test('true searches by receipt time', async ({ skip }) => {
      const { fromMs, toMs } = service.logs;
      const messages = await messagesOf({ byReceiptTime: true });
      expectThere(skip, messages.length > 0, 'messages');
      for (const message of messages) {
        expect(Number(fieldOf(message, '_receipttime'))).toBeGreaterThanOrEqual(fromMs);
        expect(Number(fieldOf(message, '_receipttime'))).toBeLessThanOrEqual(toMs);
      }
    });

    test('false is the default', async ({ skip }) => {
      const found = await countOf({});
      expect(await countOf({ byReceiptTime: false })).toBe(found);
      // In the simulator, some messages are received minutes after their message time, so a search by receipt time
      // finds a different number of messages.
      expectThere(skip, (await countOf({ byReceiptTime: true })) !== found, 'messages that are received late');
    });
  });

  describe('autoParsingMode', () => {
    const modes = ['AutoParse', 'Manual', 'performance', 'intelligent', 'verbose'];
    const known = new Set(messageFields.map(({ name }) => name));
    const parsedNames = ({ map }: PageMessage) => Object.keys(map).filter((name) => !known.has(name));
    const isJson = ({ map }: PageMessage) => map['_raw']?.startsWith('{') === true;

    test.each(modes)('%s is accepted (9.2)', async (autoParsingMode) => {
      expect((await startJob(service, { autoParsingMode })).created.status).toBe(202);
    });

    test('Manual extracts no fields from JSON messages, and is the default', async ({ skip }) => {
      const messages = [...(await messagesOf({ autoParsingMode: 'Manual' })), ...(await messagesOf({}))];
      skip(!onSimulator && !messages.some(isJson), 'needs messages in JSON');
      expect(messages.some(isJson)).toBe(true);
      expect(messages.flatMap(parsedNames)).toEqual([]);
    });

    test('AutoParse extracts the fields of JSON messages', async ({ skip }) => {
      const messages = (await messagesOf({ autoParsingMode: 'AutoParse' })).filter(isJson);
      skip(!onSimulator && messages.length === 0, 'needs messages in JSON');
      expect(messages.length).toBeGreaterThan(0);
      for (const message of messages) {
        const members = Object.entries(JSON.parse(message.map['_raw'] as string));
        const plain = members.filter(([, value]) => typeof value === 'string' || typeof value === 'number');
        for (const [name, value] of plain) expect(message.map[name]).toBe(String(value));
      }
    });
  });

  describe('requiresRawMessages', () => {
    const aggregation = () => ({ query: `${service.logs.query} | count by _sourceHost` });

    test('true: messages of an aggregation have _raw', async ({ skip }) => {
      const messages = await messagesOf({ ...aggregation(), requiresRawMessages: true });
      expectThere(skip, messages.length > 0, 'messages');
      for (const { map } of messages) expect(map['_raw']).toEqual(expect.any(String));
    });

    test.for([false, undefined])('%s: an aggregation has no raw messages', async (requiresRawMessages, { skip }) => {
      const [job] = await finishedJob(service, { ...aggregation(), requiresRawMessages });
      const page = await job.messages();
      // The specification allows a page without messages, or messages without the field `_raw`.
      if (page.status !== 200) {
        expectError(page, 400, 'raw.messages.not.available');
        return;
      }
      expectThere(skip, page.json.messages.length > 0, 'messages');
      for (const { map } of page.json.messages) expect(map).not.toHaveProperty('_raw');
    });
  });

  describe('the body is UTF-8 JSON with an escaped query', () => {
    const phrase = 'café naïve Łódź';
    const query = `"${phrase}"`;

    test('characters beyond ASCII and their escapes are equivalent', async () => {
      const plain = JSON.stringify(orderFor(service, { query }));
      const escaped = plain.replaceAll(
        /[\u0080-\uffff]/g,
        (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
      );
      expect(escaped).not.toBe(plain);
      for (const body of [plain, escaped]) {
        expect((await startJob(service, {}, { body })).created.status).toBe(202);
      }
    });

    test('the messages contain the text of the query', async ({ skip }) => {
      const messages = await messagesOf({ query });
      skip(!onSimulator && messages.length === 0, 'needs messages with characters beyond ASCII');
      expect(messages.length).toBeGreaterThan(0);
      for (const { map } of messages) expect(map['_raw']).toContain(phrase);
    });

    test('quotes and backslashes', async () => {
      const { created } = await startJob(service, { query: '"said \\"no\\"" OR "C:\\\\temp"' });
      expect(created.status).toBe(202);
    });
  });

  test.each(['text/plain', 'application/xml', undefined])('415 for the content type %s (7.1)', async (type) => {
    expectError(await requestJob(service, {}, { headers: { 'content-type': type } }), 415, 'contenttype.invalid');
  });
});

describe('7.2 rejected search jobs', () => {
  test.each([
    ['invalid.timestamp.from', { from: 'yesterday' }],
    ['invalid.timestamp.to', { to: '2026-13-01T00:00:00' }],
    ['unknown.timezone', { timeZone: 'Nowhere/City' }],
    ['empty.timezone', { timeZone: '' }],
    ['empty.timezone', { timeZone: '  ' }],
    ['no.query', { query: '' }],
    ['no.query', { query: undefined }],
    ['parse.error', { query: '* | | count' }],
  ])('400 %s for %o', async (code, changes) => {
    expectError(await requestJob(service, changes), 400, code);
  });

  test('400 to.smaller.than.from if from is later than to', async () => {
    const { fromMs, toMs } = service.logs;
    expectError(await requestJob(service, { from: String(toMs), to: String(fromMs) }), 400, 'to.smaller.than.from');
  });

  testSimulated(
    '400 unknown.time.type for a time that is neither text nor number',
    { why: 'would need to know which types of times the service refuses' },
    async (simulator) => {
      expectError(await requestJob(simulator, { from: true }), 400, 'unknown.time.type');
      expectError(await requestJob(simulator, { to: ['2026-11-01T00:00:00'] }), 400, 'unknown.time.type');
    },
  );

  testSimulated(
    '400 generic for other errors, such as a body that is not UTF-8 JSON (4.1)',
    { why: 'would need to know which errors have no code of their own' },
    async (simulator) => {
      expectError(await requestJob(simulator, {}, { body: '{' }), 400, 'generic');
      const latin1 = Buffer.from(JSON.stringify(orderFor(simulator, { query: 'caf\u00e9' })), 'latin1');
      expectError(await requestJob(simulator, {}, { body: latin1 }), 400, 'generic');
      const headers = { 'content-type': 'application/json; charset=iso-8859-1' };
      expectError(await requestJob(simulator, {}, { body: latin1, headers }), 400, 'generic');
      expectError(await requestJob(simulator, { byReceiptTime: 'perhaps' }), 400, 'generic');
    },
  );
});
