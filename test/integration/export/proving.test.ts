/** Tests exports whose rows are checked by aggregations (E6). */
import { describe, expect, test } from 'vitest';
import type { Scenario } from '../../../simulator/scenario/scenario.ts';
import type { Message } from '../../../simulator/test/row-data.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { ExportWorld, evenly, startMs } from './export-world.ts';
import { type ResultFields, small } from './lies/corpus.ts';
import { LyingService } from './lies/lying-service.ts';

const fromMs = startMs - 2 * hourMs;
const search: Scenario['search'] = { duration: '4s', onlyReceived: true };

function messages(count: number, more: readonly Partial<Message>[] = []): readonly Message[] {
  const own = evenly(count).map((message) => ({ ...message, received: message.at }));
  const others = more.map((message, index) => {
    const at = fromMs + 1_000 + index;
    return { at, received: at, raw: `more ${index}`, fields: { _messageid: `${-1 - index}` }, ...message };
  });
  return [...own, ...others];
}

async function exported(world: ExportWorld, spec: object = {}): Promise<void> {
  world.add(spec);
  world.start();
  expect(await world.untilReason('Exported')).toBe(true);
}

function verdicts(world: ExportWorld): number {
  return [...world.store.objects.keys()].filter((name) => name.includes('/proofs/')).length;
}

describe('a digest', () => {
  test('proves the whole range in one step, by number, bytes and times', async () => {
    const all = messages(600);
    const world = new ExportWorld({ messages: all, scenario: { search } });
    await exported(world);
    const { complete, proof } = world.manifest();
    expect(complete).toBe(true);
    const bytes = all.reduce((sum, { raw }) => sum + raw.length, 0);
    const times = { oldestMs: fromMs, newestMs: Math.max(...all.map(({ at }) => at)) };
    expect(proof).toEqual([
      {
        ...{ fromMs, toMs: startMs - hourMs, level: 'Digest', figures: { rows: 600, bytes, ...times } },
        compared: ['bytes', 'oldestMs', 'newestMs'],
      },
    ]);
    expect(world.status?.manifest?.proof).toBe('Digest');
    expect(verdicts(world)).toBe(1);
  });

  test.each([
    ['one search of 4 minutes', messages(3_000), { ...search, duration: '4m' }],
    ['many searches of 1 minute', messages(6_000), { ...search, duration: '1m', messageLimit: 200 }],
    ['many searches of 10 s', messages(6_000), { ...search, duration: '10s', messageLimit: 200 }],
  ] as const)('counts in the estimated end and in coveredPercent, after %s', async (_which, all, given) => {
    const world = new ExportWorld({ messages: all, scenario: { search: given } });
    world.add();
    world.start();
    const proving: (string | undefined)[] = [];
    const isProving = () => world.condition('Ready')?.message.includes('is comparing the written rows') ?? false;
    while (world.reason !== 'Exported') {
      await world.world.clock.advance(1_000);
      const { estimatedCompletionTime: end, progress } = world.status ?? {};
      if (end !== undefined) expect(Date.parse(end)).toBeGreaterThanOrEqual(world.world.clock.now());
      if (isProving()) proving.push(end);
      if (world.reason !== 'Exported') expect(progress?.coveredPercent ?? 0).toBeLessThan(100);
    }
    expect(world.status?.progress?.coveredPercent).toBe(100);
    if (given.duration === '10s') return;
    const completedMs = Date.parse(world.status?.completionTime ?? '');
    const [first = ''] = proving.filter((end) => end !== undefined);
    expect(Math.abs(Date.parse(first) - completedMs)).toBeLessThan(20_000);
  });

  test('is not sent with proof: Count', async () => {
    const world = new ExportWorld({ messages: messages(600), scenario: { search } });
    await exported(world, { proof: 'Count' });
    expect(world.manifest().proof).toMatchObject([{ level: 'Search', figures: { rows: 600 } }]);
    expect([verdicts(world), world.jobsCreated]).toEqual([0, 1]);
  });

  test('detects a late row, and the interval is searched again', async () => {
    const late = { received: startMs + 5_000 };
    const world = new ExportWorld({ messages: messages(600, [late]), scenario: { search } });
    await exported(world);
    expect(world.rows()).toHaveLength(601);
    const { proof, intervals } = world.manifest();
    expect(proof).toMatchObject([{ level: 'Digest', figures: { rows: 601 } }]);
    // After a failed check, the export rewrites the rows in a new segment, which replaces the first one.
    expect(intervals.map(({ segment }) => segment)).toEqual([1]);
    expect(verdicts(world)).toBe(2);
    const files = [...world.store.objects.keys()].filter((name) => name.includes('/data/'));
    expect(files).toHaveLength(1);
  });

  test('repeats the searches only of intervals that differ', async () => {
    const limited = { ...search, messageLimit: 200 };
    const late = { received: startMs + 16_000 };
    const world = new ExportWorld({ messages: messages(600, [late]), scenario: { search: limited } });
    await exported(world);
    expect(world.rows()).toHaveLength(601);
    const { intervals } = world.manifest();
    const again = intervals.filter(({ segment }) => segment >= 4);
    expect(intervals.length).toBeGreaterThan(3);
    expect(again.every(({ fromMs: begin }) => begin < fromMs + hourMs / 2)).toBe(true);
    expect(again.length).toBeGreaterThan(0);
  });

  test('accepts rows that the service stores twice, after counting them by id', async () => {
    const [first] = messages(1);
    const world = new ExportWorld({ messages: [...messages(600), first as Message], scenario: { search } });
    await exported(world);
    expect(world.rows()).toHaveLength(600);
    expect(world.manifest().proof).toMatchObject([
      { level: 'Digest', figures: { rows: 600 }, repeated: { rows: 1, bytes: first?.raw.length } },
    ]);
  });

  test('proves the level Count when no row has a size', async () => {
    const world = new ExportWorld({ messages: messages(600), scenario: { search } });
    await exported(world, { query: '* | fields _raw' });
    expect(world.manifest().proof).toMatchObject([{ level: 'Count', compared: ['oldestMs', 'newestMs'] }]);
  });

  test('stalls the export when the service refuses it', async () => {
    const response = { kind: 'status', status: 400, code: 'parse.error' } as const;
    const refused = { ...response, operations: ['createJob'], queries: ['*sum(_size)*'] } as const;
    const world = new ExportWorld({ messages: messages(600), scenario: { search, faults: { refused } } });
    world.add();
    world.start();
    expect(await world.untilReason('CountMissing')).toBe(true);
    expect(world.condition('Stalled')?.status).toBe('True');
    world.patch({ spec: { proof: 'Count' } });
    expect(await world.untilReason('Exported', hourMs)).toBe(true);
    expect(world.manifest().proof).toMatchObject([{ level: 'Search' }]);
  });

  test('excludes rows at an inclusive end (E10)', async () => {
    const atEnd = { at: startMs - hourMs, received: startMs - hourMs };
    const inclusive = { ...search, toInclusive: true };
    const world = new ExportWorld({ messages: messages(600, [atEnd]), scenario: { search: inclusive } });
    await exported(world);
    expect(world.rows()).toHaveLength(600);
    expect(world.manifest().proof).toMatchObject([{ level: 'Digest', figures: { rows: 600 } }]);
  });

  test('by receipt time proves all intervals with one aggregation', async () => {
    const limited = { ...search, messageLimit: 200 };
    const world = new ExportWorld({ messages: messages(600), scenario: { search: limited } });
    await exported(world, { byReceiptTime: true });
    expect(world.rows()).toHaveLength(600);
    const { proof, intervals } = world.manifest();
    expect(proof).toMatchObject([{ level: 'Digest', figures: { rows: 600 } }]);
    expect(intervals.length).toBeGreaterThan(3);
    // Three search jobs commit no interval: one that was cut off by the row limit, one for planning the export, and one
    // for checking the rows.
    expect(world.jobsCreated).toBe(intervals.length + 3);
  });

  test('by receipt time finds the interval that differs', async () => {
    const lost = small.truth[300];
    const world = new ExportWorld({
      messages: small.messages,
      scenario: { search: { duration: '1s', pages: { maxMessages: small.pageRows }, messageLimit: 500 } },
      service: (...options) => {
        const rows = (all: readonly ResultFields[]) =>
          all.filter(({ _messageid }) => _messageid !== lost?.['_messageid']);
        return new LyingService({ rows, isCounted: true }, small, ...options);
      },
    });
    world.add({ byReceiptTime: true });
    world.start();
    expect(await world.untilReason('IntervalIncomplete')).toBe(true);
    const lengthsMs = world.status?.incomplete?.map(({ from, to }) => Date.parse(to) - Date.parse(from)) ?? [];
    expect(lengthsMs).toHaveLength(1);
    expect(lengthsMs[0]).toBeLessThan(hourMs / 2);
  });
});

test('a range that differs in each round is incomplete: it waits for a user, or is kept with a flag', async () => {
  // New messages become searchable before each check, so each check counts more messages than the export has written.
  const trickle = Array.from({ length: 400 }, (_, index) => ({ received: startMs + 3_000 * index }));
  const world = new ExportWorld({ messages: messages(100, trickle), scenario: { search } });
  world.add();
  world.start();
  expect(await world.untilReason('IntervalIncomplete')).toBe(true);
  expect(verdicts(world)).toBe(3);
  const [incomplete] = world.status?.incomplete ?? [];
  expect(incomplete?.expected).toBeGreaterThan(incomplete?.received ?? Number.POSITIVE_INFINITY);
  world.patch({ spec: { incompletePolicy: 'Keep' } });
  expect(await world.world.until(() => world.reason !== 'IntervalIncomplete', 10 * minuteMs)).toBe(true);
  expect(await world.untilReason('ExportedIncomplete')).toBe(true);
  const { complete, proof } = world.manifest();
  expect(complete).toBe(false);
  expect(proof.some(({ level, counted }) => level === 'None' && counted !== undefined)).toBe(true);
});

test.each([false, true])(
  'a range that differs after the last round is searched once more on request (restart: %s)',
  async (isRestarted) => {
    const trickle = Array.from({ length: 400 }, (_, index) => ({ received: startMs + 3_000 * index }));
    const world = new ExportWorld({ messages: messages(100, trickle), scenario: { search } });
    world.add();
    const first = world.start();
    expect(await world.untilReason('IntervalIncomplete')).toBe(true);
    if (isRestarted) {
      await world.world.clock.advance(minuteMs);
      first.kill();
      world.start();
      await world.world.clock.advance(minuteMs);
    }
    world.annotate('logfleet.dev/requestedAt', 'now');
    expect(await world.world.until(() => verdicts(world) === 4, 10 * minuteMs)).toBe(true);
    expect(await world.untilReason('IntervalIncomplete')).toBe(true);
    expect(verdicts(world)).toBe(4);
  },
);
