/**
 * Runs the operator on directories of manifests until every resource is complete, failed or stalled. With `--watch`,
 * the operator runs until the process receives a signal.
 */

import path from 'node:path';
import { renderFinding } from '../../api/finding.ts';
import { type AnyResource, kindNames } from '../../api/kinds.ts';
import { counted } from '../../base/number-text.ts';
import type { PrometheusMetrics } from '../../base/prometheus-metrics.ts';
import { createDirectoryHost, type DirectoryHost } from '../../host/directory/directory-host.ts';
import { settingsForGrace } from '../../policy/attempts/settings.ts';
import { type CommandContext, exitStatus } from '../command/context.ts';
import { exportPlaces } from '../command/flags.ts';
import type { HttpServer } from '../command/http-server.ts';
import type { RunOptions } from '../command/options.ts';
import { LiveOperator } from '../live/live-operator.ts';
import { resumeAllStep } from '../render/next-steps.ts';
import { secretFromVariables } from '../resources/given-manifests.ts';
import { startHealthServer } from './health-server.ts';
import { flagsAmong, isFailedResource, renderInterruption, showReport } from './run-report.ts';

/** Interval between status updates, in ms. It is short, because writing a file costs little. */
const statusIntervalMs = 1_000;

export async function runOnDirectories(
  dirs: readonly string[],
  options: RunOptions,
  context: CommandContext,
  metrics: PrometheusMetrics,
): Promise<number> {
  try {
    return await openAndRun(dirs, options, context, metrics);
  } catch (error) {
    // A signal arrived while the directories were being opened.
    if (context.signal.aborted && error === context.signal.reason) return statusAfterSignal(options, context);
    throw error;
  }
}

/**
 * Returns the exit status after a signal. SIGTERM is the normal way to end a run with `--watch`, so it counts as
 * success. Without `--watch`, SIGTERM interrupts the run before its end.
 */
function statusAfterSignal({ watch }: RunOptions, { signal }: CommandContext): number {
  return watch && signal.reason === 'SIGTERM' ? exitStatus.ok : exitStatus.interrupted;
}

async function openAndRun(
  dirs: readonly string[],
  options: RunOptions,
  context: CommandContext,
  metrics: PrometheusMetrics,
): Promise<number> {
  const directories = dirs.map((dir) => path.resolve(context.cwd, dir));
  const asWritten = (directory: string | undefined) => dirs[directories.indexOf(directory ?? '')];
  const dirOf = ({ kind, metadata }: AnyResource) => asWritten(host.directoryOf({ kind, ...metadata }));
  const flagsOf = (resource: AnyResource) => flagsAmong(resourcesOf(host), dirOf)(resource);
  const resumeAll = () =>
    resumeAllStep(
      host.pausing().map((place) => ({ ...place, directory: asWritten(place.directory) ?? place.directory })),
    );
  const operator = new LiveOperator(options, context, metrics, { flagsOf, resumeAll });
  const host = await createDirectoryHost({
    ...{ clock: operator.clock, random: operator.random, log: operator.log, directories },
    secretsFromEnvironment: await secretFromVariables(context),
    signal: context.signal,
  });
  const isEmpty = () =>
    resourcesOf(host).length === 0 && host.problems().every(({ severity }) => severity === 'warning');
  const emptiness = `logfleet run: no logfleet resources in ${dirs.join(' and ')}`;
  if (isEmpty() && options.watch) context.stderr.write(`${emptiness}; waiting for manifests\n`);
  await runUntilEnd(operator, host, options, context, metrics);
  if (context.signal.aborted) {
    context.stderr.write(`logfleet run: ${renderInterruption(resourcesOf(host))}\n`);
    return statusAfterSignal(options, context);
  }
  if (isEmpty()) {
    context.stderr.write(`${emptiness}, so nothing was done: restore the manifests, or use another directory\n`);
    return exitStatus.usage;
  }
  const isInvalid = reportProblems(host, options, context);
  showReport(resourcesOf(host), dirOf, context, resumeAll());
  if (isInvalid) return exitStatus.usage;
  return resourcesOf(host).some(isFailedResource) ? exitStatus.failed : exitStatus.ok;
}

function resourcesOf(host: DirectoryHost): readonly AnyResource[] {
  return kindNames.flatMap((kind): AnyResource[] => [...host.resources(kind).list()]);
}

async function runUntilEnd(
  operator: LiveOperator,
  host: DirectoryHost,
  options: RunOptions,
  context: CommandContext,
  metrics: PrometheusMetrics,
): Promise<void> {
  const { healthListen: listen, grace, watch } = options;
  let health: HttpServer | undefined;
  try {
    health = listen && (await startHealthServer({ listen, metrics, unhealthy: () => [], unready: () => [] }));
    const settings = { statusIntervalMs, ...(grace === undefined ? {} : settingsForGrace(grace)) };
    const exports = { places: exportPlaces(options, context), settings: { statusIntervalMs } };
    await operator.run(host, { settings, exports }, watch, host.lost);
  } finally {
    await host.close();
    await health?.close();
    operator.close();
  }
}

/**
 * Prints the errors in manifests. If the log has already shown the errors, prints only their number. Returns true if
 * there are errors.
 */
function reportProblems(host: DirectoryHost, { logLevel }: RunOptions, { stderr }: CommandContext): boolean {
  const problems = host.problems().filter(({ severity }) => severity === 'error');
  if (logLevel === 'error') {
    for (const problem of problems) stderr.write(`${renderFinding(problem)}\n`);
    for (const notice of host.notices()) stderr.write(`logfleet run: ${notice}\n`);
  } else if (problems.length > 0) {
    stderr.write(`logfleet run: ${counted(problems.length, 'error')} in the manifests, see above\n`);
  }
  return problems.length > 0;
}
