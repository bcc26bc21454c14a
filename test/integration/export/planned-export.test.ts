/**
 * Tests that an export sends few requests. To save time, the row limit and the number of messages are one hundredth of
 * realistic values.
 */
import { describe, expect, test } from 'vitest';
import type { Scenario } from '../../../simulator/scenario/scenario.ts';
import type { Message } from '../../../simulator/test/row-data.ts';
import { hourMs } from '../../../src/base/time-units.ts';
import { ExportWorld, evenly, startMs } from './export-world.ts';

const messageLimit = 1_000;
/** A search that reaches the row limit has ten pages, as in the real service. */
const service: Scenario = { search: { messageLimit, pages: { maxMessages: messageLimit / 10 } } };
const messages = 10_000;
/**
 * Minimum number of requests for the export. The first search exceeds the row limit and needs 3 requests. Each later
 * search returns as many rows as the limit allows and needs 13 requests.
 */
const min = 13 * (messages / messageLimit) + 3;

function withSearch(search: Scenario['search']): Scenario {
  return { search: { ...service.search, ...search } };
}

/** Messages, a third of which fall into one minute. */
const uneven: readonly Message[] = evenly(messages).map((message, index) => {
  return index % 3 === 0 ? { ...message, at: startMs - 1.5 * hourMs + 6 * index } : message;
});

async function exported(world: ExportWorld, spec: object = {}): Promise<Readonly<Record<string, number>>> {
  world.add(spec);
  world.start();
  await world.untilReason('Exported');
  expect(world.reason).toBe('Exported');
  const requests: Record<string, number> = { total: 0 };
  for (const { operation } of world.world.journal) {
    requests[operation ?? 'other'] = (requests[operation ?? 'other'] ?? 0) + 1;
    requests['total'] = (requests['total'] ?? 0) + 1;
  }
  return requests;
}

describe('an export of ten times the row limit needs at most 10 % more requests than the minimum', () => {
  test.each([
    ['2s', evenly(messages)],
    ['9500ms', evenly(messages)],
    [['1s', '9s'], evenly(messages)],
    ['4s', uneven],
  ] as const)('by searches of %s', async (duration, corpus) => {
    const scenario = withSearch({ duration: typeof duration === 'string' ? duration : [...duration] });
    const world = new ExportWorld({ messages: corpus, scenario });
    const requests = await exported(world);
    // The export may send up to 1.1 times the minimum number of requests. The minimum includes four requests for the
    // aggregation that checks the rows.
    expect(requests['total']).toBeLessThanOrEqual(1.1 * min);
    expect(world.rows()).toEqual(corpus.map(({ raw }) => raw).sort());
  });

  test('the count of the plan proves its newest segment, and search jobs prove the others (E6)', async () => {
    const world = new ExportWorld({ messages: evenly(messages), scenario: service });
    await exported(world);
    const manifest = [...world.store.objects].find(([name]) => name.endsWith('/manifest.json'))?.[1] ?? Buffer.of();
    const { intervals } = JSON.parse(Buffer.from(manifest).toString()) as {
      readonly intervals: readonly { readonly count: { readonly source: string } }[];
    };
    expect(intervals.map(({ count }) => count.source)).toEqual([...Array(10).fill('Job'), 'Aggregate']);
  });
});

test('an export of one search needs no additional requests except those of its digest', async () => {
  const scenario = withSearch({ duration: '1s' });
  const searched = { createJob: 1, getJob: 1, listMessages: 10, deleteJob: 1 };
  const counted = new ExportWorld({ messages: evenly(990), scenario });
  expect(await exported(counted, { proof: 'Count' })).toEqual({ total: 13, ...searched });
  const proven = new ExportWorld({ messages: evenly(990), scenario });
  const both = { createJob: 2, getJob: 2, listMessages: 10, listRecords: 1, deleteJob: 2 };
  expect(await exported(proven)).toEqual({ total: 17, ...both });
});

test('an export by receipt time needs few additional requests, and only its first search is cut off', async () => {
  const world = new ExportWorld({ messages: evenly(messages), scenario: withSearch({ duration: '4s' }) });
  const requests = await exported(world, { byReceiptTime: true });
  // The aggregation that checks an interval takes four or five requests.
  const { intervals } = world.manifest();
  expect(requests['total']).toBeLessThanOrEqual(1.2 * min + 5 * intervals.length);
  expect(world.rows()).toHaveLength(messages);
});
