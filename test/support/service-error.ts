/** Creates service errors for tests. */
import { ServiceError, type ServiceErrorOptions } from '../../src/service/requests/service-error.ts';

/**
 * Returns the error for a request that had no effect and can be sent again. Members in `more` override the error's
 * members.
 */
export function serviceError(more: Partial<ServiceErrorOptions> = {}): ServiceError {
  return new ServiceError({
    failure: 'internalError',
    message: 'it failed',
    handling: { kind: 'backoff' },
    effect: 'none',
    ...more,
  });
}
