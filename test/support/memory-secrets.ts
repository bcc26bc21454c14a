/** Secrets in memory. A test can make reads fail, or use environment variables instead of Secrets. */
import { keyText } from '../../src/base/key-text.ts';
import { SecretText } from '../../src/base/secret-text.ts';
import type { ResourceKey, SecretReader } from '../../src/host/host.ts';

export type SecretMembers = Readonly<Record<string, string>>;

export class MemorySecrets implements SecretReader {
  /** Names of the Secrets that have been read, such as `logging/log-service`, in order. */
  readonly reads: string[] = [];
  usesVariables = false;
  /** Error with which reads fail, or undefined if they succeed. */
  failure: Error | undefined;
  readonly #secrets = new Map<string, SecretMembers>();

  /** Creates or replaces a Secret, or deletes it if `members` is undefined. */
  set(key: ResourceKey, members: SecretMembers | undefined): this {
    if (members) this.#secrets.set(keyText(key), members);
    else this.#secrets.delete(keyText(key));
    return this;
  }

  async get(key: ResourceKey): Promise<ReadonlyMap<string, SecretText> | undefined> {
    this.reads.push(keyText(key));
    if (this.failure) throw this.failure;
    const members = this.#secrets.get(keyText(key));
    return members && secretTexts(members);
  }

  takesVariables(): boolean {
    return this.usesVariables;
  }
}

export function secretTexts(members: SecretMembers): ReadonlyMap<string, SecretText> {
  return new Map(Object.entries(members).map(([name, text]) => [name, new SecretText(text)]));
}
