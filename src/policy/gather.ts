/**
 * Collects the input of `decide` for one policy. If data is missing, requests it from the service. The policy is
 * reconciled again when the data has arrived.
 */
import { annotations } from '../api/annotations.ts';
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import { parseDuration } from '../base/duration.ts';
import { LogfleetError } from '../base/errors.ts';
import type { FleetListing } from '../fleet/fleet-listing.ts';
import type { Bound } from '../fleet/fleets.ts';
import type { ResourceKey } from '../host/host.ts';
import type { UpgradeTask } from '../service/collectors/upgrade-service.ts';
import type { PostOutcome } from './attempts/attempt.ts';
import type { ReceivedOutcome } from './attempts/posting.ts';
import type { Ledger } from './ledger/ledger.ts';
import type { PolicyMemberIndex } from './members/policy-member-index.ts';
import type { PolicyRuntime } from './policy-runtime.ts';
import type { DecideInput, Observation } from './rollout/decide-input.ts';
import { SeenBuilds } from './rollout/seen-builds.ts';
import { isCandidate, minAgeMs, type NextBuild, resolveTarget, type TargetVerdict } from './rollout/target.ts';
import { findOverlap } from './status/describe.ts';
import type { SoFar } from './status/shown-verdict.ts';

/** Result for a policy about which no decision is possible yet, for example because its collectors are unknown. */
export interface Unready {
  readonly kind: 'unready';
  readonly problem: LogfleetError | undefined;
  /** Message about a target version that the service does not offer; undefined if the service offers it. */
  readonly notOffered: string | undefined;
  /**
   * Build that becomes the target as soon as its age reaches `minAge`, with a message about it for the status. Set only
   * while the policy has no target because all builds are too young.
   */
  readonly tooYoung?: { readonly nextBuild: NextBuild; readonly message: string };
  /**
   * Data that shows whether the conditions in the status are still correct. Undefined if the Secret or the ledger
   * cannot be used.
   */
  readonly soFar?: SoFar;
}

export interface Ready {
  readonly kind: 'ready';
  /** Build that becomes the target when its age reaches `minAge`. */
  readonly nextBuild: NextBuild | undefined;
  readonly bound: Bound;
  /** True if this decision begins a new rollout. */
  readonly began: boolean;
  /**
   * True while other policies have not yet reported which collectors they select (U13). Until then, this policy may
   * count collectors that belong to other policies.
   */
  readonly awaitsClaims: boolean;
  readonly input: DecideInput;
  /**
   * Responses to upgrade requests and statuses of upgrade tasks on which the decision is based. They are discarded
   * after the decision has been stored.
   */
  readonly received: {
    readonly posted: ReadonlyMap<string, ReceivedOutcome>;
    readonly tasks: ReadonlyMap<string, UpgradeTask>;
  };
}

type Found = Pick<Ready, 'bound' | 'began' | 'nextBuild'> &
  Pick<Observation, 'problem' | 'notOffered' | 'awaitsBuild'> & {
    readonly ledger: Ledger;
    readonly memberIndex: PolicyMemberIndex;
  };

export class Gatherer {
  readonly #runtime: PolicyRuntime;
  readonly #seenBuilds: SeenBuilds;
  #seenSinceMs: ReadonlyMap<string, number> | undefined;
  #handledRequest: string | undefined;
  /** Values of the annotations with which the user last asked logfleet to repeat failed requests. */
  #asked: string;
  /**
   * Target and Secret in the spec that this process last saw. Undefined before the first reconcile, unless the status
   * already reflects the spec.
   */
  #wanted: string | undefined;
  /** Monotonic time in ms at which this process first saw the current target; 0 if the status already reflects it. */
  #wantedSinceMs = 0;

  constructor(runtime: PolicyRuntime, policy: CollectorVersionPolicy) {
    this.#runtime = runtime;
    this.#seenBuilds = new SeenBuilds(runtime.environment.host.ledgers, runtime.owner);
    this.#handledRequest = policy.status?.lastHandledReconcileAt;
    this.#asked = askedOf(policy, this.#handledRequest);
    if (policy.status?.observedGeneration === policy.metadata.generation) this.#wanted = wantedBy(policy);
  }

  /** Binds the policy to its service, and reads its stored data. */
  async prepare(policy: CollectorVersionPolicy): Promise<Bound | Unready> {
    const { binding, memberIndex, owner } = this.#runtime;
    const before = binding.bound;
    const { credentialsSecretRef, resyncInterval } = policy.spec;
    const secret = { namespace: owner.namespace, name: credentialsSecretRef.name };
    this.#repeatIfAsked(policy, secret);
    this.#noteWanted(policy);
    const bound = await binding.bind(secret, parseDuration(resyncInterval) ?? 0);
    if (bound instanceof LogfleetError) return this.#unusable(policy, bound);
    this.#runtime.environment.turns.claiming(policy, bound.account.serviceId);
    if (bound !== before) memberIndex.close();
    this.#refresh(policy, bound.listing);
    const verdict = this.#verdict(policy, bound);
    this.#register(policy, bound, verdict);
    if (this.#runtime.awaitsResponses) {
      const target = verdict?.kind === 'offered' ? verdict.version : policy.status?.targetVersion;
      return this.#unread(bound, target, binding.problem(), undefined);
    }
    try {
      await this.#load(policy, bound);
      await this.#recordBuilds(policy, bound);
    } catch (error) {
      if (error instanceof LogfleetError && error.handling.kind === 'stall') return this.#unusable(policy, error);
      // Records the failure. Once this policy can use its ledger again, the ledgers of other policies may be usable as
      // well, so these policies then try again to claim their collectors.
      this.#runtime.environment.turns.unusable(owner.uid);
      throw error;
    }
    return bound;
  }

  /** Collects the data for a decision. This method contains no `await`, so all data describes the same moment. */
  gather(policy: CollectorVersionPolicy, bound: Bound): Ready | Unready {
    const { binding, policyLedger, memberIndex: memberIndexCache, owner } = this.#runtime;
    const { turns } = this.#runtime.environment;
    const problem = binding.problem();
    const verdict = this.#verdict(policy, bound);
    this.#register(policy, bound, verdict);
    const target = verdict?.kind === 'offered' ? verdict.version : policyLedger.known?.header.target;
    // A policy that has no target yet, because all builds are too young, does not report that the service lacks the
    // target build.
    const isFirst = verdict?.kind === 'tooYoung' && target === undefined;
    const notOffered = !verdict || verdict.kind === 'offered' || isFirst ? undefined : verdict.message;
    if (problem) turns.unusable(owner.uid);
    if (bound.listing.completeSinceMs() === undefined || !verdict) {
      if (problem) turns.exempt(policy, bound.listing);
      else turns.resumes(policy, bound.account.serviceId);
      return this.#unread(bound, target, problem, notOffered);
    }
    if (target === undefined) {
      if (verdict.kind !== 'offered') {
        memberIndexCache.claim(policy, verdict.kind === 'tooYoung' ? verdict.nextBuild.version : verdict.wanted, bound);
        turns.claimed(policy, bound.account.serviceId);
      }
      return { kind: 'unready', problem, notOffered, ...(verdict.kind === 'tooYoung' ? { tooYoung: verdict } : {}) };
    }
    const began = policyLedger.isBehind(policy, target);
    const ledger = began ? this.#begin(policy, bound, target) : (policyLedger.known as Ledger);
    const memberIndex = memberIndexCache.current(policy, ledger, bound);
    turns.claimed(policy, bound.account.serviceId);
    if (!problem) turns.usable(owner.uid);
    const nextBuild = verdict.kind === 'notOffered' ? undefined : verdict.nextBuild;
    const awaitsBuild = verdict.kind === 'tooYoung';
    return this.#ready(policy, { bound, ledger, memberIndex, began, nextBuild, awaitsBuild, notOffered, problem });
  }

  /**
   * Allows failed requests to be repeated immediately if a user has asked for a retry or a reconcile since this method
   * was last called.
   */
  #repeatIfAsked(policy: CollectorVersionPolicy, secret: ResourceKey): void {
    const { binding, messages } = this.#runtime;
    const asked = askedOf(policy, policy.metadata.annotations[annotations.requestedAt]);
    if (asked !== this.#asked) {
      binding.tryAgain(secret);
      messages.tryAgain();
    }
    this.#asked = asked;
  }

  /**
   * Reads the ledger, unless it is already in memory. After a read, discards the statuses of upgrade tasks that are not
   * open in the ledger (U3).
   */
  async #load(policy: CollectorVersionPolicy, bound: Bound): Promise<void> {
    const { policyLedger, tasks } = this.#runtime;
    const isReadAnew = policyLedger.known === undefined;
    await policyLedger.load(policy, bound, this.#runtime.neverSent());
    const ledger = policyLedger.known;
    if (isReadAnew && ledger) tasks.keepOnly((id, taskId) => ledger.entry(id)?.open?.taskId === taskId);
  }

  #noteWanted(policy: CollectorVersionPolicy): void {
    const wanted = wantedBy(policy);
    if (wanted !== this.#wanted) this.#wantedSinceMs = this.#runtime.environment.clock.monotonic();
    this.#wanted = wanted;
  }

  /**
   * Chooses the target version. Returns undefined until the list of builds is known. If the list lacks the target and
   * is older than the target, the list is read again, because the service may now offer the build.
   */
  #verdict({ spec, status }: CollectorVersionPolicy, { listing }: Bound): TargetVerdict | undefined {
    const builds = listing.builds();
    if (!builds) return undefined;
    const { policyLedger, environment } = this.#runtime;
    const current = policyLedger.known?.header.target ?? status?.targetVersion;
    const past = { current, seenSinceMs: this.#seenSinceMs ?? new Map(), wallMs: environment.clock.now() };
    const verdict = resolveTarget(spec.target, builds.list, past);
    if (verdict.kind !== 'notOffered' || builds.sentAtMs >= this.#wantedSinceMs) return verdict;
    listing.requestNewBuilds(this.#wantedSinceMs);
    // If reads from the service fail, the verdict is based on the old list, so that running upgrades are still
    // evaluated.
    return listing.problem() ? verdict : undefined;
  }

  /** Records when the service first offered each build, if the policy sets `minAge`. */
  async #recordBuilds({ spec: { target } }: CollectorVersionPolicy, { account, listing }: Bound): Promise<void> {
    const builds = listing.builds()?.list;
    if (builds === undefined || minAgeMs(target) === 0) return;
    this.#seenSinceMs = await this.#seenBuilds.update({
      service: account.serviceId,
      builds,
      isCandidate: (version) => isCandidate(target, version),
      wallMs: this.#runtime.environment.clock.now(),
    });
  }

  #ready(policy: CollectorVersionPolicy, found: Found): Ready {
    const { binding, policyLedger, posting, tasks, messages, publisher, typicalMs, calendar } = this.#runtime;
    const { host, clock, settings, turns, draining } = this.#runtime.environment;
    const { bound, began, nextBuild, ledger, memberIndex, ...observed } = found;
    const claims = turns.heldBy(bound.account.serviceId);
    const wallMs = clock.now();
    bound.listing.locatePages();
    const received = { posted: new Map(posting.received), tasks: new Map(tasks.readings) };
    const input: DecideInput = {
      policy: publisher.latest(policy),
      ledger,
      memberIndex,
      observation: {
        listing: bound.listing,
        ...observed,
        posted: outcomesFor(ledger, received.posted),
        tasks: received.tasks,
        reads: new Map(tasks.reads),
        messages: messages.reading,
        inFlight: new Set(posting.inFlight),
        rejected: new Set(posting.rejected),
        unsent: posting.unsent,
        batchCapacity: Math.min(posting.capacity(), binding.capacityFor('posts', posting.inFlight.size)),
        heldBy: draining() ? { kind: 'shutdown' } : claims ? { kind: 'claims', policy: claims } : binding.heldBy(),
        ledgerFull: policyLedger.full,
        isLedgerWritten: policyLedger.isWritten,
        typicalMs,
        areFiguresDue: claims !== undefined || publisher.isDue(),
        overlap: findOverlap(memberIndex, bound.ownership),
        pausedForAll: host.settings().pausedBy,
        upgradesBlocked: host.settings().upgradesBlocked,
      },
      windows: calendar.current(policy.spec).at(wallMs, memberIndex.timeZones()),
      now: { monotonicMs: clock.monotonic(), wallMs },
      settings,
    };
    return { kind: 'ready', bound, began, nextBuild, awaitsClaims: claims !== undefined, input, received };
  }

  /**
   * Returns the result for a policy whose collectors have not been read yet. During a rollback, `notOffered` is left
   * out, because a rollback does not install the target build (R7).
   */
  #unread(
    { account, listing }: Bound,
    target: string | undefined,
    problem: LogfleetError | undefined,
    notOffered: string | undefined,
  ): Unready {
    const { policyLedger } = this.#runtime;
    const isRollingBack = policyLedger.known?.header.stop?.kind === 'rollback';
    const sameService = policyLedger.belongsTo(account.serviceId);
    const soFar = { target, sameService, answered: listing.builds() !== undefined };
    return { kind: 'unready', problem, notOffered: isRollingBack ? undefined : notOffered, soFar };
  }

  /**
   * Returns the result for a policy with a problem that prevents decisions. Other policies then stop waiting for this
   * policy to claim its collectors.
   */
  #unusable(policy: CollectorVersionPolicy, problem: LogfleetError): Unready {
    const { environment, owner } = this.#runtime;
    const { turns } = environment;
    turns.unusable(owner.uid);
    turns.exempt(policy);
    return { kind: 'unready', problem, notOffered: undefined };
  }

  /** Requests the lists of builds and collectors if these lists are unknown, or if a user has requested a reconcile. */
  #refresh(policy: CollectorVersionPolicy, listing: FleetListing): void {
    const nowMs = this.#runtime.environment.clock.monotonic();
    const requested = policy.metadata.annotations[annotations.requestedAt];
    const now = requested !== undefined && requested !== this.#handledRequest;
    if (now) {
      this.#handledRequest = requested;
      listing.requestSweep(nowMs);
    }
    listing.requestBuilds(now ? nowMs : 0);
    listing.requestSweep(0);
  }

  #register(policy: CollectorVersionPolicy, { ownership }: Bound, verdict: TargetVerdict | undefined): void {
    const { uid, namespace, name, creationTimestamp } = policy.metadata;
    const { priority, mode, target } = policy.spec;
    ownership.register({
      uid,
      namespace,
      name,
      priority,
      creationTimestamp,
      enforcing: mode === 'Enforce',
      targetVersion: verdict?.kind === 'offered' ? verdict.version : target.version,
    });
  }

  #begin(policy: CollectorVersionPolicy, bound: Bound, target: string): Ledger {
    const { policyLedger, memberIndex } = this.#runtime;
    const before = policyLedger.known;
    // The final counts of the former rollout must be computed before the new rollout begins, because the history in the
    // status shows these counts.
    const last = before && (memberIndex.known ?? memberIndex.current(policy, before, bound));
    const ledger = policyLedger.begin(policy, bound, target, last?.counts);
    memberIndex.forget();
    return ledger;
  }
}

/** Returns a string that changes when a user chooses another target or other credentials. */
function wantedBy({ spec: { target, credentialsSecretRef } }: CollectorVersionPolicy): string {
  return JSON.stringify([target, credentialsSecretRef.name]);
}

/**
 * Returns a string that changes when a user requests a reconcile or retries the rollout. Both actions repeat failed
 * requests.
 */
function askedOf({ metadata }: CollectorVersionPolicy, requestedAt: string | undefined): string {
  return JSON.stringify([requestedAt, metadata.annotations[annotations.retry]]);
}

/** Returns the responses that belong to open attempts in the ledger. All other responses are outdated. */
function outcomesFor(ledger: Ledger, received: ReadonlyMap<string, ReceivedOutcome>): ReadonlyMap<string, PostOutcome> {
  const outcomes = new Map<string, PostOutcome>();
  for (const [id, { entry, outcome }] of received) {
    if (ledger.entry(id)?.open?.number === entry.open?.number) outcomes.set(id, outcome);
  }
  return outcomes;
}
