/**
 * Rows of an account's collector listing, shared by all policies of the account (U9).
 *
 * Users request reads (`requestSweep`, `requestPage`, `requestBuilds`). One loop sends the requests and notifies the users. A
 * reconcile never waits for a page: it uses the current rows and is called again after a read. One timer re-reads the fleet for all
 * users. A user at rest is notified only about changes that concern it, so a fleet in order costs one sweep and no reconciles.
 *
 * The listing is requested for a build that no policy targets and no collector runs. It then shows all collectors, and its pages
 * stay stable during upgrades (U7, `listing-view.ts`).
 *
 * Invariant: the loop has at most one request in flight, and none while another process leads.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { asLogfleetError, type LogfleetError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { retryDelayMs } from '../base/retry-delay.ts';
import type { Build, Collector, UpgradeService } from '../service/collectors/upgrade-service.ts';
import { FleetRows, type Row } from './fleet-rows.ts';
import { type Listed, ListOrder } from './list-order.ts';
import { chooseView, type View } from './listing-view.ts';
import { defaultRows, PageSize, refusesBuild } from './page-size.ts';

/** Error of the last read, and the time of the retry. */
export interface ListingProblem {
  readonly error: LogfleetError;
  readonly retryAtMs: number;
}

/**
 * Minimum distance between sweeps of a fleet at rest, as a multiple of the sweep's duration. So sweeps take at most a tenth of the
 * time (U9).
 */
export const restingShare = 10;

export interface FleetListingOptions {
  readonly service: UpgradeService;
  readonly clock: Clock;
  readonly log: Logger;
  /** Versions that policies of this service currently target. A listing for such a version hides collectors. */
  readonly targeted: () => ReadonlySet<string>;
  /** Whether this process may send requests to the service (leadership). */
  readonly active: () => boolean;
}

/** Policy that uses a listing. */
export interface ListingUser {
  /** Secret of the policy, as `namespace/name`. */
  readonly secret: string;
  /** Maximum age of the listing in ms. */
  readonly resyncMs: number;
  /** Called when the policy should reconcile. */
  readonly onNews: () => void;
}

interface User extends ListingUser {
  /** Minimum distance between sweeps for this user, as a multiple of the sweep's duration (U9). */
  share: number;
}

export class FleetListing {
  readonly #options: FleetListingOptions;
  readonly rows = new FleetRows();
  readonly #pageSize = new PageSize();
  readonly #users = new Map<string, User>();
  /** Users that are notified of every sweep, batch of pages and list of builds. */
  readonly #attentive = new Set<string>();
  /** Secrets whose users were notified, since the last resync, that the Secret may belong to another account. */
  readonly #notifiedSecrets = new Set<string>();
  #resync: { readonly atMs: number; readonly timer: Timer } | undefined;
  /** Whether users at rest were notified of a problem. They are then also notified of its end. */
  #isProblemKnown = false;
  readonly #abort = new AbortController();
  #builds: { readonly list: readonly Build[]; readonly sentAtMs: number } | undefined;
  #view: View | undefined;
  /** Whether the service no longer offers a build of the view, so that no page of it can be read. */
  #isWithdrawn = false;
  #sweep: Sweep | undefined;
  #completeSinceMs: number | undefined;
  #sweepMs = 0;
  #lastSweepMs = 0;
  #wantBuildsAfter: number | undefined;
  #wantSweepAfter: number | undefined;
  readonly #wantPages = new Map<number, number>();
  readonly #pageReads = new Map<number, number>();
  /** Merged order of two listings that together show all collectors. Used if every build is run by some collector. */
  #order: ListOrder | undefined;
  #orderRevision = 0;
  #running = false;
  #failures = 0;
  /**
   * Whether a listing was rejected because of its build, and no listing has succeeded since. A list of builds alone does not clear
   * it.
   */
  #isBuildRefused = false;
  #problem: ListingProblem | undefined;
  #retry: Timer | undefined;

  constructor(options: FleetListingOptions) {
    this.#options = options;
  }

  row(id: string): Row | undefined {
    return this.rows.get(id);
  }

  /** Builds that the service offers (4.7), with the sending time of the request. Undefined until the first answer. */
  builds(): { readonly list: readonly Build[]; readonly sentAtMs: number } | undefined {
    return this.#builds;
  }

  /** Sending time of the first request of the newest complete sweep. Undefined until the first complete sweep. */
  completeSinceMs(): number | undefined {
    return this.#completeSinceMs;
  }

  /** Whether the listing shows collectors with `version`. False only if the service has a single build (U7). */
  observes(version: string): boolean {
    return this.#view?.observes(version) ?? false;
  }

  /** Total duration of the requests of the newest complete sweep in ms. Excludes failed requests and waits (U9). */
  sweepMs(): number {
    return this.#lastSweepMs;
  }

  problem(): ListingProblem | undefined {
    return this.#problem;
  }

  /** Number of rows in a page of the service, as far as known. */
  pageRows(): number {
    return this.#pageSize.rows();
  }

  /** Page that shows this collector, or will show it once it leaves the hidden build. Undefined if unknown. */
  pageOf(id: string): number | undefined {
    const position = this.#positionOf(id);
    return position === undefined ? undefined : Math.floor(position / this.#pageSize.rows());
  }

  /** Counter that changes whenever the result of `placeOf` may change. */
  orderRevision(): number {
    return this.#orderRevision + this.rows.orderRevision;
  }

  /** Place of a collector in the order of the listing, for comparisons. Unknown collectors come last. */
  placeOf(id: string): number {
    const place = this.#order ? this.#order.place(id) : this.rows.get(id)?.position;
    return place === undefined || place < 0 ? Number.MAX_SAFE_INTEGER : place;
  }

  /** Sending time of the last read of a page since the newest sweep. Undefined if the page was not read. */
  pageReadMs(page: number): number | undefined {
    return this.#pageReads.get(page);
  }

  /** Requests a complete sweep whose requests are all sent at or after `sentAfterMs`. */
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

  /** Requests a read of a page (`pageOf`) with a request sent at or after `sentAfterMs`. */
  requestPage(page: number, sentAfterMs: number): void {
    this.#wantPages.set(page, Math.max(this.#wantPages.get(page) ?? 0, sentAfterMs));
    this.#pump();
  }

  /** Adds or updates a user. Until it rests, the user is notified of each sweep, batch of pages, list of builds and problem. */
  attend(id: string, user: ListingUser): void {
    const before = this.#users.get(id);
    this.#attentive.add(id);
    if (before?.resyncMs === user.resyncMs && before.secret === user.secret && before.onNews === user.onNews) return;
    this.#users.set(id, { ...user, share: before?.share ?? restingShare });
    this.#planResync(user.resyncMs, before?.share ?? restingShare);
  }

  /**
   * Sets the needs of a user after its decision.
   * @param isAtRest whether to notify it only of changes: of its rows, of the builds, and of the beginning or end of a problem
   */
  rest(id: string, needs: { readonly share: number; readonly isAtRest: boolean }): void {
    const user = this.#users.get(id);
    if (!user) return;
    if (needs.isAtRest) this.#attentive.delete(id);
    if (user.share === needs.share) return;
    user.share = needs.share;
    this.#planResync(user.resyncMs, user.share);
  }

  leave(id: string): void {
    this.#users.delete(id);
    this.#attentive.delete(id);
    this.rows.members.leave(id);
  }

  /** Notifies all users of a Secret that may belong to another account now, at most once per resync. */
  doubtSecret(secret: string): void {
    if (this.#notifiedSecrets.has(secret)) return;
    this.#notifiedSecrets.add(secret);
    for (const user of [...this.#users.values()]) if (user.secret === secret) user.onNews();
  }

  close(): void {
    this.#abort.abort(new Error('the fleet listing is closed'));
    this.#retry?.cancel();
    this.#resync?.timer.cancel();
    this.#users.clear();
    this.#attentive.clear();
  }

  /** Sets the resync timer if these needs are due earlier. */
  #planResync(resyncMs: number, share: number): void {
    const atMs = Math.min(this.#buildsDueMs(resyncMs), this.#sweepDueMs(resyncMs, share));
    if (atMs === Number.POSITIVE_INFINITY || (this.#resync && this.#resync.atMs <= atMs)) return;
    this.#resync?.timer.cancel();
    const { clock } = this.#options;
    const timer = clock.after(atMs - clock.monotonic(), () => {
      this.#resync = undefined;
      this.#readAgain();
    });
    this.#resync = { atMs, timer };
  }

  /** Time at which builds are due for another read. Infinity if a read is already pending. */
  #buildsDueMs(resyncMs: number): number {
    if (!this.#builds || this.#wantBuildsAfter !== undefined) return Number.POSITIVE_INFINITY;
    return this.#builds.sentAtMs + resyncMs;
  }

  #sweepDueMs(resyncMs: number, share: number): number {
    const isAwaited = this.#wantSweepAfter !== undefined || this.#sweep !== undefined;
    if (this.#completeSinceMs === undefined || isAwaited) return Number.POSITIVE_INFINITY;
    return this.#completeSinceMs + Math.max(resyncMs, share * this.#lastSweepMs);
  }

  /** Requests all reads that are due, and sets the timer for the next. */
  #readAgain(): void {
    const nowMs = this.#options.clock.monotonic();
    const users = [...this.#users.values()];
    const areBuildsDue = users.some(({ resyncMs }) => this.#buildsDueMs(resyncMs) <= nowMs);
    const isSweepDue = users.some(({ resyncMs, share }) => this.#sweepDueMs(resyncMs, share) <= nowMs);
    if (areBuildsDue) this.requestBuilds(nowMs);
    if (isSweepDue) {
      this.requestSweep(nowMs);
      this.#checkSecrets();
    }
    this.#replan();
  }

  #replan(): void {
    for (const { resyncMs, share } of this.#users.values()) this.#planResync(resyncMs, share);
  }

  /** Lets one user of each Secret check whether the Secret still belongs to this account (U9). */
  #checkSecrets(): void {
    this.#notifiedSecrets.clear();
    const bySecret = new Map<string, User>();
    for (const user of this.#users.values()) if (!bySecret.has(user.secret)) bySecret.set(user.secret, user);
    for (const user of bySecret.values()) user.onNews();
  }

  #pump(): void {
    if (this.#running || this.#retry || this.#abort.signal.aborted) return;
    this.#running = true;
    void this.#run();
  }

  async #run(): Promise<void> {
    try {
      // Several requests can be made in the same turn, so wait for all of them.
      await Promise.resolve();
      while (!this.#abort.signal.aborted && this.#options.active()) {
        const step = this.#nextStep();
        if (!step) return;
        await step();
        if (this.#isBuildRefused) continue;
        this.#failures = 0;
        this.#problem = undefined;
      }
    } catch (thrown) {
      if (!this.#abort.signal.aborted) this.#backOff(asLogfleetError(thrown));
    } finally {
      // Reset in the same turn as the last check for requests, so that a later request starts another run.
      this.#running = false;
    }
  }

  #nextStep(): (() => Promise<void>) | undefined {
    if (this.#wantBuildsAfter !== undefined || ((this.#wantSweepAfter !== undefined || this.#sweep) && !this.#builds)) {
      return () => this.#readBuilds();
    }
    // Pages come first: they are few, and upgrades wait for them. A sweep is long.
    const page = this.#wantPages.entries().next();
    if (!page.done && !this.#isWithdrawn) {
      const [index] = page.value;
      return () => this.#readPage(index);
    }
    if (this.#sweep) {
      const sweep = this.#sweep;
      const isRead = sweep.build >= sweep.view.builds.length;
      return () => (isRead ? this.#endSweep(sweep) : this.#continueSweep(sweep));
    }
    if (this.#wantSweepAfter !== undefined) return async () => this.#beginSweep();
    return undefined;
  }

  #backOff(error: LogfleetError): void {
    const { clock, log } = this.#options;
    if (refusesBuild(error)) {
      this.#isBuildRefused = true;
      this.#wantBuildsAfter = clock.monotonic();
    }
    const delayMs = retryDelayMs(error, this.#failures++);
    this.#problem = { error, retryAtMs: clock.monotonic() + delayMs };
    log.warn('the fleet could not be read', { error, retryInMs: delayMs });
    const isNews = !this.#isProblemKnown;
    this.#isProblemKnown = true;
    this.#retry = clock.after(delayMs, () => {
      this.#retry = undefined;
      this.#pump();
    });
    this.#notify(isNews);
  }

  /** @param isForAll whether users at rest are notified as well */
  #notify(isForAll: boolean): void {
    const concerned = this.rows.members.takeConcerned();
    const told = isForAll ? this.#users.keys() : new Set([...this.#attentive, ...concerned]);
    for (const id of [...told]) this.#users.get(id)?.onNews();
  }

  /** Notifies users after a successful read. If the read ends a problem, users at rest are notified as well. */
  #notifyOfRead(isForAll: boolean): void {
    const isOver = this.#isProblemKnown && !this.#isBuildRefused;
    if (isOver) {
      this.#isProblemKnown = false;
      this.#problem = undefined;
    }
    this.#notify(isForAll || isOver);
  }

  async #readBuilds(): Promise<void> {
    const answer = await this.#options.service.listBuilds({ signal: this.#abort.signal });
    const isNews = !sameBuilds(this.#builds?.list, answer.value);
    this.#builds = { list: answer.value, sentAtMs: answer.sentAtMs };
    if ((this.#wantBuildsAfter ?? 0) <= answer.sentAtMs) this.#wantBuildsAfter = undefined;
    this.#dropWithdrawn(answer.value);
    // Without a known fleet, builds alone decide nothing. The first sweep notifies of both.
    if (this.#completeSinceMs !== undefined || this.#isProblemKnown) this.#notifyOfRead(isNews);
    this.#replan();
  }

  /** Abandons a sweep or view whose build the service no longer offers, and requests another sweep. */
  #dropWithdrawn(offered: readonly Build[]): void {
    if (this.#sweep?.view.isOutdated(offered)) {
      this.#wantSweepAfter = Math.max(this.#wantSweepAfter ?? 0, this.#sweep.startedAtMs);
      this.#sweep = undefined;
    }
    if (this.#isWithdrawn || !this.#view?.isWithdrawn(offered)) return;
    this.#isWithdrawn = true;
    this.#wantPages.clear();
    this.#wantSweepAfter = this.#options.clock.monotonic();
  }

  #beginSweep(): void {
    this.#wantSweepAfter = undefined;
    const view = chooseView(this.#builds?.list ?? [], this.#options.targeted(), this.rows.countVersions(), this.#view);
    this.#sweep = sweepOf(view, this.#options.clock.monotonic());
    this.#sweepMs = 0;
  }

  async #continueSweep(sweep: Sweep): Promise<void> {
    const build = sweep.view.builds[sweep.build];
    const limit = this.#pageSize.limit();
    let page: readonly Collector[];
    let sentAtMs: number;
    try {
      ({ value: page, sentAtMs } = await this.#listForSweep(build, sweep.offset, limit));
    } catch (thrown) {
      if (this.#pageSize.refused(thrown, limit)) return;
      throw thrown;
    }
    const ended = this.#pageSize.learn(limit, page.length, sweep.offset);
    // Only the first build's listing defines places. The other listing shows the collectors that the first one hides.
    const kept = this.rows.takePage(page, sentAtMs, sweep.build === 0 ? sweep.offset : undefined);
    for (const { id, name } of kept) {
      sweep.seen.add(id);
      sweep.lists[sweep.build === 0 ? 0 : 1].push({ id, name });
    }
    sweep.offset += page.length;
    if (!ended) return;
    sweep.offset = 0;
    sweep.build++;
  }

  async #endSweep(sweep: Sweep): Promise<void> {
    const view = await this.#confirmView(sweep);
    if (!view) return;
    const isOtherView = this.#view?.builds.join() !== view.builds.join();
    this.#view = view;
    this.#isWithdrawn = false;
    this.#sweep = undefined;
    this.#pageReads.clear();
    this.rows.endSweep(sweep.seen);
    this.#order = this.#orderAfter(sweep, view);
    this.#completeSinceMs = sweep.startedAtMs;
    this.#lastSweepMs = this.#sweepMs;
    this.#notifyOfRead(isOtherView);
    this.#replan();
  }

  #orderAfter({ lists }: Sweep, view: View): ListOrder | undefined {
    const former = this.#order;
    if (former || view.builds.length > 1) this.#orderRevision++;
    if (view.builds.length === 1) return undefined;
    return ListOrder.after(former, ...lists, (id) => this.rows.get(id) !== undefined);
  }

  /**
   * Checks that the swept listing hides no collector, since a newly installed collector may run the view's build.
   *
   * If another build is run by no collector, one request is enough: its listing must have no row beyond the known ones. If it has
   * more, the sweep starts again for that build. If every build is in use, the sweep continues with the listing of a second build,
   * provided that rows are missing or a witness listing is longer than expected.
   *
   * Returns undefined if the sweep must continue.
   */
  async #confirmView(sweep: Sweep): Promise<View | undefined> {
    const { view, seen, lists, startedAtMs } = sweep;
    if (view.builds.length > 1 || sweep.proven) return view;
    const counts = this.rows.countVersions();
    const other = view.alternative(counts);
    if (other) {
      const { value } = await this.#listForSweep(other.builds[0], seen.size, 1);
      if (value.length === 0) return view;
      this.#sweep = { ...sweepOf(other, startedAtMs), proven: true };
      return undefined;
    }
    const wider = view.widened(counts);
    if (!wider || !(await this.#leavesOut(sweep, counts))) return view;
    this.#sweep = { view: wider, startedAtMs, seen, lists, offset: 0, build: 1, proven: false };
    return undefined;
  }

  /**
   * Whether a collector may run the view's build and thus be hidden. The first sweep must not overlook any collector. Later sweeps
   * must not mistake upgraded collectors for hidden ones; a hidden collector then shows in the next quiet sweep.
   */
  async #leavesOut({ view, seen }: Sweep, counts: ReadonlyMap<string, number>): Promise<boolean> {
    if (this.rows.missesAny(seen)) return true;
    const witness = view.witness(counts, this.#completeSinceMs === undefined);
    return witness === undefined || this.#showsMore(witness, seen);
  }

  async #readPage(index: number): Promise<void> {
    const size = this.#pageSize.rows();
    const offset = index * size;
    const build = this.#view?.builds[0];
    let value: readonly Collector[];
    let sentAtMs: number;
    try {
      ({ value, sentAtMs } = await this.#list(build, offset, size));
    } catch (thrown) {
      if (!this.#pageSize.refused(thrown, size)) throw thrown;
      // The page size changed, so pages are numbered differently. Users request them again.
      this.#wantPages.clear();
      this.#pageReads.clear();
      this.#notify(false);
      return;
    }
    if ((this.#wantPages.get(index) ?? 0) <= sentAtMs) this.#wantPages.delete(index);
    this.#pageReads.set(index, sentAtMs);
    if (!this.#order) this.rows.displace(offset, size, value);
    this.rows.takePage(value, sentAtMs, this.#order ? undefined : offset);
    if (this.#wantPages.size === 0) this.#notifyOfRead(false);
  }

  #positionOf(id: string): number | undefined {
    const { rows } = this;
    const hidden = this.#view?.builds[0];
    const shows = (other: string) => {
      const version = rows.get(other)?.collector.collectorVersion;
      return version !== undefined && version !== hidden;
    };
    if (this.#order) return this.#order.position(id, rows.revision, shows);
    const position = rows.get(id)?.position ?? -1;
    return position < 0 ? undefined : position;
  }

  /**
   * Whether the listing for this build has more rows than the known collectors that do not run it. A listing that shows collectors
   * with this build hides none.
   */
  async #showsMore(build: string, seen: ReadonlySet<string>): Promise<boolean> {
    const runs = (collector: Collector | undefined) => collector?.collectorVersion === build;
    let shown = 0;
    for (const id of seen) if (!runs(this.rows.get(id)?.collector)) shown++;
    const { value } = await this.#listForSweep(build, shown, defaultRows);
    return value.length > 0 && !value.some(runs);
  }

  async #listForSweep(toVersion: string | undefined, offset: number, limit: number) {
    const { clock } = this.#options;
    const fromMs = clock.monotonic();
    const answer = await this.#list(toVersion, offset, limit);
    this.#sweepMs += clock.monotonic() - fromMs;
    return answer;
  }

  async #list(toVersion: string | undefined, offset: number, limit: number) {
    const query = toVersion === undefined ? { offset, limit } : { toVersion, offset, limit };
    const answer = await this.#options.service.listCollectors(query, { signal: this.#abort.signal });
    this.#isBuildRefused = false;
    return answer;
  }
}

function sameBuilds(before: readonly Build[] | undefined, after: readonly Build[]): boolean {
  if (before?.length !== after.length) return false;
  return before.every(
    ({ version, latest }, index) => version === after[index]?.version && latest === after[index]?.latest,
  );
}

export interface Sweep {
  readonly view: View;
  readonly startedAtMs: number;
  readonly seen: Set<string>;
  /** Rows of the listing for each build of the view, in order. */
  readonly lists: readonly [Listed[], Listed[]];
  offset: number;
  /** Index of the build whose listing is being read. */
  build: number;
  /** Whether certainly no collector runs the view's build, since another listing would have shown it. */
  readonly proven: boolean;
}

export function sweepOf(view: View, startedAtMs: number): Sweep {
  return { view, startedAtMs, seen: new Set(), lists: [[], []], offset: 0, build: 0, proven: false };
}
