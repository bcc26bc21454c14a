/**
 * Ledgers as ConfigMaps beside their owner (protocol U1): one for each shard, and a small one that names the shards, so that
 * `get`, `create` and `update` are all that the operator has to do to them. It never lists them.
 *
 *   <owner>-<hash of uid>-ledger           data.shards: ["a","b"]     the index, written before a shard is created
 *   <owner>-<hash of uid>-ledger-<shard>   data.content: …            one shard
 *
 * Invariants:
 * - All of them are owned by the resource and go with it. Their names and a label carry its uid: a resource that was deleted and
 *   made again starts with an empty ledger, and what bears the name but not the uid counts for nothing.
 * - The index names every shard that exists. It may name one that does not exist yet, when a process ended between the two writes.
 * - Reads come from the server itself, never from a cache, and are of one moment: everything is read until two passes in a row saw
 *   the same, since a leader that is about to learn that it leads no longer may still be writing.
 *
 * What a shard says, and when it is written, is left to the owner's kind.
 */
import { createHash } from 'node:crypto';
import { apiGroup, apiVersionName } from '../../api/kinds.ts';
import { assert } from '../../base/assert.ts';
import { crossing } from '../../base/boundary.ts';
import { LogfleetError } from '../../base/errors.ts';
import { type LedgerShard, type LedgerStore, maxShardBytes, type OwnerRef } from '../host.ts';
import type { ApiClient, KubeObject } from './api-client.ts';
import { hasCode } from './api-error.ts';
import { configMapPath } from './api-paths.ts';
import { fieldManager } from './status-writer.ts';

const ownerUidLabel = 'logfleet.dev/owner-uid';
const shardForm = /^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$/;
/** Kubernetes takes 253 characters for the name of a ConfigMap; what follows the owner's name is 11 + 8 + 41 at most. */
const maxOwnerNameLength = 190;
/** Two processes can only race for the index while leadership changes hands. */
const indexAttempts = 5;
const snapshotAttempts = 5;

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** What one pass over all shards brought, and the versions that it saw. */
interface Snapshot {
  readonly ledger: ReadonlyMap<string, LedgerShard>;
  readonly versions: string;
}

interface Index {
  readonly shards: readonly string[];
  /** Undefined while there is none. */
  readonly version: string | undefined;
}

export class ConfigMapLedgerStore implements LedgerStore {
  readonly #client: ApiClient;

  constructor(client: ApiClient) {
    this.#client = client;
  }

  async read(owner: OwnerRef): Promise<ReadonlyMap<string, LedgerShard>> {
    let before: Snapshot | undefined;
    for (let attempt = 1; attempt <= snapshotAttempts; attempt++) {
      const snapshot = await this.#collect(owner);
      if (snapshot.ledger.size === 0 && snapshot.versions === '') return snapshot.ledger;
      if (snapshot.versions === before?.versions) return snapshot.ledger;
      before = snapshot;
    }
    throw changedMeanwhile(owner, indexName(owner));
  }

  async write(owner: OwnerRef, shard: string, content: string, expected: string | undefined): Promise<string> {
    assert(shardForm.test(shard), `a shard cannot be called ${JSON.stringify(shard)}`);
    assertFits(owner, shard, content);
    if (expected === undefined) await this.#enlist(owner, shard);
    const name = shardName(owner, shard);
    const configMap = renderConfigMap(owner, name, { content });
    return crossing('ledger.write', () => this.#put(owner, name, configMap, expected));
  }

  /** Everything, read once. */
  async #collect(owner: OwnerRef): Promise<Snapshot> {
    const index = await this.#readIndex(owner);
    const ledger = new Map<string, LedgerShard>();
    const configMaps = await Promise.all(index.shards.map((shard) => this.#get(owner, shardName(owner, shard))));
    for (const [place, shard] of index.shards.entries()) {
      const configMap = configMaps[place];
      if (!configMap) continue;
      ledger.set(shard, { content: configMap.data?.content ?? '', version: configMap.metadata.resourceVersion });
    }
    const versions = [index.version, ...configMaps.map((configMap) => configMap?.metadata.resourceVersion)];
    return { ledger, versions: versions.join() };
  }

  /** Sees to it that the index names the shard. */
  async #enlist(owner: OwnerRef, shard: string): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const { shards, version } = await this.#readIndex(owner);
      if (shards.includes(shard)) return;
      const name = indexName(owner);
      const configMap = renderConfigMap(owner, name, { shards: JSON.stringify([...shards, shard].sort()) });
      try {
        await crossing('ledger.enlist', () => this.#put(owner, name, configMap, version));
        return;
      } catch (error) {
        if (!hasCode(error, 'host.conflict') || attempt === indexAttempts) throw error;
      }
    }
  }

  async #readIndex(owner: OwnerRef): Promise<Index> {
    const configMap = await this.#get(owner, indexName(owner));
    if (!configMap) return { shards: [], version: undefined };
    return { shards: decodeShards(owner, configMap), version: configMap.metadata.resourceVersion };
  }

  /** The ConfigMap of this name, or undefined where there is none. */
  async #get(owner: OwnerRef, name: string): Promise<ConfigMap | undefined> {
    let configMap: ConfigMap;
    try {
      configMap = await this.#client.callForObject<ConfigMap>({
        method: 'GET',
        path: configMapPath(owner.namespace, name),
      });
    } catch (error) {
      if (hasCode(error, 'host.gone')) return undefined;
      throw error;
    }
    if (configMap.metadata.labels?.[ownerUidLabel] === owner.uid) return configMap;
    throw new LogfleetError({
      code: 'ledger.foreign',
      reason: 'LedgerForeign',
      handling: { kind: 'stall' },
      message:
        `ConfigMap ${owner.namespace}/${name} stands where the ledger of ${owner.kind} ${owner.name} belongs, but its label ` +
        `${ownerUidLabel} is not ${owner.uid}: delete it, or set the label back if you changed it.`,
    });
  }

  /** Creates the ConfigMap, or replaces it at the expected version; resolves to the new version. */
  async #put(owner: OwnerRef, name: string, body: ConfigMapBody, expected: string | undefined): Promise<string> {
    const { namespace } = owner;
    const query = { fieldManager };
    if (expected === undefined) {
      const path = configMapPath(namespace);
      return (await this.#client.callForObject({ method: 'POST', path, query, body })).metadata.resourceVersion;
    }
    const metadata = { ...body.metadata, resourceVersion: expected };
    const path = configMapPath(namespace, name);
    try {
      const answer = await this.#client.callForObject({ method: 'PUT', path, query, body: { ...body, metadata } });
      return answer.metadata.resourceVersion;
    } catch (error) {
      throw hasCode(error, 'host.gone') ? changedMeanwhile(owner, name, error) : error;
    }
  }
}

interface ConfigMapBody {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly data: Readonly<Record<string, string>>;
}

function renderConfigMap(owner: OwnerRef, name: string, data: Readonly<Record<string, string>>): ConfigMapBody {
  const body = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name,
      namespace: owner.namespace,
      labels: { 'app.kubernetes.io/managed-by': 'logfleet', [ownerUidLabel]: owner.uid },
      ownerReferences: [
        {
          apiVersion: `${apiGroup}/${apiVersionName}`,
          kind: owner.kind,
          name: owner.name,
          uid: owner.uid,
          controller: true,
          blockOwnerDeletion: false,
        },
      ],
    },
    data,
  };
  return body;
}

function indexName(owner: OwnerRef): string {
  const hash = createHash('sha256').update(owner.uid).digest('hex').slice(0, 10);
  return `${owner.name.slice(0, maxOwnerNameLength).replace(/[^a-z0-9]+$/, '')}-${hash}-ledger`;
}

function shardName(owner: OwnerRef, shard: string): string {
  return `${indexName(owner)}-${shard}`;
}

function decodeShards(owner: OwnerRef, configMap: ConfigMap): readonly string[] {
  try {
    const shards: unknown = JSON.parse(configMap.data?.shards ?? '');
    if (Array.isArray(shards) && shards.every((shard) => typeof shard === 'string' && shardForm.test(shard)))
      return shards;
  } catch {
    // The message below says all that there is to say.
  }
  throw new LogfleetError({
    code: 'ledger.unreadable',
    reason: 'LedgerUnreadable',
    handling: { kind: 'stall' },
    message:
      `ConfigMap ${owner.namespace}/${configMap.metadata.name}, which lists the ledger of ${owner.kind} ${owner.name}, has been ` +
      'changed by hand: data.shards must be a JSON array with the last part of the name of each ConfigMap beside it.',
  });
}

function assertFits(owner: OwnerRef, shard: string, content: string): void {
  const bytes = Buffer.byteLength(content, 'utf8');
  if (bytes <= maxShardBytes) return;
  throw new LogfleetError({
    code: 'ledger.full',
    reason: 'LedgerFull',
    handling: { kind: 'stall' },
    message:
      `shard ${shard} of the ledger of ${owner.kind} ${owner.namespace}/${owner.name} would take ${bytes} bytes of at most ` +
      `${maxShardBytes}: lower maxInProgress, or divide the fleet among several resources.`,
  });
}

/** Also for one that was deleted since it was read: whoever is about to write has to read again. */
function changedMeanwhile(owner: OwnerRef, name: string, cause?: unknown): LogfleetError {
  return new LogfleetError({
    code: 'host.conflict',
    handling: { kind: 'backoff' },
    message: `ConfigMap ${owner.namespace}/${name} was changed or deleted by somebody else while logfleet was using it`,
    cause,
  });
}
