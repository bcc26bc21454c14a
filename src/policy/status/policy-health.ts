/** Computes the health of a policy. The first check that returns a result determines the health. */
import { reasons } from '../../api/conditions.ts';
import type { CollectorVersionPolicySpec } from '../../api/generated/collector-version-policy.ts';
import type { LogfleetError } from '../../base/errors.ts';
import { counted, wordFor } from '../../base/number-text.ts';
import { atWork, type Health, resting, stalled } from '../../controller/health.ts';
import { recoveryText } from '../analysis/recovery.ts';
import type { LedgerHeader, RolloutStop } from '../ledger/ledger.ts';
import { type Counts, countUnfinished } from '../members/state-counts.ts';
import { isRollbackOver } from '../rollout/rollback.ts';
import type { RolloutState } from '../rollout/rollout-state.ts';
import { waitText } from './wait-text.ts';

export interface Fleet {
  readonly counts: Counts;
  readonly matched: number;
  /** Number of skipped collectors that the user must examine. */
  readonly toExamine: number;
}

export interface HealthInput {
  readonly spec: CollectorVersionPolicySpec;
  /** Reason why no policy may start an upgrade, such as an unusable manifest, and how to correct the problem (D1). */
  readonly upgradesBlocked?: string | undefined;
  /** Setting or annotation that pauses the policy, if any. */
  readonly pausedBy: string | undefined;
  /** Error that prevents the use of the service or its credentials. */
  readonly problem: LogfleetError | undefined;
  /** Message about a target version that the service does not offer; undefined if the service offers it. */
  readonly notOffered: string | undefined;
  /** True if a newer build becomes the target as soon as it reaches `minAge`. */
  readonly awaitsBuild?: boolean;
  /** Error in the spec's maintenance windows. */
  readonly badCalendar?: string | undefined;
  readonly targetVersion: string | undefined;
  /** Counts of the policy's collectors. Undefined until this process has read the whole collector list. */
  readonly fleet?: Fleet | undefined;
  readonly ledgerFull?: boolean;
  /** Reason why the rollout is waiting; undefined if the rollout is not waiting. */
  readonly wait?: RolloutWait | undefined;
  readonly state?:
    | Pick<RolloutState, 'header' | 'excess' | 'untolerated' | 'rollback' | 'recovery' | 'gate' | 'failedNow'>
    | undefined;
}

export interface RolloutWait {
  /** Text that follows "waiting for" in the status message. */
  readonly waitingFor: string;
  /**
   * Reason of the `Ready` condition while the rollout is waiting and no upgrade is running. If it is undefined, the
   * condition shows the default reason.
   */
  readonly reason: string | undefined;
}

type Check = (input: HealthInput) => Health | undefined;

const checks: readonly Check[] = [
  heldByManifest,
  paused,
  windowsUnreadable,
  stalledByProblem,
  notOffered,
  waitingForService,
  nothingKnown,
  nothingMatched,
  ledgerFull,
  stopped,
  rollingBack,
  observing,
  heldByFailures,
  analysisUnavailable,
  rollingOut,
  soaking,
  downgradeNeeded,
  collectorsFailed,
  collectorsRefused,
];

export function healthOf(input: HealthInput): Health {
  for (const check of checks) {
    const health = check(input);
    if (health) return health;
  }
  return allUpdated(input);
}

function heldByManifest({ upgradesBlocked, fleet }: HealthInput): Health | undefined {
  if (upgradesBlocked === undefined) return undefined;
  return { ...stalled, reason: reasons.manifestUnusable, message: `${upgradesBlocked}.${inFlight(fleet)}` };
}

function paused({ pausedBy, fleet }: HealthInput): Health | undefined {
  if (pausedBy === undefined) return undefined;
  const message = `Paused by ${pausedBy}: no upgrade starts.${inFlight(fleet)}`;
  return { ...resting, ready: 'Unknown', reason: reasons.paused, message };
}

function inFlight(fleet: Fleet | undefined): string {
  const running = fleet?.counts.inProgress ?? 0;
  return running > 0 ? ` ${counted(running, 'upgrade')} in progress will run to completion.` : '';
}

function windowsUnreadable({ badCalendar }: HealthInput): Health | undefined {
  if (badCalendar === undefined) return undefined;
  return { ...stalled, reason: reasons.invalidSpec, message: `spec.maintenance cannot be read: ${badCalendar}` };
}

function stalledByProblem({ problem }: HealthInput): Health | undefined {
  if (problem?.handling.kind !== 'stall') return undefined;
  return { ...stalled, reason: problem.reason, message: problem.message };
}

function notOffered({ notOffered: message, awaitsBuild, state }: HealthInput): Health | undefined {
  // A rollback does not need the target build. The service may have withdrawn that build because it breaks collectors.
  if (message === undefined || state?.header.stop?.kind === 'rollback') return undefined;
  if (awaitsBuild) return { ...atWork, reason: reasons.waitingForBuildAge, message };
  return { ...stalled, reason: reasons.versionNotOffered, message };
}

function waitingForService({ problem }: HealthInput): Health | undefined {
  if (!problem) return undefined;
  const message = `${problem.message.replace(/\.$/, '')}. logfleet retries.`;
  return { ...atWork, outage: true, reason: problem.reason, message };
}

function nothingKnown({ fleet }: HealthInput): Health | undefined {
  return fleet
    ? undefined
    : {
        ...atWork,
        reason: reasons.progressing,
        message: 'logfleet is reading the lists of builds and collectors from the service.',
      };
}

function nothingMatched({ fleet }: HealthInput): Health | undefined {
  if (!fleet || fleet.matched > 0) return undefined;
  const message =
    "The selector matches none of the service's collectors. Change spec.selector or spec.exclude, or install a matching collector.";
  return { ...stalled, reason: reasons.noCollectorsMatched, message };
}

function ledgerFull(input: HealthInput): Health | undefined {
  if (!input.ledgerFull) return undefined;
  const message =
    "The ledger of upgrade attempts has reached its maximum size, so no upgrade starts. Divide the policy's collectors among several policies.";
  return { ...stalled, reason: reasons.ledgerFull, message };
}

function stopped({ state, fleet }: HealthInput): Health | undefined {
  const stop = state?.header.stop;
  if (!stop || stop.kind === 'rollback') return undefined;
  const remedy = stop.kind === 'inconclusive' ? afterInconclusive(stop, state.header) : retryAdvice;
  const message = `${stopText(stop, state.failedNow)}. No more upgrades will start.${inFlight(fleet)} ${remedy}`;
  return { ...stalled, reason: stopReasons[stop.kind], message };
}

/** Reason of the `Ready` condition for each kind of stop. */
export const stopReasons = {
  failures: reasons.rolloutStopped,
  rollback: reasons.rollingBack,
  inconclusive: reasons.stageInconclusive,
  abort: reasons.aborted,
} as const;

function afterInconclusive({ stage }: RolloutStop, { stages = [] }: LedgerHeader): string {
  const isAnalyzed = stages.find(({ name }) => name === stage)?.analysis?.outcome !== undefined;
  const retry = isAnalyzed ? 'to count the messages again' : 'to choose other collectors';
  return `Run \`logfleet retry\` ${retry}, \`logfleet approve --stage ${stage}\` to continue without ${isAnalyzed ? 'this analysis' : 'this stage'}, or set another target.`;
}

/**
 * Returns the text that explains why the rollout is stopped. Adds the current number of failures if this number has
 * changed since the stop (H3).
 */
function stopText({ message, exceeded }: RolloutStop, failedNow: number | undefined): string {
  const now =
    failedNow === undefined || failedNow === exceeded?.failed ? '' : ` (now ${counted(failedNow, 'failure')})`;
  return `${message.replace(/\.$/, '')}${now}`;
}

const retryAdvice = 'Set another target, or run `logfleet retry`.';

function rollingBack({ state, wait, spec }: HealthInput): Health | undefined {
  const { header, rollback } = state ?? {};
  if (!header?.stop || !rollback) return undefined;
  const { rolledBack, candidates, inFlight, left, offline } = rollback;
  const why = stopText(header.stop, state?.failedNow);
  const rest = [
    left.length > 0 ? `${counted(left.length, 'collector')} could not be rolled back (see status.failureReasons)` : '',
    offline > 0
      ? `${counted(offline, 'offline collector')} will be rolled back when ${wordFor(offline, 'it is', 'they are')} back online`
      : '',
  ].filter((text) => text !== '');
  const said = rest.length > 0 ? `; ${rest.join('; ')}` : '';
  if (isRollbackOver(rollback)) {
    const recovery = recoveryText(header, state?.recovery);
    const checked = recovery === undefined ? '' : ` ${recovery}.`;
    const message = `${why}. ${rolledBackWords(rolledBack)} to former versions${said}.${checked} ${retryAdvice}`;
    return { ...stalled, reason: reasons.rolledBack, message };
  }
  const done = `${why}. ${rolledBackWords(rolledBack)}, ${inFlight} in progress`;
  if (spec.mode === 'Observe' && candidates.length > 0) {
    const message = `${done}${said}. logfleet would roll back ${counted(candidates.length, 'more collector')}, but ${observesOnly}`;
    return { ...resting, ready: 'False', reason: reasons.observing, message };
  }
  const waits = wait === undefined ? '' : `; waiting for ${wait.waitingFor}`;
  const message = `${done}, ${candidates.length} remaining${said}${waits}.`;
  return { ...atWork, reason: reasons.rollingBack, message };
}

function rolledBackWords(collectors: number): string {
  return `${counted(collectors, 'collector')} ${wordFor(collectors, 'was', 'were')} rolled back`;
}

function observing({ spec, fleet, targetVersion }: HealthInput): Health | undefined {
  if (!fleet || spec.mode !== 'Observe') return undefined;
  const { offline, inProgress } = fleet.counts;
  const now = countUnfinished(fleet.counts) - inProgress;
  const later = inProgress === 0 && spec.offlinePolicy === 'Wait' ? offline : 0;
  if (now + later === 0) return undefined;
  const them = wordFor(later, 'it runs', 'they run');
  const candidates = now > 0 ? counted(now, 'collector') : `${counted(later, 'collector')}, once ${them},`;
  const message = `logfleet would upgrade ${candidates} to ${targetVersion}, but ${observesOnly}`;
  return { ...resting, ready: 'False', reason: reasons.observing, message };
}

const observesOnly = 'spec.mode is Observe, so no upgrade starts.';

/**
 * Returns the policy's health if the searches for a message analysis fail, otherwise undefined. If the user must act,
 * the policy is stalled. If not, the failure counts as an outage of the service (H2).
 */
function analysisUnavailable({ fleet, targetVersion, state }: HealthInput): Health | undefined {
  const gate = state?.gate;
  if (!fleet || gate?.reason !== reasons.analysisUnavailable) return undefined;
  const message = `${progressText(fleet, targetVersion)}; waiting for ${waitText(gate.cause)}.`;
  return { ...(gate.byPerson ? stalled : { ...atWork, outage: true }), reason: gate.reason, message };
}

/**
 * Returns the policy's health if a stage with failures waits for a user because the spec sets no `maxFailures` (R5).
 * Otherwise returns undefined.
 */
function heldByFailures({ fleet, targetVersion, state }: HealthInput): Health | undefined {
  const gate = state?.gate;
  if (!fleet || gate?.reason !== reasons.collectorsFailed) return undefined;
  const progress = progressText(fleet, targetVersion);
  const names =
    fleet.counts.failed > 0
      ? 'status.failureReasons lists the failures'
      : 'status.stages lists the collectors that sent too few messages';
  const message = `${progress}; waiting for ${waitText(gate.cause)}. ${names}. Correct the cause and run \`logfleet retry\`, or set another target.`;
  return { ...stalled, reason: reasons.collectorsFailed, message };
}

function rollingOut({ fleet, targetVersion, wait, spec, state }: HealthInput): Health | undefined {
  if (!fleet) return undefined;
  const { inProgress, offline } = fleet.counts;
  const awaited = spec.offlinePolicy === 'Wait' ? offline : 0;
  if (countUnfinished(fleet.counts) + awaited === 0) return undefined;
  const progress = `${progressText(fleet, targetVersion, awaited)}, ${inProgress} ${wordFor(inProgress, 'is', 'are')} being upgraded`;
  // If all remaining collectors are being upgraded, no collector waits, so the message shows no reason to wait.
  const held = countUnfinished(fleet.counts) > inProgress ? wait : undefined;
  const waits = held?.waitingFor ?? (awaited > 0 ? waitText({ kind: 'online', collectors: awaited }) : undefined);
  const waiting = waits === undefined ? '' : `; waiting for ${waits}`;
  const message = `${progress}${excessText(state)}${waiting}.`;
  const reason = (inProgress === 0 ? held?.reason : undefined) ?? reasons.rollingOut;
  return { ...atWork, reason, message };
}

/**
 * Returns the policy's health if a stage waits even though all collectors run the target version. Otherwise returns
 * undefined.
 */
function soaking({ fleet, targetVersion, wait, state }: HealthInput): Health | undefined {
  const { reason } = wait ?? {};
  if (!fleet || !wait || reason === undefined || !stageReasons.has(reason)) return undefined;
  const progress = progressText(fleet, targetVersion);
  return { ...atWork, reason, message: `${progress}${excessText(state)}; waiting for ${wait.waitingFor}.` };
}

function progressText(fleet: Fleet, targetVersion: string | undefined, awaited = 0): string {
  return `${fleet.counts.updated} of ${eligibleMembers(fleet) + awaited} collectors run ${targetVersion}`;
}

function excessText(state: HealthInput['state']): string {
  return state?.excess ? `; ${state.excess.message}` : '';
}

/** Reasons of the `Ready` condition for which a stage can wait even after all its collectors have been upgraded. */
export const stageReasons: ReadonlySet<string> = new Set([
  reasons.soaking,
  reasons.rollingOut,
  reasons.analyzing,
  reasons.analysisUnavailable,
]);

function downgradeNeeded({ fleet, targetVersion }: HealthInput): Health | undefined {
  const newer = fleet?.counts.newer ?? 0;
  if (newer === 0) return undefined;
  const message = `${counted(newer, 'collector')} ${wordFor(newer, 'runs', 'run')} a newer version than ${targetVersion}, but spec.allowDowngrade is not true. To downgrade ${wordFor(newer, 'it', 'them')}, set spec.allowDowngrade to true.`;
  return { ...stalled, reason: reasons.downgradeNotAllowed, message };
}

function collectorsFailed(input: HealthInput): Health | undefined {
  const { fleet, targetVersion, state } = input;
  const failed = fleet?.counts.failed ?? 0;
  if (isTolerated(input)) return undefined;
  if (failed === 0) return wentQuiet(input);
  const excess = state?.excess ? ` ${state.excess.message}.` : '';
  const them = wordFor(failed, 'it', 'them');
  const message = `${counted(failed, 'collector')} could not be upgraded to ${targetVersion}, and ${wordFor(failed, 'has no retries left or is', 'have no retries left or are')} offline.${excess} status.failureReasons lists the causes. Correct the cause and run \`logfleet retry\`, or exclude ${them}.`;
  return { ...stalled, reason: reasons.collectorsFailed, message };
}

/**
 * Returns the policy's health if all collectors were upgraded, but too many of them sent too few messages. Otherwise
 * returns undefined.
 */
function wentQuiet({ state }: HealthInput): Health | undefined {
  const { excess, header } = state ?? {};
  const isQuiet = header?.stages?.some(({ analysis }) => (analysis?.outcome?.quiet ?? 0) > 0);
  if (!excess || !isQuiet || header?.completedAtMs !== undefined) return undefined;
  const message = `${excess.message}. Correct the cause and run \`logfleet retry\`, or set another target.`;
  return { ...stalled, reason: reasons.collectorsFailed, message };
}

/** Reports whether `maxFailures` tolerates all failures of the rollout and its stages. */
function isTolerated({ state }: HealthInput): boolean {
  return state !== undefined && state.excess === undefined && state.untolerated === 0;
}

function collectorsRefused({ fleet }: HealthInput): Health | undefined {
  const toExamine = fleet?.toExamine ?? 0;
  if (toExamine === 0) return undefined;
  const them = wordFor(toExamine, 'it', 'them');
  const message = `${counted(toExamine, 'collector')} ${wordFor(toExamine, 'is', 'are')} not upgraded: the service refuses to upgrade ${them}, or ${wordFor(toExamine, 'it', 'they')} repeatedly left the target version; status.skippedReasons lists the causes. Correct the cause and run \`logfleet retry\`, or exclude ${them}.`;
  return { ...stalled, reason: reasons.collectorsRefused, message };
}

function allUpdated({ fleet, targetVersion }: HealthInput): Health {
  const { counts, matched } = fleet as NonNullable<HealthInput['fleet']>;
  const left = [
    counts.failed > 0 ? `${counts.failed} that failed, which is tolerated` : '',
    counts.offline > 0 ? `${counts.offline} offline` : '',
    counts.skipped > 0 ? `${counts.skipped} that cannot be upgraded` : '',
    counts.foreign > 0 ? `${counts.foreign} owned by other policies` : '',
  ].filter((text) => text !== '');
  const rest = left.length > 0 ? `; left out: ${left.join(', ')}` : '';
  const message = `${counts.updated} of ${matched} collectors run ${targetVersion}${rest}.`;
  return { ...resting, ready: 'True', reason: reasons.allUpdated, message };
}

/** Returns the number of this policy's own collectors that can be upgraded or were upgraded. */
export function eligibleMembers({ counts, matched, toExamine }: Fleet): number {
  return matched - counts.foreign - counts.offline - counts.skipped + toExamine;
}
