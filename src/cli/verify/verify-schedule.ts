/**
 * `logfleet verify --schedule FOLDER`: checks that the runs of a schedule cover a time range without gaps or overlaps.
 * Needs only the exported files, not access to the log service.
 */

import { earliestTime, latestTime, readTimeRange } from '../../api/export-time-range.ts';
import { renderExplanation } from '../../api/finding.ts';
import { unlessAborted } from '../../base/aborted.ts';
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import type { TimeRange } from '../../base/time-range.ts';
import { openDestination } from '../../destination/open-destination.ts';
import { ScheduleLayout } from '../../destination/schedule-records.ts';
import { Writer } from '../../destination/store/writer.ts';
import { type ScheduleVerification, verifySchedule } from '../../schedule/schedule-verification.ts';
import { type CommandContext, exitStatus } from '../command/context.ts';
import { momentText } from '../command/flags.ts';
import type { VerifyOptions } from '../command/options.ts';
import { renderStoreFlags } from '../command/store-address.ts';
import { UsageError } from '../command/usage-error.ts';
import { placeOfSchedule } from './manifest-place.ts';
import { progressView } from './progress-view.ts';
import { isProven, renderScheduleVerification, scheduleDocument } from './schedule-verification-view.ts';

/**
 * Runs `logfleet verify --schedule`. The exit status is 1 if there are gaps or overlaps between the runs, or if a check
 * of a run fails.
 */
export async function verifyScheduleCommand(
  text: string,
  options: VerifyOptions,
  context: CommandContext,
): Promise<number> {
  const { stdout, stderr, env, signal } = context;
  const range = rangeOf(options, systemClock.now());
  const { settings, schedule } = placeOfSchedule(text, options, context);
  const layout = ScheduleLayout.of(schedule);
  const ports = { clock: systemClock, writer: await Writer.ours(systemRandom), environment: env };
  const destination = await openDestination(settings, ports);
  const progress = progressView(stderr, systemClock);
  const manifestsOnly = options.manifestsOnly === true;
  let verification: ScheduleVerification | undefined;
  try {
    const onProgress = (runs: number, totalRuns: number) =>
      progress.show(runs / totalRuns, `${runs} of ${totalRuns} runs verified`);
    const verifying = verifySchedule(destination, layout, { ...range, schedule, manifestsOnly, onProgress, signal });
    verification = await unlessAborted(signal, verifying);
  } finally {
    progress.end();
    await destination.close();
  }
  if (!verification)
    throw new UsageError(
      `${text} contains no record of a run: use the folder of a schedule, such as /srv/exports/logging/errors`,
    );
  const place = { url: `${destination.url}/${schedule}`, root: destination.url, storeFlags: renderStoreFlags(options) };
  const result = { ...place, manifestsOnly, verification };
  if (options.output === 'json') stdout.write(`${JSON.stringify(scheduleDocument(result), undefined, 2)}\n`);
  else {
    const width = stdout.isTTY ? stdout.columns() : Number.POSITIVE_INFINITY;
    const lines = renderScheduleVerification(result, { width, colour: stdout.colour });
    stdout.write(lines.map((line) => `${line}\n`).join(''));
  }
  return isProven(verification) ? exitStatus.ok : exitStatus.failed;
}

/** Reads the time range from `--from` and `--to`. A time without an offset is in UTC. */
function rangeOf({ from, to }: VerifyOptions, nowMs: number): Partial<TimeRange> {
  const range = readTimeRange({
    from: momentText(from ?? earliestTime, nowMs),
    to: momentText(to ?? latestTime, nowMs),
    timeZone: 'UTC',
  });
  if ('problem' in range) throw new UsageError(`--${range.member}: ${renderExplanation(range)}`);
  return { ...(from === undefined ? {} : { fromMs: range.fromMs }), ...(to === undefined ? {} : { toMs: range.toMs }) };
}
