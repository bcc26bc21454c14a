/**
 * Carries ledgers over from the ConfigMaps of an older logfleet, once for each policy (U1). This file and `manifests/migrate-ledgers`
 * can be deleted when no cluster has such ConfigMaps any more.
 *
 *   <owner>-<hash of uid>-ledger           data.shards: ["builds","head","log-0"]
 *   <owner>-<hash of uid>-ledger-<shard>   data.content: …
 *
 * Invariants:
 * - The shard `head` is written last. A process that stops before it begins again, and finds the other shards as they must be.
 * - Where a rollout is known and its ledger may be in ConfigMaps that cannot be read, reading fails: the policy does not begin anew.
 * - ConfigMaps are only read. They go with their policy.
 */
import { createHash } from 'node:crypto';
import type { ResourceOf } from '../../api/kinds.ts';
import { failure, type LogfleetError } from '../../base/errors.ts';
import type { LedgerShard, LedgerStore, OwnerRef } from '../host.ts';
import type { ApiClient, KubeObject } from './api-client.ts';
import { hasCode } from './api-error.ts';
import { configMapPath } from './api-paths.ts';

const ownerUidLabel = 'logfleet.dev/owner-uid';
const maxOwnerNameLength = 190;

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

interface LedgerCarryOverOptions {
  readonly client: ApiClient;
  /** The owner as it was last read. */
  readonly resourceOf: (owner: OwnerRef) => ResourceOf<OwnerRef['kind']> | undefined;
}

export class LedgerCarryOver {
  readonly #options: LedgerCarryOverOptions;

  constructor(options: LedgerCarryOverOptions) {
    this.#options = options;
  }

  /**
   * Copies a ledger from ConfigMaps into `store` and returns its head, or undefined if there is none. ConfigMaps are read only for a policy
   * whose status shows a rollout. Fails with `ledger.missing` if the ConfigMaps may not be read.
   */
  async read(owner: OwnerRef, shard: string, store: LedgerStore): Promise<LedgerShard | undefined> {
    const resource = this.#options.resourceOf(owner);
    if (shard !== 'head' || resource?.kind !== 'CollectorVersionPolicy' || !resource.status) return undefined;
    const { ledgerFormat, rollout, history = [] } = resource.status;
    const isOld = ledgerFormat === undefined && (rollout !== undefined || history.length > 0);
    if (!isOld) return undefined;
    try {
      return await this.#carry(owner, store);
    } catch (error) {
      throw hasCode(error, 'host.forbidden') ? missing(owner, error) : error;
    }
  }

  async #carry(owner: OwnerRef, store: LedgerStore): Promise<LedgerShard | undefined> {
    const index = await this.#get(owner, indexName(owner));
    if (!index) return undefined;
    const shards = JSON.parse(index.data?.shards ?? '[]') as readonly string[];
    for (const shard of shards.filter((name) => name !== 'head')) await this.#copy(owner, shard, store);
    return this.#copy(owner, 'head', store);
  }

  async #copy(owner: OwnerRef, shard: string, store: LedgerStore): Promise<LedgerShard | undefined> {
    const content = (await this.#get(owner, `${indexName(owner)}-${shard}`))?.data?.content;
    if (content === undefined) return undefined;
    try {
      return { content, version: await store.write(owner, shard, content, undefined, 'from a ConfigMap') };
    } catch (error) {
      // A process that stopped before the head was written has already copied this shard.
      if (shard !== 'head' && hasCode(error, 'host.conflict')) return undefined;
      throw error;
    }
  }

  /** ConfigMap with this name, or undefined if none belongs to this owner. */
  async #get({ namespace, uid }: OwnerRef, name: string): Promise<ConfigMap | undefined> {
    try {
      const path = configMapPath(namespace, name);
      const configMap = await this.#options.client.callForObject<ConfigMap>({ method: 'GET', path });
      return configMap.metadata.labels?.[ownerUidLabel] === uid ? configMap : undefined;
    } catch (error) {
      if (hasCode(error, 'host.gone')) return undefined;
      throw error;
    }
  }
}

function indexName({ name, uid }: OwnerRef): string {
  const hash = createHash('sha256').update(uid).digest('hex').slice(0, 10);
  return `${name.slice(0, maxOwnerNameLength).replace(/[^a-z0-9]+$/, '')}-${hash}-ledger`;
}

function missing({ kind, namespace, name }: OwnerRef, cause: unknown): LogfleetError {
  return failure(
    'stall',
    'ledger.missing',
    `The status of ${kind} ${namespace}/${name} shows a rollout, but there is no Ledger. An older logfleet kept the ledger in ConfigMaps, ` +
      'which the operator may not read. Run: kubectl apply -k manifests/migrate-ledgers (see docs/rights.md)',
    { reason: 'LedgerMissing', cause },
  );
}
