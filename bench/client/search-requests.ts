/**
 * What a search costs in requests, and how much of the rate is used while many of them go on: the client over TLS against the
 * simulator with the service's own limits, in real time. What counts is the simulator's journal.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { SearchJobs } from '../../src/service/search-jobs.ts';
import type { JournalEntry } from '../../src/simulator/journal.ts';
import type { Scenario } from '../../src/simulator/scenario.ts';
import { simulatorState } from '../control-address.ts';
import type { Section } from '../rollout/figures.ts';
import { startSimulator } from '../simulator-process.ts';
import { connectTo } from './connected-client.ts';

export interface SearchRequestFigures {
  /** Of one job of 100,000 messages. */
  readonly messages: number;
  readonly requests: Readonly<Record<string, number>>;
  readonly seconds: number;
  /** Of many jobs at once. */
  readonly workRequests: number;
  readonly workSeconds: number;
  /** Of four a second, from the first of the requests to the second that the last of them began. */
  readonly rateShare: number;
  readonly mostPerSecond: number;
  readonly mostAtOnce: number;
  readonly refused429: number;
}

const messages = 100_000;
const searchSeconds = 9.5;
const workJobs = 16;
const workRequests = 200;
const requestsPerSecond = 4;
const mostRequests = 14;
const leastShare = 0.98;
const hour = { fromMs: Date.UTC(2026, 0, 1), toMs: Date.UTC(2026, 0, 1, 1) };
const scenario: Scenario = {
  search: { duration: `${searchSeconds}s`, messageLimit: 2 * messages },
  logs: { messages, from: hour.fromMs, to: hour.toMs },
};

export async function measureSearchRequests(): Promise<SearchRequestFigures> {
  const directory = mkdtempSync(path.join(tmpdir(), 'logfleet-bench-'));
  const file = path.join(directory, 'journal.ndjson');
  const simulator = await startSimulator(directory, scenario, file);
  const client = connectTo(simulator);
  const startMs = performance.now();
  await search(client.jobs);
  const seconds = (performance.now() - startMs) / 1_000;
  await simulatorState(simulator, { search: { duration: '1s' } });
  await Promise.all(Array.from({ length: workJobs }, () => search(client.jobs)));
  await client.close();
  await simulator.stop();
  const journal = journalIn(file);
  rmSync(directory, { recursive: true });
  const first = journal.findIndex(({ operation }) => operation === 'deleteJob') + 1;
  const work = journal.slice(first, first + workRequests);
  const workSeconds = ((work.at(-1)?.at ?? 0) - (work[0]?.at ?? 0)) / 1_000 + 1;
  return {
    messages,
    requests: countByOperation(journal.slice(0, first)),
    seconds,
    workRequests: work.length,
    workSeconds,
    rateShare: work.length / workSeconds / requestsPerSecond,
    mostPerSecond: Math.max(...journal.map(({ perSecond }) => perSecond)),
    mostAtOnce: Math.max(...journal.map(({ inFlight }) => inFlight)),
    refused429: journal.filter(({ status }) => status === 429).length,
  };
}

/** What arrived of operations, in order. */
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

/** One search from its creation to its deletion, with every row read and thrown away. */
async function search(jobs: SearchJobs): Promise<void> {
  const job = await jobs.open({ query: '*', ...hour, requiresRawMessages: true });
  await job.whenFinished();
  let rows = 0;
  await job.readMessages({ offset: 0, receiver: { row: () => void rows++ } });
  await job.close();
  if (rows !== messages) throw new Error(`${rows} of ${messages} rows came`);
}

export function searchRequestsSection(figures: SearchRequestFigures): Section {
  const { requests, rateShare, refused429, mostPerSecond, mostAtOnce } = figures;
  const total = Object.values(requests).reduce((sum, count) => sum + count, 0);
  const parts = Object.entries(requests).map(([operation, count]) => `${count} ${operation}`);
  return {
    title: `Searches of ${figures.messages.toLocaleString('en')} messages, over TLS in real time`,
    lines: [
      {
        what: `one, done after ${searchSeconds} s`,
        measured: `${total} requests (${parts.join(', ')}) in ${figures.seconds.toFixed(1)} s`,
        target: `<= ${mostRequests}`,
        met: total <= mostRequests,
      },
      {
        what: `${figures.workRequests} requests of ${workJobs} at once`,
        measured: `${(100 * rateShare).toFixed(1)} % of 4 a second (${figures.workSeconds.toFixed(1)} s)`,
        target: `>= ${100 * leastShare} %`,
        met: rateShare >= leastShare,
      },
      { what: '  answers of 429', measured: String(refused429), target: '0', met: refused429 === 0 },
      {
        what: '  most in a second, most at once',
        measured: `${mostPerSecond}, ${mostAtOnce}`,
        target: '<= 4, <= 10',
        met: mostPerSecond <= 4 && mostAtOnce <= 10,
      },
    ],
    notes: ['The least is 13: a creation, a status, ten pages and a deletion. Counted from the simulator’s journal.'],
  };
}
