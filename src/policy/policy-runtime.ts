/**
 * Runtime of one policy in this process, for one resource (by uid) and one term of leadership. For each decision it runs `gather`
 * (collect the input), `decide` and `apply`.
 *
 * Invariant: the runtime keeps two kinds of data. Copies of stored data (the ledger and the index of members) are read again when
 * they may be outdated (`doubt`). Facts from the service (outcomes of POSTs, durations of upgrades) are kept.
 */
import type { Accounts } from '../account/accounts.ts';
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import type { Clock, Timer } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { pausedByOf, policiesHoldOf } from '../controller/pauses.ts';
import type { Result } from '../controller/reconciler.ts';
import { requeue } from '../controller/reconciler.ts';
import type { Fleets } from '../fleet/fleets.ts';
import type { Host, OwnerRef, ResourceKey } from '../host/host.ts';
import { Applier } from './apply.ts';
import { Posting } from './attempts/posting.ts';
import { TaskReadings } from './attempts/task-reading.ts';
import { UpgradeDuration } from './attempts/upgrade-duration.ts';
import { decide } from './decide.ts';
import { Gatherer, type Ready, type Unready } from './gather.ts';
import { KeptLedger } from './ledger/kept-ledger.ts';
import { type Entry, goesOn, wantedVersion } from './ledger/ledger.ts';
import type { ClaimTurns } from './members/claim-turns.ts';
import { KeptMemberIndex } from './members/kept-member-index.ts';
import { asksToAbort } from './rollout/annotation-actions.ts';
import type { RuntimeParts } from './runtime-parts.ts';
import { KeptCalendar } from './schedule/maintenance-calendar.ts';
import { type Bound, ServiceBinding } from './service-binding.ts';
import type { PolicySettings } from './settings.ts';
import { StatusPublisher } from './status/status-publisher.ts';

export interface PolicyRuntimeOptions {
  readonly host: Host;
  readonly accounts: Accounts;
  readonly fleets: Fleets;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: PolicySettings;
  readonly turns: ClaimTurns;
  readonly enqueue: (key: ResourceKey) => void;
  /** Whether this process is about to end and starts no new upgrades. */
  readonly draining: () => boolean;
  readonly onlyLook?: OnlyLook | undefined;
}

/** Receives what is known about a policy in place of a decision. The runtime then sends no POST and writes nothing. */
export type OnlyLook = (policy: CollectorVersionPolicy, gathered: Ready | Unready) => void;

/**
 * Interval in ms between the reports of an observer. An observer writes nothing, so it receives fewer events that would trigger a
 * report.
 */
const lookAgainMs = 1_000;
/** Time in ms for which outcomes of POSTs are collected before they are stored together, unless another step waits for them. */
const outcomeDelayMs = 1_000;

export class PolicyRuntime {
  readonly key: ResourceKey;
  readonly uid: string;
  readonly #term: number;
  readonly #options: PolicyRuntimeOptions;
  readonly #parts: RuntimeParts;
  readonly #gatherer: Gatherer;
  readonly #applier: Applier;
  #newsTimer: Timer | undefined;
  #closed = false;

  constructor(policy: CollectorVersionPolicy, options: PolicyRuntimeOptions) {
    const { namespace, name, uid } = policy.metadata;
    const { host, clock, settings, turns, draining } = options;
    const owner: OwnerRef = { kind: 'CollectorVersionPolicy', namespace, name, uid };
    this.key = { namespace, name };
    this.uid = uid;
    this.#term = host.leadership.term();
    this.#options = options;
    const binding = new ServiceBinding({ ...options, policy: uid, onNews: () => this.#enqueue() });
    this.#parts = {
      owner,
      host,
      clock,
      settings,
      turns,
      draining,
      binding,
      kept: new KeptLedger({ store: host.ledgers, clock, owner }),
      memberIndex: new KeptMemberIndex({ policy: uid, clock, settings }),
      posting: new Posting({
        clock,
        settings,
        stillWanted: (entry, generation) => this.#stillWanted(entry, generation),
        onNews: () => this.#news(),
        onRoom: () => this.#enqueue(),
        onProblem: (error) => binding.holdFor(error, 'posts'),
        onRefused: () => binding.succeeded('posts'),
        onAccepted: (entry, taskId) => this.#accepted(entry, taskId),
        onBuildRefused: () => binding.doubtBuilds(),
      }),
      tasks: new TaskReadings({
        clock,
        onNews: () => this.#news(),
        onRead: () => binding.succeeded('reads'),
        onProblem: (error) => binding.holdFor(error, 'reads'),
      }),
      publisher: new StatusPublisher({ host, clock, intervalMs: settings.statusIntervalMs, owner, draining }),
      duration: new UpgradeDuration(),
      calendar: new KeptCalendar(),
    };
    this.#gatherer = new Gatherer(this.#parts, policy);
    this.#applier = new Applier(this.#parts);
  }

  async reconcile(policy: CollectorVersionPolicy): Promise<Result> {
    const gathered = await this.#gatherer.gather(policy);
    const { onlyLook } = this.#options;
    if (onlyLook) {
      onlyLook(policy, gathered);
      return requeue(gathered.kind === 'unready' ? lookAgainMs : Number.POSITIVE_INFINITY, true);
    }
    if (gathered.kind === 'unready') return this.#applier.report(policy, gathered);
    return this.#applier.apply(policy, gathered, decide(gathered.input));
  }

  /**
   * Marks copies of stored data as possibly outdated, so that they are read again. Attempts that wait to be sent are withdrawn
   * first.
   */
  doubt(): void {
    const { kept, memberIndex } = this.#parts;
    kept.forget();
    memberIndex.forget();
  }

  /** Whether every upgrade POST was answered and its outcome is stored in the ledger and shown in status. */
  quiet(): boolean {
    const { posting, publisher } = this.#parts;
    return (
      posting.inFlight.size === 0 && posting.received.size === 0 && !publisher.heldBack && !this.#applier.isOutdated
    );
  }

  /**
   * Stops the runtime. The ownership table keeps the policy's attempts in flight and drops attempts that were never sent (U13).
   */
  close(): void {
    const { posting, tasks, binding, memberIndex } = this.#parts;
    this.#closed = true;
    for (const id of posting.neverSent()) binding.bound?.ownership.ended(id, this.uid);
    posting.close();
    tasks.close();
    memberIndex.close();
    this.#newsTimer?.cancel();
    binding.close();
  }

  #enqueue(): void {
    if (!this.#closed) this.#options.enqueue(this.key);
  }

  /**
   * Checks immediately before a POST whether the policy still wants the attempt (U2). A newer version of the policy withdraws
   * attempts that were stored for a former version.
   */
  #stillWanted(entry: Entry, generation: number): boolean {
    const { host, clock, settings, binding, kept, tasks, turns, draining } = this.#parts;
    const { collectorId, open } = entry;
    const newest = host.resources('CollectorVersionPolicy').get(this.key);
    const { bound } = binding;
    return (
      !this.#closed &&
      !draining() &&
      bound !== undefined &&
      turns.heldBy(bound.account.serviceId) === undefined &&
      host.leadership.isLeader() &&
      host.leadership.term() === this.#term &&
      newest !== undefined &&
      newest.metadata.uid === this.uid &&
      newest.metadata.generation === generation &&
      newest.metadata.deletionTimestamp === undefined &&
      pausedByOf(newest) === undefined &&
      !host.settings().paused &&
      policiesHoldOf(host) === undefined &&
      open !== undefined &&
      kept.known !== undefined &&
      open.number === kept.known.entry(collectorId)?.open?.number &&
      open.toVersion === wantedVersion(entry, kept.known.header.target) &&
      goesOn(entry, kept.known.header) &&
      !asksToAbort(newest, kept.known.header) &&
      // A known failure must be evaluated by a decision before another upgrade starts.
      !tasks.hasFailures &&
      this.#isWindowOpen(newest, bound, collectorId) &&
      (open.probe || clock.monotonic() - open.sinceMs <= settings.intentLifeMs) &&
      // An attempt that was never sent is not in flight. So a policy with higher precedence that
      // has appeared since the decision may take the collector at once (U13).
      (open.probe ? bound.ownership.owner(collectorId) : bound.ownership.first(collectorId))?.uid === this.uid
    );
  }

  #isWindowOpen({ spec }: CollectorVersionPolicy, { listing }: Bound, collectorId: string): boolean {
    const { calendar, clock } = this.#parts;
    const zone = listing.row(collectorId)?.collector.timeZone;
    return calendar.current(spec).verdict(clock.now(), zone).kind === 'open';
  }

  /**
   * Reports an accepted attempt to the ownership table at once. The policy may be deleted before its next decision, while the
   * upgrade continues (U13).
   */
  #accepted({ collectorId, open }: Entry, taskId: string): void {
    const { binding, kept, clock } = this.#parts;
    binding.succeeded('posts');
    const { bound } = binding;
    const ledger = kept.known;
    if (!open || !bound || bound.account.serviceId !== ledger?.header.service) return;
    const { number, toVersion } = open;
    if (ledger.entry(collectorId)?.open?.number !== number) return;
    bound.ownership.began(collectorId, { policy: this.uid, toVersion, taskId, sinceMs: clock.monotonic() });
  }

  /**
   * Schedules a decision about the policy after a short delay. The decision covers all evidence that arrives during the delay.
   */
  #news(): void {
    if (this.#closed) return;
    const delayMs = this.#parts.draining() || this.#parts.tasks.hasFailures ? 0 : outcomeDelayMs;
    this.#newsTimer ??= this.#options.clock.after(delayMs, () => {
      this.#newsTimer = undefined;
      this.#enqueue();
    });
  }
}
