/**
 * Watches the ConfigMap `logfleet-settings` in the operator's namespace. Needs no permission to read other ConfigMaps.
 *
 * Invariants:
 * - All resources are paused until the API server has responded for the first time.
 * - If the ConfigMap is missing, or the operator does not have permission to read it (403), no resource is paused.
 * - While the API server does not respond, the last settings apply.
 */

import { pausedByConfigMap, pausedMember, settingsName } from '../../api/operator-settings.ts';
import { hasCode } from '../../base/errors.ts';
import { Listeners } from '../../base/listeners.ts';
import type { Ports } from '../../base/ports.ts';
import type { OperatorSettings } from '../host.ts';
import { type ApiClient, isKubeObject } from './api-client.ts';
import { objectPath } from './api-paths.ts';
import { Reflector } from './reflector.ts';
import { type CachedResource, ResourceCache } from './resource-cache.ts';
import { decodeMetadata } from './resource-decoding.ts';

interface SettingsWatchOptions extends Ports {
  readonly client: ApiClient;
  readonly namespace: string;
  /** Duration of a watch in seconds; 20 by default. */
  readonly watchSeconds?: number;
}

/** Fields of the ConfigMap that are kept in memory. */
interface SettingsMap extends CachedResource {
  readonly paused: unknown;
}

const unread: OperatorSettings = { pausedBy: 'settings that have not been read yet' };

export class SettingsWatch {
  readonly #options: SettingsWatchOptions;
  readonly #cache: ResourceCache<SettingsMap>;
  readonly #reflector: Reflector<SettingsMap>;
  readonly #listeners = new Listeners();
  readonly #attempted = Promise.withResolvers<void>();
  #isAttempted = false;
  #current = unread;

  constructor(options: SettingsWatchOptions) {
    const { namespace, log } = options;
    this.#options = options;
    this.#cache = new ResourceCache<SettingsMap>([namespace], log);
    this.#cache.subscribe(() => this.#adopt());
    this.#reflector = new Reflector<SettingsMap>({
      ...options,
      path: objectPath('configmaps', namespace),
      query: { fieldSelector: `metadata.name=${settingsName}` },
      scope: namespace,
      cache: this.#cache,
      decode: decodeSettings,
      onList: () => this.#adopt(),
      onFailure: (error) => this.#fail(error),
    });
  }

  current(): OperatorSettings {
    return this.#current;
  }

  subscribe(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Reports whether the first request for the settings has been answered or has failed. */
  isAttempted(): boolean {
    return this.#isAttempted;
  }

  /** Resolves when the first request for the settings has been answered or has failed. */
  whenAttempted(): Promise<void> {
    return this.#attempted.promise;
  }

  get steppedAtMs(): number {
    return this.#reflector.steppedAtMs;
  }

  /** Watches the settings until the signal is aborted. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#reflector.run(signal);
    this.#markAttempted();
  }

  #adopt(): void {
    const { namespace } = this.#options;
    const value = this.#cache.get({ namespace, name: settingsName })?.paused;
    const pausedBy = pausedByConfigMap(value, `namespace ${namespace}`);
    this.#set({ pausedBy });
    this.#markAttempted();
  }

  #fail(error: unknown): void {
    if (this.#current === unread && hasCode(error, 'host.forbidden')) {
      const { log, namespace } = this.#options;
      log.error(
        `the operator does not have permission to read the ConfigMap ${settingsName}, so the ConfigMap cannot pause policies and exports: grant the operator the verbs list and watch on this ConfigMap in namespace ${namespace}`,
        { error },
      );
      this.#set({});
    }
    this.#markAttempted();
  }

  #set(next: OperatorSettings): void {
    const { pausedBy } = next;
    if (pausedBy === this.#current.pausedBy) return;
    this.#current = next;
    const { log } = this.#options;
    if (pausedBy !== undefined) log.warn('all resources are paused, so no new work starts', { pausedBy });
    else if (this.#isAttempted) log.info('the pause has ended, so new work may start');
    this.#listeners.notify();
  }

  #markAttempted(): void {
    this.#isAttempted = true;
    this.#attempted.resolve();
  }
}

/** Decodes the ConfigMap. Returns undefined if `value` is not an object with a name. */
function decodeSettings(value: unknown): SettingsMap | undefined {
  if (!isKubeObject(value)) return undefined;
  const { data } = value as { readonly data?: Readonly<Record<string, string>> };
  return { metadata: decodeMetadata(value), paused: data?.[pausedMember] };
}
