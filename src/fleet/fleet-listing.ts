/**
 * Keeps the service's list of the collectors in one account. All policies of the account share this list (U9).
 *
 * Policies request reads of the list from this class. One loop sends the requests to the service, and notifies the
 * policies when responses arrive. A reconcile therefore never waits for a page of the list.
 *
 * Each request for the list names a build. The list may lack collectors that already run this build, so
 * `listing-view.ts` chooses a build that no policy targets and no collector runs (U7).
 *
 * The loop sends one request at a time. It sends no requests while another process is the leader.
 */
import { sameValue } from '../base/canonical-text.ts';
import type { Clock, Timer } from '../base/clock.ts';
import { asLogfleetError, type LogfleetError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { FailureRecord } from '../base/retry-delay.ts';
import type { Build, Collector, UpgradeService } from '../service/collectors/upgrade-service.ts';
import { ServiceError } from '../service/requests/service-error.ts';
import { FleetRows, type Row } from './fleet-rows.ts';
import { type Listed, ListOrder } from './list-order.ts';
import { chooseView, type View } from './listing-view.ts';
import { defaultRows, PageSize } from './page-size.ts';

/**
 * Minimum interval between reads of the whole collector list for idle policies, as a multiple of the duration of one
 * read (U9).
 */
export const idleShare = 10;

/**
 * Minimum interval in ms between reads of the list of builds for policies whose target is missing from the list (U9).
 */
const newBuildsIntervalMs = 10_000;

export interface FleetListingOptions {
  readonly service: UpgradeService;
  readonly clock: Clock;
  readonly log: Logger;
  /** Returns the target versions of this service's policies. */
  readonly targeted: () => ReadonlySet<string>;
  /** Reports whether this process may send requests to the service. Only the leader may send them. */
  readonly active: () => boolean;
}

export interface ListingUser {
  /** Secret with the policy's credentials, as `namespace/name`. */
  readonly secret: string;
  /** Maximum age of the rows in ms. */
  readonly resyncMs: number;
  /** Called when the policy must be reconciled because of new rows, builds or problems. */
  readonly onChange: () => void;
}

interface User extends ListingUser {
  /** Minimum interval between reads of the whole collector list, as a multiple of the duration of one read (U9). */
  share: number;
  /** True if the policy is idle. An idle policy is notified only of changes to its own collectors. */
  isIdle: boolean;
}

export class FleetListing {
  readonly #options: FleetListingOptions;
  readonly rows = new FleetRows();
  readonly #pageSize = new PageSize();
  readonly #users = new Map<string, User>();
  /**
   * Secrets that `recheckSecret` has already asked the policies to check. Each scheduled read of the whole collector
   * list clears this set.
   */
  readonly #notifiedSecrets = new Set<string>();
  #resync: { readonly atMs: number; readonly timer: Timer } | undefined;
  /** True if policies were notified of a failed read, and must therefore be notified when reads succeed again. */
  #isProblemKnown = false;
  readonly #abort = new AbortController();
  #builds: { readonly list: readonly Build[]; readonly sentAtMs: number } | undefined;
  #view: View | undefined;
  /** True if the current collector list was requested for a build that the service no longer offers. */
  #isWithdrawn = false;
  #sweep: Sweep | undefined;
  #completeSinceMs: number | undefined;
  #sweepMs = 0;
  #lastSweepMs = 0;
  #wantBuildsAfter: number | undefined;
  #wantSweepAfter: number | undefined;
  readonly #wantPages = new Map<number, number>();
  readonly #pageReads = new Map<number, number>();
  /**
   * Order of all collectors, merged from the lists for two builds. Undefined if the list for a single build shows all
   * collectors.
   */
  #order: ListOrder | undefined;
  #orderRevision = 0;
  #running = false;
  readonly #failures: Record<ReadKind, FailureRecord> = {
    builds: new FailureRecord(),
    page: new FailureRecord(),
    sweep: new FailureRecord(),
  };
  #retry: Timer | undefined;
  /** Timer for the next read of the list of builds for policies whose target is missing from the list. */
  #newBuilds: Timer | undefined;

  constructor(options: FleetListingOptions) {
    this.#options = options;
  }

  row(id: string): Row | undefined {
    return this.rows.get(id);
  }

  /**
   * Returns the builds that the service offers (section 4.7 of docs/service.md), and the time at which their list was
   * requested. Returns undefined until the first response.
   */
  builds(): { readonly list: readonly Build[]; readonly sentAtMs: number } | undefined {
    return this.#builds;
  }

  /**
   * Monotonic time in ms at which the newest complete read of the collector list began. Undefined until the first
   * complete read.
   */
  completeSinceMs(): number | undefined {
    return this.#completeSinceMs;
  }

  /**
   * Reports whether the collector list shows collectors that run `version`. The list for a build does not show
   * collectors that already run that build (U7).
   */
  observes(version: string): boolean {
    return this.#view?.observes(version) ?? false;
  }

  /** Total duration in ms of the requests that made up the newest complete read of the collector list (U9). */
  sweepMs(): number {
    return this.#lastSweepMs;
  }

  /** Returns the error of a failed read, and the time of the next attempt. Returns undefined if no read is failing. */
  problem(): Pick<FailureRecord, 'error' | 'untilMs'> | undefined {
    return Object.values(this.#failures).find(({ error }) => error !== undefined);
  }

  /** Retries failed reads immediately, because a user asked for a retry. */
  tryAgain(): void {
    this.#retry?.cancel();
    this.#retry = undefined;
    this.#pump();
  }

  /** Number of rows per page of the service's collector list. */
  pageRows(): number {
    return this.#pageSize.rows();
  }

  /**
   * Computes which page of the list shows each collector. After changes to the list, call this method before `pageOf`.
   */
  locatePages(): void {
    const { rows } = this;
    const hidden = this.#view?.builds[0];
    this.#order?.locate((id) => (rows.get(id)?.collector.collectorVersion ?? hidden) !== hidden, rows.revision);
  }

  /**
   * Returns the index of the list page that shows this collector. If the list will show the collector only after its
   * upgrade, returns the index of the page that will then show it.
   */
  pageOf(id: string): number | undefined {
    const position = this.#order ? this.#order.position(id) : this.rows.get(id)?.position;
    return position === undefined || position < 0 ? undefined : Math.floor(position / this.#pageSize.rows());
  }

  /**
   * Counter that changes whenever the order of the collector list may have changed. Callers must then sort their
   * collectors again.
   */
  orderRevision(): number {
    return this.#orderRevision + this.rows.orderRevision;
  }

  /**
   * Returns a collector's sort key, which follows the order of the list. If the collector's position is unknown,
   * returns the largest possible key.
   */
  placeOf(id: string): number {
    const place = this.#order ? this.#order.place(id) : this.rows.get(id)?.position;
    return place === undefined || place < 0 ? Number.MAX_SAFE_INTEGER : place;
  }

  /**
   * Returns the monotonic time in ms at which the last successful request for this page was sent. Returns undefined if
   * no request for this page has succeeded since the last read of the whole list.
   */
  pageReadMs(page: number): number | undefined {
    return this.#pageReads.get(page);
  }

  /** Requests a read of the whole collector list. The requests for its pages are sent at `sentAfterMs` or later. */
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

  /**
   * Requests a read of the list of builds for a policy whose target is missing from the current list. Many targets may
   * change one after another, so there is a minimum interval between these reads. A single read serves all requests
   * made during an interval (U9).
   */
  requestNewBuilds(sentAfterMs: number): void {
    const { clock } = this.#options;
    const waitMs = (this.#builds?.sentAtMs ?? -Infinity) + newBuildsIntervalMs - clock.monotonic();
    if (waitMs <= 0) this.requestBuilds(sentAfterMs);
    else
      this.#newBuilds ??= clock.after(waitMs, () => {
        this.#newBuilds = undefined;
        this.requestBuilds(clock.monotonic());
      });
  }

  /**
   * Requests a read of one page of the collector list (see `pageOf`). The request is sent at `sentAfterMs` or later.
   */
  requestPage(page: number, sentAfterMs: number): void {
    this.#wantPages.set(page, Math.max(this.#wantPages.get(page) ?? 0, sentAfterMs));
    this.#pump();
  }

  /**
   * Adds or updates a policy that uses the collector list. While the policy is not idle, it is notified of every read.
   */
  addUser(id: string, user: ListingUser): void {
    const share = this.#users.get(id)?.share ?? idleShare;
    this.#users.set(id, { ...user, share, isIdle: false });
    this.#planResync(user.resyncMs, share);
  }

  /**
   * Sets what a policy needs until its next decision: how often the whole list is read, and which changes the policy is
   * notified of.
   * @param needs `share`: minimum interval between two reads, as a multiple of the duration of one read; `isIdle`: true
   * if the policy must be notified only of changes to its own collectors
   */
  setNeeds(id: string, needs: { readonly share: number; readonly isIdle: boolean }): void {
    const user = this.#users.get(id);
    if (!user) return;
    Object.assign(user, needs);
    this.#planResync(user.resyncMs, user.share);
  }

  removeUser(id: string): void {
    this.#users.delete(id);
    this.rows.members.leave(id);
  }

  /**
   * Asks all policies that use this Secret to check the Secret. Further calls for the same Secret have no effect until
   * the next scheduled read of the whole collector list.
   */
  recheckSecret(secret: string): void {
    if (this.#notifiedSecrets.has(secret)) return;
    this.#notifiedSecrets.add(secret);
    for (const user of [...this.#users.values()]) if (user.secret === secret) user.onChange();
  }

  close(): void {
    this.#abort.abort(new Error('the fleet listing is closed'));
    this.#retry?.cancel();
    this.#newBuilds?.cancel();
    this.#resync?.timer.cancel();
    this.#users.clear();
  }

  /**
   * Sets the timer for the next scheduled reads. The current timer is kept if it fires early enough for this policy.
   */
  #planResync(resyncMs: number, share: number): void {
    const atMs = Math.min(this.#buildsDueMs(resyncMs), this.#sweepDueMs(resyncMs, share));
    if (atMs === Infinity || (this.#resync && this.#resync.atMs <= atMs)) return;
    this.#resync?.timer.cancel();
    const { clock } = this.#options;
    const timer = clock.after(atMs - clock.monotonic(), () => {
      this.#resync = undefined;
      this.#readAgain();
    });
    this.#resync = { atMs, timer };
  }

  /**
   * Returns the monotonic time in ms at which the list of builds must be read again. Returns Infinity if a read of this
   * list has already been requested.
   */
  #buildsDueMs(resyncMs: number): number {
    if (!this.#builds || this.#wantBuildsAfter !== undefined) return Infinity;
    return this.#builds.sentAtMs + resyncMs;
  }

  #sweepDueMs(resyncMs: number, share: number): number {
    const isAwaited = this.#wantSweepAfter !== undefined || this.#sweep !== undefined;
    if (this.#completeSinceMs === undefined || isAwaited) return Infinity;
    return this.#completeSinceMs + Math.max(resyncMs, share * this.#lastSweepMs);
  }

  /** Requests all reads that are due, and sets the timer for the next reads. */
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

  /**
   * Notifies one policy for each Secret. This policy checks whether the Secret still contains the credentials of this
   * account. Other policies with the same Secret need not read the Secret for this check (U9).
   */
  #checkSecrets(): void {
    this.#notifiedSecrets.clear();
    const bySecret = new Map<string, User>();
    for (const user of this.#users.values()) if (!bySecret.has(user.secret)) bySecret.set(user.secret, user);
    for (const user of bySecret.values()) user.onChange();
  }

  #pump(): void {
    if (this.#running || this.#retry || this.#abort.signal.aborted) return;
    this.#running = true;
    void this.#run();
  }

  async #run(): Promise<void> {
    let kind: ReadKind = 'builds';
    try {
      // Waits for a microtask, so that the caller can request all its reads before the first request is sent.
      await Promise.resolve();
      while (!this.#abort.signal.aborted && this.#options.active()) {
        const step = this.#nextStep();
        if (!step) return;
        kind = step.kind;
        await step.read();
      }
    } catch (thrown) {
      if (!this.#abort.signal.aborted) this.#backOff(kind, asLogfleetError(thrown));
    } finally {
      // No other code can request a read between the loop's last check and this line, because there is no `await` in
      // between.
      this.#running = false;
    }
  }

  #nextStep(): ReadStep | undefined {
    if (this.#wantBuildsAfter !== undefined || ((this.#wantSweepAfter !== undefined || this.#sweep) && !this.#builds)) {
      return { kind: 'builds', read: () => this.#readBuilds() };
    }
    // Single pages are read before the whole list, because policies need these pages to learn how running upgrades
    // ended.
    const page = this.#wantPages.entries().next();
    if (!page.done && !this.#isWithdrawn) {
      const [index] = page.value;
      return { kind: 'page', read: () => this.#readPage(index) };
    }
    if (this.#sweep) {
      const sweep = this.#sweep;
      const isRead = sweep.build >= sweep.view.builds.length;
      return { kind: 'sweep', read: () => (isRead ? this.#endSweep(sweep) : this.#continueSweep(sweep)) };
    }
    if (this.#wantSweepAfter !== undefined) return { kind: 'sweep', read: async () => this.#beginSweep() };
    return undefined;
  }

  #backOff(kind: ReadKind, error: LogfleetError): void {
    const { clock, log } = this.#options;
    // The service may no longer offer the build that the request named, so the list of builds is read again.
    if (error instanceof ServiceError && error.status === 400) this.#wantBuildsAfter = clock.monotonic();
    const delayMs = this.#failures[kind].failed(error, clock.monotonic());
    // A response with status 429 (too many requests) needs no warning, because it says when to send the next request.
    const level = error.handling.kind === 'retryAfter' ? 'info' : 'warn';
    log[level]('the list of collectors will be read again later', { error, retryInMs: delayMs });
    const isFirstFailure = !this.#isProblemKnown;
    this.#isProblemKnown = true;
    this.#retry = clock.after(delayMs, () => {
      this.#retry = undefined;
      this.#pump();
    });
    this.#notify(isFirstFailure);
  }

  /**
   * Notifies all policies that are not idle, and the idle policies whose collectors have changed.
   * @param isForAll true to notify idle policies as well, even if their collectors have not changed
   */
  #notify(isForAll: boolean): void {
    const concerned = this.rows.members.takeConcerned();
    for (const [id, { isIdle, onChange }] of [...this.#users]) if (isForAll || !isIdle || concerned.has(id)) onChange();
  }

  /** Notifies policies after a successful read. If the previous reads had failed, idle policies are also notified. */
  #notifyOfRead(isForAll: boolean): void {
    const isOver = this.#isProblemKnown && this.problem() === undefined;
    if (isOver) this.#isProblemKnown = false;
    this.#notify(isForAll || isOver);
  }

  async #readBuilds(): Promise<void> {
    const response = await this.#options.service.listBuilds({ signal: this.#abort.signal });
    this.#failures.builds.succeeded();
    const haveChanged = !sameValue(this.#builds?.list, response.value);
    this.#builds = { list: response.value, sentAtMs: response.sentAtMs };
    if ((this.#wantBuildsAfter ?? 0) <= response.sentAtMs) this.#wantBuildsAfter = undefined;
    this.#dropWithdrawn(response.value);
    // Before the first complete read of the collector list, no decision about a policy is possible.
    if (this.#completeSinceMs !== undefined || this.#isProblemKnown) this.#notifyOfRead(haveChanged);
    this.#replan();
  }

  /**
   * Requests a new read of the collector list if the current list was requested for a build that the service no longer
   * offers.
   */
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
    const response = await this.#unlessTooLarge(limit, this.#listForSweep(build, sweep.offset, limit));
    this.#sweepAnswered();
    if (!response) return;
    const { value: page, sentAtMs } = response;
    const list = sweep.build === 0 ? 0 : 1;
    // After the end of the list, the service might return collectors again instead of an empty page. The list therefore
    // also ends after two consecutive pages without new collectors. One such page is not enough, because a newly
    // installed collector can move other collectors to a later page.
    const isRepeated = page.length > 0 && page.every(({ id }) => sweep.shown.has(id));
    sweep.repeatedPages = isRepeated ? sweep.repeatedPages + 1 : 0;
    const rows = sweep.repeatedPages < 2 ? page.length : 0;
    const ended = this.#pageSize.learn(limit, rows, sweep.offset);
    // Only the list for the first build determines the positions of collectors. The list for the second build only adds
    // collectors that the first list does not show.
    const kept = this.rows.takePage(page, sentAtMs, list === 0 && !isRepeated ? sweep.offset : undefined);
    for (const { id, name } of kept) {
      sweep.seen.add(id);
      sweep.shown.add(id);
      sweep.lists[list].push({ id, name });
    }
    sweep.offset += rows;
    if (!ended) return;
    sweep.shown.clear();
    sweep.offset = 0;
    sweep.repeatedPages = 0;
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
    return new ListOrder(former, ...lists, (id) => this.rows.get(id) !== undefined);
  }

  /**
   * Checks, after the last page has been read, whether the list shows all collectors. If the list may lack collectors,
   * prepares to read the list for another build, and returns undefined.
   *
   * The list for a build shows all collectors that do not run this build. If every build runs on at least one
   * collector, the lists for two builds together show all collectors.
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
    this.#sweep = { ...sweepOf(wider, startedAtMs), seen, lists, build: 1 };
    return undefined;
  }

  /**
   * Reports whether the collector list may lack collectors. Also returns true if the service offers no other build
   * whose list could be compared with this list.
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
    const response = await this.#unlessTooLarge(size, this.#list(build, offset, size));
    this.#failures.page.succeeded();
    if (!response) {
      // After the page size has changed, page numbers refer to different rows, so all page requests are dropped.
      this.#wantPages.clear();
      this.#pageReads.clear();
      this.#notify(false);
      return;
    }
    const { value, sentAtMs } = response;
    if ((this.#wantPages.get(index) ?? 0) <= sentAtMs) this.#wantPages.delete(index);
    this.#pageReads.set(index, sentAtMs);
    if (!this.#order) this.rows.displace(offset, size, value);
    this.rows.takePage(value, sentAtMs, this.#order ? undefined : offset);
    if (this.#wantPages.size === 0) this.#notifyOfRead(false);
  }

  /**
   * Reports whether the list for `build` shows collectors that this sweep (read of the whole list) has not seen. Reads
   * a single page, which is empty if the list shows no such collectors.
   */
  async #showsMore(build: string, seen: ReadonlySet<string>): Promise<boolean> {
    const runs = (collector: Collector | undefined) => collector?.collectorVersion === build;
    let shown = 0;
    for (const id of seen) if (!runs(this.rows.get(id)?.collector)) shown++;
    const { value } = await this.#listForSweep(build, shown, defaultRows);
    return value.length > 0 && !value.some(runs);
  }

  /**
   * Returns the response to a list request. If the service refused the requested number of rows, returns undefined, and
   * the next request asks for fewer rows.
   */
  async #unlessTooLarge<Response>(limit: number, response: Promise<Response>): Promise<Response | undefined> {
    try {
      return await response;
    } catch (thrown) {
      if (this.#pageSize.refused(thrown, limit)) return undefined;
      throw thrown;
    }
  }

  async #listForSweep(toVersion: string | undefined, offset: number, limit: number) {
    const { clock } = this.#options;
    const fromMs = clock.monotonic();
    const response = await this.#list(toVersion, offset, limit);
    this.#sweepMs += clock.monotonic() - fromMs;
    this.#sweepAnswered();
    return response;
  }

  #sweepAnswered(): void {
    this.#failures.sweep.succeeded();
    // In a sweep (read of the whole list), a successful request also clears the error of failed page reads, unless a
    // requested page has yet to be read.
    if (this.#wantPages.size === 0) this.#failures.page.succeeded();
  }

  #list(toVersion: string | undefined, offset: number, limit: number) {
    const query = toVersion === undefined ? { offset, limit } : { toVersion, offset, limit };
    return this.#options.service.listCollectors(query, { signal: this.#abort.signal });
  }
}

/**
 * Kinds of reads: the list of builds, one page of the collector list, or the whole collector list. Failures are counted
 * separately for each kind.
 */
type ReadKind = 'builds' | 'page' | 'sweep';

interface ReadStep {
  readonly kind: ReadKind;
  readonly read: () => Promise<void>;
}

interface Sweep {
  readonly view: View;
  readonly startedAtMs: number;
  readonly seen: Set<string>;
  /** Ids of the collectors on all pages that have been read from the current list so far. */
  readonly shown: Set<string>;
  /** Collectors of the one or two lists that are read, in the order in which the service returned them. */
  readonly lists: readonly [Listed[], Listed[]];
  offset: number;
  /** Number of consecutive pages that showed no new collectors. */
  repeatedPages: number;
  /** Index of the build whose list is being read. */
  build: number;
  /**
   * True if no collector runs the build for which the list was requested. In that case, the list shows all collectors.
   */
  readonly proven: boolean;
}

function sweepOf(view: View, startedAtMs: number): Sweep {
  const [seen, shown] = [new Set<string>(), new Set<string>()];
  return { view, startedAtMs, seen, shown, lists: [[], []], offset: 0, repeatedPages: 0, build: 0, proven: false };
}
