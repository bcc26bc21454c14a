/**
 * Checks rollout settings for problems that neither the schema nor CEL rules can detect, such as invalid schedules and
 * stages with a surprising effect.
 */

import { isDeepStrictEqual } from 'node:util';
import { parseDuration, renderDuration } from '../base/duration.ts';
import { error, type Finding, warning } from './finding.ts';
import type {
  Exclusion,
  FailurePolicy,
  Maintenance,
  MaintenanceWindow,
  MessageAnalysis,
  Stage,
  StageAnalysis,
} from './generated/collector-version-policy.ts';
import type { JsonPath } from './json-path.ts';
import { scheduleProblem, timeZoneProblem } from './schedule-check.ts';
import type { Written } from './schemas.ts';

type WrittenStage = Pick<Stage, 'name'> & Written<Omit<Stage, 'name'>>;

export interface WrittenRollout {
  readonly strategy?: { readonly stages?: readonly WrittenStage[] | null } | null;
  readonly failurePolicy?: Written<FailurePolicy> | null;
  readonly maintenance?: Written<Maintenance> | null;
}

/**
 * Minimum useful soak in ms. A shorter soak misses dead collectors, because the log service reports them as offline
 * only after half an hour (service.md 10.4).
 */
const shortestUsefulSoakMs = 35 * 60_000;
/**
 * Minimum useful `duration` of a message analysis in ms. Healthy collectors pause between messages, so a shorter
 * analysis would count some of them as failures.
 */
const shortestUsefulAnalysisMs = 10 * 60_000;
/**
 * Maximum useful `minRatio` of a message analysis in percent. With a higher ratio, a normal drop in messages would
 * count as a failure.
 */
const highestUsefulRatio = 90;
/** Maximum duration of an upgrade in ms (service.md 3.2), and the default for `cutoff`. */
const longestUpgradeMs = 30 * 60_000;
/**
 * Minimum time, in ms, for which upgrades should be able to start in a maintenance window. A shorter time causes a
 * warning.
 */
const shortestUsefulStartMs = 10 * 60_000;

const stagesPath: JsonPath = ['spec', 'strategy', 'stages'];
const policyPath: JsonPath = ['spec', 'failurePolicy'];

/**
 * Returns errors and warnings about rollout settings. Without the current time `wallMs`, past exclusions are not
 * reported.
 */
export function* checkRollout(spec: WrittenRollout, wallMs: number | undefined): Generator<Finding> {
  const stages = spec.strategy?.stages ?? [];
  yield* checkStages(stages);
  yield* checkLimits(stages, spec.failurePolicy);
  if (spec.maintenance) yield* checkMaintenance(spec.maintenance, wallMs, ['spec', 'maintenance']);
}

function* checkStages(stages: readonly WrittenStage[]): Generator<Finding> {
  for (const [index, stage] of stages.entries()) {
    yield* checkStage(stage, stages.slice(0, index), [...stagesPath, index]);
  }
  yield* checkCanary(stages);
  if (stages.length > 0 && !takeAll(stages)) {
    yield warning(stagesPath, 'Risky', {
      problem: 'collectors that match no stage are skipped',
      remedy: 'add a last stage without size or selector, for example {name: rest}',
    });
  }
}

/** Warns if the first stage has a `size` but no soak. Does not warn if the next stage needs an approval. */
function* checkCanary([first, next]: readonly WrittenStage[]): Generator<Finding> {
  if (!first || !next || next.approval === 'Required') return;
  if (!isWritten(first.size) || isWritten(first.soakDuration)) return;
  yield warning([...stagesPath, 0], 'Risky', {
    problem: `the first stage has no soak, so stage ${next.name} starts as soon as the collectors of the first stage run the target, even if some of them go offline afterwards`,
    remedy: 'set soakDuration: 35m or more, or 0s if this is intended',
  });
}

function* checkStage(stage: WrittenStage, before: readonly WrittenStage[], path: JsonPath): Generator<Finding> {
  const { selector, soakDuration } = stage;
  const takesRest = before.find((_, index) => takeAll(before.slice(0, index + 1)));
  const duplicate = selector ? before.find((other) => isDeepStrictEqual(other.selector, selector)) : undefined;
  if (takesRest) {
    yield warning(path, 'NoEffect', {
      problem: `the stage gets no collectors, because the earlier stage ${takesRest.name} takes all remaining collectors`,
      remedy: `move the stage before ${takesRest.name}`,
    });
  } else if (duplicate) {
    yield warning([...path, 'selector'], 'Duplicate', {
      problem: `the stage has the same selector as the earlier stage ${duplicate.name}, so it gets no collectors`,
      remedy: 'use another selector, or leave the stage out',
    });
  }
  const soakMs = parseDuration(soakDuration ?? '0s') ?? 0;
  if (soakMs > 0 && soakMs < shortestUsefulSoakMs) {
    yield warning([...path, 'soakDuration'], 'Risky', {
      problem: `a soak of ${soakDuration} is too short to notice offline collectors, which the service reports after half an hour`,
      remedy: 'use 35m or more',
    });
  }
  if (stage.analysis) yield* checkAnalysis(stage.analysis, [...path, 'analysis', 'messages']);
}

function* checkAnalysis({ messages }: Written<StageAnalysis>, path: JsonPath): Generator<Finding> {
  const { duration, minRatio }: Written<MessageAnalysis> = messages ?? {};
  if (isWritten(duration) && (parseDuration(duration) ?? Number.POSITIVE_INFINITY) < shortestUsefulAnalysisMs) {
    yield warning([...path, 'duration'], 'Risky', {
      problem: `an analysis of ${duration} is too short: a healthy collector that pauses between messages could count as a failure`,
      remedy: 'use 10m or more',
    });
  }
  if (isWritten(minRatio) && Number.parseFloat(minRatio) > highestUsefulRatio) {
    yield warning([...path, 'minRatio'], 'Risky', {
      problem: `a collector that sends slightly fewer messages after its upgrade counts as a failure, because minRatio is ${minRatio}`,
      remedy: 'use 90% or less',
    });
  }
}

/** Reports whether these stages together select every collector, so that no collector is left for a later stage. */
function takeAll(stages: readonly WrittenStage[]): boolean {
  const percent = stages.reduce((sum, { size }) => sum + (typeof size === 'string' ? Number.parseFloat(size) : 0), 0);
  const takesRest = ({ size, selector }: WrittenStage) =>
    selector ? Object.keys(selector).length === 0 : !isWritten(size);
  return percent >= 100 || stages.some(takesRest);
}

/** Checks `maxFailures` of stages and of the whole rollout. */
function* checkLimits(
  stages: readonly WrittenStage[],
  failurePolicy: Written<FailurePolicy> | null | undefined,
): Generator<Finding> {
  const { maxFailures, minSamples } = failurePolicy ?? {};
  const limits = [
    { limit: maxFailures, path: [...policyPath, 'maxFailures'] },
    ...stages.map((stage, index) => ({ limit: stage.maxFailures, path: [...stagesPath, index, 'maxFailures'] })),
  ].filter(({ limit }) => isWritten(limit));
  for (const { limit, path } of limits) {
    if (limit !== '0%') continue;
    yield warning(path, 'Risky', {
      problem:
        'a limit of 0% does not stop the rollout at the first failure, because percentages apply only after minSamples upgrade attempts have ended',
      remedy: 'use 0 to stop at the first failure',
    });
  }
  const unlimited = isWritten(maxFailures) ? [] : stages.filter((stage) => !isWritten(stage.maxFailures));
  if (unlimited.length > 0 && unlimited.length < stages.length) {
    yield warning(stagesPath, 'Risky', {
      problem: `some stages have no failure limit (maxFailures): ${unlimited.map(({ name }) => name).join(', ')}`,
      remedy: 'set maxFailures in these stages, too, or for the whole rollout in failurePolicy',
    });
  } else if (unlimited.length > 0 && !failurePolicy) {
    yield warning(stagesPath, 'Risky', {
      problem: 'no failure limit is set',
      remedy: 'set maxFailures in each stage, or for the whole rollout in failurePolicy, for example maxFailures: 2%',
    });
  }
  if (failurePolicy && limits.length === 0) {
    yield warning(policyPath, 'NoEffect', {
      problem: 'failurePolicy has no effect, because neither failurePolicy nor any stage sets maxFailures',
      remedy: 'set maxFailures, for example maxFailures: 2%',
    });
  }
  yield* checkMinSamples(minSamples, limits);
}

/** Warns if `minSamples` is set but no failure limit is a percentage, or if a percentage lacks `minSamples`. */
function* checkMinSamples(
  minSamples: Written<FailurePolicy>['minSamples'],
  limits: readonly { readonly limit: Stage['maxFailures'] | null; readonly path: JsonPath }[],
): Generator<Finding> {
  const percentages = limits.filter(({ limit }) => typeof limit === 'string');
  const immediate = percentages.find(({ limit }) => limit !== '0%' && limit !== '100%');
  if (isWritten(minSamples) && limits.length > 0 && percentages.length === 0) {
    yield warning([...policyPath, 'minSamples'], 'NoEffect', {
      problem:
        'minSamples has no effect, because maxFailures is a number instead of a percentage, and a number applies from the first attempt',
      remedy: 'use a percentage for maxFailures, or leave minSamples out',
    });
  } else if (!isWritten(minSamples) && immediate) {
    yield warning(immediate.path, 'Risky', {
      problem:
        'without minSamples, the percentage applies from the first attempt, so a single failure can stop the rollout',
      remedy: 'set minSamples in failurePolicy, for example minSamples: 50',
    });
  }
}

function* checkMaintenance(
  { windows, exclusions, cutoff }: Written<Maintenance>,
  wallMs: number | undefined,
  path: JsonPath,
): Generator<Finding> {
  const cutoffMs = isWritten(cutoff) ? parseDuration(cutoff) : longestUpgradeMs;
  for (const [index, window] of (windows ?? []).entries()) {
    yield* checkWindow(window, cutoffMs, [...path, 'windows', index]);
  }
  for (const [index, exclusion] of (exclusions ?? []).entries()) {
    if (wallMs !== undefined) yield* checkExclusion(exclusion, wallMs, [...path, 'exclusions', index]);
  }
  if (!isWritten(cutoff)) return;
  const hasEnds = Boolean(windows?.length || exclusions?.length);
  if (!hasEnds && cutoffMs !== undefined && cutoffMs > 0) {
    yield warning([...path, 'cutoff'], 'NoEffect', {
      problem: 'has no effect without windows or exclusions',
      remedy: 'add one, or leave it out',
    });
  } else if (hasEnds && cutoffMs !== undefined && cutoffMs < longestUpgradeMs) {
    yield warning([...path, 'cutoff'], 'Risky', {
      problem: `an upgrade can take half an hour, so with a cutoff of ${cutoff} it can run past the end of the maintenance window`,
      remedy: 'use 30m or more',
    });
  }
}

function* checkWindow(
  { schedule, timeZone, duration }: Written<MaintenanceWindow>,
  cutoffMs: number | undefined,
  path: JsonPath,
): Generator<Finding> {
  const unreadable = isWritten(schedule) ? scheduleProblem(schedule) : undefined;
  if (unreadable) yield error([...path, 'schedule'], 'Invalid', unreadable);
  const unknown = isWritten(timeZone) ? timeZoneProblem(timeZone) : undefined;
  if (unknown) yield error([...path, 'timeZone'], 'Invalid', unknown);
  // A maintenance window that is not longer than `cutoff` is an error, which another check reports.
  const leftMs = (parseDuration(duration ?? '') ?? 0) - (cutoffMs ?? 0);
  if (leftMs <= 0 || leftMs >= shortestUsefulStartMs) return;
  yield warning([...path, 'duration'], 'Risky', {
    problem: `upgrades can start only in the first ${renderDuration(leftMs)} of the maintenance window, because cutoff prevents later starts`,
    remedy: 'use a longer duration',
  });
}

function* checkExclusion({ endTime }: Exclusion, wallMs: number, path: JsonPath): Generator<Finding> {
  if (Date.parse(endTime) > wallMs) return;
  yield warning([...path, 'endTime'], 'Risky', {
    problem: `ended at ${endTime}`,
    remedy: 'leave the exclusion out, or use a later endTime',
  });
}

function isWritten<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null;
}
