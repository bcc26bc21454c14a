/**
 * Determines the destination of an export: a volume, or a bucket or container with credentials from a Secret. A
 * namespace can write only to its own folder (E1).
 */
import { createHash } from 'node:crypto';
import type { AwaitedSecrets } from '../../account/awaited-secrets.ts';
import { reasons } from '../../api/conditions.ts';
import { renderExplanation } from '../../api/finding.ts';
import type {
  AzureBlobSpec,
  GcsSpec,
  S3Spec,
  SearchExportSpec,
  VolumeSpec,
} from '../../api/generated/search-export.ts';
import type { ObjectMeta } from '../../api/kinds.ts';
import {
  azureMembers,
  requiredStoreMembers,
  serviceAccountMember,
  sessionTokenMember,
} from '../../api/secret-manifest.ts';
import { tokenEndpointProblem } from '../../api/token-endpoint.ts';
import type { Clock } from '../../base/clock.ts';
import { failure, type LogfleetError } from '../../base/errors.ts';
import { keyText } from '../../base/key-text.ts';
import type { JsonObject } from '../../base/record.ts';
import { SecretText } from '../../base/secret-text.ts';
import { type AzureCredentials, credentialsOfConnectionString } from '../../destination/azure/azure-settings.ts';
import { bucketRoot, volumeRoot } from '../../destination/export-layout.ts';
import { credentialsOfKeyFile, type GcsCredentials } from '../../destination/gcs/gcs-settings.ts';
import type { DestinationSettings } from '../../destination/open-destination.ts';
import type { S3Credentials } from '../../destination/s3/s3-settings.ts';
import type { ResourceKey } from '../../host/host.ts';
import type { ExportPlaces } from './export-settings.ts';

export interface ChosenDestination {
  readonly settings: DestinationSettings;
  /** Hash of the destination's settings and credentials. */
  readonly fingerprint: string;
}

/** Resource whose spec names a destination: a SearchExport, or the template of a SearchExportSchedule. */
export interface NeedsDestination {
  readonly metadata: Pick<ObjectMeta, 'namespace'>;
  readonly spec: Pick<SearchExportSpec, 'destination'>;
}

export interface DestinationChoiceOptions {
  readonly secrets: Pick<AwaitedSecrets, 'get' | 'takesVariables'>;
  readonly places: ExportPlaces;
  readonly clock: Clock;
  readonly secretMaxAgeMs: number;
}

export class DestinationChoice {
  readonly #options: DestinationChoiceOptions;
  #known: { readonly chosen: ChosenDestination; readonly atMs: number } | undefined;
  /** Monotonic time of the last call to `forget`. A Secret that was read before this time must be read again. */
  #forgottenAtMs: number | undefined;

  constructor(options: DestinationChoiceOptions) {
    this.#options = options;
  }

  /** Returns the destination. Rereads its Secret after `secretMaxAgeMs`. Throws an error with advice for the user. */
  async current(resource: NeedsDestination): Promise<ChosenDestination> {
    const { clock, secretMaxAgeMs } = this.#options;
    const atMs = clock.monotonic();
    if (this.#known && atMs - this.#known.atMs < secretMaxAgeMs) return this.#known.chosen;
    // The old settings are dropped before the Secret is read, because they must not be used if the read fails.
    this.#known = undefined;
    const chosen = withFingerprint(await this.#choose(resource));
    this.#known = { chosen, atMs };
    return chosen;
  }

  /** Discards the cached Secret, because the store refused its credentials or a user requested a retry. */
  forget(): void {
    this.#known = undefined;
    this.#forgottenAtMs = this.#options.clock.monotonic();
  }

  async #choose({ metadata: { namespace }, spec }: NeedsDestination): Promise<DestinationSettings> {
    const { volume, s3, azureBlob, gcs, persistentVolumeClaim: claim } = spec.destination;
    if (claim) {
      const message = `Only a Kubernetes Job can mount the PersistentVolumeClaim ${claim.claimName}: set spec.execution.mode to Job.`;
      throw mendable(reasons.invalidSpec, message);
    }
    if (volume) return this.#volume(volume, namespace);
    if (s3) {
      const settings = await this.#store('s3', s3, namespace, requiredStoreMembers, s3Credentials);
      return { kind: 's3', settings };
    }
    if (azureBlob) {
      const { name, key } = azureMembers;
      const settings = await this.#store('azureBlob', azureBlob, namespace, [name, key], azureCredentials);
      return { kind: 'azureBlob', settings };
    }
    if (gcs) {
      const settings = await this.#store('gcs', gcs, namespace, [serviceAccountMember], gcsCredentials);
      return { kind: 'gcs', settings };
    }
    throw mendable(
      reasons.invalidSpec,
      'spec.destination contains no store or volume: set volume, s3, azureBlob or gcs.',
    );
  }

  #volume({ name, path = '' }: VolumeSpec, namespace: string): DestinationSettings {
    const { volumes } = this.#options.places;
    const directory = volumes.get(name);
    if (directory !== undefined) return { kind: 'volume', directory, root: volumeRoot(namespace, path) };
    const has = volumes.size === 0 ? 'It has no volumes' : `Its volumes are: ${[...volumes.keys()].sort().join(', ')}`;
    const advice = `Start the operator with --volume ${name}=DIR, or use another volume`;
    throw mendable(reasons.volumeNotFound, `The operator has no volume ${name}. ${has}. ${advice}.`);
  }

  /**
   * Returns the settings of an object store, with the credentials from its Secret. If the spec names no Secret, uses
   * the operator's own credentials, provided that exports may use them. Throws if the credentials must not be sent to
   * the store's endpoint.
   */
  async #store<Spec extends StoreSpec, Credentials>(
    kind: 's3' | 'azureBlob' | 'gcs',
    { prefix = '', credentialsSecretRef: ref, ...store }: Spec,
    namespace: string,
    wanted: readonly string[],
    read: (secret: StoreSecret) => Credentials,
  ) {
    if (!ref && !this.#options.places.allowAmbientCredentials) {
      const message = `spec.destination.${kind} has no credentials, and exports may not use the operator's own credentials: set credentialsSecretRef, or start the operator with --allow-ambient-credentials.`;
      throw mendable(reasons.ambientCredentialsNotAllowed, message);
    }
    const secret = ref && (await this.#secret({ namespace, name: ref.name }, wanted));
    const credentials = secret ? read(secret) : 'ambient';
    if (secret || !this.#options.places.trustsEndpoints) {
      const problem = tokenEndpointProblem(kind, store.endpoint, secret?.text);
      const reason = secret ? reasons.secretIncomplete : reasons.ambientCredentialsNotAllowed;
      if (problem) throw mendable(reason, `spec.destination.${kind}.endpoint: ${renderExplanation(problem)}.`);
    }
    return { ...store, root: bucketRoot(prefix, namespace), credentials } as const;
  }

  /**
   * Reads an object store's Secret. `wanted` lists the keys that the error message names if the Secret does not exist.
   */
  async #secret(key: ResourceKey, wanted: readonly string[]): Promise<StoreSecret> {
    const { secrets } = this.#options;
    // Environment variables cannot replace an object store's Secret.
    const members = secrets.takesVariables(key) ? undefined : await secrets.get(key, this.#forgottenAtMs);
    const name = `Secret ${keyText(key)}`;
    if (!members) {
      const advice = `create the Secret with the store's keys ${wanted.join(' and ')}`;
      throw mendable(reasons.secretNotFound, `${name} does not exist: ${advice}.`);
    }
    // Removes the trailing line break of a Secret value. Such values often come from files that end with a line break.
    return { name, text: (member) => members.get(member)?.reveal().trim() || undefined };
  }
}

/** Fields that the specs of all object stores share. */
type StoreSpec = Pick<S3Spec & AzureBlobSpec & GcsSpec, 'prefix' | 'endpoint' | 'credentialsSecretRef'>;

/** Secret with the credentials of a store. */
interface StoreSecret {
  /** Name of the Secret as shown in messages. */
  readonly name: string;
  /** Returns the value of a key in the Secret, or undefined if the key is missing or its value is empty. */
  text(member: string): string | undefined;
}

function s3Credentials({ name, text }: StoreSecret): S3Credentials {
  const missing = requiredStoreMembers.filter((member) => text(member) === undefined);
  if (missing.length > 0) throw incomplete(name, `lacks ${missing.join(' and ')}`);
  const [accessKeyId = '', secretAccessKey = ''] = requiredStoreMembers.map(text);
  const token = text(sessionTokenMember);
  return {
    accessKeyId,
    secretAccessKey: new SecretText(secretAccessKey),
    ...(token === undefined ? {} : { sessionToken: new SecretText(token) }),
  };
}

function azureCredentials({ name, text }: StoreSecret): AzureCredentials {
  const connection = text(azureMembers.connectionString);
  if (connection !== undefined) {
    const credentials = credentialsOfConnectionString(connection);
    if (!credentials)
      throw incomplete(
        name,
        'has a connectionString without credentials (AccountName and AccountKey, or SharedAccessSignature)',
        'copy the whole connection string from the storage account',
      );
    return credentials;
  }
  const sasToken = text(azureMembers.sasToken);
  if (sasToken !== undefined) return { kind: 'sas', sasToken: new SecretText(sasToken) };
  const [accountName, accountKey] = [text(azureMembers.name), text(azureMembers.key)];
  if (accountName === undefined || accountKey === undefined) {
    throw incomplete(name, 'must have accountName and accountKey, or sasToken, or connectionString');
  }
  return { kind: 'key', accountName, accountKey: new SecretText(accountKey) };
}

function gcsCredentials({ name, text }: StoreSecret): GcsCredentials {
  const file = text(serviceAccountMember);
  if (file === undefined) throw incomplete(name, `lacks ${serviceAccountMember}`);
  const credentials = credentialsOfKeyFile(file);
  if (credentials) return credentials;
  const advice = 'store the JSON file that Google Cloud creates for a service account key';
  throw mendable(
    reasons.secretIncomplete,
    `The value of ${serviceAccountMember} in the ${name} is not the key file of a service account: ${advice} in this entry of the Secret.`,
  );
}

function incomplete(secret: string, problem: string, remedy = 'add the missing keys to the Secret'): LogfleetError {
  return mendable(reasons.secretIncomplete, `${secret} ${problem}: ${remedy}.`);
}

function withFingerprint(settings: DestinationSettings): ChosenDestination {
  const secrets: string[] = [];
  // Adds the actual credentials to the hash, because the JSON text contains `[secret]` in their place.
  const text = JSON.stringify(settings, function (this: JsonObject, key, value) {
    const original = this[key];
    if (original instanceof SecretText) secrets.push(original.reveal());
    return value;
  });
  return {
    settings,
    fingerprint: createHash('sha256')
      .update(JSON.stringify([text, secrets]))
      .digest('hex'),
  };
}

function mendable(reason: string, message: string): LogfleetError {
  return failure('stall', 'export.destination', message, { reason });
}
