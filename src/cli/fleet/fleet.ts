/** `logfleet fleet [SELECTOR]`: lists the collectors of the log service and their versions. Writes nothing. */

import { Accounts } from '../../account/accounts.ts';
import { silentLogger } from '../../base/log.ts';
import { noMetrics } from '../../base/metrics.ts';
import { TroubleLines } from '../../base/trouble-lines.ts';
import { type CommandContext, exitStatus } from '../command/context.ts';
import type { FleetOptions } from '../command/options.ts';
import { defaultTimeoutMs, readOverTls, type ServiceReading } from '../operator/service-reading.ts';
import { printable } from '../render/text.ts';
import { alwaysLeading } from '../resources/memory-host.ts';
import { type OpenFleetPlace, openFleetPlace } from './fleet-place.ts';
import { type ReadFleet, readFleet } from './fleet-reading.ts';
import { type FleetTarget, fleetTarget } from './fleet-target.ts';
import { byName, fleetCsv, fleetDocument, renderFleet, type ShownFleet } from './fleet-view.ts';

interface FleetDependencies extends ServiceReading {
  readonly open: OpenFleetPlace;
}

export async function fleetCommand(
  selector: string | undefined,
  options: FleetOptions,
  context: CommandContext,
  dependencies: FleetDependencies = { ...readOverTls(context), open: openFleetPlace },
): Promise<number> {
  const place = await dependencies.open(options, context);
  try {
    const target = await fleetTarget({ selector, policy: options.policy }, place, context, dependencies);
    const read = await readFrom(target, options, context, dependencies);
    warnOfOmitted(read, context);
    await show(shownOf(read, target), options, context, dependencies.clock.now());
  } finally {
    await place.close();
  }
  return exitStatus.ok;
}

async function readFrom(
  { secret, secrets }: FleetTarget,
  { timeout = defaultTimeoutMs }: FleetOptions,
  { signal, stderr }: CommandContext,
  { clock, connect }: FleetDependencies,
): Promise<ReadFleet> {
  const common = { clock, log: silentLogger, metrics: noMetrics };
  const accounts = new Accounts({ ...common, secrets, leadership: alwaysLeading, connect });
  try {
    const { service, serviceId } = await accounts.resolve(secret);
    const lines = new TroubleLines(clock, (line) => stderr.write(`${printable(line)}\n`));
    return await readFleet({
      service,
      clock,
      signal,
      timeoutMs: timeout,
      onTrouble: ({ reason, message }) => lines.failed(serviceId, `${reason}: ${message}`),
    });
  } finally {
    await accounts.close();
  }
}

function warnOfOmitted({ omittedVersion }: ReadFleet, { stderr }: CommandContext): void {
  if (omittedVersion === undefined) return;
  const version = printable(omittedVersion);
  stderr.write(
    `warning: the service offers only the build ${version}, so its list may omit collectors that run ${version}\n`,
  );
}

function shownOf({ collectors }: ReadFleet, { matches }: FleetTarget): ShownFleet {
  const selected = matches ? collectors.filter(matches) : collectors;
  return { selected: selected.toSorted(byName), total: collectors.length, isSelection: matches !== undefined };
}

async function show(fleet: ShownFleet, { output }: FleetOptions, context: CommandContext, nowMs: number) {
  const { stdout } = context;
  if (output === 'csv') {
    for (const chunk of fleetCsv(fleet)) await context.writeBytes(chunk);
  } else if (output === 'json') {
    stdout.write(`${JSON.stringify(fleetDocument(fleet), undefined, 2)}\n`);
  } else {
    const width = stdout.isTTY ? stdout.columns() : Number.POSITIVE_INFINITY;
    const lines = renderFleet(fleet, { wide: output === 'wide', width, nowMs });
    stdout.write(lines.map((line) => `${line}\n`).join(''));
  }
}
