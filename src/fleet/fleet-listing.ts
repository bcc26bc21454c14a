/**
 * What one account's listings have shown of its collectors, shared by every policy that uses the account (protocol U9).
 *
 * Readers ask for freshness (`requestSweep`, `requestPage`, `requestBuilds`); one loop reads what was asked for and tells its users.
 * Nobody waits for a page: a reconcile takes what is there and is called again when there is more. One timer reads the fleet again for
 * all users. A user at rest hears only of changes that concern it, so that a fleet in order costs one sweep and no reconciles.
 *
 * The listing is asked for towards a build that nobody targets and nobody runs, so that it leaves nobody out and its pages
 * stay put while collectors are upgraded (U7, `view.ts`).
 *
 * Invariant: at most one request of this loop is under way, and none while somebody else leads.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { asLogfleetError, type LogfleetError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { retryDelayMs } from '../base/retry-delay.ts';
import type { Build, Collector, UpgradeService } from '../service/upgrade-service.ts';
import { FleetRows, type Row } from './fleet-rows.ts';
import { ListOrder } from './list-order.ts';
import { defaultRows, PageSize } from './page-size.ts';
import { refusesBuild } from './refused-build.ts';
import { type Sweep, sweepOf } from './sweep.ts';
import { chooseView, type View } from './view.ts';

/** Why nothing new is being read, and until when. */
export interface ListingProblem {
  readonly error: LogfleetError;
  readonly retryAtMs: number;
}

/** How many times its length a sweep is apart from the next one while nothing waits to be started: sweeps take a tenth (U9). */
export const restingShare = 10;

export interface FleetListingOptions {
  readonly service: UpgradeService;
  readonly clock: Clock;
  readonly log: Logger;
  /** Versions that policies of this service target at present: views towards them hide collectors. */
  readonly targeted: () => ReadonlySet<string>;
  /** Whether this process may speak to the service at all (leadership). */
  readonly active: () => boolean;
}

/** A policy that uses a listing. */
export interface ListingUser {
  /** The Secret that led the policy to the account, as `namespace/name`. */
  readonly secret: string;
  /** How old the listing may become. */
  readonly resyncMs: number;
  /** Something came that the policy should look at. */
  readonly onNews: () => void;
}

interface User extends ListingUser {
  /** Sweeps for this user begin so many lengths of a sweep apart at the least (U9). */
  share: number;
}

export class FleetListing {
  readonly #options: FleetListingOptions;
  readonly rows = new FleetRows();
  readonly #pageSize = new PageSize();
  readonly #users = new Map<string, User>();
  /** Users that hear of every sweep, batch of pages and list of builds. */
  readonly #attentive = new Set<string>();
  /** Secrets whose users were told since the last resync that another account may be behind the Secret. */
  readonly #toldSecrets = new Set<string>();
  #resync: { readonly atMs: number; readonly timer: Timer } | undefined;
  /** Whether users at rest have heard of a problem. They hear of its end, too. */
  #isTroubleTold = false;
  readonly #abort = new AbortController();
  #builds: { readonly list: readonly Build[]; readonly sentAtMs: number } | undefined;
  #view: View | undefined;
  /** Whether a build of the view is offered no longer, so that no page of it can be read. */
  #isWithdrawn = false;
  #sweep: Sweep | undefined;
  #completeSinceMs: number | undefined;
  #sweepMs = 0;
  #lastSweepMs = 0;
  #wantBuildsAfter: number | undefined;
  #wantSweepAfter: number | undefined;
  readonly #wantPages = new Map<number, number>();
  readonly #pageReads = new Map<number, number>();
  /** Where every build is run by someone: the order of two lists that together show everybody. */
  #order: ListOrder | undefined;
  #orderRevision = 0;
  #running = false;
  #failures = 0;
  /** Whether a list was refused for its build, and none has come since: that builds are offered says nothing of their lists. */
  #isBuildRefused = false;
  #problem: ListingProblem | undefined;
  #retry: Timer | undefined;

  constructor(options: FleetListingOptions) {
    this.#options = options;
  }

  row(id: string): Row | undefined {
    return this.rows.get(id);
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

  /** How long the requests of the newest complete sweep took; those that failed, and the waits after them, are no part of it (U9). */
  sweepMs(): number {
    return this.#lastSweepMs;
  }

  problem(): ListingProblem | undefined {
    return this.#problem;
  }

  /** Rows in one page of the service, as far as it is known. */
  pageRows(): number {
    return this.#pageSize.rows();
  }

  /** The page that shows this collector, or will once it has left the build that hides it; undefined where that is not known. */
  pageOf(id: string): number | undefined {
    const position = this.#positionOf(id);
    return position === undefined ? undefined : Math.floor(position / this.#pageSize.rows());
  }

  /** Changes whenever `placeOf` may answer otherwise. */
  orderRevision(): number {
    return this.#orderRevision + this.rows.orderRevision;
  }

  /** Where a collector stands in the list's order, for comparison alone; past the end where that is not known. */
  placeOf(id: string): number {
    const place = this.#order ? this.#order.place(id) : this.rows.get(id)?.position;
    return place === undefined || place < 0 ? Number.MAX_SAFE_INTEGER : place;
  }

  /** When a page was last read since the newest sweep, as the time of the request's sending; undefined when it was not. */
  pageReadMs(page: number): number | undefined {
    return this.#pageReads.get(page);
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

  /** Makes a user known, or its new needs. Until it rests the user hears of each sweep, batch of pages, list of builds and problem. */
  attend(id: string, user: ListingUser): void {
    const before = this.#users.get(id);
    this.#attentive.add(id);
    if (before?.resyncMs === user.resyncMs && before.secret === user.secret && before.onNews === user.onNews) return;
    this.#users.set(id, { ...user, share: before?.share ?? restingShare });
    this.#planResync(user.resyncMs, before?.share ?? restingShare);
  }

  /**
   * What a user needs after its decision.
   * @param isAtRest whether it is told only of changes: of rows that concern it, of builds, and of trouble that begins or ends
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

  /** The Secret may lead to another account by now: all that came by it look at it again, once in each resync. */
  doubtSecret(secret: string): void {
    if (this.#toldSecrets.has(secret)) return;
    this.#toldSecrets.add(secret);
    for (const user of [...this.#users.values()]) if (user.secret === secret) user.onNews();
  }

  close(): void {
    this.#abort.abort(new Error('the fleet listing is closed'));
    this.#retry?.cancel();
    this.#resync?.timer.cancel();
    this.#users.clear();
    this.#attentive.clear();
  }

  /** Sets the timer where these needs come before those that it is set for. */
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

  /** When builds are to be read again; Infinity where they are about to be. */
  #buildsDueMs(resyncMs: number): number {
    if (!this.#builds || this.#wantBuildsAfter !== undefined) return Number.POSITIVE_INFINITY;
    return this.#builds.sentAtMs + resyncMs;
  }

  #sweepDueMs(resyncMs: number, share: number): number {
    const isAwaited = this.#wantSweepAfter !== undefined || this.#sweep !== undefined;
    if (this.#completeSinceMs === undefined || isAwaited) return Number.POSITIVE_INFINITY;
    return this.#completeSinceMs + Math.max(resyncMs, share * this.#lastSweepMs);
  }

  /** Reads what is due for any user, and sets the timer for what is not. */
  #readAgain(): void {
    const nowMs = this.#options.clock.monotonic();
    const users = [...this.#users.values()];
    const areBuildsDue = users.some(({ resyncMs }) => this.#buildsDueMs(resyncMs) <= nowMs);
    const isSweepDue = users.some(({ resyncMs, share }) => this.#sweepDueMs(resyncMs, share) <= nowMs);
    if (areBuildsDue) this.requestBuilds(nowMs);
    if (isSweepDue) {
      this.requestSweep(nowMs);
      this.#lookAtSecrets();
    }
    this.#replan();
  }

  #replan(): void {
    for (const { resyncMs, share } of this.#users.values()) this.#planResync(resyncMs, share);
  }

  /** One user of each Secret looks whether the Secret still leads here (U9). */
  #lookAtSecrets(): void {
    this.#toldSecrets.clear();
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
      // The request that set us off may be one of several made in the same breath.
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
      // In the same breath as the last look at what is wanted: whatever is asked for from now on sets off another run.
      this.#running = false;
    }
  }

  #nextStep(): (() => Promise<void>) | undefined {
    if (this.#wantBuildsAfter !== undefined || ((this.#wantSweepAfter !== undefined || this.#sweep) && !this.#builds)) {
      return () => this.#readBuilds();
    }
    // Pages are few and somebody's slot depends on each; a sweep is long.
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
    const isNews = !this.#isTroubleTold;
    this.#isTroubleTold = true;
    this.#retry = clock.after(delayMs, () => {
      this.#retry = undefined;
      this.#pump();
    });
    this.#tell(isNews);
  }

  /** @param isForAll whether users at rest are told, too */
  #tell(isForAll: boolean): void {
    const concerned = this.rows.members.takeConcerned();
    const told = isForAll ? this.#users.keys() : new Set([...this.#attentive, ...concerned]);
    for (const id of [...told]) this.#users.get(id)?.onNews();
  }

  /** Something was read, so that a problem is over: users at rest are told of that. */
  #tellNews(isForAll: boolean): void {
    const isOver = this.#isTroubleTold && !this.#isBuildRefused;
    if (isOver) {
      this.#isTroubleTold = false;
      this.#problem = undefined;
    }
    this.#tell(isForAll || isOver);
  }

  async #readBuilds(): Promise<void> {
    const answer = await this.#options.service.listBuilds({ signal: this.#abort.signal });
    const isNews = !sameBuilds(this.#builds?.list, answer.value);
    this.#builds = { list: answer.value, sentAtMs: answer.sentAtMs };
    if ((this.#wantBuildsAfter ?? 0) <= answer.sentAtMs) this.#wantBuildsAfter = undefined;
    this.#leaveWithdrawn(answer.value);
    // Until the fleet is known builds alone decide nothing: the first sweep tells of both.
    if (this.#completeSinceMs !== undefined || this.#isTroubleTold) this.#tellNews(isNews);
    this.#replan();
  }

  /** Towards a build that is offered no longer nothing is listed: another sweep chooses others. */
  #leaveWithdrawn(offered: readonly Build[]): void {
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
    const limit = this.#pageSize.rows();
    let page: readonly Collector[];
    let sentAtMs: number;
    try {
      ({ value: page, sentAtMs } = await this.#listForSweep(build, sweep.offset, limit));
    } catch (thrown) {
      if (this.#pageSize.refused(thrown, limit)) return;
      throw thrown;
    }
    const ended = this.#pageSize.learn(limit, page.length, sweep.offset);
    // Places count in the first build's list only; the others show who that one leaves out.
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
    this.#tellNews(isOtherView);
    this.#replan();
  }

  #orderAfter({ lists }: Sweep, view: View): ListOrder | undefined {
    const former = this.#order;
    if (former || view.builds.length > 1) this.#orderRevision++;
    if (view.builds.length === 1) return undefined;
    return ListOrder.after(former, ...lists, (id) => this.rows.get(id) !== undefined);
  }

  /**
   * Makes sure that the swept view left nobody out, since whoever is installed anew may run its build. One request tells, where there
   * is another build that nobody runs: its list has no row beyond ours. If it has one, the sweep starts again towards that build.
   * Where every build is run by someone, the sweep goes on with the list of a second one if rows have gone missing, or if the list
   * of a witness is longer than our rows would make it. Undefined: not finished.
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
   * Whether somebody may run the view's build. Of a fleet that was never seen nobody may be overlooked. Later nobody may be
   * suspected for having been upgraded during the sweep: whom that hides shows with the next one, once nothing moves.
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
      // Pages are others now: whoever wants one asks again.
      this.#wantPages.clear();
      this.#pageReads.clear();
      this.#tell(false);
      return;
    }
    if ((this.#wantPages.get(index) ?? 0) <= sentAtMs) this.#wantPages.delete(index);
    this.#pageReads.set(index, sentAtMs);
    if (!this.#order) this.rows.displace(offset, size, value);
    this.rows.takePage(value, sentAtMs, this.#order ? undefined : offset);
    if (this.#wantPages.size === 0) this.#tellNews(false);
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

  /** Whether the list towards this build has more rows than those seen that do not run it. One that shows who runs it leaves nobody out. */
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
