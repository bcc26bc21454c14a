/**
 * The operator of directories of manifests: until all in them has settled, or with `--watch` until a signal ends it. On a terminal
 * it shows the fleets live; elsewhere a line for each change.
 */
import path from 'node:path';
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import { systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import { createDirectoryHost, type DirectoryHost } from '../host/directory/directory-host.ts';
import { renderProblem } from '../host/directory/problem.ts';
import type { EventSink, Host } from '../host/host.ts';
import { connectOverTls } from '../service/undici/connect.ts';
import { type CommandContext, exitStatus } from './context.ts';
import { secretFromVariables } from './credential-variables.ts';
import { LiveView } from './live-view.ts';
import { Operator } from './operator.ts';
import type { RunOptions } from './options.ts';
import { countingRequests } from './request-count.ts';
import type { RunSupport } from './run.ts';
import { aborted } from './run-cluster.ts';
import { packageVersion } from './version.ts';

/** Files are cheap to write, and nobody is woken by them. */
const statusIntervalMs = 1_000;

export async function runOnDirectories(
  dirs: readonly string[],
  options: RunOptions,
  context: CommandContext,
  { logTo, metrics, serveHealth }: RunSupport,
): Promise<number> {
  const view = new LiveView({ output: context.stderr, clock: systemClock });
  const counted = countingRequests(metrics, (total) => view.requests(total));
  const common = { clock: systemClock, random: systemRandom, metrics: counted };
  // Lines of the log stand above the live view, not in it.
  const log = logTo({ write: (line) => view.print(line.trimEnd()) });
  const directories = dirs.map((dir) => path.resolve(context.cwd, dir));
  const fromEnvironment = await secretFromVariables(context);
  const host = await createDirectoryHost({
    ...common,
    directories,
    log,
    ...(fromEnvironment === undefined ? {} : { secretsFromEnvironment: fromEnvironment }),
  });
  const operator = new Operator({
    ...common,
    log,
    host: shownIn(view, host),
    connect: connectOverTls({ ...common, userAgent: `logfleet/${packageVersion()}`, environment: context.env }),
    settings: { statusIntervalMs, ...(options.grace === undefined ? {} : { graceMs: options.grace }) },
  });
  let health: Awaited<ReturnType<typeof serveHealth>>;
  try {
    health = await serveHealth({ unhealthy: () => [], unready: () => [] });
    operator.start();
    await Promise.race([aborted(context.signal), options.watch ? forever : operator.whenSettled()]);
    await operator.stop();
  } finally {
    await host.close();
    await health?.close();
    view.end();
  }
  if (context.signal.aborted) return exitStatus.interrupted;
  return outcome(host, context);
}

const forever = new Promise<never>(() => {});

/** What ended how: the last lines, and the exit status. */
function outcome(host: DirectoryHost, { stdout, stderr }: CommandContext): number {
  const problems = host.problems().filter(({ severity }) => severity === 'error');
  for (const problem of problems) stderr.write(`${renderProblem(problem)}\n`);
  let failed = false;
  for (const policy of host.resources('CollectorVersionPolicy').list()) {
    const ready = policy.status?.conditions?.find(({ type }) => type === 'Ready');
    const stalled = policy.status?.conditions?.some(({ type }) => type === 'Stalled') ?? false;
    failed ||= stalled;
    const { namespace, name } = policy.metadata;
    stdout.write(`${namespace}/${name}: ${ready?.reason ?? 'Unknown'}: ${ready?.message ?? 'not looked at'}\n`);
  }
  if (problems.length > 0) return exitStatus.usage;
  return failed ? exitStatus.failed : exitStatus.ok;
}

/** The host, with its policies and events shown as they come. */
function shownIn(view: LiveView, host: DirectoryHost): Host {
  const source = host.resources('CollectorVersionPolicy');
  const show = (policy: CollectorVersionPolicy | undefined) => policy && view.policy(policy);
  for (const policy of source.list()) show(policy);
  source.subscribe((key) => {
    const policy = source.get(key);
    if (policy) show(policy);
    else view.gone(key);
  });
  const events: EventSink = {
    publish: (owner, event) => {
      host.events.publish(owner, event);
      view.event(owner, event);
    },
  };
  return {
    resources: (kind) => host.resources(kind),
    writeStatus: (kind, resource) => host.writeStatus(kind, resource),
    ledgers: host.ledgers,
    secrets: host.secrets,
    leadership: host.leadership,
    events,
  };
}
