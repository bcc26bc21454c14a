/** Repeats search jobs that fail before they return anything. */
import { type Clock, sleep } from '../../base/clock.ts';
import { asLogfleetError, mayPass } from '../../base/errors.ts';

/** Maximum number of attempts. */
const maxTries = 3;
const retryDelayMs = 2_000;

/**
 * Calls `attempt` until it succeeds. Resolves to the last result, or rejects with the last error or with the signal's
 * reason. An error that only a user can fix ends the attempts.
 * @param isRetried returns true if another attempt follows this result; called with undefined after an error
 */
export async function withRetries<Result>(
  attempt: () => Promise<Result>,
  isRetried: (result: Result | undefined) => boolean,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      const result = await attempt();
      if (tries === maxTries || !isRetried(result)) return result;
    } catch (thrown) {
      signal.throwIfAborted();
      if (tries === maxTries || !mayPass(asLogfleetError(thrown)) || !isRetried(undefined)) throw thrown;
    }
    await sleep(clock, retryDelayMs * tries, signal);
  }
}
