/**
 * Simplified operator for tests. It decides about an export with logfleet's own code, but searches the simplified log
 * service in minimal-service.ts.
 */
import type { Random } from '../../../src/base/random.ts';
import type { CommitRecord } from '../../../src/destination/commit-record.ts';
import type { ExportPlan } from '../../../src/destination/plan-object.ts';
import { AnyOrder, InOrder } from '../../../src/export/search/duplicates.ts';
import { cutSign, smallestLimitAfter, wholeBuckets } from '../../../src/export/search/message-limit.ts';
import { type RowFigures, RowFilter } from '../../../src/export/search/row-filter.ts';
import type { RunningSearch, SearchOrder } from '../../../src/export/search/search-tools.ts';
import {
  judge,
  type RecordFigures,
  type SearchFacts,
  showsInclusiveEnd,
  type Verdict,
} from '../../../src/export/search/search-verdict.ts';
import { decideExport, type ExportDecision } from '../../../src/export/work/export-decision.ts';
import { onlyWorker } from '../../../src/export/work/worker-segments.ts';
import { countMinimal, type MinimalJob, type MinimalRow, type MinimalWorld, searchMinimal } from './minimal-service.ts';

/** Content of the destination: each commit record with its rows, by record key (E3). */
export type MinimalDestination = Map<string, { readonly record: CommitRecord; readonly rows: readonly MinimalRow[] }>;

type MinimalReading = Extract<Verdict, { kind: 'read' }>;
type RunFacts = Omit<
  SearchFacts,
  'figures' | 'isReadInPart' | 'isReadAgain' | 'isReadTwice' | 'counted' | 'writtenFromMs'
>;

export class MinimalOperator {
  readonly #world: MinimalWorld;
  readonly #plan: ExportPlan;
  readonly #destination: MinimalDestination;
  readonly #random: Random;
  readonly #failures = new Map<string, number>();
  #running: RunningSearch[] = [];
  #narrowed: SearchOrder[] = [];
  #isEndMoved = false;
  #smallestLimit: number | undefined;
  jobs = 0;

  constructor(world: MinimalWorld, plan: ExportPlan, destination: MinimalDestination, random: Random) {
    this.#world = world;
    this.#plan = plan;
    this.#destination = destination;
    this.#random = random;
    // If the service does not report its row limit, the operator must already know the limit from earlier searches.
    this.#smallestLimit = world.cutKinds.includes('silent') ? world.limit : undefined;
  }

  decide(): ExportDecision {
    return decideExport({
      plan: this.#plan,
      records: [...this.#destination.values()].map(({ record }) => record),
      ...{ verdicts: [], wantsDigest: false, worker: onlyWorker, yieldsUntilMs: 0, replacesFirstAtMs: 0 },
      running: this.#running,
      delays: [],
      narrowed: this.#narrowed,
      scannedBytes: 0,
      byReceiptTime: this.#world.byReceiptTime,
      limits: {
        ...{ isPaused: false, parallelism: 3, settleDelayMs: 0 },
        ...{ maxMessages: undefined, maxBytesScanned: undefined, deadlineMs: undefined },
        smallestLimit: this.#smallestLimit,
      },
      now: { wallMs: 1_000_000, monotonicMs: 0, clockBehindMs: 0 },
    });
  }

  /**
   * Makes one decision about the export, and completes a random one of its running searches. Returns false once the
   * whole range has been exported.
   */
  step(): boolean {
    const { start, stop, isCovered } = this.decide();
    if (isCovered) return false;
    // In half of the steps, searches that should stop keep running, to simulate a decision that came too late.
    const stopped = this.#random.next() < 0.5 ? stop : [];
    this.#running = this.#running.filter((search) => !stopped.includes(search));
    const facts = { createdAtMs: 0, isSearching: true, messageCount: 0, scannedBytes: 0 };
    this.#running.push(...start.map((order) => ({ ...order, ...facts })));
    const [search] = this.#running.splice(Math.floor(this.#random.next() * this.#running.length), 1);
    if (search) this.#search(search);
    return true;
  }

  #search(order: SearchOrder): void {
    this.jobs++;
    const key = `${order.segment} ${order.fromMs} ${order.toMs}`;
    const failedBefore = this.#failures.get(key) ?? 0;
    const endMs = this.#isEndMoved ? order.toMs - 1 : order.toMs;
    const job = searchMinimal(this.#world, this.#random, order.fromMs, endMs, failedBefore === 0);
    const facts: RunFacts = {
      interval: { fromMs: order.fromMs, toMs: order.toMs },
      results: 'Messages',
      byReceiptTime: this.#world.byReceiptTime,
      isSplittable: true,
      isEndMoved: this.#isEndMoved,
      sign: cutSign(job, this.#smallestLimit, 'Messages'),
      jobCount: job.messageCount,
      pendingErrors: job.pendingErrors,
      hasLostStatus: job.hasLostStatus,
      keepsIncomplete: false,
      failedBefore,
    };
    this.#smallestLimit = smallestLimitAfter(job, this.#smallestLimit);
    this.#judge(order, job, facts, key);
  }

  #judge(order: SearchOrder, job: MinimalJob, facts: RunFacts, key: string): void {
    const unread = { isReadInPart: false, isReadAgain: false, isReadTwice: false };
    let run: SearchFacts = { ...facts, figures: undefined, ...unread };
    let written: readonly MinimalRow[] = [];
    let readings = 0;
    for (;;) {
      const verdict = judge(run);
      if (showsInclusiveEnd(run)) this.#isEndMoved = true;
      switch (verdict.kind) {
        case 'read': {
          const rows = readings === 0 ? job.firstReading : job.rows;
          const read = this.#read(verdict, facts, job, rows, readings++ === 0);
          const isReadTwice = isSame(run.figures, read.found.figures);
          const isReadAgain = readings > 1;
          run = { ...facts, ...read.found, isReadInPart: false, isReadAgain, isReadTwice };
          written = read.written;
          break;
        }
        case 'count':
          run = {
            ...run,
            counted: {
              interval: verdict.interval,
              rows: countMinimal(this.#world, verdict.interval),
              source: 'Aggregate',
            },
          };
          break;
        case 'bisect':
          this.#narrowed.push({ segment: order.segment, fromMs: verdict.atMs, toMs: order.toMs });
          this.#narrowed = this.#narrowed.toSorted((left, right) => right.fromMs - left.fromMs);
          return;
        case 'searchAgain':
          this.#failures.set(key, facts.failedBefore + 1);
          return;
        case 'endsInclusive':
          return;
        case 'commit':
        case 'dense':
          this.#commit(order.segment, verdict.record, written);
          return;
        case 'incomplete':
          throw new Error(`nothing here stays incomplete: ${verdict.message}`);
      }
    }
  }

  #read(
    reading: MinimalReading,
    facts: RunFacts,
    job: MinimalJob,
    rows: readonly MinimalRow[],
    mayUseBuckets: boolean,
  ) {
    const { interval, byReceiptTime } = facts;
    const whole = reading.mayLeave && mayUseBuckets ? wholeBuckets(job.histogram, interval) : undefined;
    const oldestMs = rows.at(-1)?.messageTimeMs ?? interval.fromMs;
    const cutMs = Math.max(interval.fromMs, Math.min(oldestMs + 1, interval.toMs - 1));
    const writtenFromMs = reading.mayLeave ? (whole?.atMs ?? cutMs) : undefined;
    const duplicates = reading.anyOrder ? new AnyOrder() : new InOrder(this.#random.next() < 0.5 ? 0 : undefined);
    const filter = new RowFilter({ interval, byReceiptTime, duplicates, writtenFromMs, sliceMs: 1_000 });
    const written = rows.filter((row) => filter.take(row));
    const figures = filter.figures();
    if (writtenFromMs === undefined) return { found: { figures }, written };
    if (!whole) return { found: { figures, writtenFromMs }, written };
    const counted = { interval: { ...interval, fromMs: whole.atMs }, rows: whole.rows, source: 'Histogram' as const };
    return { found: { figures, writtenFromMs: whole.atMs, counted }, written };
  }

  #commit(segment: number, record: RecordFigures, rows: readonly MinimalRow[]): void {
    const key = `${segment} ${record.toMs}`;
    if (!this.#destination.has(key)) this.#destination.set(key, { record: { ...record, segment, files: [] }, rows });
  }
}

function isSame(before: RowFigures | undefined, { received, duplicates }: RowFigures): boolean {
  return before?.received === received && before.duplicates === duplicates;
}
