/**
 * Stores an export's plan: the first segments of its time range, and the columns of its files. All processes use the
 * plan that is written first (E2).
 */
import { assert } from '../base/assert.ts';
import type { TimeRange } from '../base/time-range.ts';
import type { ExportLayout } from './export-layout.ts';
import type { Destination } from './store/destination.ts';
import { checked, list, moment, object, optional, type Stored, StoredKind, storedText } from './stored-json.ts';

/** Maximum number of segments in a plan. This number also limits the size of the manifest. */
export const maxSegments = 10_000;

const plannedField = object({ name: storedText(), fieldType: optional(storedText()) });
export type PlannedField = Stored<typeof plannedField>;

const exportPlan = object({
  /** Segment boundaries in ms since the epoch. Segment `i` is `[boundariesMs[i], boundariesMs[i + 1])`. */
  boundariesMs: list(moment),
  /** Names and types of the message fields. Present only if the files have columns. */
  describedFields: optional(list(plannedField)),
});
export type ExportPlan = Stored<typeof exportPlan>;

export const planKind: StoredKind<ExportPlan> = new StoredKind({
  kind: 'logfleet.dev/export-plan',
  form: checked(exportPlan, planProblem),
});

export interface Segment extends TimeRange {
  readonly index: number;
}

export function segmentsOf({ boundariesMs }: ExportPlan): readonly Segment[] {
  return boundariesMs.slice(1).map((toMs, index) => ({ index, fromMs: boundariesMs[index] ?? 0, toMs }));
}

/**
 * Writes the plan, or returns the existing plan. Throws the error `destination.damaged` if the existing plan has a
 * different time range.
 */
export async function storePlanOnce(
  destination: Destination,
  layout: ExportLayout,
  ours: ExportPlan,
): Promise<ExportPlan> {
  const problem = planProblem(ours);
  assert(problem === undefined, `plan: ${problem}`);
  const existing = await planKind.storeOnce(destination, layout.plan, ours);
  const ends = ({ boundariesMs }: ExportPlan) => `${boundariesMs[0]} to ${boundariesMs.at(-1)}`;
  if (ends(existing) === ends(ours)) return existing;
  throw planKind.damaged(
    layout.plan,
    `the plan covers the time range ${ends(existing)}, but the export's time range is ${ends(ours)}`,
  );
}

/** Reads the plan of an export. Returns undefined if there is none. */
export function readPlan(destination: Destination, layout: ExportLayout): Promise<ExportPlan | undefined> {
  return planKind.read(destination, layout.plan);
}

function planProblem({ boundariesMs }: ExportPlan): string | undefined {
  if (boundariesMs.length < 2) return '/boundariesMs must have at least two entries';
  if (boundariesMs.length > maxSegments + 1) return `the plan has more than ${maxSegments} segments in /boundariesMs`;
  const index = boundariesMs.findIndex((boundary, at) => at > 0 && boundary <= (boundariesMs[at - 1] ?? 0));
  return index < 0
    ? undefined
    : `the segment boundary /boundariesMs/${index} in the plan is not later than the boundary before it`;
}
