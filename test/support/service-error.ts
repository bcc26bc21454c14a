/** Creates errors of the service for tests. */
import { ServiceError, type ServiceErrorOptions } from '../../src/service/requests/service-error.ts';

/** Returns an error of a request that had no effect and can be sent again. `more` replaces its members. */
export function serviceError(more: Partial<ServiceErrorOptions> = {}): ServiceError {
  return new ServiceError({
    outcome: 'internalError',
    message: 'it failed',
    handling: { kind: 'backoff' },
    effect: 'none',
    ...more,
  });
}
