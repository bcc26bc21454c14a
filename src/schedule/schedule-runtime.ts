/**
 * Carries out the decisions about one schedule while this process is the leader. The order of the writes is safe even
 * if the process ends between two writes (S6).
 *
 * The status names a run before the run is created. Status writes use an optimistic lock, so a process with outdated
 * data announces no runs. The lock does not protect the creation of an announced run, because this creation needs no
 * status write. Therefore, a new leader first lists the schedules and runs again.
 */
import type { Accounts } from '../account/accounts.ts';
import { shareSize } from '../account/worker-shares.ts';
import { findCondition, reasons } from '../api/conditions.ts';
import { scheduleRange } from '../api/export-schedule-check.ts';
import { type Explanation, renderExplanation } from '../api/finding.ts';
import type { SearchExportScheduleStatus } from '../api/generated/search-export-schedule.ts';
import type { SearchExport, SearchExportSchedule } from '../api/kinds.ts';
import { scheduleProblem, timeZoneProblem } from '../api/schedule-check.ts';
import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { failure, isExpected, LogfleetError } from '../base/errors.ts';
import { keyText } from '../base/key-text.ts';
import type { Logger } from '../base/log.ts';
import { stallRetryMs } from '../base/retry-delay.ts';
import { SparseMap, SparseSet } from '../base/sparse.ts';
import { contains, type TimeRange, union } from '../base/time-range.ts';
import { isoSeconds } from '../base/time-text.ts';
import { type TimeZone, timeZone } from '../base/time-zone.ts';
import { pauseOf } from '../controller/pauses.ts';
import { type Result, requeue } from '../controller/reconciler.ts';
import { echoOfRequest } from '../controller/status-text.ts';
import { StatusWriter } from '../controller/status-writer.ts';
import type { DestinationSettings } from '../destination/open-destination.ts';
import {
  listRecordedRuns,
  recordRun,
  recordStart,
  ScheduleLayout,
  storeStartOnce,
} from '../destination/schedule-records.ts';
import type { Destination } from '../destination/store/destination.ts';
import type { DestinationChoice } from '../export/resource/chosen-destination.ts';
import { storeSecretName } from '../export/resource/export-resource.ts';
import type { Host, OwnerRef, ResourceKey } from '../host/host.ts';
import { readCovered, readSpan } from './covered-time.ts';
import { DestinationWork } from './destination-work.ts';
import { restoreRecord } from './lost-records.ts';
import { runStateOf } from './run-index.ts';
import { readRunTimes, runName, runTimes } from './run-name.ts';
import { decideSchedule, isUnfinished, maxRunningOf, type Run, type ScheduleSettings } from './schedule-decision.ts';
import { scheduleHealth } from './schedule-health.ts';
import {
  announcedRun,
  maxCovered,
  readGaps,
  type ScheduleFacts,
  scheduleStatus,
  scheduleTimes,
} from './schedule-status.ts';
import { TickCalendar, type TickCalendars } from './tick-calendar.ts';

export interface ScheduleRuntimeOptions {
  readonly host: Host;
  readonly clock: Clock;
  readonly log: Logger;
  readonly accounts: Accounts;
  readonly destination: DestinationChoice;
  readonly openDestination: (settings: DestinationSettings) => Promise<Destination>;
  /** Requests a reconcile of the schedule. */
  readonly enqueue: () => void;
  /** Existing runs of the schedule, and of deleted schedules with the same name. */
  readonly runs: () => readonly SearchExport[];
  readonly draining: () => boolean;
  readonly calendars: TickCalendars;
  /** Reports whether this process has been the leader without interruption since this runtime was created. */
  readonly isLeading: () => boolean;
}

/**
 * Time in ms after which a created run that is still missing from the cache is created again. If the run exists after
 * all, the second creation has no effect.
 */
const longestLagMs = 60_000;

export class ScheduleRuntime {
  readonly uid: string;
  readonly #options: ScheduleRuntimeOptions;
  readonly #owner: OwnerRef;
  readonly #publisher: StatusWriter<'SearchExportSchedule'>;
  readonly #work: DestinationWork;
  /** Data at the destination: the start of the schedule, and the time ranges in the schedule records. */
  #stored: StoredSchedule | undefined;
  /** True if the schedule records must be read before the next decision is made. */
  #isReadDue = false;
  /** Maps the name of each created run that the cache does not contain yet to its creation time (monotonic, in ms). */
  readonly #created = new SparseMap<string, number>();
  /** Uids of runs that this process deleted but that the cache still contains. */
  readonly #deleted = new SparseSet<string>();
  /**
   * Runs that cannot be created, because other SearchExports have their names. The key is the name of the run, and the
   * value is the time of the last attempt (monotonic, in ms).
   */
  readonly #taken = new SparseMap<string, number>();
  /**
   * Error of the last attempt to create a run, with the generation of the schedule at that time. Undefined if this
   * attempt succeeded.
   */
  #refusal: { readonly error: LogfleetError; readonly generation: number } | undefined;

  constructor({ metadata }: SearchExportSchedule, options: ScheduleRuntimeOptions) {
    const { namespace, name, uid } = metadata;
    const { host, clock, draining, enqueue } = options;
    this.uid = uid;
    this.#options = options;
    this.#owner = { kind: 'SearchExportSchedule', namespace, name, uid };
    this.#work = new DestinationWork(clock, enqueue);
    this.#publisher = new StatusWriter({
      rules: {
        kind: 'SearchExportSchedule',
        verdicts: ({ conditions }) => conditions,
        stateDetails: unresolvedRuns,
        interruption: { reason: reasons.backfilling, of: reasons.exportedIncomplete },
      },
      ...{ host, clock, draining, intervalMs: 0, owner: this.#owner },
    });
  }

  /** Brings the schedule closer to its desired state. Stops waiting for the destination if `signal` is aborted. */
  async reconcile(given: SearchExportSchedule, signal: AbortSignal): Promise<Result> {
    const resource = this.#publisher.latest(given);
    try {
      return await this.#proceed(resource, signal);
    } catch (error) {
      if (!isExpected(error)) throw error;
      if (error.code === 'host.conflict' || error.code === 'host.gone' || !this.#options.isLeading()) throw error;
      await this.#publish(this.#publisher.latest(resource), error);
      if (error.handling.kind === 'stall') return requeue(stallRetryMs, true);
      throw error;
    }
  }

  async #proceed(resource: SearchExportSchedule, signal: AbortSignal): Promise<Result> {
    const { host, clock } = this.#options;
    const calendar = this.#calendarOf(resource);
    const isRetryRequested = isRetryNew(resource);
    this.#isReadDue ||= isRetryRequested || this.#isReadFirst(resource);
    if (this.#isReadDue) this.#stored = await this.#read(resource, calendar, signal);
    this.#isReadDue = false;
    const pausedBy = pauseOf(resource, host);
    const maxRunning = await this.#maxRunning(resource);
    const decide = () => this.#decide(resource, calendar, { isRetryRequested, pausedBy, maxRunning });
    let found = decide();
    if (!this.#stored && (found.create.length > 0 || found.decision.record.length > 0)) {
      this.#stored = await this.#read(resource, calendar, signal);
      found = decide();
    }
    if (found.decision.record.length > 0) {
      await this.#record(resource, found.decision.record, signal);
      found = decide();
    }
    const { runs, decision, create } = found;
    const { repeat } = decision;
    for (const run of repeat) await this.#remove(run);
    // The runs in `repeat` have just been deleted, so the status must not treat them as existing runs.
    const left = runs.filter((run) => !repeat.includes(run));
    this.#assertLeading();
    // After a change of the spec, the error no longer applies, because the user may have corrected the template.
    const isCurrent = create.length > 0 && this.#refusal?.generation === resource.metadata.generation;
    const refusal = isCurrent ? this.#refusal?.error : undefined;
    const delayMs = await this.#publish(resource, refusal, { ...found, runs: left });
    if (this.#publisher.isOutdated) return requeue(delayMs, false);
    for (const run of decision.remove) await this.#remove(run);
    for (const span of create) await this.#create(resource, span);
    const dueMs = decision.nextDueMs === undefined ? Number.POSITIVE_INFINITY : decision.nextDueMs - clock.now();
    const isAtWork = create.length > 0 || runs.some(({ state }) => state === 'Active');
    const isLagging = this.#created.size > 0 || this.#taken.size > 0;
    return requeue(
      Math.min(
        ...[delayMs, Math.max(0, dueMs)],
        isLagging ? longestLagMs : Number.POSITIVE_INFINITY,
        decision.taken.length > 0 ? stallRetryMs : Number.POSITIVE_INFINITY,
      ),
      pausedBy !== undefined || !isAtWork,
    );
  }

  /** Decides which runs to create, record and delete, based on the current data of this runtime. */
  #decide(
    resource: SearchExportSchedule,
    calendar: TickCalendar,
    { isRetryRequested, pausedBy, maxRunning }: Circumstances,
  ): Found {
    const settings = { ...this.#settings(resource, calendar), maxRunning };
    // Schedule records can be lost, so the exported time ranges are also taken from the status (S1).
    const shown = readCovered(resource.status);
    const covered = union([...(this.#stored?.recorded ?? []), ...shown]);
    const runs = this.#runs(resource, settings, covered);
    const decision = decideSchedule({
      nowMs: this.#options.clock.now(),
      ...{ settings, runs, isRetryRequested, covered, shown },
      isPaused: pausedBy !== undefined,
      recorded: this.#stored?.recorded ?? covered,
      gaps: readGaps(resource.status),
      isTaken: (name) => this.#isTaken(name),
    });
    const absent = pausedBy === undefined ? this.#absent(runs) : [];
    return { settings, covered, runs, decision, pausedBy, create: [...absent, ...decision.create] };
  }

  /**
   * Returns the time ranges of runs that the status names but that do not exist and must be created again. Omits runs
   * that may still be missing from the cache, because this process has just created them.
   */
  #absent(runs: readonly Run[]): readonly TimeRange[] {
    const nowMs = this.#options.clock.monotonic();
    const isRecent = (name: string) => nowMs - (this.#created.get(name) ?? Number.NEGATIVE_INFINITY) < longestLagMs;
    return runs.filter(({ name, resource }) => !resource && !isRecent(name)).map(({ span }) => span);
  }

  #assertLeading(): void {
    if (!this.#options.isLeading()) throw failure('backoff', 'schedule.leadership', 'Another process leads.');
  }

  /** Reports whether the schedule records must be read before a decision (S7). */
  #isReadFirst({ status, metadata }: SearchExportSchedule): boolean {
    const { startTime, covered = [], observedGeneration } = status ?? {};
    if (startTime === undefined || observedGeneration !== metadata.generation) return true;
    return !this.#stored && covered.length >= maxCovered;
  }

  /** Returns the settings of the spec. Throws `InvalidSpec` if they are invalid. */
  #settings(resource: SearchExportSchedule, calendar: TickCalendar): Omit<ScheduleSettings, 'maxRunning'> {
    const { spec, metadata } = resource;
    const { maxActive, backfillOrder, successfulRunsHistoryLimit, failedRunsHistoryLimit } = spec;
    const times = scheduleTimes(resource, rangeOf(spec), calendar, this.#stored?.startMs);
    if (times.startMs >= times.endMs) {
      const problem = `is not after the start of the schedule (${isoSeconds(times.startMs)})`;
      throw invalid('spec.endTime', { problem, remedy: 'set startTime to export older logs' });
    }
    return {
      ...times,
      name: metadata.name,
      ...{ maxActive, backfillOrder, successfulRunsHistoryLimit, failedRunsHistoryLimit },
    };
  }

  /** Returns the maximum number of runs that can have a share of the request limits at the same time. */
  async #maxRunning({ spec, metadata: { namespace } }: SearchExportSchedule): Promise<number> {
    const { execution, credentialsSecretRef } = spec.template.spec;
    if (execution.mode !== 'Job') return Number.POSITIVE_INFINITY;
    const { accounts } = this.#options;
    try {
      const account = await accounts.resolve({ namespace, name: credentialsSecretRef.name });
      return maxRunningOf(spec, shareSize(accounts.limitsOf(account))?.workers ?? 0);
    } catch (error) {
      // An unusable Secret is not reported here, because the runs need the same Secret, and report the problem
      // themselves.
      if (isExpected(error)) return maxRunningOf(spec);
      throw error;
    }
  }

  #calendarOf({ spec: { schedule, timeZone: zone } }: SearchExportSchedule): TickCalendar {
    return this.#options.calendars.get(schedule, zone, () => {
      const problem = scheduleProblem(schedule);
      if (problem) throw invalid('spec.schedule', problem);
      const unknown = timeZoneProblem(zone);
      if (unknown) throw invalid('spec.timeZone', unknown);
      return new TickCalendar(schedule, timeZone(zone) as TimeZone);
    });
  }

  /**
   * Reads the start of the schedule and the schedule records from the destination. Rewrites missing records of complete
   * runs.
   */
  #read(resource: SearchExportSchedule, calendar: TickCalendar, signal: AbortSignal): Promise<StoredSchedule> {
    const { startMs: fallbackMs } = scheduleTimes(resource, rangeOf(resource.spec), calendar);
    return this.#withDestination(resource, 'read', signal, async (destination, layout) => {
      // If the spec has a start, the stored start is not read. The file might be unreadable, for example because it is
      // archived.
      const isGiven = resource.spec.startTime !== undefined;
      const isKnown = resource.status?.startTime !== undefined;
      if (isGiven) await recordStart(destination, layout, fallbackMs);
      const startMs = isGiven ? fallbackMs : await storeStartOnce(destination, layout, fallbackMs, isKnown);
      const spans: TimeRange[] = [];
      for await (const times of listRecordedRuns(destination, layout)) {
        const span = readRunTimes(times);
        if (span) spans.push(span);
      }
      const recorded = union(spans);
      for (const run of resource.status?.runs ?? []) {
        const span = readSpan(run);
        if (run.state !== 'Complete' || contains(recorded, span)) continue;
        this.#assertLeading();
        if (await restoreRecord(destination, layout, run, span)) spans.push(span);
      }
      return { startMs, recorded: union(spans) };
    });
  }

  async #record(resource: SearchExportSchedule, runs: readonly Run[], signal: AbortSignal): Promise<void> {
    if (!this.#stored) return;
    const { startMs, recorded } = this.#stored;
    const task = ['record', ...runs.map(({ name }) => name)].join(' ');
    await this.#withDestination(resource, task, signal, async (destination, layout) => {
      for (const { name: run, span, resource } of runs) {
        const { manifest, fingerprint } = resource?.status ?? {};
        assert(
          manifest !== undefined && fingerprint !== undefined,
          `the complete run ${run} has no manifest or no fingerprint`,
        );
        const { sha256: manifestSha256, rows, bytes, complete } = manifest;
        const record = { run, ...span, fingerprint, manifestSha256, rows, bytes, complete };
        this.#assertLeading();
        await recordRun(destination, layout, runTimes(span), record);
      }
    });
    this.#stored = { startMs, recorded: union([...recorded, ...runs.map(({ span }) => span)]) };
  }

  /**
   * Runs an operation at the destination, and returns its result. If the operation takes too long, throws an error, but
   * lets the operation continue (`DestinationWork`). A later reconcile then gets the result, unless a user has changed
   * the spec or requested a retry since the operation began.
   */
  #withDestination<T>(
    resource: SearchExportSchedule,
    task: string,
    signal: AbortSignal,
    use: (destination: Destination, layout: ScheduleLayout) => Promise<T>,
  ): Promise<T> {
    const { lastHandledReconcileAt: request } = echoOfRequest(resource);
    const key = JSON.stringify([task, resource.metadata.generation, request]);
    return this.#work.run(key, signal, () => this.#useDestination(resource, use));
  }

  /**
   * Opens the destination, and closes it after `use`. After an error that a user must fix, the schedule waits for a
   * change to the Secret of the destination (C2).
   */
  async #useDestination<T>(
    { metadata, spec }: SearchExportSchedule,
    use: (destination: Destination, layout: ScheduleLayout) => Promise<T>,
  ): Promise<T> {
    const { destination: choice, openDestination, accounts, enqueue } = this.#options;
    const { secrets } = accounts;
    const { changes } = secrets;
    const waiter = scheduleWaiterOf(metadata);
    try {
      const chosen = await choice.current({ metadata, spec: spec.template.spec });
      const destination = await openDestination(chosen.settings);
      const result = await use(destination, ScheduleLayout.of(metadata.name)).finally(() => destination.close());
      secrets.leave(waiter);
      return result;
    } catch (error) {
      const name = storeSecretName(spec.template.spec.destination);
      if (name !== undefined && error instanceof LogfleetError && error.handling.kind === 'stall') {
        choice.forget();
        secrets.wait(waiter, [{ namespace: metadata.namespace, name }], changes, enqueue);
      }
      throw error;
    }
  }

  /**
   * Returns the existing runs, and the runs that are missing from the cache but are listed in the status or were
   * created by this process (S6).
   */
  #runs(
    resource: SearchExportSchedule,
    { startMs, endMs }: ScheduleSettings,
    covered: readonly TimeRange[],
  ): readonly Run[] {
    const existing = this.#options.runs();
    const uids = new Set(existing.map(({ metadata }) => metadata.uid));
    for (const uid of this.#deleted) if (!uids.has(uid)) this.#deleted.delete(uid);
    const shown = existing.flatMap((run) => observe(this.#owner, run, this.#deleted.has(run.metadata.uid)) ?? []);
    const names = new Set(shown.filter(({ state }) => state !== 'Deleting').map(({ name }) => name));
    for (const name of this.#created.keys()) if (names.has(name)) this.#created.delete(name);
    const failed = new Set(resource.status?.gaps?.map(({ run }) => run));
    const announced = (resource.status?.runs ?? []).filter(isUnfinished).map(({ name }) => name);
    // If a user deletes the status before the cache contains a created run, only `#created` still names this run.
    const wanted = [...new Set([...announced, ...this.#created.keys()])]
      .filter((name) => !names.has(name) && !failed.has(name) && !this.#isTaken(name))
      .flatMap((name) => readRunTimes(name.slice(this.#owner.name.length + 1)) ?? [])
      .filter((span) => span.fromMs < endMs && span.toMs > startMs && !contains(covered, span));
    return [...wanted.map((span) => announcedRun(this.#owner.name, span)), ...shown];
  }

  #isTaken(name: string): boolean {
    const { host, clock } = this.#options;
    const takenAtMs = this.#taken.get(name) ?? Number.NEGATIVE_INFINITY;
    if (clock.monotonic() - takenAtMs < longestLagMs) return true;
    this.#taken.delete(name);
    const found = host.resources('SearchExport').get({ namespace: this.#owner.namespace, name });
    return found !== undefined && found.metadata.owner?.uid !== this.uid;
  }

  async #create({ spec, metadata: { generation } }: SearchExportSchedule, span: TimeRange): Promise<void> {
    const { host, clock, log } = this.#options;
    const { namespace, name: schedule } = this.#owner;
    const name = runName(schedule, span);
    const { metadata = {}, spec: runSpec } = spec.template;
    const timeRange = { from: isoSeconds(span.fromMs), to: isoSeconds(span.toMs), timeZone: spec.timeZone };
    const run = {
      kind: 'SearchExport' as const,
      metadata: { namespace, name, labels: metadata.labels ?? {}, annotations: metadata.annotations ?? {} },
      spec: { ...runSpec, timeRange },
      owner: this.#owner,
    };
    this.#assertLeading();
    try {
      const result = await host.create(run);
      this.#refusal = undefined;
      (result === 'taken' ? this.#taken : this.#created).set(name, clock.monotonic());
      if (result === 'created') log.info('a run is created', { run: name });
    } catch (error) {
      if (error instanceof LogfleetError) this.#refusal = { error, generation };
      throw error;
    }
  }

  async #remove({ name, resource }: Run): Promise<void> {
    const { host, log } = this.#options;
    if (!resource) return;
    this.#assertLeading();
    await host.remove(resource);
    this.#deleted.add(resource.metadata.uid);
    log.info('deleted a run; its files are kept', { run: name });
  }

  async #publish(resource: SearchExportSchedule, problem: LogfleetError | undefined, found?: Found): Promise<number> {
    const { runs = [], decision, pausedBy } = found ?? {};
    const flags = this.#options.host.commandFlags(this.#owner);
    const before = this.#publisher.known(resource);
    const { name } = this.#owner;
    const health = scheduleHealth({ name, flags, pausedBy, problem, decision, runs });
    const status = scheduleStatus({
      ...{ resource, before, health },
      nowMs: this.#options.clock.now(),
      found,
    });
    return this.#publisher.publish(resource, status, () => ({}), health);
  }
}

/** Returns the name under which a schedule waits for a change to the Secret of its destination. */
export function scheduleWaiterOf(key: ResourceKey): string {
  return `SearchExportSchedule ${keyText(key)}`;
}

interface StoredSchedule {
  /** Start of the schedule, as first stored at the destination. A `startTime` in the spec takes precedence. */
  readonly startMs: number;
  /** Time ranges of all recorded runs. */
  readonly recorded: readonly TimeRange[];
}

interface Circumstances {
  readonly isRetryRequested: boolean;
  readonly pausedBy: string | undefined;
  readonly maxRunning: number;
}

interface Found extends ScheduleFacts {
  readonly pausedBy: string | undefined;
  /** Time ranges of the runs to create, including runs that the status already names. */
  readonly create: readonly TimeRange[];
}

/**
 * Reports whether the user has requested another retry (S5). Returns false if the schedule has no status yet, because
 * there is nothing to retry.
 */
function isRetryNew(resource: SearchExportSchedule): boolean {
  const { lastHandledReconcileAt, startTime } = resource.status ?? {};
  const wanted = echoOfRequest(resource).lastHandledReconcileAt;
  return startTime !== undefined && wanted !== undefined && wanted !== lastHandledReconcileAt;
}

/** Returns the names of the failed, stalled and incomplete runs. */
function unresolvedRuns({ gaps = [], runs = [] }: SearchExportScheduleStatus): readonly string[] {
  const unresolved = runs.filter(({ incomplete, state }) => incomplete || state === 'Stalled');
  return [...gaps.map(({ run }) => run), ...unresolved.map(({ name }) => name)];
}

/**
 * Converts a SearchExport to a run. Returns undefined if its name contains no time range. A run of a deleted schedule
 * with the same name counts as being deleted, because runs are deleted together with their schedule.
 */
function observe({ name, uid }: OwnerRef, resource: SearchExport, isDeletedHere: boolean): Run | undefined {
  const { metadata, status } = resource;
  const isDeleted = isDeletedHere || metadata.owner?.uid !== uid;
  const span = readRunTimes(metadata.name.slice(name.length + 1));
  const reason = findCondition(status?.conditions, 'Ready')?.reason ?? reasons.progressing;
  const state = isDeleted ? 'Deleting' : runStateOf(resource);
  return span && { name: metadata.name, span, state, reason, resource };
}

/** Returns the time range from `startTime` to `endTime` of the spec. Throws `InvalidSpec` if it is invalid. */
function rangeOf(spec: SearchExportSchedule['spec']): TimeRange {
  const range = scheduleRange(spec);
  if ('problem' in range) throw invalid(range.path.join('.'), range);
  return range;
}

function invalid(field: string, explanation: Explanation): LogfleetError {
  return failure('stall', 'schedule.spec', `${field}: ${renderExplanation(explanation)}`, {
    reason: reasons.invalidSpec,
  });
}
