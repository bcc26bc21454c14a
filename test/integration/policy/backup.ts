/** Backup of the operator's objects. Restored objects keep their names and uids, as in a restored etcd. */
import { isRecord } from '../../../src/base/record.ts';
import type { ApiObject } from '../../support/memory-api-store.ts';
import { ledgersPath, policiesPath, type World } from '../../support/world.ts';

export type BackedUpFields = { readonly [name: string]: unknown };

export class Backup {
  readonly #world: World;
  readonly #ledgers: readonly ApiObject[];
  readonly #policies: readonly ApiObject[];

  constructor(world: World) {
    this.#world = world;
    this.#ledgers = ledgersOf(world);
    this.#policies = world.api.store.objects('logfleet.dev/v1alpha1/collectorversionpolicies');
  }

  /** Restores the ledgers from the last backup, and deletes all other ledgers. */
  restoreLedgers(): void {
    const { api } = this.#world;
    const names = new Set(this.#ledgers.map(({ metadata }) => metadata.name));
    for (const { metadata } of ledgersOf(this.#world)) {
      if (!names.has(metadata.name)) api.remove(`${ledgersPath}/${metadata.name}`);
    }
    for (const ledger of this.#ledgers) {
      const path = `${ledgersPath}/${ledger.metadata.name}`;
      if (api.get(path)) api.patch(path, { content: ledger.content });
      else api.create(ledgersPath, { ...ledger });
    }
  }

  /** Restores the ledgers and the policies, including the policies' annotations and status. */
  restoreAll(): void {
    this.restoreLedgers();
    const { api } = this.#world;
    for (const policy of this.#policies) {
      const path = `${policiesPath}/${policy.metadata.name}`;
      const then = policy as unknown as {
        readonly metadata: BackedUpFields;
        readonly spec: BackedUpFields;
        readonly status?: BackedUpFields;
      };
      const now = api.get(path) as unknown as typeof then;
      const annotations = patchTo(
        (now.metadata.annotations ?? {}) as BackedUpFields,
        (then.metadata.annotations ?? {}) as BackedUpFields,
      );
      api.patch(path, { metadata: { annotations }, spec: patchTo(now.spec, then.spec) });
      api.patch(`${path}/status`, { status: patchTo(now.status ?? {}, then.status ?? {}) });
    }
  }
}

function ledgersOf({ api }: World): readonly ApiObject[] {
  return api.store.objects('logfleet.dev/v1alpha1/ledgers');
}

/** JSON merge patch that turns `now` into `wanted`. */
export function patchTo(now: BackedUpFields, wanted: BackedUpFields): BackedUpFields {
  const gone = Object.keys(now).filter((name) => !(name in wanted));
  const kept = Object.entries(wanted).map(([name, value]) => [name, patchOf(now[name], value)] as const);
  return { ...Object.fromEntries(gone.map((name) => [name, null])), ...Object.fromEntries(kept) };
}

function patchOf(now: unknown, wanted: unknown): unknown {
  return isRecord(now) && isRecord(wanted) ? patchTo(now, wanted) : wanted;
}
