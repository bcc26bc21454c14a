/** Tests the simulated service on a virtual clock: latency, faults and aborted requests. */
import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../src/base/random.ts';
import { VirtualClock } from '../../test/support/virtual-clock.ts';
import {
  type ConnectionReset,
  type InProcessRequest,
  type InProcessResponse,
  InProcessService,
  type Network,
} from '../in-process.ts';
import { ServiceModel } from '../model.ts';
import type { JournalEntry } from '../requests/journal.ts';
import type { FaultScenario, Scenario } from '../scenario/scenario.ts';
import { first, root, target, threeCollectors } from './simulated-service.ts';

type TimedOutcome = { readonly atMs: number } & (
  | { readonly response: InProcessResponse }
  | { readonly error: unknown }
);

class Bench {
  readonly clock = new VirtualClock();
  readonly journal: JournalEntry[] = [];
  readonly service: InProcessService;

  constructor(scenario: Scenario = {}, network: Network = { latencyMs: 10 }) {
    const model = new ServiceModel(
      { ...threeCollectors, ...scenario },
      { startMs: this.clock.now(), journal: (entry) => this.journal.push(entry) },
    );
    this.service = new InProcessService(model, this.clock, network);
  }

  /** Sends a request. Sets `outcome` in the returned object as soon as the client learns the outcome. */
  send(signal?: AbortSignal, request: Partial<InProcessRequest> = {}): { outcome: TimedOutcome | undefined } {
    const sent: { outcome: TimedOutcome | undefined } = { outcome: undefined };
    this.service
      .request({
        method: 'GET',
        path: `${root}/targets`,
        headers: { Authorization: `Basic ${Buffer.from('simulator:simulator-key').toString('base64')}` },
        ...request,
        ...(signal ? { signal } : {}),
      })
      .then(
        (response) => {
          sent.outcome = { response, atMs: this.clock.monotonic() };
        },
        (error) => {
          sent.outcome = { error, atMs: this.clock.monotonic() };
        },
      );
    return sent;
  }

  /**
   * Returns the start time, end time and status of each request in the journal. Times are in ms since the service
   * started.
   */
  spans(): [number, number, number][] {
    const startMs = this.service.model.startMs;
    return this.journal.map(({ at, end, status }) => [at - startMs, end - startMs, status]);
  }
}

const fault = (kind: FaultScenario['kind'], rest: Partial<FaultScenario> = {}): Scenario => ({
  faults: { a: { kind, ...rest } },
});

test('a request and its response are both delayed by the latency', async () => {
  const bench = new Bench({ latency: '30ms' });
  const sent = bench.send();
  await bench.clock.advance(1_000);
  expect(sent.outcome).toMatchObject({ atMs: 50, response: { status: 200 } });
  expect(bench.spans()).toEqual([[10, 40, 200]]);
});

describe('faults', () => {
  test('a reset connection rejects with ECONNRESET', async () => {
    const bench = new Bench(fault('reset', { delay: '5s' }));
    const sent = bench.send();
    await bench.clock.advance(60_000);
    expect(sent.outcome).toMatchObject({ atMs: 5_020, error: { code: 'ECONNRESET' } });
    expect(bench.spans()).toEqual([[10, 5_010, 0]]);
  });

  test('a truncated body rejects with the received part', async () => {
    const bench = new Bench(fault('truncate', { nth: [1] }));
    const [sent, whole] = [bench.send(), bench.send()];
    await bench.clock.advance(60_000);
    const { error } = sent.outcome as { error: ConnectionReset };
    const { body } = (whole.outcome as { response: InProcessResponse }).response;
    expect(error).toMatchObject({ code: 'ECONNRESET', begun: { status: 200 } });
    expect(Buffer.from(error.begun?.bytes ?? []).toString()).toBe(body.slice(0, Math.floor(body.length / 2)));
  });

  test('a slow response takes the time of its bytes', async () => {
    const bench = new Bench(fault('drip', { bytesPerSecond: 10 }));
    const sent = bench.send();
    await bench.clock.advance(60_000);
    const { atMs, response } = sent.outcome as { atMs: number; response: InProcessResponse };
    expect(atMs).toBe(20 + response.body.length * 100);
  });

  test('a stalled request lasts until its client aborts it, and counts as in flight until the service learns of the abort', async () => {
    const bench = new Bench(fault('stall'));
    const giveUp = new AbortController();
    const sent = bench.send(giveUp.signal);
    await bench.clock.advance(60_000);
    expect(sent.outcome).toBeUndefined();
    giveUp.abort(new Error('too late'));
    await bench.clock.advance(1_000);
    expect(sent.outcome).toMatchObject({ atMs: 60_000, error: { message: 'too late' } });
    expect(bench.spans()).toEqual([[10, 60_010, 0]]);
  });
});

describe('an aborted request', () => {
  test('is not sent if it was already aborted', async () => {
    const bench = new Bench();
    const sent = bench.send(AbortSignal.abort('never'));
    await bench.clock.advance(1_000);
    expect(sent.outcome).toMatchObject({ error: 'never' });
    expect(bench.journal).toEqual([]);
  });

  test('takes effect if it is aborted after it was sent', async () => {
    const bench = new Bench();
    const giveUp = new AbortController();
    bench.send(giveUp.signal, {
      method: 'POST',
      path: root,
      headers: {
        'Content-Type': 'application/json',
        Authorization: `Basic ${Buffer.from('simulator:simulator-key').toString('base64')}`,
      },
      body: JSON.stringify({ collectorId: first, toVersion: target }),
    });
    await bench.clock.advance(5);
    giveUp.abort('changed my mind');
    await bench.clock.advance(1_000);
    expect(bench.service.model.counters().tasksAccepted).toBe(1);
    expect(bench.spans()).toEqual([[10, 10, 0]]);
  });

  test('stays in flight while the service is busy', async () => {
    const bench = new Bench({ latency: '1s' });
    const giveUp = new AbortController();
    bench.send(giveUp.signal);
    await bench.clock.advance(100);
    giveUp.abort('enough');
    await bench.clock.advance(5_000);
    expect(bench.spans()).toEqual([[10, 1_010, 0]]);
  });

  test('does not count as in flight if a fault would have stalled it and it is aborted before it arrives', async () => {
    const bench = new Bench(fault('stall'));
    const giveUp = new AbortController();
    bench.send(giveUp.signal);
    giveUp.abort('at once');
    await bench.clock.advance(1_000);
    expect(bench.spans()).toEqual([[10, 10, 0]]);
  });

  test('does not count as in flight if a fault stalls it and its abort arrives before it', async () => {
    const draws = [0.8, 0];
    const random = { next: () => draws.shift() ?? 0 };
    const bench = new Bench(fault('stall'), { latencyMs: 10, jitterMs: 50, random });
    const giveUp = new AbortController();
    bench.send(giveUp.signal);
    giveUp.abort('at once');
    await bench.clock.advance(1_000);
    expect(bench.spans()).toEqual([[50, 50, 0]]);
  });
});

test('jitter comes from the generator, and is the same in each run', async () => {
  const run = async () => {
    const bench = new Bench(
      { limits: { requestsPerSecond: 0 } },
      { latencyMs: 10, jitterMs: 50, random: seededRandom(7) },
    );
    for (let count = 0; count < 5; count++) bench.send();
    await bench.clock.advance(1_000);
    return bench.spans();
  };
  const spans = await run();
  expect(new Set(spans.map(([at]) => at)).size).toBe(5);
  for (const [at] of spans) expect(at >= 10 && at <= 60).toBe(true);
  expect(await run()).toEqual(spans);
});

test('a search runs from creation to deletion with the cookies set at its creation', async () => {
  const bench = new Bench({ logs: { messages: 50 }, search: { duration: '2s' }, limits: { requestsPerSecond: 0 } });
  const authorization = `Basic ${Buffer.from('simulator:simulator-key').toString('base64')}`;
  const ask = async (method: string, under: string, rest: Partial<InProcessRequest> = {}) => {
    const sent = bench.send(undefined, { method, path: `/api/v1/search/jobs${under}`, ...rest });
    await bench.clock.advance(100);
    return (sent.outcome as { readonly response: InProcessResponse }).response;
  };
  const startMs = bench.service.model.startMs;
  const order = { query: '*', from: startMs - 86_400_000, to: startMs, timeZone: 'UTC' };
  const headers = { authorization, 'Content-Type': 'application/json' };
  const created = await ask('POST', '', { headers, body: JSON.stringify(order) });
  expect(created).toMatchObject({ status: 202, cookies: [expect.stringMatching(/^search-session=/)] });
  const { id } = JSON.parse(created.body);
  expect(await ask('GET', `/${id}`)).toMatchObject({ status: 404, cookies: [] });
  const withCookies = { headers: { authorization, Cookie: created.cookies[0]?.split(';')[0] ?? '' } };
  await bench.clock.advance(2_000);
  expect(JSON.parse((await ask('GET', `/${id}`, withCookies)).body)).toMatchObject({ messageCount: 50 });
  const page = await ask('GET', `/${id}/messages?offset=0&limit=100`, withCookies);
  expect(JSON.parse(page.body).messages).toHaveLength(50);
  expect(await ask('DELETE', `/${id}`, withCookies)).toMatchObject({ status: 200 });
});
