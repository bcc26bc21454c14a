/**
 * Builds the status of a policy without counts and estimates: the rollout, its history, and conditions in the kstatus
 * style.
 */
import { findCondition, reasons, removeCondition, setCondition } from '../../api/conditions.ts';
import type {
  CollectorVersionPolicyStatus,
  PersonAction,
  StoppedRollout,
} from '../../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { keyText } from '../../base/key-text.ts';
import { wordFor } from '../../base/number-text.ts';
import { bounded } from '../../base/short-text.ts';
import { isoSeconds } from '../../base/time-text.ts';
import { describeHealth, type Health, type ShownHealth } from '../../controller/health.ts';
import { echoOfRequest } from '../../controller/status-text.ts';
import type { Ownership } from '../../fleet/ownership.ts';
import { ledgerFormat } from '../../host/host.ts';
import type { ActionRecord, RolloutStop } from '../ledger/ledger.ts';
import type { MemberView } from '../members/policy-member-index.ts';
import { noStage } from '../members/stages.ts';
import { type Counts, countUnfinished } from '../members/state-counts.ts';
import type { Overlap } from '../rollout/decide-input.ts';
import type { RolloutState } from '../rollout/rollout-state.ts';
import type { NextWindow } from '../schedule/maintenance-calendar.ts';
import type { Figures } from './describe-figures.ts';
import { stopReasons } from './policy-health.ts';

export type Essentials = Omit<CollectorVersionPolicyStatus, keyof Figures>;

export interface EssentialsInput {
  readonly policy: CollectorVersionPolicy;
  readonly isLedgerNeeded: boolean;
  readonly health: Health;
  readonly counts: Counts;
  readonly overlap: Overlap | undefined;
  /**
   * Text after "waiting for" in the message that says why the rollout is waiting. Undefined if the rollout is not
   * waiting.
   */
  readonly waitingFor: string | undefined;
  readonly state: RolloutState;
  /** Maintenance window that is open or opens next. */
  readonly window: NextWindow | undefined;
  readonly wallMs: number;
}

export function describeEssentials(input: EssentialsInput): Essentials {
  const { policy, isLedgerNeeded, health, counts, overlap, window, wallMs } = input;
  const { header } = input.state;
  const { generation } = policy.metadata;
  // A rollout with failed collectors has not ended, because a user can retry their upgrades. A rollout with a running
  // stage has not ended either, even if it was completed before the stage started.
  const isOver =
    (header.completedAtMs !== undefined || health.ready === 'True') &&
    input.state.current === undefined &&
    countUnfinished(counts) === 0 &&
    !header.stop &&
    health.reason !== reasons.collectorsFailed &&
    health.reason !== reasons.collectorsRefused;
  return {
    observedGeneration: generation,
    ledgerFormat,
    ...(isLedgerNeeded ? {} : { noLedgerFor: header.service }),
    ...echoOfRequest(policy),
    targetVersion: header.target,
    ...(isOver ? {} : { rollout: describeRollout(input) }),
    ...(window && { nextWindow: describeWindow(window) }),
    history: header.history.map((one) => ({
      id: one.id,
      targetVersion: one.targetVersion,
      startTime: isoSeconds(one.startedAtMs),
      completionTime: isoSeconds(one.endedAtMs),
      outcome: one.outcome,
      updated: one.updated,
      failed: one.failed,
      ...describeActions(one.actions),
    })),
    ...describeVerdict(policy.status, health, overlap, generation, isoSeconds(wallMs)),
  };
}

function describeWindow({ fromMs, toMs, zone }: NextWindow) {
  const times = { startTime: isoSeconds(fromMs), endTime: isoSeconds(toMs) };
  return zone === undefined ? times : { ...times, timeZone: bounded(zone, maxZoneLength) };
}

const maxZoneLength = 64;

function describeActions(actions: readonly ActionRecord[] = []): { readonly actions?: readonly PersonAction[] } {
  if (actions.length === 0) return {};
  return { actions: actions.map(({ atMs, value: _, ...said }) => ({ ...said, time: isoSeconds(atMs) })) };
}

function describeRollout(input: EssentialsInput) {
  const { health, waitingFor, state } = input;
  const { header } = state;
  const stage = header.stages?.[state.current ?? noStage]?.name ?? state.next?.name;
  const begun = {
    id: header.rolloutId,
    startTime: isoSeconds(header.startedAtMs),
    ...(stage === undefined ? {} : { stage }),
    ...(header.stop && { stopped: describeStop(header.stop) }),
    ...describeActions(header.actions),
  };
  return { ...begun, ...(health.reconciling && waitingFor !== undefined ? { waitingFor } : {}) };
}

/**
 * Returns the rollout's stop as shown in the status. If the ledger is lost, the stop is restored from the status (U1).
 */
function describeStop({ kind, message, atMs, stage }: RolloutStop): StoppedRollout {
  const reported = { reason: stopReasons[kind], time: isoSeconds(atMs), message: bounded(message, maxStopLength) };
  return { ...reported, ...(stage === undefined ? {} : { stage }) };
}

const maxStopLength = 1024;

/** Describes the selected collectors that belong to other policies. Returns undefined if there are none. */
export function findOverlap(memberIndex: MemberView, ownership: Ownership): Overlap | undefined {
  const foreign = memberIndex.members('foreign');
  if (foreign.size === 0) return undefined;
  const winners = Map.groupBy(foreign, (id) => {
    const owner = ownership.owner(id);
    return owner ? keyText(owner) : 'another';
  });
  const [[winner]] = [...winners].sort(([, left], [, right]) => right.length - left.length) as [[string, string[]]];
  return { winner, collectors: foreign.size };
}

/**
 * Returns the conditions that show a policy's health, and whether other policies own some of the selected collectors.
 * @param overlap `unread` if the collectors have not been read yet. In that case, the condition `Overlapping` is kept
 * unless the policy was edited (H1).
 */
export function describeVerdict(
  before: Partial<ShownHealth> | undefined,
  health: Health,
  overlap: Overlap | 'unread' | undefined,
  observedGeneration: number,
  nowIso: string,
): ShownHealth {
  const shown = describeHealth(before, health, observedGeneration, nowIso);
  const known = findCondition(shown.conditions, 'Overlapping');
  if (overlap === 'unread' && known?.observedGeneration === observedGeneration) return shown;
  if (!overlap || overlap === 'unread')
    return { ...shown, conditions: removeCondition(shown.conditions, 'Overlapping') };
  const reported = `${overlap.collectors} of the selected collectors ${wordFor(overlap.collectors, 'belongs', 'belong')} to policy ${overlap.winner}, which takes precedence by mode, priority, age or name.`;
  const change = { status: 'True', reason: reasons.overlapping, message: reported, observedGeneration } as const;
  return { ...shown, conditions: setCondition(shown.conditions, { type: 'Overlapping', ...change }, nowIso) };
}
