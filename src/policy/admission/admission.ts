/**
 * Selects the upgrades that a policy starts now, in this order:
 *
 * - requests that are repeated because the first response was lost;
 * - retries of failed upgrades;
 * - upgrades of collectors that left the target version;
 * - upgrades of pending collectors.
 *
 * Collectors whose requests were rejected without a reason come last, so that they do not block the others (U11).
 *
 * `start-rules.ts` decides which collectors must wait.
 */
import { getOrAdd } from '../../base/get-or-add.ts';
import { monotonicOf, probeIsDue } from '../attempts/attempt.ts';
import { type Attempt, type Entry, hasFailed, wantedVersion } from '../ledger/ledger.ts';
import { laterStage } from '../members/stages.ts';
import type { RollbackPlan } from '../rollout/rollback.ts';
import { isStageStarted } from '../rollout/rollout-state.ts';
import type { WaitCause } from '../rollout/wait-cause.ts';
import {
  type AdmissionInput,
  type AdmissionState,
  type Candidate,
  ownWindowClosed,
  type Refusal,
  refusalOf,
  refusalOfAll,
  stageNotReached,
} from './start-rules.ts';

/** Reason why some collectors cannot be upgraded yet, and the number of these collectors. */
export interface CollectorWait extends Refusal {
  readonly cause: WaitCause;
  readonly collectors: number;
  /** Earliest monotonic time in ms at which one of the collectors may be upgraded. Infinity if no time is known. */
  readonly untilMs: number;
}

export interface Admission {
  /** Reason why no upgrade may start; undefined if upgrades may start. */
  readonly refusal: Refusal | undefined;
  /** Ledger entries of the upgrades that start now. */
  readonly post: readonly Entry[];
  readonly attempts: number;
  /**
   * Collectors whose version must be read again before their next upgrade, each with the earliest monotonic time in ms
   * at which to request the read.
   */
  readonly listingsNeeded: ReadonlyMap<string, number>;
  /** Earliest monotonic time in ms at which a waiting collector may be upgraded. */
  readonly nextMs: number;
  /**
   * True if all remaining collectors must wait for the same reason, such as `maxInProgress` or a stage that has not
   * started.
   */
  readonly pressed: boolean;
  /**
   * True if a collector is waiting only briefly, for example for the response to a request. The status does not show
   * such a short wait.
   */
  readonly hasBriefWait: boolean;
  readonly waits: readonly CollectorWait[];
}

export function admit(input: AdmissionInput): Admission {
  const refusal = refusalOfAll({ ...input, stop: input.state.header.stop });
  const batch = new Batch(input);
  if (!refusal) batch.startAll();
  return { refusal, ...batch.result() };
}

class Batch {
  readonly #input: AdmissionInput;
  /** Input of the start rules for the next collector. Replaced after each upgrade that is started. */
  #known: AdmissionState;
  readonly #post: Entry[] = [];
  readonly #listingsNeeded = new Map<string, number>();
  /** JSON text of each cause of a wait. The text is cached, because many collectors can share one cause. */
  readonly #causeTexts = new Map<WaitCause, string>();
  /** Waits by the JSON text of their cause. */
  readonly #waits = new Map<string, CollectorWait>();
  #attempts: number;
  #hasBriefWait = false;
  /**
   * True while only the collectors in `observation.rejected` are considered. False while all other collectors are
   * considered.
   */
  #isForRejected = false;

  constructor(input: AdmissionInput) {
    this.#input = input;
    this.#known = { ...input, batched: 0 };
    this.#attempts = input.ledger.header.attempts;
  }

  startAll(): void {
    const { rollback } = this.#input.state;
    this.#adoptOrphans();
    if (rollback) this.#noteReturned(rollback);
    this.#startSome();
    if (this.#input.observation.rejected.size === 0) return;
    this.#isForRejected = true;
    this.#startSome();
  }

  #startSome(): void {
    const { rollback } = this.#input.state;
    this.#probe();
    if (rollback) {
      this.#rollBack(rollback);
    } else {
      this.#retry();
      this.#correctDrift();
      this.#start();
    }
  }

  result(): Omit<Admission, 'refusal'> {
    const waits = [...this.#waits.values()];
    return {
      post: this.#post,
      attempts: this.#attempts,
      listingsNeeded: this.#listingsNeeded,
      nextMs: Math.min(...waits.map(({ untilMs }) => untilMs)),
      pressed: waits.some(({ forAll }) => forAll),
      hasBriefWait: this.#hasBriefWait,
      waits,
    };
  }

  /**
   * Takes over running upgrades that no policy manages any more, for example because their policy was deleted.
   * Otherwise, this policy would upgrade the same collectors at the same time (U13).
   */
  #adoptOrphans(): void {
    const { memberIndex, pending } = this.#input;
    if (memberIndex.members('inProgress').size <= pending.openCount) return;
    for (const id of memberIndex.members('inProgress')) {
      if (pending.entry(id)?.open) continue;
      const orphan = memberIndex.orphan(id);
      if (!orphan) continue;
      // If the task id of the upgrade is unknown, the upgrade request must be repeated. The repeated request may be the
      // one that starts the upgrade, so it is sent only after the collector's stage has started (R2).
      if (orphan.taskId === undefined && stageNotReached({ id, because: 'pending' }, this.#known)) continue;
      // If the task id is unknown, the age of the upgrade counts from now, because its request may only just have been
      // sent.
      const { taskId, sinceMs, toVersion } = orphan;
      const known =
        taskId === undefined ? { state: 'unknown' as const } : { state: 'accepted' as const, taskId, sinceMs };
      const open = { ...this.#attempt(toVersion, true), ...known };
      const entry = this.#started(id);
      pending.set(id, { ...entry, used: entry.used + 1, open });
    }
  }

  /**
   * Repeats each upgrade request whose response was lost, if the collector is still running another version (U3). The
   * repeated request may start the upgrade, so the conditions for the start of an upgrade must be met.
   */
  #probe(): void {
    const { ledger, pending, memberIndex, observation, settings } = this.#input;
    for (const entry of [...pending.open()]) {
      const { open, collectorId } = entry;
      if (open?.toVersion !== wantedVersion(entry, ledger.header.target)) continue;
      if (observation.inFlight.has(collectorId) || !this.#isDue(collectorId)) continue;
      // During a rollback, no upgrade to the target version is requested.
      if (entry.isRollback !== (this.#input.state.rollback !== undefined)) continue;
      if (!memberIndex.member(collectorId)?.selected || !memberIndex.owns(collectorId)) continue;
      if (!probeIsDue(open, memberIndex.row(collectorId), settings)) continue;
      // The repeated request may start the upgrade, so the collector's stage must have started (R2), and its
      // maintenance window must be open (R8).
      if (!entry.isRollback && !isStageStarted(memberIndex.stageOf(collectorId), this.#input.state)) continue;
      if (ownWindowClosed({ id: collectorId, because: 'pending' }, this.#known)) continue;
      if (this.#post.length >= observation.batchCapacity) return;
      this.#write({ ...entry, open: { ...open, state: 'intended', probe: true } });
    }
  }

  #retry(): void {
    const { memberIndex, pending } = this.#input;
    for (const id of memberIndex.members('retrying')) {
      const entry = pending.entry(id);
      if (pending.stateOf(id) !== 'retrying' || !entry?.ending) continue;
      this.#consider({ id, because: 'failed', ending: entry.ending, used: entry.used });
    }
  }

  #correctDrift(): void {
    const { memberIndex, pending } = this.#input;
    for (const id of memberIndex.members('drifting')) {
      const sinceMs = memberIndex.driftingSinceMs(id);
      if (sinceMs === undefined || pending.stateOf(id) !== 'drifting') continue;
      this.#consider({ id, because: 'drifted', sinceMs });
    }
  }

  #start(): void {
    const { memberIndex, pending, state } = this.#input;
    for (const id of memberIndex.pending((state.header.stages?.length ?? 0) - 1)) {
      if (pending.stateOf(id) !== 'pending') continue;
      if (this.#consider({ id, because: 'pending' })?.forAll) return;
    }
    this.#waitAtGate();
  }

  /** Records the reason why the collectors of later stages must wait, for example a missing approval. */
  #waitAtGate(): void {
    const { memberIndex, state, now } = this.#input;
    const collectors = memberIndex.stageCounts(laterStage).pending;
    if (!state.gate || collectors === 0) return;
    const { cause, reason } = state.gate;
    const untilMs = monotonicOf(state.gate.untilMs ?? Infinity, now);
    this.#waits.set(JSON.stringify(cause), { cause, reason, collectors, untilMs, forAll: true });
  }

  /** Records the collectors that already run their former versions again, and therefore need no rollback. */
  #noteReturned({ there }: RollbackPlan): void {
    const { pending, now } = this.#input;
    for (const entry of there) {
      const { ending, before } = entry;
      if (!ending || before === undefined) continue;
      const found = { ...ending, kind: 'updated', toVersion: before, message: '', sinceMs: now.monotonicMs } as const;
      pending.set(entry.collectorId, { ...entry, isRollback: true, ending: found });
    }
  }

  /** Starts the rollback of collectors that this rollout upgraded. The limits for upgrades also apply to rollbacks. */
  #rollBack({ candidates }: RollbackPlan): void {
    for (const { collectorId: id, isRollback, used, ending } of candidates) {
      const again = isRollback && ending && hasFailed(ending);
      const candidate: Candidate = again ? { id, because: 'failed', ending, used } : { id, because: 'rollback' };
      if (this.#consider(candidate)?.forAll) return;
    }
  }

  /** Starts the upgrade of a collector, or returns the reason why the collector must wait. */
  #consider(candidate: Candidate): Refusal | undefined {
    if (!this.#isDue(candidate.id)) return undefined;
    const refusal = refusalOf(candidate, this.#known);
    if (refusal) this.#wait(candidate.id, refusal);
    else if (this.#input.state.rollback) this.#beginRollback(candidate.id);
    else this.#begin(candidate.id, candidate.because === 'drifted');
    return refusal;
  }

  #isDue(collectorId: string): boolean {
    return this.#input.observation.rejected.has(collectorId) === this.#isForRejected;
  }

  #wait(id: string, { cause, reason, untilMs, unseenSinceMs, forAll }: Refusal): void {
    if (unseenSinceMs !== undefined) this.#listingsNeeded.set(id, unseenSinceMs);
    if (!cause) {
      this.#hasBriefWait = true;
      return;
    }
    const key = getOrAdd(this.#causeTexts, cause, () => JSON.stringify(cause));
    const before = this.#waits.get(key);
    this.#waits.set(key, {
      cause,
      reason,
      collectors: (before?.collectors ?? 0) + 1,
      untilMs: Math.min(before?.untilMs ?? Infinity, untilMs ?? Infinity),
      ...(forAll && { forAll }),
    });
  }

  #begin(id: string, drifted: boolean): void {
    const { memberIndex, ledger } = this.#input;
    const { target } = ledger.header;
    const entry = this.#started(id);
    const drifts = entry.drifts + Number(drifted);
    // If the collector ran the target version before, the attempt needs a grace period. Otherwise, an outdated listing
    // that still shows the target version would end the new attempt too early.
    const needsGrace = drifts > 0 || memberIndex.row(id)?.formerVersion === target;
    const used = drifted ? 1 : entry.used + 1;
    this.#write({ ...entry, used, drifts, open: this.#attempt(target, needsGrace) });
  }

  #beginRollback(id: string): void {
    const entry = this.#input.pending.entry(id);
    if (entry?.before === undefined) return;
    // The rollback needs a grace period. Otherwise, an outdated listing that still shows the former version would end
    // the attempt too early.
    const open = this.#attempt(entry.before, true);
    this.#write({ ...entry, used: entry.isRollback ? entry.used + 1 : 1, isRollback: true, open });
  }

  #attempt(toVersion: string, needsGrace: boolean): Attempt {
    const { now } = this.#input;
    return {
      number: ++this.#attempts,
      toVersion,
      state: 'intended',
      taskId: undefined,
      ours: true,
      probe: false,
      startedAtMs: now.wallMs,
      sinceMs: now.monotonicMs,
      needsGrace,
    };
  }

  /** Returns the ledger entry of a collector whose upgrade starts now. */
  #started(id: string): Entry {
    const { memberIndex, pending } = this.#input;
    const { failureCleared: _, ...known } = pending.entry(id) ?? {};
    const before = memberIndex.row(id)?.collector.collectorVersion || undefined;
    return {
      collectorId: id,
      before,
      used: 0,
      drifts: 0,
      isRollback: false,
      open: undefined,
      ending: undefined,
      ...known,
    };
  }

  #write(entry: Entry): void {
    this.#input.pending.set(entry.collectorId, entry);
    this.#post.push(entry);
    this.#known = { ...this.#input, batched: this.#post.length };
  }
}
