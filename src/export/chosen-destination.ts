/**
 * Chooses the destination of an export's files from its spec: a volume of the operator, or a bucket with credentials from a Secret in the
 * export's namespace.
 *
 * Invariants: a namespace can only write to its own folder (E1). Without a Secret, an export uses the operator's credentials only if the
 * operator allows that. Messages never contain values of a Secret.
 */
import { createHash } from 'node:crypto';
import type { AwaitedSecrets } from '../account/awaited-secrets.ts';
import { reasons } from '../api/conditions.ts';
import type { S3Spec, SearchExportSpec, VolumeSpec } from '../api/generated/search-export.ts';
import type { ObjectMeta } from '../api/kinds.ts';
import { requiredStoreMembers, sessionTokenMember } from '../api/secret-manifest.ts';
import type { Clock } from '../base/clock.ts';
import { failure, type LogfleetError } from '../base/errors.ts';
import { SecretText } from '../base/secret-text.ts';
import { bucketRoot, volumeRoot } from '../destination/export-layout.ts';
import type { DestinationSettings } from '../destination/open-destination.ts';
import type { S3Credentials } from '../destination/s3/s3-settings.ts';
import type { ResourceKey } from '../host/host.ts';
import type { ExportPlaces } from './export-settings.ts';

export interface ChosenDestination {
  readonly settings: DestinationSettings;
  /** Hash of the destination's settings and credentials. The hash changes with each of these values, and reveals none of them. */
  readonly fingerprint: string;
}

/** Resource that names a destination: an export, or the template of a schedule's runs. */
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
  /** Monotonic time of the last call of `forget`. A Secret's content that was read before this time is not used. */
  #forgottenAtMs: number | undefined;

  constructor(options: DestinationChoiceOptions) {
    this.#options = options;
  }

  /**
   * Returns the current destination. The content of its Secret is at most `secretMaxAgeMs` old; older content is read again. Throws errors
   * of reading the Secret, and errors that a user must fix.
   */
  async current(resource: NeedsDestination): Promise<ChosenDestination> {
    const { clock, secretMaxAgeMs } = this.#options;
    const atMs = clock.monotonic();
    if (this.#known && atMs - this.#known.atMs < secretMaxAgeMs) return this.#known.chosen;
    // Content of the Secret that is too old must not be used, even if reading the Secret again fails.
    this.#known = undefined;
    const chosen = await this.#choose(resource);
    this.#known = { chosen, atMs };
    return chosen;
  }

  /** Makes the next use read the Secret again, because its credentials were refused or a user requested a retry. */
  forget(): void {
    this.#known = undefined;
    this.#forgottenAtMs = this.#options.clock.monotonic();
  }

  async #choose({ metadata: { namespace }, spec }: NeedsDestination): Promise<ChosenDestination> {
    const { volume, s3, persistentVolumeClaim: claim } = spec.destination;
    if (claim) {
      const message = `Only a Kubernetes Job can mount the claim ${claim.claimName}: write execution: {mode: Job}.`;
      throw mendable(reasons.invalidSpec, message);
    }
    if (volume) return withFingerprint(this.#volume(volume, namespace));
    if (s3) return this.#store(s3, namespace);
    throw mendable(reasons.invalidSpec, 'spec.destination names neither volume nor s3: write one of them.');
  }

  #volume({ name, path = '' }: VolumeSpec, namespace: string): DestinationSettings {
    const { volumes } = this.#options.places;
    const directory = volumes.get(name);
    if (directory !== undefined) return { kind: 'volume', directory, root: volumeRoot(namespace, path) };
    const has = volumes.size === 0 ? 'it was given none' : `it was given ${[...volumes.keys()].sort().join(', ')}`;
    const advice = `start the operator with --volume ${name}=DIR, or name another volume`;
    throw mendable(reasons.volumeNotFound, `The operator has no volume ${name}, ${has}: ${advice}.`);
  }

  async #store({ prefix = '', credentialsSecretRef, ...store }: S3Spec, namespace: string): Promise<ChosenDestination> {
    const credentials = credentialsSecretRef
      ? await this.#credentials({ namespace, name: credentialsSecretRef.name })
      : this.#ambient();
    return withFingerprint({ kind: 's3', settings: { ...store, root: bucketRoot(prefix, namespace), credentials } });
  }

  #ambient(): 'ambient' {
    if (this.#options.places.allowAmbientCredentials) return 'ambient';
    const message =
      'spec.destination.s3 names no credentials, and the operator does not share its own: write credentialsSecretRef, or start the operator with --allow-ambient-credentials.';
    throw mendable(reasons.ambientCredentialsNotAllowed, message);
  }

  async #credentials(key: ResourceKey): Promise<S3Credentials> {
    const { secrets } = this.#options;
    // Environment variables may replace a Secret of the log service, but not a Secret of an object store.
    const members = secrets.takesVariables(key) ? undefined : await secrets.get(key, this.#forgottenAtMs);
    const secret = `Secret ${key.namespace}/${key.name}`;
    if (!members) {
      const what = requiredStoreMembers.join(' and ');
      throw mendable(reasons.secretNotFound, `${secret} does not exist: create it with ${what} of the store.`);
    }
    // Files, and Secrets made from them, end in a newline that does not belong to the value.
    const text = (name: string) => members.get(name)?.reveal().trim() || undefined;
    const missing = requiredStoreMembers.filter((name) => text(name) === undefined);
    if (missing.length > 0) {
      throw mendable(reasons.secretIncomplete, `${secret} lacks ${missing.join(' and ')}: add what is missing.`);
    }
    const [accessKeyId = '', secretAccessKey = ''] = requiredStoreMembers.map(text);
    const token = text(sessionTokenMember);
    return {
      accessKeyId,
      secretAccessKey: new SecretText(secretAccessKey),
      ...(token === undefined ? {} : { sessionToken: new SecretText(token) }),
    };
  }
}

function withFingerprint(settings: DestinationSettings): ChosenDestination {
  // Hash input: the settings and the credentials. The JSON of the settings leaves secrets out, and a changed secret must change the hash.
  const credentials = settings.kind === 's3' ? settings.settings.credentials : 'ambient';
  const { secretAccessKey, sessionToken } = credentials === 'ambient' ? {} : credentials;
  const text = JSON.stringify([settings, secretAccessKey?.reveal(), sessionToken?.reveal()]);
  return { settings, fingerprint: createHash('sha256').update(text).digest('hex') };
}

function mendable(reason: string, message: string): LogfleetError {
  return failure('stall', 'export.destination', message, { reason });
}
