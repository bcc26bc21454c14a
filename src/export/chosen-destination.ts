/**
 * Where an export's files go, from what its spec names: one of the operator's volumes, or a bucket with the credentials of a Secret in the
 * export's own namespace.
 *
 * Invariants: a namespace reaches its own folder alone (E1); without a Secret of its own it uses no credentials, unless the operator lends
 * its own. No value of a Secret is ever repeated in a message.
 */
import { createHash } from 'node:crypto';
import type { AwaitedSecrets } from '../account/awaited-secrets.ts';
import { reasons } from '../api/conditions.ts';
import type { S3Spec, VolumeSpec } from '../api/generated/search-export.ts';
import type { SearchExport } from '../api/kinds.ts';
import { requiredStoreMembers, sessionTokenMember } from '../api/store-secret.ts';
import type { Clock } from '../base/clock.ts';
import { LogfleetError } from '../base/errors.ts';
import { SecretText } from '../base/secret-text.ts';
import { bucketRoot, volumeRoot } from '../destination/export-layout.ts';
import type { DestinationSettings } from '../destination/open-destination.ts';
import type { S3Credentials } from '../destination/s3/s3-settings.ts';
import type { ResourceKey } from '../host/host.ts';
import type { ExportPlaces } from './export-settings.ts';

export interface ChosenDestination {
  readonly settings: DestinationSettings;
  /** Another one where anything about it is another, credentials too. Says nothing of these. */
  readonly fingerprint: string;
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
  /** On the monotonic clock: what was read before does not do. */
  #forgottenAtMs: number | undefined;

  constructor(options: DestinationChoiceOptions) {
    this.#options = options;
  }

  /** As the Secret is now, or was a short while ago. Throws what reading it threw, or an error that a person has to mend. */
  async current(resource: SearchExport): Promise<ChosenDestination> {
    const { clock, secretMaxAgeMs } = this.#options;
    const atMs = clock.monotonic();
    if (this.#known && atMs - this.#known.atMs < secretMaxAgeMs) return this.#known.chosen;
    // What is no longer known to be right is not used again.
    this.#known = undefined;
    const chosen = await this.#choose(resource);
    this.#known = { chosen, atMs };
    return chosen;
  }

  /** Its credentials were refused, or a person wants it looked at: the Secret is read again before the next use. */
  forget(): void {
    this.#known = undefined;
    this.#forgottenAtMs = this.#options.clock.monotonic();
  }

  async #choose({ metadata: { namespace }, spec }: SearchExport): Promise<ChosenDestination> {
    const { volume, s3 } = spec.destination;
    if (volume) return withFingerprint(this.#volume(volume, namespace), undefined);
    if (s3) return this.#store(s3, namespace);
    throw mendable(reasons.invalidSpec, 'spec.destination names neither volume nor s3: write one of them.');
  }

  #volume({ name, path = '' }: VolumeSpec, namespace: string): DestinationSettings {
    const { volumes } = this.#options.places;
    const directory = volumes.get(name);
    if (directory !== undefined) return { kind: 'volume', directory, root: volumeRoot(namespace, path) };
    const has = volumes.size === 0 ? 'it was given none' : `it was given ${[...volumes.keys()].sort().join(', ')}`;
    const advice = `start it with --volume ${name}=DIR, or name another`;
    throw mendable(reasons.volumeNotFound, `The operator has no volume ${name}, ${has}: ${advice}.`);
  }

  async #store(spec: S3Spec, namespace: string): Promise<ChosenDestination> {
    const { bucket, prefix = '', credentialsSecretRef, storageClass, region, endpoint } = spec;
    const { forcePathStyle, serverSideEncryption, insecure } = spec;
    const credentials = credentialsSecretRef
      ? await this.#credentials({ namespace, name: credentialsSecretRef.name })
      : this.#ambient();
    const settings = {
      bucket,
      root: bucketRoot(prefix, namespace),
      ...(region === undefined ? {} : { region }),
      ...(endpoint === undefined ? {} : { endpoint }),
      ...(storageClass === undefined ? {} : { storageClass }),
      ...(serverSideEncryption === undefined ? {} : { serverSideEncryption }),
      ...{ forcePathStyle, insecure, credentials },
    };
    return withFingerprint({ kind: 's3', settings }, credentials);
  }

  #ambient(): 'ambient' {
    if (this.#options.places.allowAmbientCredentials) return 'ambient';
    const message =
      'spec.destination.s3 names no credentials, and the operator does not lend its own: write credentialsSecretRef, or start the operator with --allow-ambient-credentials.';
    throw mendable(reasons.ambientCredentialsNotAllowed, message);
  }

  async #credentials(key: ResourceKey): Promise<S3Credentials> {
    const { secrets } = this.#options;
    // Variables of the environment stand in for credentials of the service alone.
    const members = secrets.takesVariables(key) ? undefined : await secrets.get(key, this.#forgottenAtMs);
    const secret = `Secret ${key.namespace}/${key.name}`;
    if (!members) {
      const what = requiredStoreMembers.join(' and ');
      throw mendable(reasons.secretNotFound, `${secret} does not exist: create it with ${what} of the store.`);
    }
    const missing = requiredStoreMembers.filter((name) => textOf(members, name) === undefined);
    if (missing.length > 0) {
      throw mendable(reasons.secretIncomplete, `${secret} lacks ${missing.join(' and ')}: add what is missing.`);
    }
    const [accessKeyId, secretAccessKey] = requiredStoreMembers.map((name) => members.get(name) as SecretText);
    const sessionToken =
      textOf(members, sessionTokenMember) === undefined ? undefined : members.get(sessionTokenMember);
    return {
      accessKeyId: (accessKeyId as SecretText).reveal().trim(),
      secretAccessKey: trimmed(secretAccessKey as SecretText),
      ...(sessionToken === undefined ? {} : { sessionToken: trimmed(sessionToken) }),
    };
  }
}

/** White space at the ends is never meant: files end in a newline, and so do Secrets made from them. */
function trimmed(text: SecretText): SecretText {
  return new SecretText(text.reveal().trim());
}

function textOf(members: ReadonlyMap<string, SecretText>, name: string): string | undefined {
  return members.get(name)?.reveal().trim() || undefined;
}

function withFingerprint(settings: DestinationSettings, credentials: S3Credentials | 'ambient' | undefined) {
  const secret =
    credentials === undefined || credentials === 'ambient'
      ? credentials
      : [credentials.accessKeyId, credentials.secretAccessKey.reveal(), credentials.sessionToken?.reveal()];
  const plain = settings.kind === 's3' ? { ...settings.settings, credentials: secret } : settings;
  const fingerprint = createHash('sha256')
    .update(JSON.stringify([settings.kind, plain]))
    .digest('hex');
  return { settings, fingerprint };
}

function mendable(reason: string, message: string): LogfleetError {
  return new LogfleetError({ code: 'export.destination', reason, message, handling: { kind: 'stall' } });
}
