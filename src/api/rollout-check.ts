/**
 * What neither schema nor CEL can say about how a policy rolls out: schedules and zones that nobody can read, and stages, tolerances and
 * windows that will not do what they look like. Looks at the manifest as it was written, without defaults.
 */
import { isDeepStrictEqual } from 'node:util';
import { parseDuration, renderDuration } from '../base/duration.ts';
import { type Finding, warning } from './finding.ts';
import type {
  Exclusion,
  FailurePolicy,
  Maintenance,
  MaintenanceWindow,
  Stage,
} from './generated/collector-version-policy.ts';
import type { JsonPath } from './json-path.ts';
import { scheduleProblem, timeZoneProblem } from './schedule-check.ts';

type Written<T> = { readonly [K in keyof T]?: T[K] | null };
type WrittenStage = Pick<Stage, 'name'> & Written<Omit<Stage, 'name'>>;

/** The part of a spec that is looked at here, as people write it. */
export interface WrittenRollout {
  readonly strategy?: { readonly stages?: readonly WrittenStage[] | null } | null;
  readonly failurePolicy?: Written<FailurePolicy> | null;
  readonly maintenance?: Written<Maintenance> | null;
}

/** The service calls a collector dead after half an hour of silence (10.4), and a listing has to show it. */
const shortestUsefulSoakMs = 35 * 60_000;
/** The service gives an upgrade so long (3.2), and `cutoff` is as long where it is left out. */
const longestUpgradeMs = 30 * 60_000;
/** In less than this of a window hardly anything is started. */
const shortestUsefulStartMs = 10 * 60_000;

/** @param wallMs the time of day; without it no exclusion is said to be over */
export function* checkRollout(spec: WrittenRollout, wallMs: number | undefined): Generator<Finding> {
  const stages = spec.strategy?.stages ?? [];
  yield* checkStages(stages, ['spec', 'strategy', 'stages']);
  yield* checkTolerances(stages, spec.failurePolicy);
  if (spec.failurePolicy) yield* checkFailurePolicy(spec.failurePolicy, stages, ['spec', 'failurePolicy']);
  if (spec.maintenance) yield* checkMaintenance(spec.maintenance, wallMs, ['spec', 'maintenance']);
}

function* checkStages(stages: readonly WrittenStage[], path: JsonPath): Generator<Finding> {
  for (const [index, stage] of stages.entries()) {
    yield* checkStage(stage, stages.slice(0, index), [...path, index]);
  }
  yield* checkCanary(stages, [...path, 0]);
  if (stages.length > 0 && !takeAll(stages)) {
    const message = `collectors that are in none of the stages are skipped; write a last stage without size and selector, as in {name: rest}`;
    yield warning(path, message);
  }
}

/** A few that go first are there to be watched. Where a person approves the next stage, it is theirs to say for how long. */
function* checkCanary([first, next]: readonly WrittenStage[], path: JsonPath): Generator<Finding> {
  if (!first || !next || next.approval === 'Required') return;
  if (!isWritten(first.size) || isWritten(first.soakDuration)) return;
  const message = `has no soak, so that ${next.name} begins as soon as its collectors are at the target, and a death among them is not seen; write soakDuration: 35m or more, or 0s where that is meant`;
  yield warning(path, message);
}

function* checkStage(stage: WrittenStage, before: readonly WrittenStage[], path: JsonPath): Generator<Finding> {
  const { selector, soakDuration, maxFailures } = stage;
  const greedy = before.find((_, index) => takeAll(before.slice(0, index + 1)));
  const twin = selector ? before.find((other) => isDeepStrictEqual(other.selector, selector)) : undefined;
  if (greedy) {
    yield warning(path, `stays empty, since ${greedy.name} before it takes all that is left; write it before that`);
  } else if (twin) {
    const message = `selects what ${twin.name} before it has already, so that the stage stays empty; write another selector, or leave the stage out`;
    yield warning([...path, 'selector'], message);
  }
  const soakMs = parseDuration(soakDuration ?? '0s') ?? 0;
  if (soakMs > 0 && soakMs < shortestUsefulSoakMs) {
    const message = `a soak of ${soakDuration} cannot see a death, which the service shows after half an hour; write 35m or more`;
    yield warning([...path, 'soakDuration'], message);
  }
  yield* checkTolerance(maxFailures, [...path, 'maxFailures']);
}

/** Whether nobody is left for a stage after these: percentages are of all that match, and are rounded up. */
function takeAll(stages: readonly WrittenStage[]): boolean {
  const percent = stages.reduce((sum, { size }) => sum + (typeof size === 'string' ? Number.parseFloat(size) : 0), 0);
  return percent >= 100 || stages.some(takesTheRest);
}

function takesTheRest({ size, selector }: WrittenStage): boolean {
  return selector ? Object.keys(selector).length === 0 : !isWritten(size);
}

/** What nobody thought of: failures that nothing counts, and a percentage of very few. */
function* checkTolerances(
  stages: readonly WrittenStage[],
  failurePolicy: Written<FailurePolicy> | null | undefined,
): Generator<Finding> {
  const ofStages: JsonPath = ['spec', 'strategy', 'stages'];
  const silent = stages.filter(({ maxFailures }) => !isWritten(maxFailures));
  const isWhole = isWritten(failurePolicy?.maxFailures);
  if (!isWhole && silent.length > 0 && silent.length < stages.length) {
    const names = silent.map(({ name }) => name).join(', ');
    const message = `nothing says how many failures in ${names} stop the rollout; write maxFailures there, too, or for the whole in failurePolicy`;
    yield warning(ofStages, message);
  } else if (!isWhole && silent.length > 0 && !failurePolicy) {
    const message =
      'nothing says how many failures stop the rollout; write maxFailures in each stage, or for the whole in failurePolicy, as in maxFailures: 2%';
    yield warning(ofStages, message);
  }
  if (isWritten(failurePolicy?.minSamples)) return;
  const shares: readonly (readonly [unknown, JsonPath])[] = [
    [failurePolicy?.maxFailures, ['spec', 'failurePolicy', 'maxFailures']],
    ...stages.map(({ maxFailures }, index) => [maxFailures, [...ofStages, index, 'maxFailures']] as const),
  ];
  const hasty = shares.find(([share]) => typeof share === 'string' && share !== '0%' && share !== '100%');
  if (!hasty) return;
  const message =
    'a percentage is judged from the first attempt on, so that a single failure may stop everything; write minSamples in failurePolicy, as in minSamples: 50';
  yield warning(hasty[1], message);
}

function* checkTolerance(maxFailures: number | string | null | undefined, path: JsonPath): Generator<Finding> {
  if (maxFailures !== '0%') return;
  const message =
    '0% is judged like any percentage, once minSamples attempts have ended; write 0 to stop with the first failure';
  yield warning(path, message);
}

function* checkFailurePolicy(
  { maxFailures, minSamples }: Written<FailurePolicy>,
  stages: readonly WrittenStage[],
  path: JsonPath,
): Generator<Finding> {
  yield* checkTolerance(maxFailures, [...path, 'maxFailures']);
  const tolerances = [maxFailures, ...stages.map((stage) => stage.maxFailures)].filter((one) => isWritten(one));
  if (tolerances.length === 0) {
    yield warning(path, 'has no effect without maxFailures, here or in a stage; write it, as in maxFailures: 2%');
  } else if (isWritten(minSamples) && !tolerances.some((one) => typeof one === 'string')) {
    const message =
      'has no effect, since numbers of failures act at once; write a percentage for maxFailures, or leave it out';
    yield warning([...path, 'minSamples'], message);
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
    yield warning([...path, 'cutoff'], 'has no effect without windows and exclusions; write one, or leave it out');
  } else if (hasEnds && cutoffMs !== undefined && cutoffMs < longestUpgradeMs) {
    const message = `an upgrade may take half an hour, and with a cutoff of ${cutoff} outlast its window; write 30m or more`;
    yield warning([...path, 'cutoff'], message);
  }
}

function* checkWindow(
  { schedule, timeZone, duration }: Written<MaintenanceWindow>,
  cutoffMs: number | undefined,
  path: JsonPath,
): Generator<Finding> {
  const unreadable = isWritten(schedule) ? scheduleProblem(schedule) : undefined;
  if (unreadable !== undefined) yield error([...path, 'schedule'], unreadable);
  const unknown = isWritten(timeZone) ? timeZoneProblem(timeZone) : undefined;
  if (unknown !== undefined) yield error([...path, 'timeZone'], unknown);
  // What leaves nothing an API server refuses.
  const leftMs = (parseDuration(duration ?? '') ?? 0) - (cutoffMs ?? 0);
  if (leftMs <= 0 || leftMs >= shortestUsefulStartMs) return;
  const message = `leaves ${renderDuration(leftMs)} to start upgrades, since nothing is started within the cutoff before its end; write a longer duration`;
  yield warning([...path, 'duration'], message);
}

function* checkExclusion({ endTime }: Exclusion, wallMs: number, path: JsonPath): Generator<Finding> {
  if (Date.parse(endTime) > wallMs) return;
  yield warning([...path, 'endTime'], `is over since ${endTime}; leave the exclusion out, or write a later endTime`);
}

function error(path: JsonPath, message: string): Finding {
  return { severity: 'error', path, part: 'value', message };
}

function isWritten<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null;
}
