/** Reads Secrets by name from the API server. The operator has no right to list or watch Secrets. */

import { isRecord } from '../../base/record.ts';
import { SecretText } from '../../base/secret-text.ts';
import type { ResourceKey, SecretReader } from '../host.ts';
import type { ApiClient } from './api-client.ts';
import { errorOfSilence } from './api-error.ts';
import { objectPath } from './api-paths.ts';

export class KubernetesSecretReader implements SecretReader {
  readonly #client: ApiClient;

  constructor(client: ApiClient) {
    this.#client = client;
  }

  async get({ namespace, name }: ResourceKey): Promise<ReadonlyMap<string, SecretText> | undefined> {
    const path = objectPath('secrets', namespace, name);
    const secret = await this.#client.find(path);
    if (secret === undefined) return undefined;
    if (!isRecord(secret)) throw errorOfSilence(`GET ${path}`, new Error('the answer is no Secret'));
    const members = new Map<string, SecretText>();
    for (const [key, value] of Object.entries(isRecord(secret.data) ? secret.data : {})) {
      if (typeof value === 'string') members.set(key, new SecretText(Buffer.from(value, 'base64').toString('utf8')));
    }
    return members;
  }
}
