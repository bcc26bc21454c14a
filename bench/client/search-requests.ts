/**
 * Measures how many requests one search needs, and how much of the allowed request rate many concurrent searches use.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { JournalEntry } from '../../simulator/requests/journal.ts';
import type { Scenario } from '../../simulator/scenario/scenario.ts';
import type { SearchJobs } from '../../src/service/jobs/search-jobs.ts';
import type { JobOrder } from '../../src/service/jobs/search-service.ts';
import { simulatorState } from '../control-address.ts';
import type { FigureLine, FigureSection } from '../figures.ts';
import { startSimulator } from '../simulator-process.ts';
import { connectTo } from './connected-client.ts';

/** Results of one search that returns 100,000 messages. */
export interface OneSearchFigures {
  readonly name: string;
  /** Time in seconds that the simulated service takes to finish the search. */
  readonly doneAfterSeconds: number;
  readonly requests: Readonly<Record<string, number>>;
  /**
   * Time in seconds from the creation of the search job until the client learns from a status that the job has
   * finished.
   */
  readonly seenAfterSeconds: number;
  readonly seconds: number;
}

export interface SearchRequestFigures {
  readonly messages: number;
  readonly searches: readonly OneSearchFigures[];
  /** Total number of requests when many search jobs run concurrently. */
  readonly workRequests: number;
  readonly workSeconds: number;
  /** Mean request rate, as a fraction of the four requests per second that the service allows. */
  readonly rateShare: number;
  readonly maxPerSecond: number;
  readonly maxAtOnce: number;
  readonly refused429: number;
}

const messages = 100_000;
const workJobs = 16;
const workRequests = 200;
const requestsPerSecond = 4;
const maxRequests = 14;
const minShare = 0.98;
const hour = { fromMs: Date.UTC(2026, 0, 1), toMs: Date.UTC(2026, 0, 1, 1) };
const twoDaysMs = 49 * 3_600_000;
const scenario: Scenario = {
  search: { messageLimit: 2 * messages },
  logs: { messages, from: hour.fromMs, to: hour.toMs },
};

interface SearchShape {
  readonly name: string;
  readonly search: Scenario['search'];
  readonly doneAfterSeconds: number;
  readonly range: SearchedRange;
}

type SearchedRange = Pick<JobOrder, 'fromMs' | 'toMs'>;

/** The measured searches. */
const shapes: readonly SearchShape[] = [
  { name: 'evenly spread', search: { duration: '9500ms' }, doneAfterSeconds: 9.5, range: hour },
  { name: 'evenly spread', search: { duration: '4s' }, doneAfterSeconds: 4, range: hour },
  { name: 'histogram first', search: { duration: '6s', histogramFirst: true }, doneAfterSeconds: 6, range: hour },
  { name: 'subqueries first', search: { duration: '4s', subqueriesFor: '4s' }, doneAfterSeconds: 8, range: hour },
  {
    name: 'in the oldest 2 % of the range',
    search: { duration: '9500ms' },
    doneAfterSeconds: 9.5,
    range: { fromMs: hour.fromMs, toMs: hour.toMs + twoDaysMs },
  },
  {
    name: 'in the newest 2 % of the range',
    search: { duration: '3s' },
    doneAfterSeconds: 3,
    range: { fromMs: hour.fromMs - twoDaysMs, toMs: hour.toMs },
  },
];
const plain = { subqueriesFor: '0s', histogramFirst: false, notStartedFor: '0s' } as const;

export async function measureSearchRequests(): Promise<SearchRequestFigures> {
  const directory = mkdtempSync(path.join(tmpdir(), 'logfleet-bench-'));
  const file = path.join(directory, 'journal.ndjson');
  const simulator = await startSimulator(directory, scenario, file);
  const client = connectTo(simulator);
  const times: SearchTimes[] = [];
  for (const { search: changes, range } of shapes) {
    await simulatorState(simulator, { search: { ...plain, ...changes } });
    times.push(await search(client.jobs, range));
  }
  await simulatorState(simulator, { search: { ...plain, duration: '1s' } });
  await Promise.all(Array.from({ length: workJobs }, () => search(client.jobs, hour)));
  await client.close();
  await simulator.stop();
  const journal = journalIn(file);
  rmSync(directory, { recursive: true });
  const deletions = journal.flatMap(({ operation }, index) => (operation === 'deleteJob' ? [index + 1] : []));
  const searches = shapes.map(({ name, doneAfterSeconds }, index) => ({
    name,
    doneAfterSeconds,
    requests: countByOperation(journal.slice(deletions[index - 1] ?? 0, deletions[index])),
    ...(times[index] as SearchTimes),
  }));
  const first = deletions[shapes.length - 1] ?? 0;
  const work = journal.slice(first, first + workRequests);
  const workSeconds = ((work.at(-1)?.at ?? 0) - (work[0]?.at ?? 0)) / 1_000 + 1;
  return {
    messages,
    searches,
    workRequests: work.length,
    workSeconds,
    rateShare: work.length / workSeconds / requestsPerSecond,
    maxPerSecond: Math.max(...journal.map(({ perSecond }) => perSecond)),
    maxAtOnce: Math.max(...journal.map(({ inFlight }) => inFlight)),
    refused429: journal.filter(({ status }) => status === 429).length,
  };
}

function journalIn(file: string): readonly JournalEntry[] {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  const journal = lines.map((line) => JSON.parse(line) as JournalEntry);
  return journal.filter(({ operation }) => operation !== null).sort((left, right) => left.at - right.at);
}

function countByOperation(journal: readonly JournalEntry[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { operation } of journal) counts[operation ?? 'other'] = (counts[operation ?? 'other'] ?? 0) + 1;
  return counts;
}

type SearchTimes = Pick<OneSearchFigures, 'seenAfterSeconds' | 'seconds'>;

/** Runs one search job from its creation to its deletion, and discards the rows. */
async function search(jobs: SearchJobs, range: SearchedRange): Promise<SearchTimes> {
  const startMs = performance.now();
  const secondsSince = () => (performance.now() - startMs) / 1_000;
  const job = await jobs.open({ query: '*', ...range, requiresRawMessages: true });
  await job.whenFinished();
  const seenAfterSeconds = secondsSince();
  let rows = 0;
  const receiver = { row: () => void rows++ };
  for (let offset = 0; offset < messages; ) offset = await job.readMessagePage({ offset, receiver });
  await job.close();
  if (rows !== messages) throw new Error(`only ${rows} of ${messages} rows arrived`);
  return { seenAfterSeconds, seconds: secondsSince() };
}

export function searchRequestsSection(figures: SearchRequestFigures): FigureSection {
  const { searches, rateShare, refused429, maxPerSecond, maxAtOnce } = figures;
  return {
    title: `Searches of ${figures.messages.toLocaleString('en')} messages, over TLS in real time`,
    lines: [
      ...searches.map(lineOf),
      {
        what: `${figures.workRequests} requests of ${workJobs} at once`,
        measured: `${(100 * rateShare).toFixed(1)} % of 4 per second (${figures.workSeconds.toFixed(1)} s)`,
        target: `>= ${100 * minShare} %`,
        met: rateShare >= minShare,
      },
      { what: '  429 responses', measured: String(refused429), target: '0', met: refused429 === 0 },
      {
        what: '  maximum in a second, maximum at once',
        measured: `${maxPerSecond}, ${maxAtOnce}`,
        target: '<= 4, <= 10',
        met: maxPerSecond <= 4 && maxAtOnce <= 10,
      },
    ],
    notes: [
      'The minimum is 13 requests: creation, status, ten pages, deletion. Counted from the simulator’s journal. On a busy machine,',
      'responses arrive late. The margin of the request budget then grows (B1), and the rate is lower.',
    ],
  };
}

function lineOf({ name, doneAfterSeconds, requests, seenAfterSeconds, seconds }: OneSearchFigures): FigureLine {
  const total = Object.values(requests).reduce((sum, count) => sum + count, 0);
  const seen = `${requests['getJob'] ?? 0} status requests, seen done after ${seenAfterSeconds.toFixed(1)} s`;
  return {
    what: `one, done after ${doneAfterSeconds} s, ${name}`,
    measured: `${total} requests (${seen}), ${seconds.toFixed(1)} s in all`,
    target: `<= ${maxRequests}`,
    met: total <= maxRequests,
  };
}
