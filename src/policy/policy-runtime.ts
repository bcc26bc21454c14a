/**
 * One policy in this process: gathers what `decide` needs, writes what it decides, and sets off what it wants done. It lives
 * for one resource (by uid) and one term of leadership, and is thrown away when a write fails, since what it
 * remembers is then no longer what stands in the host.
 *
 * Order of an application: ledger, then POSTs and reads, then status. A POST is never sent before its attempt is durable (U2).
 */
import type { Accounts } from '../account/accounts.ts';
import { annotations } from '../api/annotations.ts';
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import type { Clock, Timer } from '../base/clock.ts';
import { parseDuration } from '../base/duration.ts';
import { LogfleetError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Result } from '../controller/reconciler.ts';
import type { FleetListing } from '../fleet/fleet-listing.ts';
import type { Fleets } from '../fleet/fleets.ts';
import type { Ownership } from '../fleet/ownership.ts';
import type { Host, OwnerRef, ResourceKey } from '../host/host.ts';
import { adoptFromStatus } from './adoption.ts';
import { type Decision, decide, pausedByOf } from './decide.ts';
import { findOverlap } from './describe.ts';
import { healthOf } from './health.ts';
import { type Entry, Ledger } from './ledger.ts';
import { LedgerFile } from './ledger-file.ts';
import { recheckMs, requeue } from './next-look.ts';
import { Posting } from './posting.ts';
import { nextRollout, rolloutStarted } from './rollout.ts';
import { Roster, sameSelection } from './roster.ts';
import { type Bound, ServiceBinding } from './service-binding.ts';
import type { PolicySettings } from './settings.ts';
import { StatusPublisher } from './status-publisher.ts';
import { resolveTarget } from './target.ts';
import { TaskReadings } from './task-reading.ts';
import { UpgradeDuration } from './upgrade-duration.ts';

export interface PolicyRuntimeOptions {
  readonly host: Host;
  readonly accounts: Accounts;
  readonly fleets: Fleets;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: PolicySettings;
  readonly enqueue: (key: ResourceKey) => void;
  /** Why nothing may start yet although this policy is ready to, or undefined: others must claim their collectors first (U13). */
  readonly heldBy: (serviceId: string) => string | undefined;
  /** The policy is about to claim collectors of this service. */
  readonly onClaiming: (serviceId: string) => void;
  /** The policy has claimed all that it selects. */
  readonly onClaimed: () => void;
  /** The policy cannot claim anything, and nobody is to wait for it, for as long as this holds. */
  readonly onExcused: (excusedWhile: () => boolean) => void;
}

/** Outcomes are written down together, unless something waits for them. */
const outcomeDelayMs = 1_000;

export class PolicyRuntime {
  readonly key: ResourceKey;
  readonly uid: string;
  readonly term: number;
  readonly #options: PolicyRuntimeOptions;
  readonly #owner: OwnerRef;
  readonly #duration = new UpgradeDuration();
  readonly #posting: Posting;
  readonly #tasks: TaskReadings;
  readonly #publisher: StatusPublisher;
  readonly #binding: ServiceBinding;
  #file: LedgerFile | undefined;
  #ledger: Ledger | undefined;
  #roster:
    | { readonly roster: Roster; readonly spec: CollectorVersionPolicy['spec']; readonly target: string }
    | undefined;
  /** The generation of the last decision: a newer one withdraws what was written ahead for it (U2). */
  #decidedGeneration = 0;
  #handledRequest: string | undefined;
  #newsTimer: Timer | undefined;
  /** The last batch was as large as it could be: there may be more to post. */
  #wantsRoom = false;
  /** `missing`: the host had no ledger, and what status shows as running is all that is known (U1). */
  #stored: 'unread' | 'read' | 'missing' = 'unread';
  #closed = false;

  constructor(policy: CollectorVersionPolicy, options: PolicyRuntimeOptions) {
    const { namespace, name, uid } = policy.metadata;
    this.key = { namespace, name };
    this.uid = uid;
    this.term = options.host.leadership.term();
    this.#options = options;
    this.#owner = { ...this.key, kind: 'CollectorVersionPolicy', uid };
    const { clock, settings, host } = options;
    this.#binding = new ServiceBinding({ ...options, policy: uid, onNews: () => this.#enqueue() });
    const onProblem = (error: LogfleetError) => this.#binding.holdFor(error);
    this.#posting = new Posting({
      clock,
      settings,
      stillWanted: (entry) => this.#stillWanted(entry),
      onNews: () => this.#news(),
      onRoom: () => this.#room(),
      onProblem,
      onAccepted: () => this.#binding.succeeded(),
      onBuildRefused: () => this.#binding.doubtBuilds(),
    });
    this.#tasks = new TaskReadings({ clock, onNews: () => this.#news(), onProblem });
    this.#publisher = new StatusPublisher({ host, clock, settings, owner: this.#owner });
    this.#handledRequest = policy.status?.lastHandledReconcileAt;
  }

  async reconcile(policy: CollectorVersionPolicy): Promise<Result> {
    const before = this.#binding.bound;
    const secret = { namespace: this.key.namespace, name: policy.spec.credentialsSecretRef.name };
    const bound = await this.#binding.bind(secret);
    if (bound instanceof LogfleetError) return this.#reportUnusable(policy, bound);
    this.#options.onClaiming(bound.account.serviceId);
    if (bound !== before) this.#roster = undefined;
    // Ids of another service are void (U1).
    if (this.#ledger && this.#ledger.header.service !== bound.account.serviceId) this.#ledger = undefined;
    this.#refresh(policy, bound.listing);
    const problem = this.#binding.problem();
    const builds = bound.listing.builds();
    const verdict = builds && resolveTarget(policy.spec.target, builds.list);
    this.#introduce(policy, bound, verdict?.kind === 'offered' ? verdict.version : policy.spec.target.version);
    const unreadable = this.#stored === 'unread' ? await this.#load(policy, bound) : undefined;
    if (unreadable) return this.#reportUnusable(policy, unreadable);
    const target = verdict?.kind === 'offered' ? verdict.version : this.#ledger?.header.target;
    const notOffered = verdict?.kind === 'notOffered' ? verdict.message : undefined;
    if (bound.listing.completeSinceMs() === undefined || target === undefined) {
      if (notOffered !== undefined) this.#options.onExcused(() => true);
      else if (problem) this.#options.onExcused(() => bound.listing.problem() !== undefined);
      return this.#report(policy, { problem, notOffered, targetVersion: policy.spec.target.version });
    }
    const began = this.#beginRollout(policy, bound, target);
    const roster = this.#prepareRoster(policy, bound);
    this.#options.onClaimed();
    return this.#decideAndApply(policy, bound, roster, { began, notOffered, problem });
  }

  /** Whether every POST was answered and what became of it is written. */
  quiet(): boolean {
    return this.#posting.flying.size === 0 && this.#posting.outcomes.size === 0;
  }

  /** Stops what is under way. What it has in flight stays known to ownership. */
  close(): void {
    this.#closed = true;
    this.#posting.close();
    this.#tasks.close();
    this.#newsTimer?.cancel();
    this.#binding.close();
  }

  #enqueue(): void {
    if (!this.#closed) this.#options.enqueue(this.key);
  }

  /** Asks for builds and fleet where they are older than the policy wants them, or a person wants them now. */
  #refresh(policy: CollectorVersionPolicy, listing: FleetListing): void {
    const nowMs = this.#options.clock.monotonic();
    const requested = policy.metadata.annotations[annotations.requestedAt];
    const now = requested !== undefined && requested !== this.#handledRequest;
    if (now) {
      this.#handledRequest = requested;
      listing.requestSweep(nowMs);
    }
    const resyncMs = parseDuration(policy.spec.resyncInterval) ?? 0;
    listing.requestBuilds(now ? nowMs : Math.max(0, nowMs - resyncMs));
    listing.requestSweep(0);
  }

  #introduce(policy: CollectorVersionPolicy, { ownership }: Bound, targetVersion: string | undefined): void {
    const { uid, namespace, name, creationTimestamp } = policy.metadata;
    const { priority, mode } = policy.spec;
    ownership.introduce({
      uid,
      namespace,
      name,
      priority,
      creationTimestamp,
      enforcing: mode === 'Enforce',
      targetVersion,
    });
  }

  /** Resolves to what a person has to mend before the ledger can be read, if there is something. */
  async #load(policy: CollectorVersionPolicy, { account, ownership }: Bound): Promise<LogfleetError | undefined> {
    const { host, clock } = this.#options;
    const nowMs = clock.monotonic();
    this.#file = new LedgerFile(host.ledgers, this.#owner);
    let ledger: Ledger | undefined;
    try {
      ledger = await this.#file.load(nowMs);
    } catch (error) {
      if (error instanceof LogfleetError && error.handling.kind === 'stall') return error;
      throw error;
    }
    this.#stored = ledger ? 'read' : 'missing';
    ownership.forgetFlights(this.uid);
    // Ids of another service are void (U1).
    if (!ledger || ledger.header.service !== account.serviceId) return undefined;
    ledger.apply(adoptFromStatus(policy.status, ledger, nowMs));
    this.#ledger = ledger;
    for (const entry of ledger.open().values()) this.#track(ownership, entry);
    return undefined;
  }

  /** Begins another rollout when the target is another than the ledger's. Returns whether it did. */
  #beginRollout(policy: CollectorVersionPolicy, { account, ownership }: Bound, target: string): boolean {
    const before = this.#ledger?.header;
    if (before && before.target === target) return false;
    const { clock } = this.#options;
    const header = nextRollout(before, policy.status, account.serviceId, target, clock.now());
    const ledger = this.#ledger ?? new Ledger(header);
    ledger.begin(header);
    if (this.#stored === 'missing') ledger.apply(adoptFromStatus(policy.status, ledger, clock.monotonic()));
    for (const entry of ledger.open().values()) this.#track(ownership, entry);
    this.#stored = 'read';
    this.#ledger = ledger;
    this.#file?.restart(ledger);
    this.#roster = undefined;
    return true;
  }

  #prepareRoster(policy: CollectorVersionPolicy, { listing, ownership }: Bound): Roster {
    const ledger = this.#ledger as Ledger;
    const { target } = ledger.header;
    const known = this.#roster;
    if (!known || known.target !== target || !sameSelection(known.spec, policy.spec)) {
      // Claims of a selection that is no more are let go of with it.
      if (known) for (const id of known.roster.ids()) ownership.unclaim(this.uid, id);
      const roster = new Roster({
        policy: this.uid,
        spec: policy.spec,
        targetVersion: target,
        listing,
        ownership,
        ledger,
        settings: this.#options.settings,
      });
      this.#roster = { roster, spec: policy.spec, target };
      ownership.follow(this.uid, () => roster.claimNew());
    }
    const { roster } = this.#roster as { roster: Roster };
    ownership.forgetOrphans(this.#options.clock.monotonic() - this.#options.settings.openLimitMs);
    // Of who is new, the others claim what is theirs first (U13).
    ownership.catchUp(this.uid);
    roster.sync();
    ownership.announce();
    return roster;
  }

  async #decideAndApply(
    policy: CollectorVersionPolicy,
    bound: Bound,
    roster: Roster,
    found: {
      readonly began: boolean;
      readonly notOffered: string | undefined;
      readonly problem: LogfleetError | undefined;
    },
  ): Promise<Result> {
    const { clock, settings, heldBy } = this.#options;
    const ledger = this.#ledger as Ledger;
    const posted = new Map(this.#posting.outcomes);
    const room = this.#posting.room();
    const tasks = new Map(this.#tasks.readings);
    const decision = decide({
      policy: this.#publisher.latest(policy),
      ledger,
      roster,
      observation: {
        listing: bound.listing,
        notOffered: found.notOffered,
        posted,
        tasks,
        reads: this.#tasks.reads,
        flying: new Set(this.#posting.flying),
        room,
        heldBy: heldBy(bound.account.serviceId) ?? this.#binding.heldBy(),
        problem: found.problem,
        ledgerFull: this.#file?.full ?? false,
        typicalMs: this.#duration.typicalMs,
        overlap: findOverlap(roster, bound.ownership),
      },
      now: { monotonicMs: clock.monotonic(), wallMs: clock.now() },
      settings,
    });
    this.#decidedGeneration = policy.metadata.generation;
    if (found.began || decision.changes.length > 0 || decision.header !== ledger.header) {
      await this.#write(ledger, roster, bound.ownership, decision);
    }
    this.#posting.acknowledge(posted);
    this.#tasks.acknowledge(tasks);
    for (const look of decision.looks) this.#duration.learn(look);
    this.#posting.post(bound.account.service, decision.post);
    this.#wantsRoom = decision.post.length >= room;
    if (found.began) this.#options.host.events.publish(this.#owner, rolloutStarted(ledger.header));
    this.#read(bound, ledger, decision);
    const { essentials, figures, health, requeueAfterMs, settled } = decision;
    const statusDelayMs = await this.#publisher.publish(policy, essentials, figures, health);
    // A run that ends leaves its last figures behind.
    const delayMs = Math.min(requeueAfterMs, statusDelayMs, this.#binding.heldForMs());
    return requeue(delayMs, settled && statusDelayMs === Number.POSITIVE_INFINITY);
  }

  async #write(ledger: Ledger, roster: Roster, ownership: Ownership, decision: Decision): Promise<void> {
    ledger.setHeader(decision.header);
    ledger.apply(decision.changes);
    // In flight from this moment on: others decide while it is being written (U13).
    for (const { entry } of decision.changes) if (entry) this.#track(ownership, entry);
    await (this.#file as LedgerFile).save(ledger, decision.changes);
    for (const { collectorId, entry } of decision.changes) {
      if (!entry?.open) {
        ownership.ended(collectorId, this.uid, this.#options.clock.monotonic());
        this.#tasks.forget(collectorId);
      }
      roster.place(collectorId);
    }
    ownership.announce();
  }

  #track(ownership: Ownership, { collectorId, open }: Entry): void {
    if (!open) return;
    const { toVersion, taskId, sinceMs } = open;
    ownership.began(collectorId, { policy: this.uid, toVersion, taskId, sinceMs });
  }

  #read({ account, listing }: Bound, ledger: Ledger, { watch }: Decision): void {
    for (const [page, sentAfterMs] of watch.pages) listing.requestPage(page, sentAfterMs);
    if (watch.sweepAfterMs !== undefined) listing.requestSweep(watch.sweepAfterMs);
    for (const id of watch.tasks) {
      const taskId = ledger.entry(id)?.open?.taskId;
      if (taskId !== undefined) this.#tasks.read(account.service, id, taskId);
    }
  }

  /** U2, right before the socket write. The age of the attempt is the poster's to watch. */
  #stillWanted({ collectorId, open }: Entry): boolean {
    const { host, clock, settings } = this.#options;
    const newest = host.resources('CollectorVersionPolicy').get(this.key);
    return (
      !this.#closed &&
      this.#options.heldBy(this.#ledger?.header.service ?? '') === undefined &&
      host.leadership.isLeader() &&
      host.leadership.term() === this.term &&
      newest !== undefined &&
      newest.metadata.uid === this.uid &&
      newest.metadata.generation === this.#decidedGeneration &&
      newest.metadata.deletionTimestamp === undefined &&
      pausedByOf(newest) === undefined &&
      open !== undefined &&
      open.toVersion === this.#ledger?.header.target &&
      open.toVersion === (newest.spec.target.version ?? open.toVersion) &&
      (open.probe || clock.monotonic() - open.sinceMs <= settings.intentLifeMs) &&
      this.#binding.bound?.ownership.owner(collectorId)?.uid === this.uid
    );
  }

  /** Nobody waits for the claims of a policy that cannot make any. */
  #reportUnusable(policy: CollectorVersionPolicy, problem: LogfleetError): Promise<Result> {
    this.#options.onExcused(() => true);
    return this.#report(policy, { problem, notOffered: undefined, targetVersion: policy.spec.target.version });
  }

  /** A status without figures: the fleet is not known, or cannot be reached. What was known before stays. */
  async #report(
    policy: CollectorVersionPolicy,
    found: {
      readonly problem: LogfleetError | undefined;
      readonly notOffered: string | undefined;
      readonly targetVersion: string | undefined;
    },
  ): Promise<Result> {
    const health = healthOf({
      ...found,
      spec: policy.spec,
      pausedBy: pausedByOf(policy),
      fleet: undefined,
      ledgerFull: false,
      waitingFor: undefined,
    });
    const delayMs = await this.#publisher.publishHealth(policy, health, found.targetVersion);
    return requeue(Math.min(delayMs, recheckMs(health, found.problem)), !health.reconciling);
  }

  /** More may be written ahead, which somebody waits for. */
  #room(): void {
    if (!this.#wantsRoom) return;
    this.#wantsRoom = false;
    this.#enqueue();
  }

  /** Something was learnt: decide soon, and about all that comes in meanwhile at once. */
  #news(): void {
    if (this.#closed) return;
    this.#newsTimer ??= this.#options.clock.after(outcomeDelayMs, () => {
      this.#newsTimer = undefined;
      this.#enqueue();
    });
  }
}
