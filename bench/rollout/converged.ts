/** Counts the requests that the operator sends in one hour in which no collector needs an upgrade. */
import { minuteMs } from '../../src/base/time-units.ts';
import { World } from '../../test/support/world.ts';
import { fleetScenario } from './virtual-rollout.ts';

export interface ConvergedFigures {
  readonly collectors: number;
  readonly minutes: number;
  /** Numbers of requests to the API server, by method and resource, such as `GET secrets`. */
  readonly api: Readonly<Record<string, number>>;
  /** Numbers of requests to the log service, by operation. */
  readonly service: Readonly<Record<string, number>>;
  /** Number of full pages in one sweep. A sweep reads the whole collector list once. */
  readonly pages: number;
  /** Number of sweeps in the hour. A sweep reads the whole collector list once. */
  readonly sweeps: number;
  readonly resyncs: number;
}

const collectors = 10_000;
const pageRows = 1_000;
const resyncMinutes = 5;
const minutes = 60;

export async function stayConverged(): Promise<ConvergedFigures> {
  const fleet = { collectors, pageRows, oldVersions: 1, spareBuild: true };
  const world = new World({ scenario: fleetScenario(fleet) });
  world.addSecret();
  world.addPolicy('fleet', { target: { version: '19.300-1' }, resyncInterval: `${resyncMinutes}m` });
  const replica = world.start({ leaderElection: true, watchSeconds: 20 });
  await world.until(() => world.ready('fleet')?.status === 'True', minuteMs * 10);
  // The rollout has ended. Counting starts two minutes later, so that the last writes about the rollout are not
  // counted.
  await world.clock.advance(2 * minuteMs);
  world.journal.length = 0;
  world.api.requests.length = 0;
  await world.clock.advance(minutes * minuteMs);
  const figures: ConvergedFigures = {
    collectors,
    minutes,
    api: tally(world.api.requests.map(({ method, path }) => `${method} ${resourceOf(path)}`)),
    service: tally(world.journal.map(({ operation }) => operation ?? 'other')),
    pages: collectors / pageRows,
    sweeps: world.journal.filter(({ path }) => path.includes('offset=0&')).length,
    resyncs: minutes / resyncMinutes,
  };
  replica.kill();
  return figures;
}

/**
 * Returns the plural name of the resource in a request path, such as `leases`. Returns `settings` for a list of
 * ConfigMaps, because the operator lists ConfigMaps only to read the one that can pause all resources.
 */
function resourceOf(path: string): string {
  const segments = path.split('?')[0]?.split('/').slice(1) ?? [];
  const rest = segments.slice(segments[0] === 'api' ? 2 : 3);
  const [plural = path, name] = rest[0] === 'namespaces' ? rest.slice(2) : rest;
  return plural === 'configmaps' && name === undefined ? 'settings' : plural;
}

function tally(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names.toSorted()) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
