/**
 * Reads all collectors of a service account once, with the operator's request budget and retries, and with a timeout.
 */
import { unlessAborted } from '../../base/aborted.ts';
import type { Clock } from '../../base/clock.ts';
import { failure, type LogfleetError, mayPass } from '../../base/errors.ts';
import { silentLogger } from '../../base/log.ts';
import { FleetListing } from '../../fleet/fleet-listing.ts';
import type { Collector, UpgradeService } from '../../service/collectors/upgrade-service.ts';
import { maxFailureMs } from '../operator/service-reading.ts';

export interface FleetReadingOptions {
  readonly service: UpgradeService;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** Called with each failure after which the read is retried. */
  readonly onTrouble: (error: LogfleetError) => void;
}

export interface ReadFleet {
  readonly collectors: readonly Collector[];
  /**
   * Version of the build that the service offers, if it offers only one. In that case, the list may omit collectors
   * that run this build. Undefined if the service offers several builds.
   */
  readonly omittedVersion: string | undefined;
}

/**
 * Reads all collectors. Rejects if a user must fix an error, if the service fails for too long, if the timeout is
 * reached, or if the signal is aborted.
 */
export async function readFleet(options: FleetReadingOptions): Promise<ReadFleet> {
  const { service, clock, signal, timeoutMs } = options;
  const listing = new FleetListing({
    service,
    clock,
    log: silentLogger,
    targeted: () => new Set(),
    active: () => true,
  });
  const read = Promise.withResolvers<void>();
  const timer = clock.after(timeoutMs, () => read.reject(timedOut(timeoutMs)));
  try {
    follow(listing, options, read);
    listing.requestSweep(0);
    await unlessAborted(signal, read.promise);
    const collectors = Array.from(listing.rows.entries(), ([, { collector }]) => collector);
    return { collectors, omittedVersion: omittedVersion(listing) };
  } finally {
    timer.cancel();
    listing.close();
  }
}

/**
 * Resolves the promise of `read` when all collectors are listed. Rejects the promise after an error that a user must
 * fix, or if requests fail for `maxFailureMs`.
 */
function follow(
  listing: FleetListing,
  { clock, onTrouble }: FleetReadingOptions,
  read: PromiseWithResolvers<void>,
): void {
  let failingSinceMs: number | undefined;
  const onChange = () => {
    if (listing.completeSinceMs() !== undefined) return read.resolve();
    const error = listing.problem()?.error;
    if (!error) return;
    failingSinceMs ??= clock.monotonic();
    if (!mayPass(error) || clock.monotonic() - failingSinceMs >= maxFailureMs) read.reject(error);
    else onTrouble(error);
  };
  listing.addUser('logfleet fleet', { secret: '', resyncMs: Number.POSITIVE_INFINITY, onChange });
}

function omittedVersion(listing: FleetListing): string | undefined {
  const [build, ...others] = listing.builds()?.list ?? [];
  return others.length === 0 ? build?.version : undefined;
}

function timedOut(timeoutMs: number): LogfleetError {
  const message = `The log service did not answer all requests for its collectors within ${timeoutMs / 1_000} s. Allow more time with --timeout.`;
  return failure('backoff', 'cli.timedOut', message, { reason: 'TimedOut' });
}
