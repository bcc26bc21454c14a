/**
 * Tests that the client reads all results of a search job, even if some requests fail (sections 4.3, 4.4 and 10.3 of
 * docs/service.md, B3).
 */
import { describe, expect, test } from 'vitest';
import { SearchJob } from '../../../../src/service/jobs/search-job.ts';
import type { MessagePage } from '../../../../src/service/jobs/search-service.ts';
import { done, FakeJob, FakePermit, failure, firstIds, order, serve } from '../../../support/fake-job.ts';
import { readAllMessages, readAllRecords } from '../../../support/job-results.ts';
import { RecordingReceiver } from '../../../support/recording-receiver.ts';
import { settle, VirtualClock } from '../../../support/virtual-clock.ts';
import { settled } from '../requests/harness.ts';

async function finished(messageCount: number) {
  const clock = new VirtualClock();
  const fake = new FakeJob(clock);
  fake.status = () => ({ ...done(messageCount), recordCount: messageCount });
  const job = new SearchJob({ job: fake, order, permit: new FakePermit(clock), clock });
  job.expect(2_000);
  await clock.advance(2_000);
  return { clock, fake, job, log: new RecordingReceiver() };
}

const offsets = (fake: FakeJob) => fake.queries.map(({ offset }) => offset);

test('full pages of ten thousand rows need no further requests', async () => {
  const { clock, fake, job, log } = await finished(25_000);
  fake.page = serve(25_000);
  expect(await settled(clock, readAllMessages(job, { receiver: log }))).toBe(25_000);
  expect(log.ids).toEqual(firstIds(25_000));
  expect(fake.queries).toEqual([0, 10_000, 20_000].map((offset) => ({ offset, limit: 10_000 })));
});

test('a short page is followed by a page that begins after the received rows', async () => {
  const { clock, fake, job, log } = await finished(1_000);
  fake.page = serve(1_000, 400);
  expect(await settled(clock, readAllMessages(job, { receiver: log }))).toBe(1_000);
  expect(log.ids).toEqual(firstIds(1_000));
  expect(offsets(fake)).toEqual([0, 400, 800]);
});

test('a page begins at the given row', async () => {
  const { clock, fake, job, log } = await finished(1_000);
  fake.page = serve(500, 100);
  const sizes: number[] = [];
  const onPage = ({ rows }: MessagePage) => void sizes.push(rows);
  expect(await settled(clock, job.readMessagePage({ offset: 300, receiver: log, onPage }))).toBe(400);
  expect([offsets(fake), sizes]).toEqual([[300], [100]]);
  expect(log.ids).toEqual(firstIds(400).slice(300));
});

test('rows beyond the count of the job are passed on, since the proof needs them', async () => {
  const { clock, fake, job, log } = await finished(10);
  fake.page = serve(13);
  expect(await settled(clock, readAllMessages(job, { receiver: log }))).toBe(13);
  expect(log.ids).toHaveLength(13);
});

describe('a page that is cut off', () => {
  test('is continued after its last complete row, without a row twice', async () => {
    const { clock, fake, job, log } = await finished(1_000);
    let breaks = 5;
    fake.page = (query, receiver) => {
      const rows = serve(1_000, 90)(query, receiver);
      if (rows > 0 && breaks-- > 0) throw failure('connectionLost');
      return rows;
    };
    const startMs = clock.monotonic();
    expect(await settled(clock, readAllMessages(job, { receiver: log }))).toBe(1_000);
    expect(log.ids).toEqual(firstIds(1_000));
    expect(clock.monotonic()).toBe(startMs);
  });

  test('without a row is tried six times with growing delays', async () => {
    const { clock, fake, job, log } = await finished(1_000);
    const times: number[] = [];
    fake.page = () => {
      times.push(clock.monotonic() - 2_000);
      throw failure('connectionLost');
    };
    expect(await settled(clock, readAllMessages(job, { receiver: log }))).toMatchObject({
      code: 'service.connectionLost',
    });
    expect(times).toEqual([0, 500, 1_500, 3_500, 7_500, 15_500]);
  });

  test('after some rows each time is continued any number of times', async () => {
    const { clock, fake, job, log } = await finished(100);
    let turn = 0;
    fake.page = (query, receiver) => {
      if (turn++ % 5 !== 4) throw failure('timeout');
      return serve(100, 7)(query, receiver);
    };
    expect(await settled(clock, readAllMessages(job, { receiver: log }))).toBe(100);
    expect(log.ids).toEqual(firstIds(100));
  });

  test('with Retry-After waits for that time', async () => {
    const { clock, fake, job, log } = await finished(5);
    let refused = false;
    fake.page = (query, receiver) => {
      if (refused) return serve(5)(query, receiver);
      refused = true;
      throw failure('rateLimited', { retryAfterMs: 7_000 });
    };
    await settled(clock, readAllMessages(job, { receiver: log }));
    expect(clock.monotonic()).toBe(9_000);
    expect(log.ids).toHaveLength(5);
  });

  test.each([
    ['a user has to correct something', failure('forbidden', { stall: true })],
    ['the job no longer exists', failure('jobSilenced')],
    ['the client has been closed', failure('closed')],
    ['the sink has thrown the error', new Error('the disk is full')],
  ])('because %s is not retried', async (_name, error) => {
    const { clock, fake, job, log } = await finished(1_000);
    fake.page = (query, receiver) => {
      serve(1_000, 10)(query, receiver);
      throw error;
    };
    expect(await settled(clock, readAllMessages(job, { receiver: log }))).toBe(error);
    expect(fake.queries).toHaveLength(1);
  });
});

describe('an empty page, while the job counts more', () => {
  test('is requested again', async () => {
    const { clock, fake, job, log } = await finished(100);
    let turn = 0;
    fake.page = (query, receiver) => (turn++ % 3 === 2 ? serve(100, 40)(query, receiver) : 0);
    expect(await settled(clock, readAllMessages(job, { receiver: log }))).toBe(100);
    expect(log.ids).toEqual(firstIds(100));
  });

  test('ends with an error about missing rows, never as the end of the results', async () => {
    const { clock, fake, job, log } = await finished(100);
    fake.page = serve(60);
    expect(await settled(clock, readAllMessages(job, { receiver: log }))).toMatchObject({
      code: 'job.pagesEmpty',
      reason: 'ResultsMissing',
      message: expect.stringContaining('from offset 60 on'),
    });
    expect(log.ids).toEqual(firstIds(60));
    expect(offsets(fake)).toEqual([0, 60, 60, 60, 60, 60, 60]);
  });
});

describe('a sink that accepts no more data', () => {
  test('is awaited before the next page is requested (B3)', async () => {
    const { clock, fake, job } = await finished(30);
    fake.page = serve(30, 10);
    let full = Promise.withResolvers<void>();
    let isFull = true;
    const log = Object.assign(new RecordingReceiver(), { drained: () => (isFull ? full.promise : undefined) });
    const reading = readAllMessages(job, { receiver: log });
    await clock.advance(60_000);
    expect(fake.queries).toHaveLength(0);
    isFull = false;
    full.resolve();
    expect(await settled(clock, reading)).toBe(30);
    full = Promise.withResolvers();
  });

  test('gets the rest of a cancelled page, without a row twice', async () => {
    const { clock, fake, job } = await finished(30);
    let isFull = false;
    let emptied = Promise.withResolvers<void>();
    const log = Object.assign(new RecordingReceiver(), { drained: () => (isFull ? emptied.promise : undefined) });
    fake.page = (query, receiver) => {
      const rows = serve(30, 10)(query, receiver);
      if (query.offset !== 10) return rows;
      isFull = true;
      throw failure('heldUp');
    };
    const reading = readAllMessages(job, { receiver: log });
    await clock.advance(20_000);
    expect(offsets(fake)).toEqual([0, 10]);
    isFull = false;
    emptied.resolve();
    emptied = Promise.withResolvers();
    expect(await settled(clock, reading)).toBe(30);
    expect(log.ids).toEqual(firstIds(30));
    expect(offsets(fake)).toEqual([0, 10, 20]);
  });

  test('is not awaited after an abort', async () => {
    const { clock, job, fake } = await finished(30);
    const controller = new AbortController();
    const log = Object.assign(new RecordingReceiver(), { drained: () => new Promise<void>(() => {}) });
    const reading = readAllMessages(job, { receiver: log, signal: controller.signal });
    clock.after(5, () => controller.abort(new Error('enough')));
    expect(await settled(clock, reading)).toMatchObject({ message: 'enough' });
    expect(fake.queries).toHaveLength(0);
  });
});

describe('records', () => {
  const record = (id: string) => new Map([['n', id]]);

  test('arrive page by page, each after the one before was accepted', async () => {
    const { clock, fake, job } = await finished(25);
    fake.records = ({ offset, limit }) => ({
      fields: [],
      records: firstIds(25)
        .slice(offset, offset + Math.min(limit, 10))
        .map(record),
      warning: 'estimates',
    });
    const taken: (string | undefined)[] = [];
    const doors: (() => void)[] = [];
    const reading = readAllRecords(job, ({ records }) => {
      taken.push(...records.map((one) => one.get('n')));
      return new Promise((resolve) => doors.push(resolve));
    });
    await settle();
    expect(fake.queries).toHaveLength(1);
    for (let page = 1; page <= 3; page++) {
      doors.shift()?.();
      await settle();
    }
    expect(await settled(clock, reading)).toBe(25);
    expect(taken).toEqual(firstIds(25));
    expect(offsets(fake)).toEqual([0, 10, 20]);
    expect(job.progress.warnings).toEqual(['estimates']);
  });

  test.each(['timeout', 'responseTooLarge'] as const)('arrive in smaller pages after a %s', async (reason) => {
    const { clock, fake, job } = await finished(10_000);
    fake.records = ({ offset, limit }) => {
      if (limit > 3_000) throw failure(reason);
      return {
        fields: [],
        records: firstIds(10_000)
          .slice(offset, offset + limit)
          .map(record),
        warning: undefined,
      };
    };
    expect(
      await settled(
        clock,
        readAllRecords(job, () => undefined),
      ),
    ).toBe(10_000);
    expect(fake.queries).toEqual([
      { offset: 0, limit: 10_000 },
      { offset: 0, limit: 5_000 },
      ...[0, 2_500, 5_000, 7_500].map((offset) => ({ offset, limit: 2_500 })),
    ]);
  });

  test.each(['at once', 'later'])('end with the error of their destination %s', async (when) => {
    const { clock, fake, job } = await finished(20);
    fake.records = ({ offset }) => ({
      fields: [],
      records: firstIds(20)
        .slice(offset, offset + 10)
        .map(record),
      warning: undefined,
    });
    const reading = readAllRecords(job, async () => {
      if (when === 'later') await settle();
      throw new Error('the disk is full');
    });
    const outcome = reading.catch((error: Error) => error.message);
    expect(await settled(clock, outcome)).toBe('the disk is full');
    expect(fake.queries).toHaveLength(1);
  });
});
