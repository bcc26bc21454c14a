/**
 * Checks that a simulated export either completed, or failed for a valid reason. In both cases, it must leave no files
 * or search jobs behind (E3, E15).
 */
import { allSegmentsOf } from '../../../src/destination/coverage.ts';
import { manifestKind } from '../../../src/destination/manifest.ts';
import { planKind } from '../../../src/destination/plan-object.ts';
import { type ExportHistoryPlan, historyStartMs } from './plan.ts';
import type { ExportHistoryRecord } from './record.ts';
import { verdictsOf } from './stored-verdicts.ts';

export function endViolations(record: ExportHistoryRecord): string[] {
  const { reported, completeAtMs } = record;
  const found = leftovers(record);
  if (completeAtMs === undefined) {
    return [...found, `end: the export does not end: ${reported.map(({ text }) => text).join('; ')}`];
  }
  const reasons = lastingReasons(record);
  for (const { reason, message } of reported.flatMap(({ unproven }) => unproven)) {
    if (!reasons.has(reason)) found.push(`end: incomplete for ${reason}, which is not possible here: ${message}`);
  }
  found.push(...flagViolations(record, reasons));
  if (!reported.every(({ isComplete }) => isComplete)) return found;
  return [...found, ...manifestViolations(record)];
}

/**
 * Returns the reasons why this export cannot contain all rows. Returns an empty set if the export can contain all rows.
 */
function lastingReasons({ plan, definition }: ExportHistoryRecord): ReadonlySet<string> {
  const reasons = new Set<string>();
  const { aggregation, scenario, corpus, smallestLimit } = plan;
  // The row limit does not apply to an aggregation. Only the maximum duration of a search job can make an aggregation
  // incomplete (E13).
  const isEndless = scenario.search?.rangePerSecond !== undefined;
  if (aggregation && isEndless) reasons.add('TimeOver');
  if (!definition.isSplittable && !aggregation && corpus.messages.length >= smallestLimit) reasons.add('LimitReached');
  if (densestOf(plan) >= plan.smallestLimit) reasons.add('MillisecondTooDense');
  if (plan.proof === 'Digest' && mayDiffer(plan)) reasons.add('DigestDiffers');
  return reasons;
}

/**
 * Groups the messages as finely as searches can: by millisecond, and by the last two digits of the message id (E4).
 * Returns the number of rows in the largest group.
 */
function densestOf({ corpus, byReceiptTime }: ExportHistoryPlan): number {
  const counts = new Map<string, number>();
  for (const { atMs, receivedMs, copies, id } of corpus.messages) {
    const part = `${byReceiptTime ? receivedMs : atMs} ${id.slice(-2)}`;
    counts.set(part, (counts.get(part) ?? 0) + copies);
  }
  return Math.max(0, ...counts.values());
}

/** Checks that the export marks an interval as incomplete only for a valid reason (E6). */
function flagViolations({ plan, records }: ExportHistoryRecord, lasting: ReadonlySet<string>): string[] {
  const reasons = new Set(mayDiffer(plan) ? [...lasting, 'CountDiffers'] : lasting);
  return records.flatMap(({ record: { fromMs, toMs, incomplete } }) =>
    incomplete === undefined || reasons.has(incomplete.reason)
      ? []
      : [`E6: [${fromMs}, ${toMs}) is flagged for ${incomplete.reason}, which is not possible here`],
  );
}

/** Reports whether two searches of the same time range might return different rows. */
function mayDiffer({ flaws, corpus, scenario }: ExportHistoryPlan): boolean {
  const isFlawed = flaws.missShard > 0 || flaws.holes > 0 || flaws.forget > 0;
  const isGrowing = corpus.messages.some(({ searchableMs }) => searchableMs > historyStartMs);
  return isFlawed || isGrowing || Object.keys(scenario.faults ?? {}).length > 0;
}

function leftovers({ definition, store, counters, reported }: ExportHistoryRecord): string[] {
  const found: string[] = [];
  const isOver = reported.every(({ isComplete }) => isComplete);
  for (const { name } of store.uploads) if (isOver) found.push(`E15: an unfinished upload of ${name} remains`);
  if (counters.jobsActive > 0) found.push(`end: ${counters.jobsActive} search jobs remain`);
  const { layout } = definition;
  const content = store.objects.get(layout.manifest);
  if (!content) return found;
  const manifest = manifestKind.decode(layout.manifest, content);
  const counted = new Set(manifest.intervals.flatMap(({ files }) => files.map(({ name }) => layout.within(name))));
  for (const name of store.objects.keys()) {
    if (name.startsWith(`${layout.data}/`) && !counted.has(name) && isOver) found.push(`E15: ${name} is left`);
  }
  if (!store.objects.has(layout.plan)) found.push('E2: there is no plan');
  for (const name of counted) if (!store.objects.has(name)) found.push(`E3: ${name} is missing`);
  return found;
}

/** Checks that the commit records cover the planned time range without gaps (E2, E3). */
function manifestViolations({ definition, store, records, plan, voided }: ExportHistoryRecord): string[] {
  const { layout } = definition;
  const content = store.objects.get(layout.manifest);
  if (!content) return ['E3: complete without a manifest'];
  const found: string[] = [];
  const { intervals, complete, totals, proof } = manifestKind.decode(layout.manifest, content);
  const planned = planKind.decode(layout.plan, store.objects.get(layout.plan) ?? new Uint8Array());
  const segments = allSegmentsOf(planned, verdictsOf({ definition, store }));
  let atMs = plan.fromMs;
  for (const { fromMs, toMs, segment } of intervals) {
    if (fromMs !== atMs) found.push(`E3: a gap or an overlap from ${atMs} to ${fromMs}`);
    atMs = toMs;
    const own = segments[segment];
    if (!own || fromMs < own.fromMs || toMs > own.toMs)
      found.push(`E2: ${fromMs} to ${toMs} is not in segment ${segment}`);
  }
  const isOneSearch = plan.queryLimit !== undefined || plan.aggregation !== undefined;
  if (isOneSearch && intervals.length > 1) {
    found.push(`E8: ${plan.query} was split into ${intervals.length} intervals`);
  }
  if (atMs !== plan.toMs) found.push(`E3: the manifest ends at ${atMs}`);
  const counting = records.filter(({ record }) => !voided.has(record));
  if (intervals.length !== counting.length) {
    found.push(`E3: ${counting.length} records are valid, but the manifest has ${intervals.length}`);
  }
  for (const { name, times } of records) if (times > 1) found.push(`E3: ${name} was written ${times} times`);
  const rows = intervals.reduce((sum, { written }) => sum + written, 0);
  if (totals.rows !== rows) found.push(`E3: the manifest counts ${totals.rows} rows, but its intervals ${rows}`);
  const isFlagged = proof.some(({ level }) => level === 'None');
  if (complete === isFlagged) found.push(`E3: the manifest has complete: ${complete}`);
  if (isFlagged && plan.incompletePolicy !== 'Keep') found.push('E6: an incomplete interval was kept');
  return found;
}
