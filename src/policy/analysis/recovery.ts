/**
 * Checks, after a rollback, whether the collectors that had sent too few messages are sending enough again (R11). The
 * check compares the number of messages that each of these collectors sent after the rollback with the number before
 * the upgrade. The result is displayed to the user and has no other effect.
 */

import type { QuietMember } from '../../api/generated/collector-version-policy.ts';
import { sameValue } from '../../base/canonical-text.ts';
import { renderDuration } from '../../base/duration.ts';
import type { LogfleetError } from '../../base/errors.ts';
import { counted, wordFor } from '../../base/number-text.ts';
import type { TimeRange } from '../../base/time-range.ts';
import { isoSeconds } from '../../base/time-text.ts';
import type { PolicySettings } from '../attempts/settings.ts';
import type { AnalysisOutcome, LedgerHeader, RecoveryCheck, StageAnalysis, StageRecord } from '../ledger/ledger.ts';
import { countDelayMs, countQuery, isQuiet, type MessageCounts } from './message-analysis.ts';
import type { AnalysisOrder, AnalysisReading } from './message-counter.ts';

/** A running check after a rollback. */
export interface PendingCheck {
  /** Name of the stage being checked. */
  readonly stage: string;
  /** Wall-clock time in ms at which the messages can be counted. Absent once the count has begun. */
  readonly untilMs?: number;
  /** Error from the last search that counted messages; absent if the search succeeded. */
  readonly error?: LogfleetError;
}

interface Recovery {
  readonly header: LedgerHeader;
  /** The check that is running. Absent when all checks have finished. */
  readonly check?: PendingCheck;
  /** Request to count messages for the running check. Absent while no count is needed. */
  readonly order?: AnalysisOrder;
}

type CheckedAnalysis = StageAnalysis & { readonly outcome: AnalysisOutcome; readonly recovery: RecoveryCheck };

/**
 * Starts or continues the checks after a rollback. Returns the changed ledger header and the check that is running.
 * @param isListed reports whether the service still lists a collector; a collector that is no longer listed is not
 * checked
 */
export function checkRecovery(
  before: LedgerHeader,
  reading: AnalysisReading | undefined,
  wallMs: number,
  settings: Pick<PolicySettings, 'graceMs'>,
  isListed: (id: string) => boolean,
): Recovery {
  const header = begun(before, wallMs);
  const { stages = [] } = header;
  const index = stages.findIndex(({ analysis }) => isUnfinished(analysis));
  const stage = stages[index];
  const analysis = checkedOf(stage);
  if (!stage || !analysis) return { header };
  const period = recoveryPeriod(analysis);
  const readyMs = period.toMs + countDelayMs(settings);
  if (wallMs < readyMs) return { header, check: { stage: stage.name, untilMs: readyMs } };
  const order = { query: countQuery(analysis), periods: [period] };
  if (!reading || !sameValue(reading.order, order)) return { header, check: { stage: stage.name }, order };
  if (reading.kind === 'failed') return { header, check: { stage: stage.name, error: reading.error }, order };
  const [counts = new Map()] = reading.counts;
  const finished = { ...stage, analysis: finish(analysis, counts, reading.scannedBytes, isListed) };
  return checkRecovery({ ...header, stages: stages.with(index, finished) }, undefined, wallMs, settings, isListed);
}

/** Returns the time range in which messages are counted after the rollback. */
export function recoveryPeriod({
  durationMs,
  recovery,
}: StageAnalysis & { readonly recovery: RecoveryCheck }): TimeRange {
  return { fromMs: recovery.fromMs, toMs: recovery.fromMs + durationMs };
}

/**
 * Returns the number of collectors whose messages were counted after a rollback. Collectors that the service no longer
 * lists are not included.
 */
export function comparedAfterRollback(quietest: readonly QuietMember[]): number {
  return quietest.filter(({ messagesAfterRollback }) => messagesAfterRollback !== undefined).length;
}

/**
 * Says whether the collectors are sending enough messages again after a rollback. Returns user-facing text without a
 * full stop at the end, or undefined if no check has begun.
 */
export function recoveryText({ stages = [] }: LedgerHeader, check: PendingCheck | undefined): string | undefined {
  const checked = stages.map(checkedOf).filter((analysis) => analysis !== undefined);
  if (checked.length === 0) return undefined;
  const unfinished = checked.some(isUnfinished);
  if (unfinished) return unfinishedText(check);
  return finishedText(checked);
}

function unfinishedText(check: PendingCheck | undefined): string {
  if (check?.error)
    return 'After the rollback, logfleet could not recount the messages of the collectors that had sent too few messages (see status.stages)';
  const when = check?.untilMs === undefined ? '' : ` after ${isoSeconds(check.untilMs)}`;
  return `logfleet checks the rollback${when} by recounting the messages of the collectors that had sent too few messages`;
}

function finishedText(checked: readonly CheckedAnalysis[]): string {
  const sum = (of: (analysis: CheckedAnalysis) => number) => checked.reduce((total, one) => total + of(one), 0);
  const listed = sum(({ outcome }) => outcome.quietest.length);
  const compared = sum(({ outcome }) => comparedAfterRollback(outcome.quietest));
  const recovered = sum(({ recovery }) => recovery.recovered ?? 0);
  const isComplete = listed === sum(({ outcome }) => outcome.quiet);
  const deleted = listed - compared;
  if (compared === 0)
    return `The service no longer lists ${counted(deleted, 'collector')} that had sent too few messages`;
  const all = isComplete
    ? `${counted(compared, 'collector')} that had sent too few messages`
    : `the ${compared} collectors that had lost the largest fraction of their messages`;
  const others = deleted === 0 ? '' : `, and the service no longer lists ${counted(deleted, 'other collector')}`;
  const text = `After the rollback, ${recovered} of ${all} ${wordFor(recovered, 'is', 'are')} sending enough messages again${others}`;
  const example = checked.map(stillQuiet).find((still) => still !== undefined);
  return example === undefined ? text : `${text} (${example})`;
}

/**
 * Returns a message for users about one of the collectors that still send too few messages. Returns undefined if there
 * are none.
 */
function stillQuiet(analysis: CheckedAnalysis): string | undefined {
  for (const { name, baseline, messagesAfterRollback: messages } of analysis.outcome.quietest) {
    if (messages !== undefined && isQuiet(analysis, messages, baseline))
      return `${name} sent only ${messages} messages in ${renderDuration(analysis.durationMs)}, compared with ${baseline} before the upgrade`;
  }
  return undefined;
}

/**
 * Starts the check after a rollback for each stage in which collectors sent too few messages. Returns the changed
 * header.
 */
function begun(header: LedgerHeader, fromMs: number): LedgerHeader {
  const { stages = [] } = header;
  const isDue = ({ analysis }: StageRecord) => (analysis?.outcome?.quiet ?? 0) > 0 && !analysis?.recovery;
  if (!stages.some(isDue)) return header;
  const begin = (stage: StageRecord) =>
    stage.analysis && isDue(stage) ? { ...stage, analysis: { ...stage.analysis, recovery: { fromMs } } } : stage;
  return { ...header, stages: stages.map(begin) };
}

function checkedOf(stage: StageRecord | undefined): CheckedAnalysis | undefined {
  const { outcome, recovery } = stage?.analysis ?? {};
  return stage?.analysis && outcome && recovery ? { ...stage.analysis, outcome, recovery } : undefined;
}

function isUnfinished(analysis: Pick<StageAnalysis, 'recovery'> | undefined): boolean {
  return analysis?.recovery !== undefined && analysis.recovery.recovered === undefined;
}

/** Returns the stage's analysis with the number of messages that each collector sent after the rollback. */
function finish(
  analysis: CheckedAnalysis,
  counts: MessageCounts,
  scannedBytes: number,
  isListed: (id: string) => boolean,
): StageAnalysis {
  const { outcome, recovery } = analysis;
  const quietest = outcome.quietest.map((one) =>
    isListed(one.id) ? { ...one, messagesAfterRollback: counts.get(one.id) ?? 0 } : one,
  );
  const shipping = quietest.filter(
    ({ messagesAfterRollback: messages, baseline }) => messages !== undefined && !isQuiet(analysis, messages, baseline),
  );
  return {
    ...analysis,
    outcome: { ...outcome, quietest, scannedBytes: outcome.scannedBytes + scannedBytes },
    recovery: { ...recovery, recovered: shipping.length },
  };
}
