/**
 * Work of one schedule (identified by its uid) during one term of leadership. It gathers the snapshot for `schedule-decision.ts`, and
 * carries decisions out in an order in which the process may end at any point (S6): records, repeated runs, status, old runs, new runs.
 */
import { findCondition, reasons } from '../api/conditions.ts';
import { scheduleRange } from '../api/export-schedule-check.ts';
import { type Explanation, renderExplanation } from '../api/finding.ts';
import type { ScheduleGap } from '../api/generated/search-export-schedule.ts';
import type { SearchExport, SearchExportSchedule } from '../api/kinds.ts';
import { scheduleProblem, timeZoneProblem } from '../api/schedule-check.ts';
import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { failure, LogfleetError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { stallRetryMs } from '../base/retry-delay.ts';
import { timeZone } from '../base/time-zone.ts';
import { pausedByOf, pausedForAll } from '../controller/pauses.ts';
import { type Result, requeue } from '../controller/reconciler.ts';
import { echoOfRequest, isoTime } from '../controller/status-text.ts';
import { StatusWriter } from '../controller/status-writer.ts';
import type { Destination } from '../destination/destination.ts';
import type { DestinationSettings } from '../destination/open-destination.ts';
import { listRecordedRuns, recordRun, ScheduleLayout, settleStart } from '../destination/schedule-records.ts';
import type { DestinationChoice } from '../export/chosen-destination.ts';
import type { Host, OwnerRef } from '../host/host.ts';
import { runStateOf } from './run-index.ts';
import { readRunTimes, runName, runTimes } from './run-name.ts';
import { decideSchedule, type Gap, type ScheduleDecision, type ScheduleSettings } from './schedule-decision.ts';
import { scheduleHealth } from './schedule-health.ts';
import { type ObservedRun, scheduleStatus } from './schedule-status.ts';
import { TickCalendar } from './tick-calendar.ts';
import { type TimeSpan, union } from './time-spans.ts';

export interface ScheduleRuntimeOptions {
  readonly host: Host;
  readonly clock: Clock;
  readonly log: Logger;
  readonly destination: DestinationChoice;
  readonly openDestination: (settings: DestinationSettings) => Promise<Destination>;
  /** Existing runs of the schedule. */
  readonly runs: () => readonly SearchExport[];
  readonly draining: () => boolean;
}

/** Time in ms after which a created or deleted run that the cache does not show counts as lost. */
const longestLagMs = 60_000;

export class ScheduleRuntime {
  readonly uid: string;
  readonly #options: ScheduleRuntimeOptions;
  readonly #owner: OwnerRef;
  readonly #publisher: StatusWriter<'SearchExportSchedule'>;
  /** First time to export if the spec names none, and the time of all recorded runs; undefined until the destination was read. */
  #stored: { readonly startMs: number; readonly recorded: readonly TimeSpan[] } | undefined;
  /** Runs that this process created and the cache does not show yet, with the monotonic time of their creation. */
  readonly #created = new Map<string, { readonly span: TimeSpan; readonly atMs: number }>();
  /** Uids of runs that this process deleted and the cache may still show, with the monotonic time of their deletion. */
  readonly #deleted = new Map<string, number>();
  #calendar: { readonly key: string; readonly calendar: TickCalendar } | undefined;

  constructor({ metadata }: SearchExportSchedule, options: ScheduleRuntimeOptions) {
    const { namespace, name, uid } = metadata;
    const { host, clock, draining } = options;
    this.uid = uid;
    this.#options = options;
    this.#owner = { kind: 'SearchExportSchedule', namespace, name, uid };
    this.#publisher = new StatusWriter({
      rules: { kind: 'SearchExportSchedule', verdicts: ({ conditions }) => conditions },
      ...{ host, clock, draining, intervalMs: 0, owner: this.#owner },
    });
  }

  async reconcile(given: SearchExportSchedule): Promise<Result> {
    const resource = this.#publisher.latest(given);
    try {
      return await this.#proceed(resource);
    } catch (error) {
      if (!(error instanceof LogfleetError) || error.handling.kind === 'bug') throw error;
      if (error.code === 'host.conflict' || error.code === 'host.gone') throw error;
      await this.#publish(this.#publisher.latest(resource), error);
      if (error.handling.kind === 'stall') return requeue(stallRetryMs, true);
      throw error;
    }
  }

  async #proceed(resource: SearchExportSchedule): Promise<Result> {
    const { host, clock } = this.#options;
    const settings = await this.#settings(resource);
    const wanted = echoOfRequest(resource).lastHandledReconcileAt;
    const isRetryRequested = wanted !== undefined && wanted !== resource.status?.lastHandledReconcileAt;
    const pausedBy = pausedForAll(host) ?? pausedByOf(resource);
    const runs = this.#runs();
    const decide = () =>
      decideSchedule({
        nowMs: clock.now(),
        ...{ settings, runs, isRetryRequested },
        isPaused: pausedBy !== undefined,
        recorded: this.#stored?.recorded ?? [],
        gaps: (resource.status?.gaps ?? []).map(readGap),
        isTaken: (name) => this.#isTaken(name),
      });
    await this.#record(resource, decide().record);
    const decision = decide();
    for (const run of decision.repeat) await this.#remove(run);
    const delayMs = await this.#publish(resource, undefined, { settings, runs, decision, pausedBy });
    for (const run of decision.remove) await this.#remove(run);
    for (const span of decision.create) await this.#create(resource, span);
    const dueMs = decision.nextDueMs === undefined ? Number.POSITIVE_INFINITY : decision.nextDueMs - clock.now();
    const isSettled = pausedBy !== undefined || (decision.pending === 0 && decision.active === 0);
    const isLagging = this.#created.size > 0 || this.#deleted.size > 0;
    return requeue(
      Math.min(delayMs, Math.max(0, dueMs), isLagging ? longestLagMs : Number.POSITIVE_INFINITY),
      isSettled,
    );
  }

  /** Settings of the spec. Reads the records of the destination on the first call. Throws `InvalidSpec` and errors of the destination. */
  async #settings(resource: SearchExportSchedule): Promise<ScheduleSettings> {
    const { spec, metadata } = resource;
    const calendar = this.#calendarOf(resource);
    const range = scheduleRange(spec);
    if ('problem' in range) throw invalid(range.path.join('.'), range);
    this.#stored ??= await this.#read(resource, calendar);
    const { maxActive, backfillOrder, successfulRunsHistoryLimit, failedRunsHistoryLimit } = spec;
    return {
      name: metadata.name,
      calendar,
      startMs: spec.startTime === undefined ? this.#stored.startMs : range.fromMs,
      endMs: spec.endTime === undefined ? Number.POSITIVE_INFINITY : range.toMs,
      ...{ maxActive, backfillOrder, successfulRunsHistoryLimit, failedRunsHistoryLimit },
    };
  }

  #calendarOf({ spec: { schedule, timeZone: zone } }: SearchExportSchedule): TickCalendar {
    const key = `${schedule} ${zone}`;
    if (this.#calendar?.key !== key) {
      const problem = scheduleProblem(schedule);
      if (problem) throw invalid('spec.schedule', problem);
      const unknown = timeZoneProblem(zone);
      const found = timeZone(zone);
      if (unknown || !found)
        throw invalid('spec.timeZone', unknown ?? { problem: 'is not known', remedy: 'write UTC' });
      this.#calendar = { key, calendar: new TickCalendar(schedule, found) };
    }
    return this.#calendar.calendar;
  }

  /** Reads the start and the recorded runs of the schedule from its destination. Time that status shows as covered counts, too. */
  #read(resource: SearchExportSchedule, calendar: TickCalendar) {
    const { metadata, status } = resource;
    const createdMs = Date.parse(metadata.creationTimestamp);
    const fallbackMs = Date.parse(status?.startTime ?? '') || (calendar.lastUntil(createdMs) ?? createdMs);
    return this.#withDestination(resource, async (destination, layout) => {
      const startMs = await settleStart(destination, layout, fallbackMs);
      const spans = (status?.covered ?? []).map(readSpan);
      for await (const times of listRecordedRuns(destination, layout)) {
        const span = readRunTimes(times);
        if (span) spans.push(span);
      }
      return { startMs, recorded: union(spans) };
    });
  }

  /** Writes the records of complete runs. */
  async #record(resource: SearchExportSchedule, runs: readonly ObservedRun[]): Promise<void> {
    const [first] = runs;
    if (!first || !this.#stored) return;
    const { startMs, recorded } = this.#stored;
    await this.#withDestination(resource, async (destination, layout) => {
      for (const { name: run, span, resource } of runs) {
        const { manifest, fingerprint } = resource?.status ?? {};
        assert(manifest !== undefined && fingerprint !== undefined, `the complete run ${run} has a manifest`);
        const { sha256: manifestSha256, rows, bytes, complete } = manifest;
        const record = { run, ...span, fingerprint, manifestSha256, rows, bytes, complete };
        await recordRun(destination, layout, runTimes(span), record);
      }
    });
    this.#stored = { startMs, recorded: union([...recorded, ...runs.map(({ span }) => span)]) };
  }

  async #withDestination<T>(
    { metadata, spec }: SearchExportSchedule,
    use: (destination: Destination, layout: ScheduleLayout) => Promise<T>,
  ): Promise<T> {
    const { destination: choice, openDestination } = this.#options;
    const chosen = await choice.current({ metadata, spec: spec.template.spec });
    const destination = await openDestination(chosen.settings);
    try {
      return await use(destination, ScheduleLayout.of(metadata.name));
    } finally {
      await destination.close();
    }
  }

  /** Existing runs, without those that this process deleted, and with those that it created. */
  #runs(): readonly ObservedRun[] {
    const nowMs = this.#options.clock.monotonic();
    const existing = this.#options.runs();
    const names = new Set(existing.map(({ metadata }) => metadata.name));
    for (const [name, { atMs }] of this.#created) {
      if (names.has(name) || nowMs - atMs >= longestLagMs) this.#created.delete(name);
    }
    for (const [uid, atMs] of this.#deleted) {
      const isShown = existing.some(({ metadata }) => metadata.uid === uid);
      if (!isShown || nowMs - atMs >= longestLagMs) this.#deleted.delete(uid);
    }
    const created = [...this.#created].map(([name, { span }]) => ({ name, span, ...justCreated }));
    const shown = existing.filter(({ metadata }) => !this.#deleted.has(metadata.uid));
    return [...created, ...shown.flatMap((resource) => observe(this.#owner.name, resource) ?? [])];
  }

  #isTaken(name: string): boolean {
    const found = this.#options.host.resources('SearchExport').get({ namespace: this.#owner.namespace, name });
    return found !== undefined && found.metadata.owner?.uid !== this.uid;
  }

  async #create({ spec }: SearchExportSchedule, span: TimeSpan): Promise<void> {
    const { host, clock, log } = this.#options;
    const { namespace, name: schedule } = this.#owner;
    const name = runName(schedule, span);
    const { metadata = {}, spec: runSpec } = spec.template;
    const timeRange = { from: isoTime(span.fromMs), to: isoTime(span.toMs), timeZone: spec.timeZone };
    const result = await host.create({
      kind: 'SearchExport',
      metadata: { namespace, name, labels: metadata.labels ?? {}, annotations: metadata.annotations ?? {} },
      spec: { ...runSpec, timeRange },
      owner: this.#owner,
    });
    this.#created.set(name, { span, atMs: clock.monotonic() });
    if (result === 'created') log.info('a run is created', { run: name });
  }

  async #remove({ name, resource }: ObservedRun): Promise<void> {
    const { host, clock, log } = this.#options;
    if (!resource) return;
    await host.remove(resource);
    this.#deleted.set(resource.metadata.uid, clock.monotonic());
    log.info('a run is deleted; its files stay', { run: name });
  }

  async #publish(resource: SearchExportSchedule, problem: LogfleetError | undefined, found?: Found): Promise<number> {
    const { namespace, name } = this.#owner;
    const { settings, runs = [], decision, pausedBy } = found ?? {};
    const target = `sxs/${name} -n ${namespace}`;
    const health = scheduleHealth({ ...{ target, pausedBy, problem, decision, runs } });
    const status = scheduleStatus({
      ...{ resource, health },
      before: this.#publisher.known(resource),
      nowMs: this.#options.clock.now(),
      found: found &&
        settings && {
          ...{ decision: found.decision, runs, startMs: settings.startMs },
          recorded: this.#stored?.recorded ?? [],
        },
    });
    return this.#publisher.publish(resource, status, () => ({}), health);
  }
}

interface Found {
  readonly settings: ScheduleSettings;
  readonly runs: readonly ObservedRun[];
  readonly decision: ScheduleDecision<ObservedRun>;
  readonly pausedBy: string | undefined;
}

const justCreated = { state: 'Active', reason: reasons.progressing, resource: undefined } as const;

/** Reads a run from its resource; undefined if the resource does not have the name of a run. */
function observe(schedule: string, resource: SearchExport): ObservedRun | undefined {
  const { metadata, status } = resource;
  const span = readRunTimes(metadata.name.slice(schedule.length + 1));
  const reason = findCondition(status?.conditions, 'Ready')?.reason ?? reasons.progressing;
  return span && { name: metadata.name, span, state: runStateOf(status), reason, resource };
}

function readSpan({ from, to }: { readonly from: string; readonly to: string }): TimeSpan {
  return { fromMs: Date.parse(from), toMs: Date.parse(to) };
}

function readGap({ from, to, run, reason }: ScheduleGap): Gap {
  return { span: readSpan({ from, to }), run, reason };
}

function invalid(field: string, explanation: Explanation): LogfleetError {
  return failure('stall', 'schedule.spec', `${field}: ${renderExplanation(explanation)}`, {
    reason: reasons.invalidSpec,
  });
}
