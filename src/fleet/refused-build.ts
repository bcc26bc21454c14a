/** Whether a listing failed for the build that it was asked towards. */
import { ServiceError } from '../service/service-error.ts';

/** The service does not have the build whose list was asked for: what it offers may be others by now. */
export function refusesBuild(error: unknown): boolean {
  return error instanceof ServiceError && error.serviceCode === 'collector.version.invalid';
}
