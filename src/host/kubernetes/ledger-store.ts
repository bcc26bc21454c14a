/**
 * Ledgers as resources of the kind `Ledger` beside their owner, one per shard (U1):
 *
 *   <owner>-<hash of uid>-<shard>      e.g. production-3fa1b2c3d4-head
 *
 * Invariants:
 * - A Ledger is owned by its resource and deleted with it. Its name and its `owner` contain the uid, so a resource that is deleted and
 *   created again starts without a ledger.
 * - Each write is one request with an optimistic lock on the version last read or written.
 *
 * The owner's kind defines the content of shards and references between them.
 */
import { createHash } from 'node:crypto';
import { apiGroup, apiVersionName, ledgerKind } from '../../api/kinds.ts';
import { assert } from '../../base/assert.ts';
import { crossing } from '../../base/boundary.ts';
import { LogfleetError } from '../../base/errors.ts';
import { type LedgerShard, type LedgerStore, maxShardBytes, type OwnerRef } from '../host.ts';
import type { ApiClient } from './api-client.ts';
import { hasCode } from './api-error.ts';
import { ledgerPath } from './api-paths.ts';
import type { LedgerCarryOver } from './ledger-carry-over.ts';
import { decodeLedger, type LedgerObject, ledgersNotInstalled, type StoredShard } from './ledger-object.ts';
import type { LedgerStartList } from './ledger-start-list.ts';
import { fieldManager } from './status-writer.ts';

const shardForm = /^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$/;
/** Maximum length of the owner's name in a Ledger's name. Kubernetes allows 253 characters; the suffix has at most 1 + 10 + 1 + 40. */
const maxOwnerNameLength = 190;
const maxSummaryLength = 200;
/** Requests only metadata as the answer to a write, without the content. */
const accept = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

interface KubernetesLedgerStoreOptions {
  readonly client: ApiClient;
  /** Avoids a request per shard after a start. Without it, each read requests the shard by name. */
  readonly startList?: LedgerStartList;
  /** Finds ledgers of older versions in ConfigMaps. */
  readonly carryOver?: LedgerCarryOver;
}

export class KubernetesLedgerStore implements LedgerStore {
  readonly #client: ApiClient;
  readonly #startList: LedgerStartList | undefined;
  readonly #carryOver: LedgerCarryOver | undefined;

  constructor({ client, startList, carryOver }: KubernetesLedgerStoreOptions) {
    this.#client = client;
    this.#startList = startList;
    this.#carryOver = carryOver;
  }

  async read(owner: OwnerRef, shard: string): Promise<LedgerShard | undefined> {
    const name = ledgerName(owner, shard);
    const listed = await this.#startList?.take(owner, name);
    const stored = listed ? listed.shard : await this.#get(owner.namespace, name);
    if (!stored) return this.#carryOver?.read(owner, shard, this);
    assertOwned(owner, stored);
    return stored;
  }

  async write(
    owner: OwnerRef,
    shard: string,
    content: string,
    expected: string | undefined,
    summary = '',
  ): Promise<string> {
    assert(shardForm.test(shard), `a shard cannot be called ${JSON.stringify(shard)}`);
    const bytes = Buffer.byteLength(content, 'utf8');
    assertFits(owner, shard, bytes);
    this.#startList?.outdate(owner);
    const metadata = renderMetadata(owner, ledgerName(owner, shard));
    const { kind, name, uid } = owner;
    const members = { owner: { kind, name, uid }, shard, summary: summary.slice(0, maxSummaryLength), bytes, content };
    return crossing('ledger.write', () => this.#put(owner, { ...typeOfLedger, metadata, ...members }, expected));
  }

  /** Shard in the Ledger with this name, or undefined if it does not exist. */
  async #get(namespace: string, name: string): Promise<StoredShard | undefined> {
    try {
      const path = ledgerPath(namespace, name);
      return decodeLedger(await this.#client.callForObject<LedgerObject>({ method: 'GET', path }));
    } catch (error) {
      if (hasCode(error, 'host.gone')) return undefined;
      throw error;
    }
  }

  /** Creates the Ledger, or replaces the expected version. Resolves to the new version. */
  async #put({ namespace }: OwnerRef, body: LedgerBody, expected: string | undefined): Promise<string> {
    const { name } = body.metadata;
    const path = expected === undefined ? ledgerPath(namespace) : ledgerPath(namespace, name);
    const method = expected === undefined ? 'POST' : 'PUT';
    const metadata = { ...body.metadata, ...(expected !== undefined && { resourceVersion: expected }) };
    const call = { method, path, query: { fieldManager }, body: { ...body, metadata }, accept } as const;
    try {
      return (await this.#client.callForObject(call)).metadata.resourceVersion;
    } catch (error) {
      if (!hasCode(error, 'host.gone')) throw error;
      throw expected === undefined ? ledgersNotInstalled(error) : deletedMeanwhile(namespace, name, error);
    }
  }
}

const typeOfLedger = { apiVersion: `${apiGroup}/${apiVersionName}`, kind: ledgerKind };

interface LedgerBody {
  readonly metadata: ReturnType<typeof renderMetadata>;
  readonly [member: string]: unknown;
}

function renderMetadata({ kind, namespace, name: ownerName, uid }: OwnerRef, name: string) {
  const { apiVersion } = typeOfLedger;
  return {
    name,
    namespace,
    labels: { 'app.kubernetes.io/managed-by': 'logfleet' },
    ownerReferences: [{ apiVersion, kind, name: ownerName, uid, controller: true, blockOwnerDeletion: false }],
  };
}

function ledgerName(owner: OwnerRef, shard: string): string {
  const hash = createHash('sha256').update(owner.uid).digest('hex').slice(0, 10);
  return `${owner.name.slice(0, maxOwnerNameLength).replace(/[^a-z0-9]+$/, '')}-${hash}-${shard}`;
}

function assertOwned({ kind, namespace, name, uid }: OwnerRef, stored: StoredShard): void {
  if (stored.ownerUid === uid) return;
  throw new LogfleetError({
    code: 'ledger.foreign',
    reason: 'LedgerForeign',
    handling: { kind: 'stall' },
    message:
      `Ledger ${namespace}/${stored.name} has the name of the ledger of ${kind} ${name}, but its owner.uid is ` +
      `${stored.ownerUid}, not ${uid}. Delete this Ledger.`,
  });
}

function assertFits(owner: OwnerRef, shard: string, bytes: number): void {
  if (bytes <= maxShardBytes) return;
  throw new LogfleetError({
    code: 'ledger.full',
    reason: 'LedgerFull',
    handling: { kind: 'stall' },
    message:
      `Shard ${shard} of the ledger of ${owner.kind} ${owner.namespace}/${owner.name} would have ${bytes} bytes, and ` +
      `${maxShardBytes} are the maximum. Lower maxInProgress, or divide the fleet among several resources.`,
  });
}

/** Error for a Ledger that was deleted after it was read. It must be read again before the next write. */
function deletedMeanwhile(namespace: string, name: string, cause: unknown): LogfleetError {
  return new LogfleetError({
    code: 'host.conflict',
    handling: { kind: 'backoff' },
    message: `Ledger ${namespace}/${name} was deleted while logfleet used it. It is read again.`,
    cause,
  });
}
