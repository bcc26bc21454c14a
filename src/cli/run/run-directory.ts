/**
 * Runs the operator on directories of manifests until every resource is settled, or with `--watch` until a signal. A terminal shows a live
 * view, other outputs get a line for each change.
 */

import path from 'node:path';
import { renderFinding } from '../../api/finding.ts';
import { type AnyResource, type KindName, kinds } from '../../api/kinds.ts';
import { aborted } from '../../base/aborted.ts';
import { systemClock } from '../../base/clock.ts';
import { counted } from '../../base/number-text.ts';
import type { PrometheusMetrics } from '../../base/prometheus-metrics.ts';
import { systemRandom } from '../../base/random.ts';
import { createDirectoryHost } from '../../host/directory/directory-host.ts';
import { connectOverTls } from '../../service/connect.ts';
import { type CommandContext, exitStatus } from '../context.ts';
import { exportPlaces } from '../flags.ts';
import { secretFromVariables } from '../given-manifests.ts';
import { LiveView } from '../live/live-view.ts';
import { countingRequests } from '../live/rates.ts';
import { ShownHost } from '../live/shown-host.ts';
import { createLogger, tellsWarnings } from '../logging.ts';
import { Operator } from '../operator.ts';
import type { RunOptions } from '../options.ts';
import { resumeAllStep } from '../render/next-steps.ts';
import { packageVersion } from '../version.ts';
import { type HealthServer, startHealthServer } from './health-server.ts';
import { flagsAmong, hasFailed, renderInterruption, showOutcome } from './run-outcome.ts';

/** Interval of status updates. Files are cheap to write, and no other process watches them. */
const statusIntervalMs = 1_000;

export async function runOnDirectories(
  dirs: readonly string[],
  options: RunOptions,
  context: CommandContext,
  metrics: PrometheusMetrics,
): Promise<number> {
  const directories = dirs.map((dir) => path.resolve(context.cwd, dir));
  const dirOf = ({ kind, metadata }: AnyResource) =>
    dirs[directories.indexOf(host.directoryOf({ kind, ...metadata }) ?? '')];
  const resources = () =>
    (Object.keys(kinds) as KindName[]).flatMap((kind): AnyResource[] => [...host.resources(kind).list()]);
  // The view draws nothing before the host has resources.
  const flagsOf = (resource: AnyResource) => flagsAmong(resources(), dirOf)(resource);
  const resumeAll = () =>
    resumeAllStep(
      host.pausing().map((place) => ({
        ...place,
        directory: dirs[directories.indexOf(place.directory)] ?? place.directory,
      })),
    );
  const view = new LiveView({ output: context.stderr, clock: systemClock, flagsOf, resumeAll });
  const counting = countingRequests(metrics, () => view.request());
  const common = { clock: systemClock, random: systemRandom, metrics: counting };
  // Lines of the log appear above the live view.
  const log = createLogger(options, context.stderr, { write: (line) => view.print(line.trimEnd()) });
  const fromVariables = await secretFromVariables(context);
  const host = await createDirectoryHost({
    ...common,
    directories,
    log,
    ...(fromVariables === undefined ? {} : { secretsFromEnvironment: fromVariables }),
  });
  if (resources().length === 0 && host.problems().length === 0) {
    context.stderr.write(
      `logfleet run: ${dirs.join(' and ')} ${dirs.length === 1 ? 'has' : 'have'} no resources of logfleet\n`,
    );
  }
  const shown = new ShownHost(view, host);
  const operator = new Operator({
    ...common,
    log,
    host: shown.host,
    connect: connectOverTls({ ...common, userAgent: `logfleet/${packageVersion()}`, environment: context.env }),
    settings: { statusIntervalMs, ...(options.grace === undefined ? {} : { graceMs: options.grace }) },
    exports: { places: exportPlaces(options, context), settings: { statusIntervalMs } },
  });
  const { healthListen: listen } = options;
  let health: HealthServer | undefined;
  try {
    health = listen && (await startHealthServer({ listen, metrics, unhealthy: () => [], unready: () => [] }));
    operator.start();
    const settled = operator.whenSettled().then(() => shown.settled());
    await Promise.race([aborted(context.signal), options.watch ? forever : settled]);
    await operator.stop();
  } finally {
    await host.close();
    await health?.close();
    view.end();
  }
  const ended = resources();
  if (context.signal.aborted) {
    context.stderr.write(`logfleet run: ${renderInterruption(ended)}\n`);
    // SIGTERM is the normal end of a run with `--watch`. It interrupts any other run.
    return options.watch && context.signal.reason === 'SIGTERM' ? exitStatus.ok : exitStatus.interrupted;
  }
  const problems = host.problems().filter(({ severity }) => severity === 'error');
  if (problems.length > 0 && tellsWarnings(options, context.stderr)) {
    context.stderr.write(`logfleet run: ${counted(problems.length, 'error')} in the manifests, see above\n`);
  } else for (const problem of problems) context.stderr.write(`${renderFinding(problem)}\n`);
  if (!tellsWarnings(options, context.stderr)) {
    for (const notice of host.notices()) context.stderr.write(`logfleet run: ${notice}\n`);
  }
  showOutcome(ended, dirOf, context, resumeAll());
  if (problems.length > 0) return exitStatus.usage;
  return ended.some(hasFailed) ? exitStatus.failed : exitStatus.ok;
}

const forever = new Promise<never>(() => {});
