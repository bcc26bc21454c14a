/**
 * The rows of a millisecond that has more than a search returns. No time divides them further, but their ids do. Each id ends in one of
 * ten digits, so that ten searches have all rows, and none twice. A class of ids whose search is cut is divided by the digit before.
 *
 * A search that only looks cut, by the number of its rows, is read as well: its class is divided only where the rows of all classes are
 * not as many as an aggregation counts.
 *
 * Invariant: rows are given only when they are as many as an aggregation has counted in the millisecond (E6). Where the service refuses
 * the operator, or means something else by it, nothing is dropped and the outcome says why.
 */
import { sleep } from '../base/clock.ts';
import { asLogfleetError, mayPass } from '../base/errors.ts';
import { inParallel } from '../base/parallel.ts';
import { type CommittedFile, sumOfFigures } from '../destination/commit-record.ts';
import { joinSlices, summaryOf } from '../destination/slice-figures.ts';
import type { PageRow } from '../service/page-row.ts';
import type { SearchJob } from '../service/search-job.ts';
import { type CutSign, cutSign } from './cut.ts';
import { AnyOrder } from './duplicates.ts';
import type { SearchOrder } from './export-decision.ts';
import { withOperators } from './export-task.ts';
import { IntervalFiles } from './interval-files.ts';
import { IntervalRows } from './interval-rows.ts';
import { JobPages, type PageReceiver } from './job-pages.ts';
import type { JobSet } from './job-set.ts';
import { type RecordFigures, strays } from './proof.ts';
import { type RunFigures, RunTally, sumOfRepeated } from './run-tally.ts';
import type { SearchTools } from './search-tools.ts';
import { sliceMsOf } from './slice-counts.ts';

export interface DenseMillisecond {
  readonly atMs: number;
  /** Its rows, as an aggregation has counted them. */
  readonly rows: number;
  /** The millisecond is the last one of this order. */
  readonly order: SearchOrder;
}

export interface DenseTools {
  readonly tools: SearchTools;
  readonly jobs: JobSet;
  readonly signal: AbortSignal;
}

/** Files to be staged, or to be given up. */
export interface DenseFiles {
  end(): Promise<readonly CommittedFile[]>;
  /** Never rejects. */
  giveUp(): Promise<void>;
}

export type DenseOutcome =
  /** The caller ends the files, or gives them up. */
  | { readonly kind: 'found'; readonly record: RecordFigures; readonly files: DenseFiles }
  /**
   * The searches brought errors, or other rows than were counted. Another try may succeed. `isFailure`: it counts among those that
   * proved nothing, which a try with a lost status does not.
   */
  | { readonly kind: 'again'; readonly isFailure: boolean; readonly message: string }
  /** `reason` is for people, without its full stop. */
  | { readonly kind: 'tooDense'; readonly reason: string };

/** Rejects with what keeps the service from searching, or the destination from taking rows; then no file is left behind. */
export async function searchDense(dense: DenseMillisecond, options: DenseTools): Promise<DenseOutcome> {
  const search = new DenseSearch(dense, options);
  let outcome: DenseOutcome | undefined;
  try {
    outcome = await search.run();
    return outcome;
  } finally {
    if (outcome?.kind !== 'found') await search.giveUp();
  }
}

const digits = Array.from('0123456789');
/** A hundred and ten searches at most. */
const mostDigits = 2;
/** A search that goes wrong before its first row is tried again. */
const mostTries = 3;
const retryDelayMs = 2_000;

/** What the search of one class of ids shows. */
type Part =
  | { readonly kind: 'read'; readonly figures: RunFigures; readonly isTainted: boolean; readonly doubt?: IntervalFiles }
  | { readonly kind: 'cut' }
  | Failure;
type Failure = Extract<DenseOutcome, { kind: 'again' | 'tooDense' }>;

interface ReadClass {
  readonly ending: string;
  readonly figures: RunFigures;
  readonly isTainted: boolean;
  /** Its own files, where the number of its rows looks like a limit. */
  readonly doubt: IntervalFiles | undefined;
}

class DenseSearch implements DenseFiles {
  readonly #dense: DenseMillisecond;
  readonly #options: DenseTools;
  /** Of all classes that are whole for sure. */
  readonly #files: IntervalFiles;
  /** Aborted with the first failure. */
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  #read: ReadClass[] = [];
  #failure: Failure | undefined;

  constructor(dense: DenseMillisecond, options: DenseTools) {
    this.#dense = dense;
    this.#options = options;
    this.#files = this.#newFiles();
    this.#signal = AbortSignal.any([options.signal, this.#stop.signal]);
  }

  async run(): Promise<DenseOutcome> {
    for (let endings: readonly string[] = digits; endings.length > 0; ) {
      const cut = await this.#searchAll(endings);
      if (this.#failure) return this.#failure;
      // Classes that are cut for sure come first: with their rows those in doubt may turn out to be whole.
      const next = cut.length > 0 || this.#isAsCounted ? cut : await this.#giveUpDoubtful();
      const tooLong = next.find((ending) => ending.length === mostDigits);
      if (tooLong !== undefined) return { kind: 'tooDense', reason: `so have those whose ids end in ${tooLong}` };
      endings = next.flatMap((ending) => digits.map((digit) => `${digit}${ending}`));
    }
    return this.#judge();
  }

  async end(): Promise<readonly CommittedFile[]> {
    const files: CommittedFile[] = [];
    for (const each of this.#allFiles) files.push(...(await each.end()));
    return files;
  }

  async giveUp(): Promise<void> {
    await Promise.all(this.#allFiles.map((files) => files.giveUp()));
  }

  get #allFiles(): readonly IntervalFiles[] {
    return [this.#files, ...this.#read.flatMap(({ doubt }) => doubt ?? [])];
  }

  /** Resolves to the classes that are cut. */
  async #searchAll(endings: readonly string[]): Promise<readonly string[]> {
    const cut: string[] = [];
    const searchOne = async (ending: string) => {
      if (this.#signal.aborted) return;
      const part = await this.#searchClass(ending);
      if (part.kind === 'cut') cut.push(ending);
      else if (part.kind === 'read') this.#read.push({ ...part, ending, doubt: part.doubt });
      else this.#fail(part);
    };
    const { searchesAtOnce } = this.#options.tools;
    await inParallel(endings, searchesAtOnce, (ending) => searchOne(ending).catch((error) => this.#abort(error)));
    return cut;
  }

  #fail(failure: Failure): void {
    this.#failure ??= failure;
    this.#stop.abort();
  }

  /** What the other searches reject with follows from the first failure. */
  #abort(error: unknown): void {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort();
    throw error;
  }

  /** The largest classes in doubt. Resolves to their endings. */
  async #giveUpDoubtful(): Promise<readonly string[]> {
    const doubtful = this.#read.filter(({ doubt }) => doubt !== undefined);
    const shortest = Math.min(...doubtful.map(({ ending }) => ending.length));
    const largest = doubtful.filter(({ ending }) => ending.length === shortest);
    this.#read = this.#read.filter((part) => !largest.includes(part));
    await Promise.all(largest.map(({ doubt }) => doubt?.giveUp()));
    return largest.map(({ ending }) => ending);
  }

  #sumOf(figure: 'received' | 'written' | 'outside' | 'duplicates' | 'duplicatesOfWritten'): number {
    return this.#read.reduce((sum, { figures }) => sum + figures[figure], 0);
  }

  /** The service may count twice what it has twice. */
  get #isAsCounted(): boolean {
    const { rows } = this.#dense;
    const written = this.#sumOf('written');
    return written === rows || written + this.#sumOf('duplicatesOfWritten') === rows;
  }

  #judge(): DenseOutcome {
    if (this.#isAsCounted) return { kind: 'found', record: this.#record(), files: this };
    const isTainted = this.#read.some((part) => part.isTainted);
    const message = `searches by the last digits of _messageid found ${this.#sumOf('written')}`;
    // A row that came late does that, too, and an error in a lost status (E5).
    return { kind: 'again', isFailure: !isTainted, message: isTainted ? `${message}, and one lost a status` : message };
  }

  #record(): RecordFigures {
    const { atMs, rows } = this.#dense;
    const found = this.#read.map(({ figures }) => figures);
    const repeated = sumOfRepeated(found);
    const duplicates = this.#sumOf('duplicates');
    const lengthMs = this.#sliceMs;
    const slices = joinSlices(found.map((figures) => figures.slices?.slices ?? []));
    return {
      ...{ fromMs: atMs, toMs: atMs + 1, left: 0, count: { rows, source: 'Aggregate' } },
      ...{ received: this.#sumOf('received'), written: this.#sumOf('written'), outside: this.#sumOf('outside') },
      duplicates,
      figures: sumOfFigures(found.map(({ messages }) => messages)),
      ...(lengthMs === undefined ? {} : { slices: summaryOf({ lengthMs, slices }, { fromMs: atMs, toMs: atMs + 1 }) }),
      ...(repeated && duplicates > 0 ? { repeated } : {}),
      ...(this.#options.tools.traits.isEndInclusive ? { endInclusive: true } : {}),
    };
  }

  #newFiles(): IntervalFiles {
    const { tools } = this.#options;
    return new IntervalFiles(tools, this.#dense.order, tools.describedFields);
  }

  /** The rows of the millisecond whose ids end so. No row of a cut class is written. */
  async #searchClass(ending: string): Promise<Part> {
    const { tools } = this.#options;
    const tally = this.#newTally();
    const isUntouched = () => tally.figures(true).received === 0;
    for (let tries = 1; ; tries++) {
      try {
        const part = await this.#readClass(ending, tally);
        if (part.kind !== 'again' || !isUntouched() || tries === mostTries) return part;
      } catch (thrown) {
        this.#signal.throwIfAborted();
        if (!mayPass(asLogfleetError(thrown)) || !isUntouched() || tries === mostTries) throw thrown;
      }
      await sleep(tools.clock, retryDelayMs * tries, this.#signal);
    }
  }

  #newTally(): RunTally {
    const interval = { fromMs: this.#dense.atMs, toMs: this.#dense.atMs + 1 };
    const { byReceiptTime } = this.#options.tools.task.identity;
    const sliceMs = this.#sliceMs;
    return new RunTally({ interval, byReceiptTime, duplicates: new AnyOrder(), left: 'nothing', sliceMs });
  }

  get #sliceMs(): number | undefined {
    return sliceMsOf(this.#options.tools.task.identity);
  }

  async #readClass(ending: string, tally: RunTally): Promise<Part> {
    const { tools, jobs } = this.#options;
    const isEndMoved = tools.traits.isEndInclusive;
    const job = await this.#open(ending);
    if (!job) return { kind: 'tooDense', reason: 'the service does not search by the last digits of _messageid' };
    try {
      const progress = await job.whenFinished(this.#signal);
      if (progress.errors.texts.length > 0) return broughtErrors(job);
      const sign = cutSign(progress, tools.traits.smallestLimit);
      if (sign !== undefined && !isDoubt(sign)) return { kind: 'cut' };
      if (sign === undefined) return await this.#readJob(job, tally, this.#files, isEndMoved);
      return await this.#readDoubtful(job, tally, isEndMoved);
    } finally {
      await jobs.close(job);
    }
  }

  async #readDoubtful(job: SearchJob, tally: RunTally, isEndMoved: boolean): Promise<Part> {
    const doubt = this.#newFiles();
    let part: Part | undefined;
    try {
      part = await this.#readJob(job, tally, doubt, isEndMoved);
      return part.kind === 'read' ? { ...part, doubt } : part;
    } finally {
      if (part?.kind !== 'read') await doubt.giveUp();
    }
  }

  async #readJob(job: SearchJob, tally: RunTally, files: IntervalFiles, isEndMoved: boolean): Promise<Part> {
    const { messageCount, isTainted } = job.progress;
    const pages = new JobPages({ job, tools: this.#options.tools, signal: this.#signal });
    await readAll(pages, messageCount, new IntervalRows(tally, files));
    // Statuses that only kept the job alive may have brought errors, too (E5).
    if (job.progress.errors.texts.length > 0) return broughtErrors(job);
    const figures = tally.figures(true);
    const received = figures.received - figures.overlapping;
    if (received !== messageCount) {
      return again(`a search of it counts ${messageCount} rows, and its pages have ${received}`);
    }
    if (strays({ isEndMoved }, figures) > 0) return again('a search of it has rows of another time');
    if (figures.duplicates === 0) return { kind: 'read', figures, isTainted };
    // As many others may be missing (E5).
    if (isTainted) return { ...again('a search of it lost a status, and had rows twice'), isFailure: false };
    if (await this.#comeAgain(pages, messageCount, figures)) return { kind: 'read', figures, isTainted };
    return again('pages of a search of it had other rows when they were read again');
  }

  /** Whether the service has the rows twice that came twice: they may have come in the place of others. */
  async #comeAgain(pages: JobPages, messageCount: number, figures: RunFigures): Promise<boolean> {
    const tally = this.#newTally();
    pages.beginAgain();
    await readAll(pages, messageCount, new CountedRows(tally));
    const { received, duplicates, overlapping } = tally.figures(true);
    return received === figures.received && duplicates === figures.duplicates && overlapping === 0;
  }

  /** Undefined where the service refuses the query. */
  async #open(ending: string): Promise<SearchJob | undefined> {
    const { tools, jobs } = this.#options;
    const { atMs } = this.#dense;
    const order = tools.task.order({ fromMs: atMs, toMs: atMs + 1 }, tools.traits.isEndInclusive);
    try {
      return await jobs.open(withOperators(order, `where _messageid matches "*${ending}"`), 'Rows');
    } catch (thrown) {
      this.#signal.throwIfAborted();
      const error = asLogfleetError(thrown);
      if (error.reason !== 'QueryRefused') throw error;
      return undefined;
    }
  }
}

/** The number of rows is like a limit, and nothing else speaks of one. */
function isDoubt(sign: CutSign): boolean {
  return sign === 'roundCount' || sign === 'smallestLimit';
}

/** Rows that are counted and not written. */
class CountedRows implements PageReceiver {
  readonly #tally: RunTally;

  constructor(tally: RunTally) {
    this.#tally = tally;
  }

  get repeatedAtStart(): number {
    return this.#tally.repeatedAtStart;
  }

  beginPage(): void {
    this.#tally.beginPage();
  }

  overlaps(): void {
    this.#tally.overlaps();
  }

  row(row: PageRow): void {
    this.#tally.take(row);
  }
}

async function readAll(pages: JobPages, messageCount: number, receiver: PageReceiver): Promise<void> {
  while (pages.offset < messageCount) if (!(await pages.read(receiver))) return;
}

function broughtErrors(job: SearchJob): Failure {
  return again(`a search of it brought errors: ${job.progress.errors.texts.slice(0, 3).join('; ')}`);
}

function again(message: string): Extract<Failure, { kind: 'again' }> {
  return { kind: 'again', isFailure: true, message };
}
