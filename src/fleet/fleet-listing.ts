/**
 * What one account's listings have shown of its collectors, shared by every policy that uses the account (protocol U9).
 *
 * Readers ask for freshness (`requestSweep`, `requestRows`, `requestBuilds`); one loop reads what was asked for and tells its
 * subscribers. Nobody waits for a page: a reconcile takes what is there and is called again when there is more.
 *
 * The listing is asked for towards a build that nobody targets and nobody runs, so that it leaves nobody out and its pages
 * stay put while collectors are upgraded (U7, `view.ts`).
 *
 * Invariant: a row's `seenAtMs` is when the request that showed it was *sent*. A row goes only after two complete sweeps
 * without it, since absence from pages that shift proves nothing (U7).
 */
import type { Clock, Timer } from '../base/clock.ts';
import { asLogfleetError, type LogfleetError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Build, Collector, UpgradeService } from '../service/upgrade-service.ts';
import { PageSize } from './page-size.ts';
import { chooseView, type View } from './view.ts';

/** A collector as last seen. */
export interface Row {
  readonly collector: Collector;
  /** When the request of the newest page that showed it was sent; monotonic milliseconds. */
  readonly seenAtMs: number;
  /** Place in the list of the newest sweep, from 0; -1 where it has none. */
  readonly position: number;
  /** The version that it showed before its present one, while we watched. */
  readonly formerVersion: string | undefined;
}

type MutableRow = { -readonly [K in keyof Row]: Row[K] } & { missedSweeps: number };

/** Why nothing new is being read, and until when. */
export interface ListingProblem {
  readonly error: LogfleetError;
  readonly retryAtMs: number;
}

export interface FleetListingOptions {
  readonly service: UpgradeService;
  readonly clock: Clock;
  readonly log: Logger;
  /** Versions that policies of this service target at present: views towards them hide collectors. */
  readonly targeted: () => ReadonlySet<string>;
  /** Whether this process may speak to the service at all (leadership). */
  readonly active: () => boolean;
}

interface Sweep {
  readonly view: View;
  readonly startedAtMs: number;
  readonly seen: Set<string>;
  offset: number;
  /** Which of the view's builds is being read. */
  build: number;
}

const stalledRetryMs = 30_000;
const firstRetryMs = 1_000;
const longestRetryMs = 60_000;

export class FleetListing {
  readonly #options: FleetListingOptions;
  readonly #rows = new Map<string, MutableRow>();
  readonly #pageSize = new PageSize();
  readonly #listeners = new Set<() => void>();
  readonly #abort = new AbortController();
  /** Ids whose rows came, changed or went, in order; readers keep their own place in it. */
  #changes: string[] = [];
  #changesBase = 0;
  #orderRevision = 0;
  #ids: string[] = [];
  #builds: { readonly list: readonly Build[]; readonly sentAtMs: number } | undefined;
  #view: View | undefined;
  #sweep: Sweep | undefined;
  #completeSinceMs: number | undefined;
  #sweepRequests = 0;
  #lastSweepMs = 0;
  #wantBuildsAfter: number | undefined;
  #wantSweepAfter: number | undefined;
  readonly #wantPages = new Map<number, number>();
  #running = false;
  #failures = 0;
  #problem: ListingProblem | undefined;
  #retry: Timer | undefined;

  constructor(options: FleetListingOptions) {
    this.#options = options;
  }

  row(id: string): Row | undefined {
    return this.#rows.get(id);
  }

  rows(): IterableIterator<[string, Row]> {
    return this.#rows.entries();
  }

  /** Builds that the service offers (4.7), with when they were asked for; undefined before the first answer. */
  builds(): { readonly list: readonly Build[]; readonly sentAtMs: number } | undefined {
    return this.#builds;
  }

  /** When the first request of the newest complete sweep was sent; undefined before the first one has ended. */
  completeSinceMs(): number | undefined {
    return this.#completeSinceMs;
  }

  /** Whether a collector at `version` shows in the listing. False only with a single build (U7). */
  observes(version: string): boolean {
    return this.#view?.observes(version) ?? false;
  }

  /** How long the newest complete sweep took, and how many requests it made (U9). */
  sweepCost(): { readonly durationMs: number; readonly requests: number } {
    return { durationMs: this.#lastSweepMs, requests: this.#sweepRequests };
  }

  problem(): ListingProblem | undefined {
    return this.#problem;
  }

  /** Rows in one page of the service, as far as it is known. */
  pageRows(): number {
    return this.#pageSize.rows();
  }

  /** The page that shows this collector, or undefined where its place is not known. */
  pageOf(id: string): number | undefined {
    const position = this.#rows.get(id)?.position ?? -1;
    return position < 0 ? undefined : Math.floor(position / this.#pageSize.rows());
  }

  /** Grows whenever rows changed places. */
  orderRevision(): number {
    return this.#orderRevision;
  }

  /** The end of the log of changes: a place to read on from later. */
  revision(): number {
    return this.#changesBase + this.#changes.length;
  }

  /** Ids changed since that place, or undefined where the log no longer reaches back so far. */
  changesSince(revision: number): readonly string[] | undefined {
    return revision < this.#changesBase ? undefined : this.#changes.slice(revision - this.#changesBase);
  }

  /** Asks for a complete sweep whose requests are all sent at or after `sentAfterMs`. */
  requestSweep(sentAfterMs: number): void {
    if (this.#completeSinceMs !== undefined && this.#completeSinceMs >= sentAfterMs) return;
    if (this.#sweep && this.#sweep.startedAtMs >= sentAfterMs) return;
    this.#wantSweepAfter = Math.max(this.#wantSweepAfter ?? 0, sentAfterMs);
    this.#pump();
  }

  requestBuilds(sentAfterMs: number): void {
    if (this.#builds && this.#builds.sentAtMs >= sentAfterMs) return;
    this.#wantBuildsAfter = Math.max(this.#wantBuildsAfter ?? 0, sentAfterMs);
    this.#pump();
  }

  /** Asks for a page (`pageOf`) to be read by a request sent at or after `sentAfterMs`. */
  requestPage(page: number, sentAfterMs: number): void {
    this.#wantPages.set(page, Math.max(this.#wantPages.get(page) ?? 0, sentAfterMs));
    this.#pump();
  }

  /** Calls `listener` after each sweep, batch of pages, list of builds and problem. Returns how to stop. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Reads on after a pause: leadership came back, or what failed was mended. */
  wake(): void {
    this.#retry?.cancel();
    this.#retry = undefined;
    this.#pump();
  }

  close(): void {
    this.#abort.abort(new Error('the fleet listing is closed'));
    this.#retry?.cancel();
    this.#listeners.clear();
  }

  #pump(): void {
    if (this.#running || this.#retry || this.#abort.signal.aborted) return;
    this.#running = true;
    void this.#run().finally(() => {
      this.#running = false;
    });
  }

  async #run(): Promise<void> {
    // The request that set us off may be one of several made in the same breath.
    await Promise.resolve();
    while (!this.#abort.signal.aborted && this.#options.active()) {
      try {
        const step = this.#nextStep();
        if (!step) return;
        await step();
        this.#failures = 0;
        this.#problem = undefined;
      } catch (thrown) {
        if (this.#abort.signal.aborted) return;
        this.#backOff(asLogfleetError(thrown));
        return;
      }
    }
  }

  #nextStep(): (() => Promise<void>) | undefined {
    if (this.#wantBuildsAfter !== undefined || ((this.#wantSweepAfter !== undefined || this.#sweep) && !this.#builds)) {
      return () => this.#readBuilds();
    }
    // Pages are few and somebody's slot depends on each; a sweep is long.
    const page = this.#wantPages.entries().next();
    if (!page.done) {
      const [index, sentAfterMs] = page.value;
      return () => this.#readPage(index, sentAfterMs);
    }
    if (this.#sweep) {
      const sweep = this.#sweep;
      return () => this.#continueSweep(sweep);
    }
    if (this.#wantSweepAfter !== undefined) return async () => this.#beginSweep();
    return undefined;
  }

  #backOff(error: LogfleetError): void {
    const { clock, log } = this.#options;
    const delayMs = retryDelayMs(error, this.#failures++);
    this.#problem = { error, retryAtMs: clock.monotonic() + delayMs };
    log.warn('the fleet could not be read', { error, retryInMs: delayMs });
    this.#retry = clock.after(delayMs, () => {
      this.#retry = undefined;
      this.#pump();
    });
    this.#tell();
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  async #readBuilds(): Promise<void> {
    const wanted = this.#wantBuildsAfter;
    const answer = await this.#options.service.listBuilds({ signal: this.#abort.signal });
    this.#builds = { list: answer.value, sentAtMs: answer.sentAtMs };
    if (wanted === this.#wantBuildsAfter) this.#wantBuildsAfter = undefined;
    this.#tell();
  }

  #beginSweep(): void {
    this.#wantSweepAfter = undefined;
    const view = chooseView(this.#builds?.list ?? [], this.#options.targeted(), this.#countVersions(), this.#view);
    this.#sweep = { view, startedAtMs: this.#options.clock.monotonic(), seen: new Set(), offset: 0, build: 0 };
    this.#sweepRequests = 0;
  }

  async #continueSweep(sweep: Sweep): Promise<void> {
    const build = sweep.view.builds[sweep.build];
    const limit = this.#pageSize.rows();
    let page: readonly Collector[];
    let sentAtMs: number;
    try {
      ({ value: page, sentAtMs } = await this.#list(build, sweep.offset, limit));
    } catch (thrown) {
      if (this.#pageSize.refused(thrown, limit)) return;
      throw thrown;
    }
    this.#sweepRequests++;
    const ended = this.#pageSize.learn(limit, page.length, sweep.offset);
    // Places count in the first build's list only; the others show who that one leaves out.
    this.#takePage(page, sentAtMs, sweep.build === 0 ? sweep.offset : undefined);
    for (const collector of page) sweep.seen.add(collector.id);
    sweep.offset += page.length;
    if (!ended) return;
    sweep.offset = 0;
    sweep.build++;
    if (sweep.build >= sweep.view.builds.length) await this.#endSweep(sweep);
  }

  async #endSweep(sweep: Sweep): Promise<void> {
    const view = await this.#confirmView(sweep);
    if (!view) return;
    this.#view = view;
    this.#sweep = undefined;
    for (const [id, row] of this.#rows) {
      if (sweep.seen.has(id)) row.missedSweeps = 0;
      else if (++row.missedSweeps >= 2 || this.#completeSinceMs === undefined) {
        this.#rows.delete(id);
        this.#changes.push(id);
      } else if (row.position >= 0) row.position = -1;
    }
    this.#trimChanges();
    this.#completeSinceMs = sweep.startedAtMs;
    this.#lastSweepMs = this.#options.clock.monotonic() - sweep.startedAtMs;
    this.#tell();
  }

  /**
   * Makes sure that the swept view left nobody out, where its build may be run by someone: in the first sweep, or when rows have
   * gone missing. One request tells, where there is another build that nobody runs: its list has no row beyond ours. If
   * it has one, the sweep starts again towards that build; where every build is run by someone, it goes on
   * with the list of a second one. Undefined: not finished.
   */
  async #confirmView(sweep: Sweep): Promise<View | undefined> {
    const { view, seen, startedAtMs } = sweep;
    if (view.builds.length > 1) return view;
    if (this.#completeSinceMs !== undefined && !this.#missedSince(sweep)) return view;
    const counts = this.#countVersions();
    const other = view.alternative(counts);
    if (other) {
      const { value } = await this.#list(other.builds[0], seen.size, 1);
      this.#sweepRequests++;
      if (value.length === 0) return view;
      this.#sweep = { view: other, startedAtMs, seen: new Set(), offset: 0, build: 0 };
      return undefined;
    }
    const wider = view.widened(counts);
    if (!wider) return view;
    this.#sweep = { view: wider, startedAtMs, seen, offset: 0, build: 1 };
    return undefined;
  }

  #missedSince(sweep: Sweep): boolean {
    if (this.#rows.size === sweep.seen.size) return false;
    for (const [id, row] of this.#rows) if (row.missedSweeps === 0 && !sweep.seen.has(id)) return true;
    return false;
  }

  async #readPage(index: number, sentAfterMs: number): Promise<void> {
    const size = this.#pageSize.rows();
    const offset = index * size;
    const build = this.#view?.builds[0];
    const { value, sentAtMs } = await this.#list(build, offset, size);
    if (this.#wantPages.get(index) === sentAfterMs) this.#wantPages.delete(index);
    const shown = new Set(value.map((collector) => collector.id));
    // Who should have been there and is not has moved: only a sweep finds its new place.
    for (const id of this.#ids.slice(offset, offset + size)) {
      const row = this.#rows.get(id);
      if (row && row.position >= offset && row.position < offset + size && !shown.has(id)) row.position = -1;
    }
    this.#takePage(value, sentAtMs, offset);
    this.#trimChanges();
    if (this.#wantPages.size === 0) this.#tell();
  }

  #list(toVersion: string | undefined, offset: number, limit: number) {
    const query = toVersion === undefined ? { offset, limit } : { toVersion, offset, limit };
    return this.#options.service.listCollectors(query, { signal: this.#abort.signal });
  }

  #takePage(page: readonly Collector[], sentAtMs: number, offset: number | undefined): void {
    let position = offset;
    for (const collector of page) {
      this.#take(collector, sentAtMs, position);
      if (position !== undefined) position++;
    }
  }

  #take(collector: Collector, sentAtMs: number, position: number | undefined): void {
    const row = this.#rows.get(collector.id);
    if (!row) {
      this.#rows.set(collector.id, {
        collector,
        seenAtMs: sentAtMs,
        position: position ?? -1,
        formerVersion: undefined,
        missedSweeps: 0,
      });
      this.#changes.push(collector.id);
      this.#orderRevision++;
      if (position !== undefined) this.#ids[position] = collector.id;
      return;
    }
    if (sentAtMs < row.seenAtMs) return;
    if (!sameCollector(row.collector, collector)) {
      if (row.collector.collectorVersion !== collector.collectorVersion) {
        row.formerVersion = row.collector.collectorVersion;
      }
      this.#changes.push(collector.id);
    }
    row.collector = collector;
    row.seenAtMs = sentAtMs;
    row.missedSweeps = 0;
    if (position !== undefined && row.position !== position) {
      row.position = position;
      this.#orderRevision++;
      this.#ids[position] = collector.id;
    }
  }

  #countVersions(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { collector } of this.#rows.values()) {
      const version = collector.collectorVersion;
      if (version) counts.set(version, (counts.get(version) ?? 0) + 1);
    }
    return counts;
  }

  #trimChanges(): void {
    const most = Math.max(4_096, 2 * this.#rows.size);
    if (this.#changes.length <= most) return;
    const dropped = this.#changes.length - (most >> 1);
    this.#changes = this.#changes.slice(dropped);
    this.#changesBase += dropped;
  }
}

function retryDelayMs(error: LogfleetError, failures: number): number {
  switch (error.handling.kind) {
    case 'retryAfter':
      return error.handling.delayMs;
    case 'stall':
      return stalledRetryMs;
    case 'backoff':
    case 'wait':
    case 'bug':
      return Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(failures, 10));
  }
}

/** Whether nothing changed that a policy looks at. A newer sign of life alone is no change. */
function sameCollector(left: Collector, right: Collector): boolean {
  return (
    left.collectorVersion === right.collectorVersion &&
    left.alive === right.alive &&
    left.name === right.name &&
    left.collectorType === right.collectorType &&
    left.osName === right.osName &&
    left.osVersion === right.osVersion &&
    left.osArch === right.osArch &&
    left.timeZone === right.timeZone &&
    left.hostName === right.hostName &&
    left.ephemeral === right.ephemeral &&
    left.sourceSyncMode === right.sourceSyncMode
  );
}
