/** Counts the requests that an export of a million messages sends, in virtual time. */
import type { Scenario } from '../../simulator/scenario/scenario.ts';
import { silentLogger } from '../../src/base/log.ts';
import type { FileUpload, ListedObject } from '../../src/destination/store/destination.ts';
import { planExport } from '../../src/export/plan/export-planning.ts';
import { IntervalSearch } from '../../src/export/search/interval-search.ts';
import { ServiceQuirks } from '../../src/export/search/service-quirks.ts';
import { ExportWork } from '../../src/export/work/export-work.ts';
import type { WorkLimits, WorkView } from '../../src/export/work/work-view.ts';
import { onlyWorker } from '../../src/export/work/worker-segments.ts';
import type { JobProgress } from '../../src/service/jobs/job-gathering.ts';
import { ClientWorld } from '../../test/support/client-world.ts';
import { definitionOf, plainOutput } from '../../test/support/export-definition.ts';
import { MemoryDestination } from '../../test/support/memory-destination.ts';
import { testWriter } from '../../test/support/memory-exports.ts';
import type { FigureLine, FigureSection } from '../figures.ts';

export interface ExportRequestFigures {
  readonly name: string;
  readonly isForComparison: boolean;
  readonly messages: number;
  /** Number of searches in the export that reached the message limit. */
  readonly cuts: number;
  readonly requests: Readonly<Record<string, number>>;
  readonly total: number;
  /**
   * Minimum number of requests for the export: 13 for each 100,000 messages, and 3 for each search that reached the
   * limit.
   */
  readonly min: number;
  /**
   * Ratio of the bytes that the service scans for the export to the bytes that it would scan for a single search for
   * all messages.
   */
  readonly scans: number;
  readonly virtualSeconds: number;
}

const messages = 1_000_000;
const messageLimit = 100_000;
/**
 * Minimum number of requests for a search that returns 100,000 messages: one creates the search job, one reads its
 * status, ten read its pages, and one deletes it.
 */
const minOfSearch = 13;
/**
 * Minimum number of requests for a search job whose pages are not read: one creates the job, one reads its status, and
 * one deletes it.
 */
const minOfJob = 3;
const maxShare = 1.1;
const repeatMs = 50;
const longestMs = 3_600_000;
const range = { fromMs: Date.UTC(2026, 9, 1), toMs: Date.UTC(2026, 9, 2) };

interface RequestsCase {
  readonly name: string;
  readonly search: Scenario['search'];
  readonly dense?: NonNullable<Scenario['logs']>['dense'];
  readonly faults?: Scenario['faults'];
  readonly byReceiptTime?: boolean;
  /** True if the case is only for comparison and has no target value. */
  readonly isForComparison?: boolean;
}

/** A burst of 500 messages in one millisecond of every second, for ten minutes. */
const burst = Array.from({ length: 600 }, (_, index) => ({
  at: range.fromMs + 36_000_000 + 1_000 * index,
  count: 500,
}));

/** A millisecond with 150,000 messages, which is more than one search can return. */
const crowd = [{ at: range.fromMs + 50_000_000, count: 150_000 }];

const uncounted = {
  refused: { kind: 'status', status: 400, code: 'parse.error', operations: ['createJob'], queries: ['*timeslice*'] },
} as const satisfies Scenario['faults'];

/** The measured exports. They differ in the duration of searches and in the distribution of messages. */
const shapes: readonly RequestsCase[] = [
  { name: 'searches of 2 s', search: { duration: '2s' } },
  { name: 'searches of 9.5 s', search: { duration: '9500ms' } },
  { name: 'searches of 1 to 9 s', search: { duration: ['1s', '9s'] } },
  { name: 'searches whose duration depends on their range', search: { rangePerSecond: '3h' } },
  { name: 'searches of 4 s, with a third of the messages in ten minutes', search: { duration: '4s' }, dense: burst },
  {
    name: 'the same searches, but the service refuses aggregations',
    search: { duration: '4s' },
    dense: burst,
    faults: uncounted,
    isForComparison: true,
  },
  {
    name: 'searches of 4 s, with 150,000 messages in one millisecond',
    search: { duration: '4s' },
    dense: crowd,
    isForComparison: true,
  },
  { name: 'searches of 4 s by receipt time', search: { duration: '4s' }, byReceiptTime: true, isForComparison: true },
];

const limits: WorkLimits = {
  isPaused: false,
  parallelism: 4,
  settleDelayMs: 180_000,
  maxMessages: undefined,
  maxBytesScanned: undefined,
  deadlineMs: undefined,
  incompletePolicy: 'Fail',
  proof: 'Digest',
};

/** Export destination in memory. It stores only the names and sizes of data files. */
class DiscardingDestination extends MemoryDestination {
  readonly #files: ListedObject[] = [];

  override async open(name: string): Promise<FileUpload> {
    let bytes = 0;
    return {
      write: async (chunk) => {
        bytes += chunk.length;
      },
      finish: async () => {
        this.#files.push({ name, bytes });
      },
      abort: async () => {},
    };
  }

  override async *list(folder: string): AsyncIterable<ListedObject> {
    yield* super.list(folder);
    for (const file of this.#files) if (file.name.startsWith(folder)) yield file;
  }
}

export async function measureExportRequests(): Promise<readonly ExportRequestFigures[]> {
  const figures: ExportRequestFigures[] = [];
  for (const shape of shapes) figures.push(await exportAll(shape));
  return figures;
}

async function exportAll(shape: RequestsCase): Promise<ExportRequestFigures> {
  const { name, search, dense = [], faults = {}, byReceiptTime = false, isForComparison = false } = shape;
  const world = new ClientWorld(
    {
      search: { messageLimit, ...search },
      faults,
      logs: { messages, from: range.fromMs, to: range.toMs, dense, size: { typicalBytes: 600 } },
    },
    { latencyMs: 25 },
  );
  const { clock, journal } = world;
  // Checking a digest requires aggregations, because the check compares sums over all exported messages with sums from
  // the service. If the service refuses aggregations, the export can check only the number of messages.
  const proof = shape.faults ? 'Count' : 'Digest';
  const { view, quirks } = await complete(world, { byReceiptTime, proof });
  const { rows = 0 } = view.progress ?? {};
  // The number of messages is not checked for searches by receipt time, because they can omit or add messages near the
  // start and end of their time range.
  if (!byReceiptTime && rows !== messages) throw new Error(`only ${rows} of ${messages} messages were exported`);
  const requests: Record<string, number> = {};
  for (const { operation } of journal) requests[operation ?? 'other'] = (requests[operation ?? 'other'] ?? 0) + 1;
  const cuts = quirks.cuts;
  const bytes = view.manifest?.manifest.proof.reduce((sum, { figures }) => sum + (figures.bytes ?? 0), 0) ?? 0;
  return {
    name,
    isForComparison,
    messages,
    cuts,
    requests,
    total: journal.length,
    min: (minOfSearch * messages) / messageLimit + minOfJob * cuts,
    scans: (view.progress?.scannedBytes ?? 0) / bytes,
    virtualSeconds: clock.monotonic() / 1_000,
  };
}

/** Counts the searches in the export that reached the message limit. */
class CountingQuirks extends ServiceQuirks {
  readonly #cut = new Set<JobProgress>();

  get cuts(): number {
    return this.#cut.size;
  }

  override searched(progress: JobProgress): void {
    if (progress.isLimitReached) this.#cut.add(progress);
    super.searched(progress);
  }
}

interface WantedExport {
  readonly byReceiptTime: boolean;
  readonly proof: WorkLimits['proof'];
}

async function complete({ clock, jobs }: ClientWorld, { byReceiptTime, proof }: WantedExport) {
  const quirks = new CountingQuirks();
  const timeRange = { from: String(range.fromMs), to: String(range.toMs) };
  const definition = definitionOf({ timeRange, byReceiptTime, output: { ...plainOutput, maxPartBytes: 2 ** 28 } });
  let isDue = true;
  const work = new ExportWork({
    ...{
      definition,
      quirks,
      clock,
      log: silentLogger,
      jobs,
      scannedBytes: 0,
      worker: onlyWorker,
    },
    writer: testWriter(),
    openDestination: async () => new DiscardingDestination(),
    plan: planExport,
    search: (order, tools, opened) => new IntervalSearch(order, tools, opened),
    onChange: () => {
      isDue = true;
    },
    onProgress: () => {},
  });
  let view: WorkView | undefined;
  const isComplete = () => {
    if (isDue) {
      isDue = false;
      view = work.advance({ ...limits, proof });
    }
    return view?.stage === 'complete';
  };
  // The virtual clock advances only if a timer is set. While the export waits without a timer, this repeating timer
  // keeps the clock running.
  const lookAgain = () => void clock.after(repeatMs, lookAgain);
  lookAgain();
  await clock.run(isComplete, longestMs);
  if (view?.stage !== 'complete') throw new Error(`the export is ${view?.stage}: ${view?.lastError?.message}`);
  return { view, quirks };
}

export function exportRequestsSection(figures: readonly ExportRequestFigures[]): FigureSection {
  return {
    title: `Exports of ${messages.toLocaleString('en')} messages at a limit of ${messageLimit.toLocaleString('en')}, virtual time`,
    lines: figures.map(lineOf),
    notes: [
      'The minimum is 13 requests per 100,000 messages (creation, status, ten pages, deletion), and three (creation, status, deletion)',
      'per search that reached the limit. Counted from the simulator’s journal. One scan is one search for all messages.',
    ],
  };
}

function lineOf({
  name,
  isForComparison,
  requests,
  total,
  min,
  scans,
  virtualSeconds,
}: ExportRequestFigures): FigureLine {
  const share = total / min;
  const { createJob = 0, getJob = 0, listMessages = 0 } = requests;
  const what = `${createJob} jobs, ${getJob} statuses, ${listMessages} pages, ${virtualSeconds.toFixed(0)} s`;
  const measured = `${total} requests (${what}): ${share.toFixed(3)} times the minimum of ${min}; ${scans.toFixed(2)} scans`;
  if (isForComparison) return { what: name, measured };
  return { what: name, measured, target: `<= ${maxShare}`, met: share <= maxShare };
}
