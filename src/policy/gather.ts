/**
 * Gathers what `decide` needs of one policy: the service behind its Secret, the listing, the ledger, the roster and what has been heard
 * since the last decision. It asks the service for what is missing and waits for none of its answers: who is not ready is called again.
 *
 * On the way, in this order, it makes the policy known to ownership, reads its ledger, notes which builds there are, begins a rollout when the target is another
 * (in memory: the next write makes it durable), and claims its collectors.
 */
import { annotations } from '../api/annotations.ts';
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import { unreachable } from '../base/assert.ts';
import { parseDuration } from '../base/duration.ts';
import { LogfleetError } from '../base/errors.ts';
import { pausedForAll, policiesHoldOf } from '../controller/pauses.ts';
import type { FleetListing } from '../fleet/fleet-listing.ts';
import type { PostOutcome, TaskReading } from './attempt.ts';
import type { DecideInput } from './decide.ts';
import { findOverlap } from './describe.ts';
import type { Ledger } from './ledger.ts';
import type { RuntimeParts } from './policy-runtime.ts';
import type { HeardOutcome } from './posting.ts';
import type { Roster } from './roster.ts';
import { SeenBuilds } from './seen-builds.ts';
import type { Bound } from './service-binding.ts';
import type { SoFar } from './shown-verdict.ts';
import { type Heir, isCandidate, minAgeMs, resolveTarget, type TargetVerdict } from './target.ts';

/** Nothing can be decided yet. */
export interface Unready {
  readonly kind: 'unready';
  readonly problem: LogfleetError | undefined;
  /** Why the target cannot be had, or undefined. */
  readonly notOffered: string | undefined;
  /** All builds that could be the target are too young (`minAge`), and the policy has had no other. */
  readonly tooYoung?: { readonly heir: Heir; readonly message: string };
  /** What is known all the same; undefined where the Secret or the ledger cannot be used. */
  readonly soFar?: SoFar;
}

export interface Ready {
  readonly kind: 'ready';
  /** Who becomes the target by growing older (`minAge`), or undefined. */
  readonly heir: Heir | undefined;
  readonly bound: Bound;
  readonly ledger: Ledger;
  readonly roster: Roster;
  /** Whether another rollout begins with this decision. */
  readonly began: boolean;
  /** Whether other policies of the service have yet to claim their collectors, so that counts may be wrong (U13). */
  readonly awaitsClaims: boolean;
  readonly input: DecideInput;
  /** What the decision takes in, to be let go of once it is written. */
  readonly heard: {
    readonly posted: ReadonlyMap<string, HeardOutcome>;
    readonly tasks: ReadonlyMap<string, TaskReading>;
  };
}

type Found = Pick<Ready, 'bound' | 'ledger' | 'roster' | 'began' | 'heir'> &
  Pick<Unready, 'problem' | 'notOffered'> & { readonly awaitsBuild: boolean };

const noAges: ReadonlyMap<string, number> = new Map();

export class Gatherer {
  readonly #parts: RuntimeParts;
  readonly #seenBuilds: SeenBuilds;
  #seenSinceMs: ReadonlyMap<string, number> = noAges;
  #handledRequest: string | undefined;

  /** @param policy as it was when the runtime began: what a person had asked for by then has been handled */
  constructor(parts: RuntimeParts, policy: CollectorVersionPolicy) {
    this.#parts = parts;
    this.#seenBuilds = new SeenBuilds(parts.host.ledgers, parts.owner);
    this.#handledRequest = policy.status?.lastHandledReconcileAt;
  }

  async gather(policy: CollectorVersionPolicy): Promise<Ready | Unready> {
    const { binding, kept, roster: keptRoster, turns, owner } = this.#parts;
    const before = binding.bound;
    const { credentialsSecretRef, resyncInterval } = policy.spec;
    const secret = { namespace: owner.namespace, name: credentialsSecretRef.name };
    const bound = await binding.bind(secret, parseDuration(resyncInterval) ?? 0);
    if (bound instanceof LogfleetError) return this.#unusable(policy, bound);
    turns.claiming(policy, bound.account.serviceId);
    if (bound !== before) keptRoster.close();
    this.#refresh(policy, bound.listing);
    const problem = binding.problem();
    this.#introduce(policy, bound, this.#verdict(policy, bound));
    const unreadable = (await this.#load(policy, bound)) ?? (await this.#lookAtBuilds(policy, bound));
    if (unreadable) return this.#unusable(policy, unreadable);
    const verdict = this.#verdict(policy, bound);
    this.#introduce(policy, bound, verdict);
    const target = verdict?.kind === 'offered' ? verdict.version : kept.known?.header.target;
    const notOffered = verdict && whyNotOffered(verdict, target);
    if (problem) turns.troubled(owner.uid);
    if (bound.listing.completeSinceMs() === undefined) {
      if (problem) turns.excuse(policy, bound.listing);
      else turns.resumes(policy, bound.account.serviceId);
      return this.#unread(bound, target, problem, notOffered);
    }
    if (target === undefined) {
      const wanted = verdict && wantedBy(verdict);
      if (wanted !== undefined) {
        keptRoster.claim(policy, wanted, bound);
        turns.claimed(policy, bound.account.serviceId);
      }
      return { kind: 'unready', problem, notOffered, ...(verdict?.kind === 'tooYoung' ? { tooYoung: verdict } : {}) };
    }
    const began = kept.isBehind(policy, target);
    const ledger = began ? this.#begin(policy, bound, target) : (kept.known as Ledger);
    const roster = keptRoster.current(policy, ledger, bound);
    turns.claimed(policy, bound.account.serviceId);
    if (!problem) turns.usable(owner.uid);
    const heir = verdict?.kind === 'notOffered' ? undefined : verdict?.heir;
    const awaitsBuild = verdict?.kind === 'tooYoung';
    return this.#ready(policy, { bound, ledger, roster, began, heir, awaitsBuild, notOffered, problem });
  }

  /**
   * Reads the ledger where that is due, and forgets what was heard of tasks that it does not have open (U3).
   * @returns what a person has to mend before the ledger can be read; undefined where there is nothing to mend
   */
  async #load(policy: CollectorVersionPolicy, bound: Bound): Promise<LogfleetError | undefined> {
    const { kept, tasks } = this.#parts;
    const isReadAnew = kept.known === undefined;
    const unreadable = await kept.load(policy, bound);
    const ledger = kept.known;
    if (isReadAnew && ledger) tasks.keepOnly((id, taskId) => ledger.entry(id)?.open?.taskId === taskId);
    return unreadable;
  }

  /** What the policy asks for, by the builds and their ages that are known by now; undefined before the first list of builds. */
  #verdict({ spec, status }: CollectorVersionPolicy, { listing }: Bound): TargetVerdict | undefined {
    const builds = listing.builds();
    const { kept, clock } = this.#parts;
    const current = kept.known?.header.target ?? status?.targetVersion;
    const past = { current, seenSinceMs: this.#seenSinceMs, wallMs: clock.now() };
    return builds && resolveTarget(spec.target, builds.list, past);
  }

  /** Notes which builds are offered, where their age counts. Resolves to what a person has to mend before it can be, if there is something. */
  async #lookAtBuilds({ spec }: CollectorVersionPolicy, bound: Bound): Promise<LogfleetError | undefined> {
    const { target } = spec;
    const builds = bound.listing.builds()?.list;
    if (builds === undefined || minAgeMs(target) === 0) return undefined;
    try {
      this.#seenSinceMs = await this.#seenBuilds.look({
        service: bound.account.serviceId,
        builds,
        isCandidate: (version) => isCandidate(target, version),
        wallMs: this.#parts.clock.now(),
      });
      return undefined;
    } catch (error) {
      if (error instanceof LogfleetError && error.handling.kind === 'stall') return error;
      throw error;
    }
  }

  #ready(policy: CollectorVersionPolicy, found: Found): Ready {
    const { kept, posting, tasks, publisher, duration, calendar, clock, settings, turns } = this.#parts;
    const { bound, ledger, roster, notOffered, problem } = found;
    const claims = turns.heldBy(bound.account.serviceId);
    const heard = { posted: new Map(posting.heard), tasks: new Map(tasks.readings) };
    const input: DecideInput = {
      policy: publisher.latest(policy),
      ledger,
      roster,
      observation: {
        listing: bound.listing,
        notOffered,
        awaitsBuild: found.awaitsBuild,
        posted: outcomesFor(ledger, heard.posted),
        tasks: heard.tasks,
        reads: tasks.reads,
        flying: new Set(posting.flying),
        unsent: posting.unsent,
        room: posting.room(),
        heldBy: this.#heldBy(claims),
        problem,
        ledgerFull: kept.full,
        typicalMs: duration.typicalMs,
        limits: {
          requestsPerSecond: bound.account.requestsPerSecond,
          listed: bound.listing.rows.size,
          pageRows: bound.listing.pageRows(),
        },
        overlap: findOverlap(roster, bound.ownership),
        pausedForAll: pausedForAll(this.#parts.host),
        policiesHold: policiesHoldOf(this.#parts.host),
      },
      calendar: calendar.current(policy.spec),
      now: { monotonicMs: clock.monotonic(), wallMs: clock.now() },
      settings,
    };
    return { kind: 'ready', ...found, awaitsClaims: claims !== undefined, input, heard };
  }

  /** The fleet is not known yet. A rollback does not need the target to be offered (R7). */
  #unread(
    { account, listing }: Bound,
    target: string | undefined,
    problem: LogfleetError | undefined,
    notOffered: string | undefined,
  ): Unready {
    const { kept } = this.#parts;
    const isRollingBack = kept.known?.header.stop?.kind === 'rollback';
    const soFar = {
      target,
      sameService: kept.tellsOf(account.serviceId),
      answered: listing.builds() !== undefined,
    };
    return { kind: 'unready', problem, notOffered: isRollingBack ? undefined : notOffered, soFar };
  }

  #heldBy(claims: string | undefined): string | undefined {
    const { draining, binding } = this.#parts;
    if (draining()) return 'the next start: logfleet is shutting down';
    return claims ?? binding.heldBy();
  }

  /** Nobody waits for the claims of a policy that cannot make any. */
  #unusable(policy: CollectorVersionPolicy, problem: LogfleetError): Unready {
    const { turns, owner } = this.#parts;
    turns.troubled(owner.uid);
    turns.excuse(policy);
    return { kind: 'unready', problem, notOffered: undefined };
  }

  /** Asks for builds and fleet where nothing is known of them, or a person wants them now. */
  #refresh(policy: CollectorVersionPolicy, listing: FleetListing): void {
    const nowMs = this.#parts.clock.monotonic();
    const requested = policy.metadata.annotations[annotations.requestedAt];
    const now = requested !== undefined && requested !== this.#handledRequest;
    if (now) {
      this.#handledRequest = requested;
      listing.requestSweep(nowMs);
    }
    listing.requestBuilds(now ? nowMs : 0);
    listing.requestSweep(0);
  }

  #introduce(policy: CollectorVersionPolicy, { ownership }: Bound, verdict: TargetVerdict | undefined): void {
    const { uid, namespace, name, creationTimestamp } = policy.metadata;
    const { priority, mode, target } = policy.spec;
    ownership.introduce({
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
    const { kept, roster } = this.#parts;
    const before = kept.known;
    // What the rollout that ends here has come to, also where this process has not looked at it yet.
    const last = before && (roster.known ?? roster.current(policy, before, bound));
    const ledger = kept.begin(policy, bound, target, last?.counts);
    roster.forget();
    return ledger;
  }
}

/** Why nothing can be brought to the target that the policy has: also where it is offered no longer, and no other is old enough. */
function whyNotOffered(verdict: TargetVerdict, target: string | undefined): string | undefined {
  switch (verdict.kind) {
    case 'offered':
      return undefined;
    case 'notOffered':
      return verdict.message;
    case 'tooYoung':
      return target === undefined ? undefined : verdict.message;
    default:
      return unreachable(verdict);
  }
}

/** What a policy that has no target yet will be about. */
function wantedBy(verdict: TargetVerdict): string | undefined {
  switch (verdict.kind) {
    case 'offered':
      return undefined;
    case 'notOffered':
      return verdict.wanted;
    case 'tooYoung':
      return verdict.heir.version;
    default:
      return unreachable(verdict);
  }
}

/** What became of the very attempts that the ledger has open: it may have been read anew since they were posted. */
function outcomesFor(ledger: Ledger, heard: ReadonlyMap<string, HeardOutcome>): ReadonlyMap<string, PostOutcome> {
  const outcomes = new Map<string, PostOutcome>();
  for (const [id, { entry, outcome }] of heard) {
    if (ledger.entry(id)?.open?.number === entry.open?.number) outcomes.set(id, outcome);
  }
  return outcomes;
}
