/** What of an export is done: the plan minus the records. Nothing else is state (E3). */
import { type CommitRecord, recordKey } from './commit-record.ts';
import { type ExportPlan, type Segment, segmentsOf } from './plan-object.ts';

export interface Coverage {
  /** In order of time, without gaps inside a segment's done part. */
  readonly intervals: readonly CommitRecord[];
  /** What is left of each segment that is not done, in order of time. The next record of one is keyed by its `toMs`. */
  readonly rest: readonly Segment[];
  /** Records that begin or end where none should: somebody meddled. */
  readonly strays: readonly CommitRecord[];
}

/** The records may be in any order. */
export function coverageOf(plan: ExportPlan, records: readonly CommitRecord[]): Coverage {
  const byKey = new Map(records.map((record) => [recordKey(record), record]));
  const intervals: CommitRecord[] = [];
  const rest: Segment[] = [];
  for (const segment of segmentsOf(plan)) {
    const downwards: CommitRecord[] = [];
    let toMs = segment.toMs;
    for (;;) {
      const record = toMs > segment.fromMs ? byKey.get(recordKey({ segment: segment.index, toMs })) : undefined;
      if (!record || record.fromMs < segment.fromMs) break;
      downwards.push(record);
      toMs = record.fromMs;
    }
    // One by one: they may be more than a call takes arguments.
    for (const record of downwards.reverse()) intervals.push(record);
    if (toMs > segment.fromMs) rest.push({ ...segment, toMs });
  }
  const reached = new Set(intervals);
  return { intervals, rest, strays: [...byKey.values()].filter((record) => !reached.has(record)) };
}
