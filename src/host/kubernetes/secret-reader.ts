/** Reads Secrets by name from the API server. The operator does not have permission to list or watch Secrets. */

import { SecretText } from '../../base/secret-text.ts';
import type { ResourceKey, SecretReader } from '../host.ts';
import type { ApiClient, KubeObject } from './api-client.ts';
import { objectPath } from './api-paths.ts';

interface SecretObject extends KubeObject {
  /** Values in base64. */
  readonly data?: Readonly<Record<string, string>>;
}

export class KubernetesSecretReader implements SecretReader {
  readonly #client: ApiClient;

  constructor(client: ApiClient) {
    this.#client = client;
  }

  async get({ namespace, name }: ResourceKey): Promise<ReadonlyMap<string, SecretText> | undefined> {
    const secret = await this.#client.findObject<SecretObject>(objectPath('secrets', namespace, name));
    if (!secret) return undefined;
    const members = Object.entries(secret.data ?? {});
    return new Map(members.map(([key, value]) => [key, new SecretText(Buffer.from(value, 'base64').toString())]));
  }
}
