/**
 * Message analysis of a stage: compares the number of messages sent by each collector before and after its upgrade
 * (R11). `message-counter.ts` reads the counts from the service.
 *
 * The counting periods depend only on times in the ledger, so a restart or a change of leader does not change them.
 */
import type { MessageAnalysis, QuietMember } from '../../api/generated/collector-version-policy.ts';
import { parseDuration, renderDuration } from '../../base/duration.ts';
import { counted, wordFor } from '../../base/number-text.ts';
import { bounded } from '../../base/short-text.ts';
import type { TimeRange } from '../../base/time-range.ts';
import { dayMs } from '../../base/time-units.ts';
import { maxPageRows } from '../../service/jobs/search-service.ts';
import type { PolicySettings } from '../attempts/settings.ts';
import type { AnalysisOutcome, StageAnalysis } from '../ledger/ledger.ts';

/**
 * Returns the delay in ms between the end of a period and the count of its messages. The delay is needed because
 * messages can arrive late. It is 3 minutes by default.
 */
export function countDelayMs({ graceMs }: Pick<PolicySettings, 'graceMs'>): number {
  return 3 * graceMs;
}

/** Typical number of requests for one search job, excluding requests for its result pages. */
const requestsOfSearch = 4;

/** Maximum number of collectors in a stage's list of collectors that sent too few messages. */
const maxListed = 10;
/** Maximum error, in ms, of a stored upgrade time. These times are rounded to whole seconds. */
const roundingMs = 1_000;
/** Maximum length, in characters, of a name in the list of collectors that sent too few messages. */
const maxNameLength = 256;

export interface AnalysisPeriods {
  readonly baseline: TimeRange;
  readonly result: TimeRange;
}

/** Number of messages from each collector, by collector id. Collectors that sent no messages are absent. */
export type MessageCounts = ReadonlyMap<string, number>;

/**
 * Returns the settings of a stage's message analysis. The settings do not change while the stage is running.
 * @param unprovenSinceMs start of the first incomplete rollout to this version, as wall-clock time in ms; the baseline
 * must end before this time
 */
export function analysisAtStart(
  { minRatio, duration, baseline, minMessages, scope }: MessageAnalysis,
  unprovenSinceMs: number | undefined,
): StageAnalysis {
  return {
    minRatio: Number.parseFloat(minRatio),
    durationMs: parseDuration(duration) ?? 0,
    baseline,
    minMessages,
    ...(scope !== undefined && { scope }),
    ...(unprovenSinceMs !== undefined && { baselineBeforeMs: unprovenSinceMs }),
  };
}

/**
 * Returns the two periods in which the messages of a stage's collectors are counted: one before the upgrades, and one
 * after them.
 */
export function analysisPeriods(
  { durationMs, baseline, fromMs, baselineBeforeMs }: StageAnalysis,
  startedAtMs: number,
  soakedMs: number,
): AnalysisPeriods {
  const resultMs = fromMs ?? soakedMs - durationMs;
  // The baseline must end before the stage starts and before the result period begins. The result period can begin
  // earlier than the stage: after a correction of the clock, the recorded start of the stage can be later than
  // `resultMs`.
  const latestMs = Math.min(baselineBeforeMs ?? startedAtMs, resultMs);
  const isBefore = baseline === 'BeforeUpgrade';
  const cycleMs = baseline === 'DayBefore' ? dayMs : 7 * dayMs;
  // The baseline begins a whole number of days or weeks before the result period, so that both periods cover the same
  // time of day. `cycles` is the smallest number of days or weeks for which the baseline ends no later than `latestMs`.
  const cycles = Math.ceil((resultMs + durationMs - latestMs) / cycleMs);
  const baselineMs = isBefore ? latestMs - durationMs : resultMs - cycles * cycleMs;
  return {
    baseline: { fromMs: baselineMs, toMs: baselineMs + durationMs },
    result: { fromMs: resultMs, toMs: resultMs + durationMs },
  };
}

/**
 * Returns the typical number of requests that are needed to count a stage's messages before and after its upgrades.
 * @param collectors number of collectors in the service's list; a search result has at most this number of rows
 */
export function requestsOfAnalysis(collectors: number): number {
  return 2 * (requestsOfSearch + Math.max(1, Math.ceil(collectors / maxPageRows)));
}

/** Query that counts the messages of each collector. */
export function countQuery({ scope = '*' }: Pick<StageAnalysis, 'scope'>): string {
  return `${scope} | count by _collectorid`;
}

/** Returns the verdict of a finished analysis. The verdict is `Inconclusive` if no collector could be judged. */
export function analysisVerdict({ judged, quiet }: AnalysisOutcome): 'Passed' | 'Failed' | 'Inconclusive' {
  if (quiet > 0) return 'Failed';
  return judged > 0 ? 'Passed' : 'Inconclusive';
}

/**
 * Returns text about the collectors that sent too few messages, without a full stop at the end. Returns undefined if
 * there are none.
 */
export function quietText({ durationMs, outcome }: StageAnalysis): string | undefined {
  if (!outcome || outcome.quiet === 0) return undefined;
  const [{ name, messages, baseline } = { name: '', messages: 0, baseline: 0 }] = outcome.quietest;
  const example = `${name}: ${messages} messages in ${renderDuration(durationMs)}, ${baseline} before the upgrade`;
  const sent = `sent too few messages after ${wordFor(outcome.quiet, 'its', 'their')} upgrade`;
  return `${counted(outcome.quiet, 'collector')} ${sent} (${wordFor(outcome.quiet, '', 'for example ')}${example})`;
}

/** Upgraded collector in a stage. */
export interface AnalyzedMember {
  readonly id: string;
  /**
   * Wall-clock time of the upgrade in ms, rounded to a whole second; undefined if this rollout did not upgrade the
   * collector.
   */
  readonly upgradedAtMs: number | undefined;
}

export interface PeriodCounts {
  readonly baseline: MessageCounts;
  readonly result: MessageCounts;
}

/**
 * Compares the number of messages that each collector sent before and after its upgrade. A collector that was upgraded
 * after `resultFromMs` is not judged, because some of the messages counted after `resultFromMs` were sent before its
 * upgrade.
 */
export function judgeMembers(
  analysis: StageAnalysis,
  members: Iterable<AnalyzedMember>,
  { baseline: before, result }: PeriodCounts,
  resultFromMs: number,
  nameOf: (id: string) => string,
): Pick<AnalysisOutcome, 'judged' | 'quiet' | 'unjudged' | 'quietest'> {
  const quiet: QuietMember[] = [];
  let judged = 0;
  let unjudged = 0;
  for (const { id, upgradedAtMs = resultFromMs } of members) {
    const baseline = before.get(id) ?? 0;
    const messages = result.get(id) ?? 0;
    if (baseline < analysis.minMessages || upgradedAtMs >= resultFromMs + roundingMs) {
      unjudged++;
      continue;
    }
    judged++;
    if (isQuiet(analysis, messages, baseline))
      quiet.push({ id, name: bounded(nameOf(id), maxNameLength), messages, baseline });
  }
  const ratio = ({ messages, baseline }: QuietMember) => messages / baseline;
  const quietest = quiet.toSorted((left, right) => ratio(left) - ratio(right) || right.baseline - left.baseline);
  return { judged, quiet: quiet.length, unjudged, quietest: quietest.slice(0, maxListed) };
}

/** Reports whether a collector sent too few messages after its upgrade, compared with the baseline. */
export function isQuiet({ minRatio }: StageAnalysis, messages: number, baseline: number): boolean {
  return messages * 100 < minRatio * baseline;
}
