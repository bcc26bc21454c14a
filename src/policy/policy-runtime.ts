/** State of one policy in this process. Stored data is read again when the copy in memory may be outdated. */
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import type { Timer } from '../base/clock.ts';
import { pausedByOf } from '../controller/pauses.ts';
import type { Bound } from '../fleet/fleets.ts';
import type { OwnerRef } from '../host/host.ts';
import { MessageCounter } from './analysis/message-counter.ts';
import { Posting, type PostingPolicy } from './attempts/posting.ts';
import { ServiceBinding } from './attempts/service-binding.ts';
import { TaskReadings } from './attempts/task-reading.ts';
import { type Entry, wantedVersion } from './ledger/ledger.ts';
import { PolicyLedger } from './ledger/policy-ledger.ts';
import { MemberIndexCache } from './members/member-index-cache.ts';
import type { PolicyEnvironment } from './policy-environment.ts';
import { newRequest } from './rollout/annotation-actions.ts';
import { CalendarCache } from './schedule/maintenance-calendar.ts';
import { StatusPublisher } from './status/status-publisher.ts';

/** Time in ms for which responses to upgrade requests are collected before they are stored together. */
const outcomeDelayMs = 1_000;

export class PolicyRuntime implements PostingPolicy {
  readonly environment: PolicyEnvironment;
  readonly owner: OwnerRef;
  readonly binding: ServiceBinding;
  readonly policyLedger: PolicyLedger;
  readonly memberIndex: MemberIndexCache;
  readonly messages: MessageCounter;
  readonly publisher: StatusPublisher;
  /**
   * Usual duration of an upgrade in ms: nearly all upgrades end within this time. Undefined until the first upgrade has
   * ended.
   */
  typicalMs: number | undefined;
  readonly calendar = new CalendarCache();
  readonly #term: number;
  #posting: Posting | undefined;
  #tasks: TaskReadings | undefined;
  #decisionTimer: Timer | undefined;
  #closed = false;

  constructor(policy: CollectorVersionPolicy, environment: PolicyEnvironment) {
    const { namespace, name, uid } = policy.metadata;
    const { host, clock, settings, draining } = environment;
    this.environment = environment;
    this.owner = { kind: 'CollectorVersionPolicy', namespace, name, uid };
    this.#term = host.leadership.term();
    this.binding = new ServiceBinding(environment, this.owner, () => this.enqueue());
    this.policyLedger = new PolicyLedger({ store: host.ledgers, clock, owner: this.owner });
    this.memberIndex = new MemberIndexCache(environment, uid);
    this.messages = new MessageCounter(clock, this);
    const intervalMs = settings.statusIntervalMs;
    this.publisher = new StatusPublisher({ host, clock, intervalMs, owner: this.owner, draining });
  }

  get posting(): Posting {
    this.#posting ??= new Posting(this.environment, this.binding, this);
    return this.#posting;
  }

  get tasks(): TaskReadings {
    this.#tasks ??= new TaskReadings(this.environment.clock, this.binding, this);
    return this.#tasks;
  }

  /** Saves memory: discards the objects for upgrade requests and task reads if they are idle. */
  freeMemory(): void {
    if (this.#posting?.isIdle) this.#posting = undefined;
    if (this.#tasks?.isIdle) this.#tasks = undefined;
  }

  /** Forgets the ledger and the index of collectors in memory. The next reconcile reads the ledger again. */
  doubt(): void {
    this.policyLedger.forget();
    this.memberIndex.forget();
  }

  /**
   * True while the ledger must not be read, because sent requests have not been answered yet. If the stored ledger has
   * been deleted, only the responses to these requests show which upgrades are running (U15).
   */
  get awaitsResponses(): boolean {
    return this.policyLedger.known === undefined && this.#posting?.hasUnanswered === true;
  }

  /** Returns the collectors with an upgrade that this process has planned, but never requested. */
  neverSent(): Iterable<string> {
    return this.#posting?.neverSent() ?? [];
  }

  /** Reports whether every upgrade request has been answered, and all responses are stored and shown in the status. */
  isIdle(): boolean {
    return this.#posting?.isIdle !== false && !this.publisher.heldBack;
  }

  /** Stops the runtime. Removes upgrades from the ownership table if their requests have not been sent (U13). */
  close(): void {
    const { binding } = this;
    this.#closed = true;
    for (const id of this.neverSent()) binding.bound?.ownership.ended(id, this.owner.uid);
    this.#posting?.close();
    this.#tasks?.close();
    this.messages.close();
    this.memberIndex.close();
    this.#decisionTimer?.cancel();
    binding.close();
  }

  enqueue(): void {
    if (!this.#closed) this.environment.enqueue(this.owner);
  }

  /** Reports whether the policy still wants an upgrade. Called right before the upgrade is requested (U2). */
  stillWanted(entry: Entry, generation: number): boolean {
    const { binding, policyLedger, tasks, owner } = this;
    const { host, clock, settings, turns, draining } = this.environment;
    const { collectorId, open, isRollback } = entry;
    const newest = host.resources('CollectorVersionPolicy').get(owner);
    const { bound } = binding;
    return (
      !this.#closed &&
      !draining() &&
      bound !== undefined &&
      turns.heldBy(bound.account.serviceId) === undefined &&
      !binding.refusesPosts() &&
      host.leadership.isLeader() &&
      host.leadership.term() === this.#term &&
      newest !== undefined &&
      newest.metadata.uid === owner.uid &&
      newest.metadata.generation === generation &&
      newest.metadata.deletionTimestamp === undefined &&
      pausedByOf(newest) === undefined &&
      host.settings().pausedBy === undefined &&
      host.settings().upgradesBlocked === undefined &&
      open !== undefined &&
      policyLedger.known !== undefined &&
      open.number === policyLedger.known.entry(collectorId)?.open?.number &&
      open.toVersion === wantedVersion(entry, policyLedger.known.header.target) &&
      // After the rollout has been stopped, only rollback upgrades may start.
      policyLedger.known.header.stop?.kind === (isRollback ? 'rollback' : undefined) &&
      newRequest(newest.metadata, 'abort', policyLedger.known.header) === undefined &&
      // After a failed upgrade, no other upgrade is requested until a decision has evaluated the failure.
      !tasks.hasFailures &&
      this.#isWindowOpen(newest, bound, collectorId) &&
      (open.probe || clock.monotonic() - open.sinceMs <= settings.intentLifeMs) &&
      // Until the upgrade is requested, the collector can still move to a policy that takes precedence (U13).
      (open.probe ? bound.ownership.owner(collectorId) : bound.ownership.first(collectorId))?.uid === owner.uid
    );
  }

  #isWindowOpen({ spec }: CollectorVersionPolicy, { listing }: Bound, collectorId: string): boolean {
    const zone = listing.row(collectorId)?.collector.timeZone;
    return this.calendar.current(spec).verdict(this.environment.clock.now(), zone).kind === 'open';
  }

  /**
   * Records the running upgrade in the ownership table. The upgrade remains in the table even if the policy is deleted
   * (U13).
   */
  noteAccepted({ collectorId, open }: Entry, taskId: string): void {
    const { binding, policyLedger, owner } = this;
    binding.succeeded('posts');
    const { bound } = binding;
    if (!open || !bound) return;
    const { number, toVersion } = open;
    const { known } = policyLedger;
    const isCurrent = known
      ? known.header.service === bound.account.serviceId && known.entry(collectorId)?.open?.number === number
      : bound.ownership.flight(collectorId)?.policy === owner.uid;
    if (!isCurrent) return;
    bound.ownership.began(collectorId, {
      policy: owner.uid,
      toVersion,
      taskId,
      sinceMs: this.environment.clock.monotonic(),
    });
  }

  /** Schedules a decision after a short delay, so that responses that arrive together need only one decision. */
  scheduleDecision(): void {
    if (this.#closed) return;
    const { clock, draining } = this.environment;
    const delayMs = draining() || this.tasks.hasFailures ? 0 : outcomeDelayMs;
    this.#decisionTimer ??= clock.after(delayMs, () => {
      this.#decisionTimer = undefined;
      this.enqueue();
    });
  }
}
