/** Tests pages over a real connection: slow readers, and truncated, slow or aborted pages. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { HttpsClient, type SendOptions } from '../../../test/contract/https-client.ts';
import { textOf } from '../../base/body.ts';
import { certificatesIn } from '../../certificates.ts';
import type { LogData } from '../../log-data/log-data.ts';
import { madeUpData } from '../../log-data/made-up/made-up-data.ts';
import { madeUpSettings } from '../../log-data/made-up/made-up-settings.ts';
import { LogFiles } from '../../log-data/stored/log-files.ts';
import { ServiceModel } from '../../model.ts';
import { parseQuery } from '../../query/query.ts';
import type { JournalEntry } from '../../requests/journal.ts';
import type { FaultScenario } from '../../scenario/scenario.ts';
import { startServer } from '../../server.ts';
import { RowData } from '../row-data.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'logfleet-pages-test-'));
const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
afterAll(() => rmSync(folder, { recursive: true }));

const credentials = 'simulator:simulator-key';
const jobs = '/v1/search/jobs';
const pageUnder = '/messages?offset=0&limit=10000';

interface ServedSearch {
  readonly journal: readonly JournalEntry[];
  /** Sends a request for the test's search job. */
  ask(under: string, options?: SendOptions): ReturnType<HttpsClient['send']>;
  /** Requests a page. Resolves as soon as the status and headers have arrived, before the body is read. */
  openPage(): Promise<IncomingMessage>;
}

async function start(logData: LogData, faults: Readonly<Record<string, FaultScenario>> = {}): Promise<ServedSearch> {
  const { caFile, cert, key } = await certificatesIn(path.join(folder, 'tls'), systemClock.now());
  const journal: JournalEntry[] = [];
  const scenario = {
    limits: { requestsPerSecond: 0 },
    search: { notStartedFor: '0s', duration: '0s', cookies: { names: ['node', 'balancer'] } },
    faults,
  };
  const startMs = systemClock.now();
  const model = new ServiceModel(scenario, { startMs, logData, journal: (entry) => journal.push(entry) });
  const server = await startServer({ model, clock: systemClock, host: '127.0.0.1', port: 0, cert, key });
  closers.push(() => server.close());
  const ca = readFileSync(caFile, 'utf8');
  const client = new HttpsClient({ baseURL: server.baseURL, ca, credentials });
  closers.push(() => client.close());
  const body = JSON.stringify({ query: '*', from: 0, to: 2_000_000_000_000, timeZone: 'UTC' });
  const created = await client.send('POST', jobs, { body });
  expect(created.status).toBe(202);
  const setCookies = created.headers['set-cookie'] as unknown as readonly string[];
  expect(setCookies).toHaveLength(2);
  const cookie = setCookies.map((line) => line.split(';')[0]).join('; ');
  const headers = { cookie };
  const under = `${jobs}/${created.json.id}`;
  return {
    journal,
    ask: (rest, options = {}) => client.send('GET', under + rest, { headers, ...options }),
    openPage: () =>
      new Promise((resolve, reject) => {
        const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
        const options = { ca, agent: false, headers: { ...headers, authorization, accept: 'application/json' } };
        httpsRequest(server.baseURL + under + pageUnder, options, resolve)
          .on('error', reject)
          .end();
      }),
  };
}

const hundred = new RowData(Array.from({ length: 100 }, (_, index) => ({ at: index, raw: `message ${index}, ü` })));

/**
 * Returns log data with a single page of 64 MB, which is more than the socket buffers can hold. `made` is the number of
 * chunks created so far.
 */
function largePage(): LogData & { readonly made: number } {
  const piece = Buffer.alloc(512 * 1024, ' ');
  let made = 0;
  const pieces = function* () {
    for (; made < 128; ) {
      made++;
      yield piece;
    }
  };
  const page = { rows: 1, bytes: 128 * piece.length, pieces };
  const noMessages = new LogFiles().data();
  return {
    fields: noMessages.fields,
    search: (range, filter) => Object.assign(noMessages.search(range, filter), { page: () => page }),
    get made() {
      return made;
    },
  };
}

async function readAll(response: IncomingMessage): Promise<number> {
  let bytes = 0;
  for await (const piece of response) bytes += (piece as Buffer).length;
  return bytes;
}

describe('a page', () => {
  test('arrives completely, with the announced length', async () => {
    const { ask } = await start(hundred);
    const { status, headers, text, json } = await ask(pageUnder);
    expect(status).toBe(200);
    expect(Number(headers['content-length'])).toBe(Buffer.byteLength(text));
    expect(json.messages).toHaveLength(100);
    expect(json.messages[0].map._raw).toBe('message 99, ü');
  });

  test('is created at the pace of its reader, while other requests get responses', async () => {
    const data = largePage();
    const { ask, openPage, journal } = await start(data);
    const response = await openPage();
    for (let count = 0; count < 20; count++) expect((await ask('')).status).toBe(200);
    expect(data.made).toBeLessThan(128);
    expect(await readAll(response)).toBe(Number(response.headers['content-length']));
    expect(data.made).toBe(128);
    await expect.poll(() => journal.at(-1), { interval: 1 }).toMatchObject({ operation: 'listMessages', status: 200 });
  });

  test('is correct among many concurrent pages', async () => {
    const options = { fromMs: 1_000_000_000_000, toMs: 1_000_000_100_000, amount: { messages: 9_000 } };
    const data = madeUpData(madeUpSettings(options));
    const search = data.search({ ...options, byReceiptTime: false }, parseQuery('*').filter);
    search.advance(options.fromMs, 9_000);
    const { ask } = await start(data);
    const offsets = [0, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000];
    const pages = await Promise.all(offsets.map((offset) => ask(`/messages?offset=${offset}&limit=1000`)));
    const bodies = pages.map(({ text }) => text.slice(text.indexOf('"messages":') + 12, -2));
    expect(bodies).toEqual(offsets.map((offset) => textOf(search.page(offset, 1_000, 1e9, true))));
  });

  test('is not continued after its reader has aborted it', async () => {
    const data = largePage();
    const { openPage, journal } = await start(data);
    const response = await openPage();
    response.destroy();
    await expect.poll(() => journal.at(-1), { interval: 1 }).toMatchObject({ operation: 'listMessages', status: 0 });
    expect(data.made).toBeLessThan(128);
  });
});

describe('a fault on a page', () => {
  const only = { operations: ['listMessages'] } as const;

  test('truncates it', async () => {
    const { ask } = await start(hundred, { cut: { kind: 'truncate', ...only } });
    const { broken, text, headers } = await ask(pageUnder);
    expect(broken).toBe(true);
    expect(Buffer.byteLength(text)).toBe(Math.floor(Number(headers['content-length']) / 2));
  });

  test('truncates a large one', async () => {
    const { openPage } = await start(largePage(), { cut: { kind: 'truncate', ...only } });
    const response = await openPage();
    let bytes = 0;
    response.on('data', (piece: Buffer) => {
      bytes += piece.length;
    });
    await new Promise((resolve) => response.on('error', resolve));
    expect(bytes).toBe(Math.floor(Number(response.headers['content-length']) / 2));
  });

  test('slows it down', async () => {
    const { ask } = await start(hundred, { slow: { kind: 'drip', bytesPerSecond: 200_000, ...only } });
    const { json } = await ask(pageUnder);
    expect(json.messages).toHaveLength(100);
  });

  test('resets it', async () => {
    const { ask } = await start(hundred, { lost: { kind: 'reset', effect: true, ...only } });
    await expect(ask(pageUnder)).rejects.toMatchObject({ code: 'ECONNRESET' });
  });
});
