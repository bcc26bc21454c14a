/** Index of all runs (SearchExports that belong to a schedule), with their states. */
import { type ConditionType, findCondition, reasons } from '../api/conditions.ts';
import type { SearchExport } from '../api/kinds.ts';
import { sameValue } from '../base/canonical-text.ts';
import { keyText } from '../base/key-text.ts';
import { Multimap } from '../base/multimap.ts';
import type { ResourceKey, ResourceSource } from '../host/host.ts';
import type { RunState } from './schedule-decision.ts';

interface IndexedRun {
  readonly key: ResourceKey;
  readonly uid: string;
  readonly schedule: ResourceKey;
  readonly state: RunState;
  /**
   * Reason of the run's `Ready` condition if the run is stalled, failed or paused. Otherwise undefined, because other
   * reasons do not affect the schedule.
   */
  readonly reason: string | undefined;
}

export class RunIndex {
  readonly #exports: ResourceSource<SearchExport>;
  readonly #onChange: (schedule: ResourceKey) => void;
  readonly #runs = new Map<string, IndexedRun>();
  /** Maps the key of each schedule to the keys of its runs. All keys are in text form. */
  readonly #bySchedule = new Multimap();
  readonly #unsubscribe: () => void;

  /**
   * @param onChange called with the schedule of a run that is added or removed, or whose state or reason changes
   */
  constructor(exports: ResourceSource<SearchExport>, onChange: (schedule: ResourceKey) => void) {
    this.#exports = exports;
    this.#onChange = onChange;
    this.#unsubscribe = exports.subscribe((key) => this.update(key));
    for (const { metadata } of exports.list()) this.#follow(metadata);
  }

  /** Returns the runs of a schedule, and of deleted schedules with the same name. */
  runsOf(schedule: ResourceKey): readonly SearchExport[] {
    return Array.from(this.#bySchedule.get(keyText(schedule)), (id) => this.#runs.get(id)).flatMap(
      (run) => (run && this.#exports.get(run.key)) ?? [],
    );
  }

  /**
   * Updates the index after this process has changed a run. This is necessary because only changes by other processes
   * cause events.
   */
  update(key: ResourceKey): void {
    for (const schedule of this.#follow(key)) this.#onChange(schedule);
  }

  close(): void {
    this.#unsubscribe();
  }

  /** Updates the index entry of a SearchExport. Returns the schedules with a changed run. */
  #follow(key: ResourceKey): readonly ResourceKey[] {
    const id = keyText(key);
    const before = this.#runs.get(id);
    const resource = this.#exports.get(key);
    const after = resource && indexedRun(resource);
    if (sameValue(before, after)) return [];
    this.#runs.delete(id);
    if (before) this.#bySchedule.delete(keyText(before.schedule), id);
    if (after) {
      this.#runs.set(id, after);
      this.#bySchedule.add(keyText(after.schedule), id);
    }
    return [before, after].flatMap((run) => run?.schedule ?? []);
  }
}

/** Converts a SearchExport to a run, or returns undefined if no schedule owns the SearchExport. */
function indexedRun(resource: SearchExport): IndexedRun | undefined {
  const { namespace, name, uid, owner } = resource.metadata;
  if (owner?.kind !== 'SearchExportSchedule') return undefined;
  const schedule = { namespace, name: owner.name };
  const state = runStateOf(resource);
  const shown = findCondition(resource.status?.conditions, 'Ready')?.reason;
  const hasReason = state === 'Stalled' || state === 'Failed' || shown === reasons.paused;
  return { key: { namespace, name }, uid, schedule, state, reason: hasReason ? shown : undefined };
}

/** Returns the state of a run from its conditions and its deletion time. */
export function runStateOf({ metadata, status }: SearchExport): RunState {
  const holds = (type: ConditionType) => findCondition(status?.conditions, type)?.status === 'True';
  // The schedule record needs the manifest and the fingerprint. A user may have removed them from the status, so the
  // condition `Complete` alone is not enough.
  if (holds('Complete') && status?.manifest && status.fingerprint !== undefined) return 'Complete';
  if (metadata.deletionTimestamp !== undefined) return 'Deleting';
  if (holds('Failed')) return 'Failed';
  return holds('Stalled') ? 'Stalled' : 'Active';
}
