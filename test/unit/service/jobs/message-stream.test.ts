/** Tests how the client reads pages of messages (section 4.3 of docs/service.md, B2, B3). */
import { describe, expect, test } from 'vitest';
import type { PageRow } from '../../../../src/service/pages/page-row.ts';
import { RecordingReceiver } from '../../../support/recording-receiver.ts';
import type { ResponseStep, TransportStep } from '../../../support/scripted-transport.ts';
import { failureOf, good, goodBodies, harness, messages, settled } from '../requests/harness.ts';

const page = (more: Partial<ResponseStep> = {}): ResponseStep => ({
  kind: 'response',
  status: 200,
  body: messages(20, 100),
  ...more,
});
const query = { offset: 20, limit: 100 };

test('rows are passed on unchanged while the page still arrives', async () => {
  const { clock, job } = harness([page({ pieceBytes: 1_000, pieceMs: 100 })]);
  const log = new RecordingReceiver();
  const reading = job.listMessages(query, log);
  await clock.advance(500);
  expect(log.rows.length).toBeGreaterThan(10);
  expect(log.rows.length).toBeLessThan(100);
  expect(await settled(clock, reading)).toMatchObject({ value: { rows: 100, bytes: messages(20, 100).length } });
  expect(log.ids).toEqual(Array.from({ length: 100 }, (_, index) => String(20 + index)));
});

describe('time limits', () => {
  const limits: readonly [string, TransportStep, number, number][] = [
    ['for the head', page({ afterMs: 120_000 }), 30_000, 0],
    ['for a pause between two chunks', page({ breaksAfter: { bytes: 3_000 } }), 10_000, 1],
    ['for the whole page, even if chunks arrive steadily', page({ pieceBytes: 1, pieceMs: 1_000 }), 60_000, 0],
    [
      'for the whole page, if it is only slow',
      page({ body: messages(20, 5_000), pieceBytes: 1_000, pieceMs: 1_000 }),
      60_000,
      1,
    ],
    [
      'for a refusal that does not end',
      { kind: 'response', status: 503, body: 'x'.repeat(999), pieceBytes: 1, pieceMs: 1_000 },
      60_000,
      0,
    ],
  ];

  test.each(limits)('%s', async (_name, step, atMs, minRows) => {
    const world = harness([step]);
    const log = new RecordingReceiver();
    const error = await failureOf(world, world.job.listMessages(query, log));
    expect(error).toMatchObject({ code: 'service.timeout', effect: 'none', handling: { kind: 'backoff' } });
    expect(world.clock.monotonic()).toBe(atMs);
    expect(log.rows.length).toBeGreaterThanOrEqual(minRows);
    expect(world.budget.ends).toEqual([{ kind: 'abandoned' }]);
    expect(world.clock.next()).toBeUndefined();
  });

  test('shorter pauses between chunks are accepted', async () => {
    const { clock, job } = harness([page({ pieceBytes: 2_500, pieceMs: 9_000 })]);
    expect(await settled(clock, job.listMessages(query, new RecordingReceiver()))).toMatchObject({
      value: { rows: 100 },
    });
  });
});

/** Sink that accepts `max` rows, and then blocks until the test calls `open`. */
class BlockingSink extends RecordingReceiver {
  max: number;
  #opened = Promise.withResolvers<void>();

  constructor(max: number) {
    super();
    this.max = max;
  }

  drained(): Promise<void> | undefined {
    return this.rows.length < this.max ? undefined : this.#opened.promise;
  }

  open(max: number): void {
    this.max = max;
    this.#opened.resolve();
    this.#opened = Promise.withResolvers();
  }
}

describe('a sink that accepts no more data (B3)', () => {
  const inPieces = page({ pieceBytes: 1_000, pieceMs: 1 });

  test('pauses the page, and gets the rest when it is drained', async () => {
    const { clock, job } = harness([inPieces]);
    const gate = new BlockingSink(30);
    const reading = job.listMessages(query, gate);
    await clock.advance(4_900);
    const held = gate.rows.length;
    expect(held).toBeLessThan(60);
    gate.open(1_000);
    expect(await settled(clock, reading)).toMatchObject({ value: { rows: 100 } });
  });

  test('cancels the page after 5 s, and keeps its rows', async () => {
    const world = harness([inPieces]);
    const gate = new BlockingSink(30);
    const error = await failureOf(world, world.job.listMessages(query, gate));
    expect(error).toMatchObject({ code: 'service.heldUp', reason: 'DestinationSlow', handling: { kind: 'backoff' } });
    expect(gate.rows.length).toBeGreaterThanOrEqual(30);
    expect(world.clock.monotonic()).toBeLessThan(5_100);
    expect(world.budget.ends).toEqual([{ kind: 'abandoned' }]);
    gate.open(1_000);
    const taken = gate.rows.length;
    await world.clock.advance(60_000);
    expect(gate.rows).toHaveLength(taken);
  });

  test('does not count as silence of the service', async () => {
    const body = messages(20, 100);
    const { clock, job } = harness([page({ body, pieceBytes: Math.ceil(body.length / 4), pieceMs: 9_000 })]);
    const log = new RecordingReceiver();
    const drained = () => new Promise<void>((resolve) => void clock.after(4_900, resolve));
    const reading = job.listMessages(query, Object.assign(log, { drained }));
    expect(await settled(clock, reading)).toMatchObject({ value: { rows: 100 } });
    expect(Math.round(clock.monotonic())).toBe(4 * (9_000 + 4_900));
  });

  test('ends the page with its own error', async () => {
    const world = harness([inPieces]);
    const fault = new Error('the disk is full');
    const reading = world.job.listMessages(
      query,
      Object.assign(new RecordingReceiver(), { drained: () => Promise.reject(fault) }),
    );
    expect(await settled(world.clock, reading)).toBe(fault);
    expect(world.budget).toMatchObject({ open: 0, ends: [{ kind: 'abandoned' }] });
  });
});

test('an error of the sink cancels the page and is passed on unchanged', async () => {
  const { clock, job, budget } = harness([page({ pieceBytes: 1_000 })]);
  const fault = new Error('no such column');
  let rows = 0;
  const row = (_row: PageRow) => {
    if (++rows === 7) throw fault;
  };
  expect(await settled(clock, job.listMessages(query, { row }))).toBe(fault);
  expect(rows).toBe(7);
  expect(budget).toMatchObject({ open: 0, ends: [{ kind: 'abandoned' }] });
});

test.each([
  ['breaks off', { breaksAfter: { bytes: 5_000, failure: 'connectionLost' } }, 'connectionLost', 'broken'],
  ['is an incomplete document', { body: messages(20, 100).slice(0, 5_000) }, 'responseInvalid', 'answered'],
  [
    'becomes nonsense',
    { body: `${messages(20, 60).slice(0, -2)},7]}`, pieceBytes: 100 },
    'responseInvalid',
    'abandoned',
  ],
] as [string, Partial<ResponseStep>, string, string][])(
  'a page that %s keeps its rows and is not requested again',
  async (_name, more, failure, end) => {
    const world = harness([page(more)]);
    const log = new RecordingReceiver();
    const error = await failureOf(world, world.job.listMessages(query, log));
    expect(error.code).toBe(`service.${failure}`);
    expect(log.ids.slice(0, 20)).toEqual(Array.from({ length: 20 }, (_, index) => String(20 + index)));
    expect(world.transport.written).toHaveLength(1);
    expect(world.budget.ends.map(({ kind }) => kind)).toEqual([end]);
  },
);

test('a spurious 401 before the first row is retried (10.1)', async () => {
  const { clock, job, transport } = harness([{ kind: 'response', status: 401 }, page()]);
  const log = new RecordingReceiver();
  expect(await settled(clock, job.listMessages(query, log))).toMatchObject({ value: { rows: 100 } });
  expect(transport.written).toHaveLength(2);
  expect(transport.written[1]?.headers.cookie).toBe('SESSION=canary-cookie');
});

test('the head of a page keeps the job alive and shows the budget the delay of the path', async () => {
  const { clock, job, budget } = harness([page({ afterMs: 300, pieceBytes: 1_000, pieceMs: 1_000 })]);
  await clock.advance(1_000);
  const reading = job.listMessages(query, new RecordingReceiver());
  await clock.advance(299);
  expect([job.heardAtMs, budget.heardAtMs]).toEqual([-60_000, []]);
  await clock.advance(1);
  expect([job.heardAtMs, budget.heardAtMs]).toEqual([1_000, [1_300]]);
  expect(budget.open).toBe(1);
  await settled(clock, reading);
  expect(budget.open).toBe(0);
});

test('an abort inside a page cancels it, and its slot stays occupied (B2)', async () => {
  const world = harness([page({ pieceBytes: 1_000, pieceMs: 100 })]);
  const controller = new AbortController();
  const log = new RecordingReceiver();
  const reading = world.job.listMessages(query, log, { signal: controller.signal });
  world.clock.after(450, () => controller.abort(new Error('closed')));
  expect(await failureOf(world, reading)).toMatchObject({ code: 'service.abandoned', effect: 'none' });
  expect(world.budget.ends).toEqual([{ kind: 'abandoned' }]);
  const taken = log.rows.length;
  await world.clock.advance(60_000);
  expect([taken > 0, log.rows.length]).toEqual([true, taken]);
});

test('warnings from pages do not contain the notice about cookies', async () => {
  const withWarning = (body: string, warning: string) => body.replace('{', `{"warning":"${warning}",`);
  const notice = 'A 404 may mean that a cookie was not sent.';
  const { clock, job } = harness([
    page({ body: withWarning(messages(20, 1), notice) }),
    page({ body: withWarning(messages(20, 1), `${notice} Some messages are too old.`) }),
    {
      ...good('listRecords'),
      body: withWarning(goodBodies.listRecords, 'Some records are estimates.'),
    } as TransportStep,
  ]);
  expect(await settled(clock, job.listMessages(query, new RecordingReceiver()))).toMatchObject({
    value: { warning: undefined },
  });
  expect(await settled(clock, job.listMessages(query, new RecordingReceiver()))).toMatchObject({
    value: { warning: 'Some messages are too old.' },
  });
  expect(await settled(clock, job.listRecords({ offset: 0, limit: 5 }))).toMatchObject({
    value: { warning: 'Some records are estimates.' },
  });
});
