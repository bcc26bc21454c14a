/**
 * The plan of an export: the first segments of its range, written only if there is no plan (E2). Every further process reads the existing
 * plan, so that all processes use the same segments and columns. A plan that a user removes during the export is written again.
 */
import { assert } from '../base/assert.ts';
import type { Destination } from './destination.ts';
import { disappeared } from './destination-error.ts';
import type { ExportLayout } from './export-layout.ts';
import {
  checked,
  damaged,
  decodeStored,
  encodeStored,
  list,
  moment,
  object,
  optional,
  type Stored,
  text,
} from './stored-json.ts';

/**
 * Maximum number of segments of a plan. Each segment needs at least one interval, and the manifest, which lists all intervals, must stay
 * small.
 */
export const maxSegments = 10_000;

const plannedField = object({ name: text(), fieldType: optional(text()) });
export type PlannedField = Stored<typeof plannedField>;

const exportPlan = object({
  /** Boundaries of the segments in milliseconds since the epoch: segment `i` is `[boundariesMs[i], boundariesMs[i + 1])`. */
  boundariesMs: list(moment),
  /** Descriptions of the message fields by the service (2.4), for formats with columns. */
  describedFields: optional(list(plannedField)),
});
export type ExportPlan = Stored<typeof exportPlan>;

export interface Segment {
  readonly index: number;
  readonly fromMs: number;
  readonly toMs: number;
}

export function segmentsOf({ boundariesMs }: ExportPlan): readonly Segment[] {
  return boundariesMs.slice(1).map((toMs, index) => ({ index, fromMs: boundariesMs[index] ?? 0, toMs }));
}

/** Writes the plan of an export, or returns the existing one. Throws `destination.damaged` if the existing plan has another range. */
export async function settlePlan(
  destination: Destination,
  layout: ExportLayout,
  ours: ExportPlan,
): Promise<ExportPlan> {
  const problem = planProblem(ours);
  assert(problem === undefined, `plan: ${problem}`);
  if ((await destination.create(layout.plan, encodePlan(ours))) === 'created') return ours;
  const existing = await readPlan(destination, layout);
  if (!existing) throw disappeared(layout.plan, destination.url);
  const ends = ({ boundariesMs }: ExportPlan) => `${boundariesMs[0]} to ${boundariesMs.at(-1)}`;
  if (ends(existing) === ends(ours)) return existing;
  throw damaged({ name: layout.plan }, `it covers ${ends(existing)}, and the export ${ends(ours)}`);
}

/** Reads the plan of an export; undefined if there is none. */
export async function readPlan(destination: Destination, layout: ExportLayout): Promise<ExportPlan | undefined> {
  const content = await destination.read(layout.plan);
  return content && decodePlan(layout.plan, content);
}

const kind = 'logfleet.dev/export-plan';

export function encodePlan(plan: ExportPlan): Uint8Array {
  return encodeStored(kind, plan);
}

export function decodePlan(name: string, content: Uint8Array): ExportPlan {
  return decodeStored({ name }, content, kind, checked(exportPlan, planProblem));
}

function planProblem({ boundariesMs }: ExportPlan): string | undefined {
  if (boundariesMs.length < 2) return '/boundariesMs must have at least two entries';
  if (boundariesMs.length > maxSegments + 1) return `/boundariesMs has more than ${maxSegments} segments`;
  const index = boundariesMs.findIndex((boundary, at) => at > 0 && boundary <= (boundariesMs[at - 1] ?? 0));
  return index < 0 ? undefined : `/boundariesMs/${index} is not later than the one before`;
}
