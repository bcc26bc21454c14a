/**
 * Checks a SearchExportSchedule and its runs for problems that neither the schema nor CEL rules can detect. The spec
 * must already be valid according to both, but its defaults need not be set.
 */
import type { TimeRange } from '../base/time-range.ts';
import { checkExport, credentialsMissing, isAmbient, isShortSettleDelay } from './export-check.ts';
import { clockChangesIn, earliestTime, latestTime, readTimeRange, type TimeRangeText } from './export-time-range.ts';
import { error, type Finding, warning } from './finding.ts';
import type { SearchExportScheduleSpec } from './generated/search-export-schedule.ts';
import { checkCopiedMetadata } from './label-check.ts';
import { scheduleProblem } from './schedule-check.ts';

/** Spec of a schedule as users write it. Fields that have a default may be absent or null. */
type WrittenSchedule = Pick<SearchExportScheduleSpec, 'schedule' | 'template'> & {
  readonly [K in 'timeZone' | 'startTime' | 'endTime']?: string | null;
};

/**
 * Returns the start and end of a schedule in ms, or the error in these fields. The start defaults to 0, and the end to
 * the end of the year 9999.
 */
export function scheduleRange(spec: WrittenSchedule): TimeRange | Finding {
  const range = readTimeRange(timesOf(spec));
  return 'problem' in range ? error(['spec', fields[range.member]], 'Invalid', range) : range;
}

/** Name of the schedule's field for each member of a time range, such as `startTime` for `from`. */
const fields = { from: 'startTime', to: 'endTime', timeZone: 'timeZone' } as const;

function timesOf({ timeZone, startTime, endTime }: WrittenSchedule): TimeRangeText {
  return { from: startTime ?? earliestTime, to: endTime ?? latestTime, timeZone: timeZone ?? 'UTC' };
}

/** Returns errors and warnings about a schedule and the template of its runs. */
export function checkExportSchedule(spec: WrittenSchedule): readonly Finding[] {
  return [...checkTimes(spec), ...checkTemplate(spec)];
}

function* checkTimes(spec: WrittenSchedule): Generator<Finding> {
  const cron = scheduleProblem(spec.schedule);
  if (cron) yield error(['spec', 'schedule'], 'Invalid', cron);
  const range = scheduleRange(spec);
  if ('problem' in range) {
    yield range;
    return;
  }
  for (const { member, problem, remedy } of clockChangesIn(timesOf(spec))) {
    yield warning(['spec', fields[member]], 'Risky', { problem, remedy });
  }
}

function* checkTemplate({ template }: WrittenSchedule): Generator<Finding> {
  yield* checkCopiedMetadata(['spec', 'template', 'metadata'], template.metadata, 'SearchExport');
  const timeRange = { from: earliestTime, to: '1970-01-02T00:00:00Z' };
  for (const finding of checkExport({ ...template.spec, timeRange })) {
    const [, ...path] = finding.path;
    yield { ...finding, path: ['spec', 'template', 'spec', ...path] };
  }
  const { destination, execution } = template.spec;
  if (execution?.mode === 'Job' && isAmbient(destination)) {
    yield credentialsMissing(['spec', 'template', 'spec', 'destination'], destination);
  }
  if (template.spec.byReceiptTime !== true && isShortSettleDelay(template.spec)) {
    yield warning(['spec', 'template', 'spec', 'settleDelay'], 'Risky', {
      problem: `no run exports messages that arrive at the service later than ${template.spec.settleDelay} after the end of the run's time range`,
      remedy: 'use 3m or more, or set byReceiptTime: true',
    });
  }
  if ((template.spec.byReceiptTime ?? null) === null) {
    yield warning(['spec', 'template', 'spec'], 'Risky', {
      problem:
        'the template lacks byReceiptTime, so no run exports messages that arrive later than settleDelay after their message time',
      remedy: 'set byReceiptTime: true so that no late message is missed, or byReceiptTime: false if this is intended',
      subject: 'key',
    });
  }
}
