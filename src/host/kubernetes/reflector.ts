/**
 * Keeps a cache in sync with the resources on an API server: first lists the resources, then watches for changes.
 *
 * The resources are listed again after ten minutes, after a response with status 410, after three failures in a row,
 * after the loss of a watch event, and on request.
 *
 * Invariants:
 * - A failure does not stop a reflector: another list or watch follows.
 * - A watch lasts 20 s and is aborted after 25 s, so a broken watch is replaced within 30 s. The next watch continues
 *   from the last version.
 * - Only complete lists and complete events change the cache. An unreadable event ends the watch.
 */

import { sleep } from '../../base/clock.ts';
import { asLogfleetError, hasCode, type LogfleetError } from '../../base/errors.ts';
import { keyText } from '../../base/key-text.ts';
import type { Counter } from '../../base/metrics.ts';
import type { Ports } from '../../base/ports.ts';
import { isRecord, recordOfJson } from '../../base/record.ts';
import type { ResourceKey } from '../host.ts';
import type { ApiClient } from './api-client.ts';
import { apiErrorOf, backoffDelay, errorOfSilence } from './api-error.ts';
import type { CachedResource, ResourceCache } from './resource-cache.ts';

const pageLimit = 500;
const pageDeadlineMs = 15_000;
const usualWatchSeconds = 20;
/** Time in ms by which a watch may exceed its requested duration before it is aborted. */
const watchMarginMs = 5_000;
/**
 * Interval between lists, in ms. A watch can lose a single event without an error, even an event that pauses the whole
 * operator. The next list then corrects the cache.
 */
const relistIntervalMs = 600_000;
/** Minimum duration in ms of a watch without events. A watch that ends sooner counts as failed. */
const shortestGoodWatchMs = 5_000;
/**
 * Number of consecutive failures after which all resources are listed again, because the API server may no longer
 * accept the last resource version.
 */
const failuresUntilRelist = 3;
const backoff = { firstMs: 250, capMs: 8_000 };

/** Finds the resource version in the text of a watch event. This is faster than decoding the event. */
const versionInEvent = /"resourceVersion":"([^"]+)","uid":"/;

type RelistReason = 'start' | 'interval' | 'expired' | 'failures' | 'conflict' | 'request';

interface Listing {
  readonly reason: RelistReason;
  /**
   * True if the list is read in pages. If the continue token of a page has expired, the whole list is read again in one
   * request.
   */
  readonly paged: boolean;
  readonly continueToken?: string;
  /** Resources from the pages read so far. */
  readonly resources: readonly CachedResource[];
}

interface ReflectorOptions<R extends CachedResource> extends Ports {
  readonly client: ApiClient;
  /** API path of the resources to list and watch, in one namespace or all namespaces. */
  readonly path: string;
  /** Label and field selectors for each list and watch request. */
  readonly query?: Readonly<Record<string, string>>;
  /** Namespace of the listed resources. Undefined if resources in all namespaces are listed. */
  readonly scope: string | undefined;
  readonly cache: ResourceCache<R>;
  readonly decode: (value: unknown) => R | undefined;
  /** Duration of a watch in seconds; 20 by default. */
  readonly watchSeconds?: number;
  /** Called when a complete list has been stored in the cache. */
  readonly onList?: () => void;
  /** Called for each failed list or watch, before it is retried. */
  readonly onFailure?: (error: unknown) => void;
  /** Called when a list or watch succeeds after one or more failures. */
  readonly onRecovery?: () => void;
}

export class Reflector<R extends CachedResource> {
  readonly #options: ReflectorOptions<R>;
  readonly #relists: Counter;
  /**
   * Resource versions that the API server has rejected as outdated when a write was based on them. If the cache still
   * contains one of these versions when the watch ends, the watch has lost an event.
   */
  readonly #refusedVersions = new Map<string, ResourceKey & { readonly resourceVersion: string }>();
  /** List that is being read. Undefined while a watch is running. */
  #listing: Listing | undefined = startListing('start');
  /** Resource version from which the next watch continues. */
  #resourceVersion = '';
  /** Monotonic time in ms of the next list. */
  #relistAtMs = 0;
  #failures = 0;
  #steppedAtMs: number;
  /** Aborts the running list or watch when `relist` requests another list. */
  #step = new AbortController();
  /** Callers that are waiting for the next complete list. */
  readonly #listed: (() => void)[] = [];
  #problem: LogfleetError | undefined;
  /** Message of the error in the last logged warning. Undefined if lists and watches have worked since then. */
  #warnedOf: string | undefined;

  constructor(options: ReflectorOptions<R>) {
    this.#options = options;
    this.#steppedAtMs = options.clock.monotonic();
    this.#relists = options.metrics.counter(
      'logfleet_relists_total',
      'Requests that list all resources of a kind, by the reason for the request.',
      ['reason'],
    );
  }

  /**
   * Monotonic time in ms at which the last list, watch or delay began. If this time is long ago, the reflector counts
   * as hung.
   */
  get steppedAtMs(): number {
    return this.#steppedAtMs;
  }

  get path(): string {
    return this.#options.path;
  }

  /** Error of the last list or watch, if it failed. */
  get problem(): LogfleetError | undefined {
    return this.#problem;
  }

  /** True while a caller of `relist` is waiting for its list. */
  get isAwaited(): boolean {
    return this.#listed.length > 0;
  }

  /**
   * Called after the API server has rejected a write because of an outdated resource version. If the cache still
   * contains this version when the watch ends, all resources are listed again.
   */
  checkVersion(refused: ResourceKey & { readonly resourceVersion: string }): void {
    this.#refusedVersions.set(keyText(refused), refused);
  }

  /**
   * Lists all resources again, without a delay. Resolves when the new list is in the cache. Also resolves if listing is
   * forbidden, or if the kind is not installed. The new list contains all changes made before this call.
   */
  relist(): Promise<void> {
    const listed = new Promise<void>((resolve) => this.#listed.push(resolve));
    this.#listing = startListing('request');
    this.#step.abort(new Error('another list was requested'));
    return listed;
  }

  /** Lists and watches resources until the signal is aborted. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#steppedAtMs = this.#options.clock.monotonic();
      this.#step = new AbortController();
      const step = AbortSignal.any([signal, this.#step.signal]);
      try {
        if (this.#listing) await this.#readNextPage(this.#listing, step);
        else await this.#watch(step);
      } catch (error) {
        if (!step.aborted) await this.#recover(error, step);
      }
    }
  }

  async #readNextPage(listing: Listing, signal: AbortSignal): Promise<void> {
    const { client, path, cache, scope, decode, clock, random } = this.#options;
    const query = {
      ...this.#options.query,
      ...(listing.paged && { limit: String(pageLimit) }),
      ...(listing.continueToken !== undefined && { continue: listing.continueToken }),
    };
    const page = decodeListPage(
      await client.call({ method: 'GET', path, query, signal, deadlineMs: pageDeadlineMs }),
      path,
    );
    if (signal.aborted) return;
    const decoded = page.items.map(decode).filter((resource) => resource !== undefined);
    const resources = [...(listing.resources as readonly R[]), ...decoded];
    if (page.continueToken !== undefined) {
      this.#listing = { ...listing, continueToken: page.continueToken, resources };
      return;
    }
    this.#relists.add({ reason: listing.reason });
    cache.replace(scope, resources);
    this.#options.onList?.();
    this.#endRelist();
    this.#problem = undefined;
    // A successful list does not reset the number of failures. Otherwise, the delays would not grow if only the watches
    // fail.
    if (this.#failures > 0) this.#options.onRecovery?.();
    this.#listing = undefined;
    this.#resourceVersion = page.resourceVersion;
    this.#relistAtMs = clock.monotonic() + relistIntervalMs * (0.9 + 0.2 * random.next());
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { client, path, clock, watchSeconds = usualWatchSeconds } = this.#options;
    const openedAtMs = clock.monotonic();
    const isOutdated = this.#isCacheOutdated();
    if (isOutdated || openedAtMs >= this.#relistAtMs) {
      this.#listing = startListing(isOutdated ? 'conflict' : 'interval');
      return;
    }
    const resourceVersion = this.#resourceVersion;
    const timeoutSeconds = String(watchSeconds);
    const query = {
      ...this.#options.query,
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion,
      timeoutSeconds,
    };
    const deadlineMs = watchSeconds * 1_000 + watchMarginMs;
    for await (const line of client.watch({ path, query, signal, deadlineMs })) {
      this.#resourceVersion = this.#apply(line);
      this.#succeeded();
    }
    if (clock.monotonic() - openedAtMs >= shortestGoodWatchMs) this.#succeeded();
    else if (this.#resourceVersion === resourceVersion) {
      throw errorOfSilence(`WATCH ${path}`, new Error('it ended at once'));
    }
  }

  /** Reports whether the cache still contains a resource version that the API server has rejected as outdated. */
  #isCacheOutdated(): boolean {
    const { cache } = this.#options;
    const refused = [...this.#refusedVersions.values()];
    this.#refusedVersions.clear();
    return refused.some((key) => cache.get(key)?.metadata.resourceVersion === key.resourceVersion);
  }

  /** Applies one watch event (JSON text) to the cache. Returns the version from which the next watch continues. */
  #apply(line: string): string {
    const { path, cache, decode } = this.#options;
    const ownVersion = versionInEvent.exec(line)?.[1];
    if (ownVersion !== undefined && cache.takeOwnWrite(ownVersion)) return ownVersion;
    const { type, object: content } = recordOfJson(line) ?? {};
    const object = isRecord(content) ? content : {};
    if (type === 'ERROR') {
      const status = typeof object.code === 'number' ? object.code : 500;
      throw apiErrorOf({ status, headers: {}, body: object }, `WATCH ${path}`);
    }
    const bookmark = type === 'BOOKMARK' ? resourceVersionOf(object) : undefined;
    if (bookmark !== undefined) return bookmark;
    const resource = decode(object);
    if (!resource) throw errorOfSilence(`WATCH ${path}`, new Error('an event cannot be read'));
    if (type === 'DELETED') cache.remove(resource.metadata, resource.metadata.uid);
    else cache.put(resource);
    return resource.metadata.resourceVersion;
  }

  #endRelist(): void {
    for (const resolve of this.#listed.splice(0)) resolve();
  }

  #succeeded(): void {
    const { log, path, onRecovery } = this.#options;
    if (this.#failures > 0) onRecovery?.();
    if (this.#warnedOf !== undefined) log.info('resources can be listed and watched again', { path });
    this.#failures = 0;
    this.#problem = undefined;
    this.#warnedOf = undefined;
  }

  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    const { clock, random, onFailure } = this.#options;
    const problem = asLogfleetError(error);
    this.#problem = problem;
    if (hasCode(error, 'host.forbidden', 'host.gone')) this.#endRelist();
    onFailure?.(error);
    this.#failures++;
    const delayMs = backoffDelay(backoff, this.#failures, error, random);
    const isRepeated = this.#failures >= failuresUntilRelist;
    this.#logFailure(problem, isRepeated, delayMs);
    if (hasCode(error, 'host.expired')) {
      this.#listing = { ...startListing(this.#listing?.reason ?? 'expired'), paged: this.#listing === undefined };
    } else if (isRepeated) this.#listing = startListing(this.#listing?.reason ?? 'failures');
    await sleep(clock, delayMs, signal).catch(() => undefined);
  }

  /** Logs a failed list or watch. A repeated failure is logged as a warning when its message changes. */
  #logFailure(error: LogfleetError, isRepeated: boolean, delayMs: number): void {
    const isWarning = isRepeated && error.message !== this.#warnedOf;
    const { log, path } = this.#options;
    const what = { path, error, isListing: this.#listing !== undefined, delayMs };
    log[isWarning ? 'warn' : 'debug']('resources could not be listed or watched; logfleet will retry', what);
    if (isWarning) this.#warnedOf = error.message;
  }
}

function startListing(reason: RelistReason): Listing {
  return { reason, paged: true, resources: [] };
}

export interface Page {
  readonly items: readonly unknown[];
  readonly resourceVersion: string;
  readonly continueToken?: string;
}

/**
 * Decodes one page of a list from the API server's response. Throws the error `host.unreachable` if the response is not
 * a list.
 */
export function decodeListPage(response: unknown, path: string): Page {
  const list = isRecord(response) ? response : {};
  const resourceVersion = resourceVersionOf(list);
  if (!Array.isArray(list.items) || resourceVersion === undefined) {
    throw errorOfSilence(`GET ${path}`, new Error('the response is not a list'));
  }
  const token = isRecord(list.metadata) ? list.metadata.continue : undefined;
  return {
    items: list.items,
    resourceVersion,
    ...(typeof token === 'string' && token !== '' ? { continueToken: token } : {}),
  };
}

function resourceVersionOf(value: Record<string, unknown>): string | undefined {
  const version = isRecord(value.metadata) ? value.metadata.resourceVersion : undefined;
  return typeof version === 'string' && version !== '' ? version : undefined;
}
