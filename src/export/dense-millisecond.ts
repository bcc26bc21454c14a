/**
 * The rows of a millisecond that has more than a search returns. No time divides them further, but their ids do: each ends in one of ten
 * digits, so that ten searches have all of them, and none twice. One that is cut as well is divided by the digit before.
 *
 * Invariant: rows are given only when they are as many as an aggregation has counted in the millisecond (E6). A service that refuses
 * the operator, or means something else by it, leaves the millisecond as it was: that is said, and nothing is dropped.
 */
import { crossing } from '../base/boundary.ts';
import { sleep } from '../base/clock.ts';
import { asLogfleetError, mayPass } from '../base/errors.ts';
import { sumOfFigures } from '../destination/commit-record.ts';
import type { PageRow } from '../service/page-row.ts';
import type { SearchJob } from '../service/search-job.ts';
import type { MessagePage } from '../service/search-service.ts';
import { cutSign, type Interval } from './cut.ts';
import { AnyOrder } from './duplicates.ts';
import type { SearchOrder } from './export-decision.ts';
import { withOperators } from './export-task.ts';
import { IntervalFiles } from './interval-files.ts';
import { IntervalRows } from './interval-rows.ts';
import type { JobSet } from './job-set.ts';
import type { RecordFigures } from './proof.ts';
import { type RunFigures, RunTally, sumOfRepeated } from './run-tally.ts';
import type { SearchTools } from './search-tools.ts';

export interface DenseMillisecond {
  readonly atMs: number;
  /** Its rows, as an aggregation has counted them. */
  readonly rows: number;
  /** Whose end the millisecond is. */
  readonly order: SearchOrder;
}

export interface DenseTools {
  readonly tools: SearchTools;
  readonly jobs: JobSet;
  readonly signal: AbortSignal;
}

export type DenseOutcome =
  /** The files are the caller's, to be ended or given up. */
  | { readonly kind: 'found'; readonly record: RecordFigures; readonly files: IntervalFiles }
  /**
   * The searches brought errors, or other rows than were counted: maybe not the next time. `isFailure`: that counts as one that proved
   * nothing; a status that was lost does not.
   */
  | { readonly kind: 'again'; readonly isFailure: boolean; readonly message: string }
  /** `reason` is for people, without its full stop. */
  | { readonly kind: 'tooDense'; readonly reason: string };

/** Rejects with what keeps the service from searching, or the destination from taking rows; then no file is left behind. */
export async function searchDense(dense: DenseMillisecond, options: DenseTools): Promise<DenseOutcome> {
  const { tools } = options;
  const files = new IntervalFiles(tools, dense.order, tools.describedFields);
  let outcome: DenseOutcome | undefined;
  try {
    outcome = await searchParts(dense, options, files);
    return outcome;
  } finally {
    if (outcome?.kind !== 'found') await files.giveUp();
  }
}

const digits = Array.from('0123456789');
/** A hundred and ten searches at most. */
const mostDigits = 2;
/** One search that goes wrong before its first row is not to cost the others. */
const mostTries = 3;
const retryDelayMs = 2_000;

async function searchParts(dense: DenseMillisecond, options: DenseTools, files: IntervalFiles): Promise<DenseOutcome> {
  const sum = { received: 0, written: 0, outside: 0, duplicates: 0 };
  const found: RunFigures[] = [];
  let isTainted = false;
  const endings = [...digits];
  for (const ending of endings) {
    const part = await searchPart(ending, dense.atMs, options, files);
    if (part.kind === 'again' || part.kind === 'tooDense') return part;
    if (part.kind === 'read') {
      const { figures } = part;
      for (const figure of ['received', 'written', 'outside', 'duplicates'] as const) sum[figure] += figures[figure];
      found.push(figures);
      isTainted ||= part.isTainted;
    } else if (ending.length < mostDigits) {
      endings.push(...digits.map((digit) => `${digit}${ending}`));
    } else {
      return { kind: 'tooDense', reason: `so have those whose ids end in ${ending}` };
    }
  }
  const { atMs, rows } = dense;
  const duplicatesOfWritten = found.reduce((all, figures) => all + figures.duplicatesOfWritten, 0);
  // What the service has twice it may count twice.
  if (sum.written !== rows && sum.written + duplicatesOfWritten !== rows) {
    const message = `searches by the last digits of _messageid found ${sum.written}`;
    // A row that came late does that, too, and an error that nobody heard of (E5).
    return { kind: 'again', isFailure: !isTainted, message: isTainted ? `${message}, and one lost a status` : message };
  }
  const interval = { fromMs: atMs, toMs: atMs + 1 };
  const repeated = sumOfRepeated(found);
  const record = {
    ...{ ...interval, ...sum, left: 0, count: { rows, source: 'Aggregate' as const } },
    figures: sumOfFigures(found.map(({ messages }) => messages)),
    ...(repeated && sum.duplicates > 0 ? { repeated } : {}),
    ...(options.tools.traits.isEndInclusive ? { endInclusive: true as const } : {}),
  };
  return { kind: 'found', record, files };
}

type Part =
  | { readonly kind: 'read'; readonly figures: RunFigures; readonly isTainted: boolean }
  | { readonly kind: 'cut' }
  | Extract<DenseOutcome, { kind: 'again' | 'tooDense' }>;

/** The rows of the millisecond whose ids end so. Of one that is cut none is written. */
async function searchPart(ending: string, atMs: number, options: DenseTools, files: IntervalFiles): Promise<Part> {
  const { tools, signal } = options;
  const interval = { fromMs: atMs, toMs: atMs + 1 };
  const { byReceiptTime } = tools.task.identity;
  const tally = new RunTally({ interval, byReceiptTime, duplicates: new AnyOrder(), left: 'nothing' });
  const isUntouched = () => tally.figures(true).received === 0;
  for (let tries = 1; ; tries++) {
    try {
      const part = await readPart(ending, interval, options, { tally, files });
      if (part.kind !== 'again' || !isUntouched() || tries === mostTries) return part;
    } catch (thrown) {
      signal.throwIfAborted();
      if (!mayPass(asLogfleetError(thrown)) || !isUntouched() || tries === mostTries) throw thrown;
    }
    await sleep(tools.clock, retryDelayMs * tries, signal);
  }
}

interface PartRows {
  readonly tally: RunTally;
  readonly files: IntervalFiles;
}

async function readPart(
  ending: string,
  interval: Interval,
  options: DenseTools,
  { tally, files }: PartRows,
): Promise<Part> {
  const { tools, jobs, signal } = options;
  const job = await openPart(ending, interval, options);
  if (!job) return { kind: 'tooDense', reason: 'the service does not search by the last digits of _messageid' };
  try {
    const progress = await job.whenFinished(signal);
    if (progress.errors.texts.length > 0) return broughtErrors(job);
    if (cutSign(progress, tools.traits.smallestLimit) !== undefined) return { kind: 'cut' };
    const receiver = new IntervalRows(tally, files);
    const onPage = ({ rows, fields }: MessagePage) => {
      if (rows > 0) tools.chosenFields.saw(fields);
    };
    await crossing('export.readPage', () => job.readMessages({ offset: 0, receiver, onPage, signal }));
    // Statuses that only kept it alive may have brought some, too (E5).
    if (job.progress.errors.texts.length > 0) return broughtErrors(job);
    const figures = tally.figures(true);
    const { isTainted } = progress;
    if (figures.received !== progress.messageCount) {
      return again(`a search of it counts ${progress.messageCount} rows, and its pages have ${figures.received}`);
    }
    if (figures.duplicates === 0) return { kind: 'read', figures, isTainted };
    // As many others may be missing (E5).
    if (isTainted) return { ...again('a search of it lost a status, and had rows twice'), isFailure: false };
    if (await comeAgain(job, figures, options)) return { kind: 'read', figures, isTainted };
    return again('pages of a search of it had other rows when they were read again');
  } finally {
    await jobs.close(job);
  }
}

/** Whether the service has the rows twice that came twice: they may have come in the place of others. */
async function comeAgain(
  job: SearchJob,
  { received, duplicates }: RunFigures,
  { signal }: DenseTools,
): Promise<boolean> {
  const known = new AnyOrder();
  const again = { received: 0, duplicates: 0 };
  const row = (one: PageRow) => {
    again.received++;
    if (known.comesAgain(one)) again.duplicates++;
  };
  await crossing('export.readPage', () => job.readMessages({ offset: 0, receiver: { row }, signal }));
  return again.received === received && again.duplicates === duplicates;
}

function broughtErrors(job: SearchJob): Part {
  return again(`a search of it brought errors: ${job.progress.errors.texts.slice(0, 3).join('; ')}`);
}

function again(message: string): Extract<Part, { kind: 'again' }> {
  return { kind: 'again', isFailure: true, message };
}

/** Undefined where the service refuses the query. */
async function openPart(
  ending: string,
  interval: Interval,
  { tools, jobs, signal }: DenseTools,
): Promise<SearchJob | undefined> {
  const order = tools.task.order(interval, tools.traits.isEndInclusive);
  try {
    return await jobs.open(withOperators(order, `where _messageid matches "*${ending}"`), 'Rows');
  } catch (thrown) {
    signal.throwIfAborted();
    const error = asLogfleetError(thrown);
    if (error.reason !== 'QueryRefused') throw error;
    return undefined;
  }
}
