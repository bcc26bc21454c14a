/**
 * Follows the ConfigMap `logfleet-settings` in the operator's namespace by a reflector of its own, which lists and watches that one
 * name: that is all the rights that it takes.
 *
 * Invariants:
 * - Until the first answer everything is paused: an operator that starts while it shall not must not begin before it knows.
 * - A ConfigMap that is not there, and settings that may not be read (403), pause nothing. The latter is told in the log.
 * - What was read last holds while the API server does not answer.
 */
import { readPause, settingsName } from '../../api/operator-settings.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Metrics } from '../../base/metrics.ts';
import type { Random } from '../../base/random.ts';
import type { OperatorSettings } from '../host.ts';
import type { ApiClient } from './api-client.ts';
import { hasCode } from './api-error.ts';
import { configMapPath } from './api-paths.ts';
import { Reflector } from './reflector.ts';
import { type CachedResource, ResourceCache } from './resource-cache.ts';
import { isRecord } from './resource-decoding.ts';

export interface SettingsWatchOptions {
  readonly client: ApiClient;
  /** The operator's. */
  readonly namespace: string;
  /** How long a watch lives; 20 s unless told. */
  readonly watchSeconds?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** What is kept of the ConfigMap. */
interface SettingsMap extends CachedResource {
  readonly paused: unknown;
}

const running: OperatorSettings = { paused: false, pausedBy: undefined };
const unread: OperatorSettings = { paused: true, pausedBy: 'settings that have not been read yet' };

export class SettingsWatch {
  readonly #options: SettingsWatchOptions;
  readonly #cache: ResourceCache<SettingsMap>;
  readonly #reflector: Reflector<SettingsMap>;
  readonly #listeners = new Set<() => void>();
  readonly #asked = Promise.withResolvers<void>();
  #isAsked = false;
  #current = unread;

  constructor(options: SettingsWatchOptions) {
    const { namespace, log } = options;
    this.#options = options;
    this.#cache = new ResourceCache<SettingsMap>([namespace], log);
    this.#cache.subscribe(() => this.#adopt());
    this.#reflector = new Reflector<SettingsMap>({
      ...options,
      path: configMapPath(namespace),
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
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Whether there was an answer, whatever it was, or a failure in its place. */
  asked(): boolean {
    return this.#isAsked;
  }

  /** Resolves once `asked` holds, or the watch has ended. */
  whenAsked(): Promise<void> {
    return this.#asked.promise;
  }

  get steppedAtMs(): number {
    return this.#reflector.steppedAtMs;
  }

  /** Runs until the signal is aborted; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#reflector.run(signal);
    this.#markAsked();
  }

  #adopt(): void {
    const { namespace } = this.#options;
    const pause = readPause(this.#cache.get({ namespace, name: settingsName })?.paused);
    const odd = pause?.oddValue === undefined ? '' : `, whose paused is ${JSON.stringify(pause.oddValue)}`;
    const pausedBy = `the ConfigMap ${settingsName} in namespace ${namespace}${odd}`;
    this.#set(pause ? { paused: true, pausedBy } : running);
    this.#markAsked();
  }

  #fail(error: unknown): void {
    if (this.#current === unread && hasCode(error, 'host.forbidden')) {
      const { log, namespace } = this.#options;
      log.error(
        `the ConfigMap ${settingsName} may not be read, so that it cannot pause anything: grant list and watch of it in namespace ${namespace}`,
        { error },
      );
      this.#set(running);
    }
    this.#markAsked();
  }

  #set(next: OperatorSettings): void {
    const { paused, pausedBy } = this.#current;
    if (next.paused === paused && next.pausedBy === pausedBy) return;
    this.#current = next;
    const { log } = this.#options;
    if (next.paused) log.warn('nothing new is started for any resource', { pausedBy: next.pausedBy });
    else if (this.#isAsked) log.info('work goes on');
    for (const listener of [...this.#listeners]) listener();
  }

  #markAsked(): void {
    this.#isAsked = true;
    this.#asked.resolve();
  }
}

/** Undefined where `value` is no object with a name. */
function decodeSettings(value: unknown): SettingsMap | undefined {
  if (!isRecord(value) || !isRecord(value.metadata)) return undefined;
  const { name, namespace, uid, resourceVersion } = value.metadata;
  if (typeof name !== 'string' || typeof namespace !== 'string') return undefined;
  if (typeof uid !== 'string' || typeof resourceVersion !== 'string') return undefined;
  return {
    metadata: { name, namespace, uid, resourceVersion },
    paused: isRecord(value.data) ? value.data.paused : undefined,
  };
}
