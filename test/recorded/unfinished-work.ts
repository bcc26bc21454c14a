/** A rollout and an export that are interrupted midway. Tests continue them from their stored state. */
import { minuteMs } from '../../src/base/time-units.ts';
import { ExportWorld, evenly } from '../integration/export/export-world.ts';
import { World } from '../support/world.ts';

const [before, target] = ['19.100-1', '19.200-1'] as const;
export const collectorCount = 12;
export const messages = evenly(600);

/** Stored state of an unfinished rollout: the policy's ledger objects by name, and its status. */
export interface UnfinishedRollout {
  readonly ledgers: Readonly<Record<string, string>>;
  readonly status: object;
}

export const policyPath = '/apis/logfleet.dev/v1alpha1/namespaces/logging/collectorversionpolicies/production';

/** Starts a rollout with failing collectors, and kills the operator after seven upgrades. */
export async function unfinishedRollout(): Promise<World> {
  const fails = { upgrade: { duration: '2m', outcomes: [{ share: 1, end: 'fail', message: 'disk full' }] } } as const;
  const web = { count: collectorCount - 2, version: before };
  const world = new World({
    scenario: {
      builds: [before, target],
      groups: { abad: { count: 2, version: before, ...fails }, web },
      upgrade: { duration: '2m' },
    },
  });
  world.addSecret();
  world.addPolicy('production', {
    target: { version: target },
    strategy: {
      maxInProgress: 1,
      order: 'Name',
      stages: [
        { name: 'canary', size: 3, soakDuration: '5m' },
        { name: 'rest', soakDuration: '0s' },
      ],
    },
    retryPolicy: { limit: 0 },
    failurePolicy: { maxFailures: 5 },
  });
  const replica = world.start();
  await world.until(() => world.snapshot().tasks.length >= 7, 24 * 60 * minuteMs);
  await world.clock.advance(15_000);
  replica.kill();
  return world;
}

/** Reads what logfleet has stored about the rollout. */
export function storedRollout({ api }: World): UnfinishedRollout {
  const ledgers = api.store.objects('logfleet.dev/v1alpha1/ledgers') as readonly object[] as readonly {
    readonly shard: string;
    readonly content: string;
  }[];
  const { status } = api.get(policyPath) as unknown as { readonly status: object };
  return { ledgers: Object.fromEntries(ledgers.map(({ shard, content }) => [shard, content])), status };
}

/** Starts an export of 600 messages, and kills the operator after six intervals have been committed. */
export async function unfinishedExport(): Promise<ExportWorld> {
  const world = newExport();
  const replica = world.start();
  await world.world.until(() => (world.status?.progress?.intervalsDone ?? 0) >= 6, 60 * minuteMs);
  replica.kill();
  return world;
}

/** Creates a simulated world with the export, but without an operator. */
export function newExport(): ExportWorld {
  const world = new ExportWorld({ messages, scenario: { search: { messageLimit: 50, duration: '30s' } } });
  world.add();
  return world;
}
