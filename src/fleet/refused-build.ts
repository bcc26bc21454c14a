/** Detects a listing that failed because of its build. */
import { ServiceError } from '../service/requests/service-error.ts';

/** Whether the service does not know the build of the listing. Its list of builds may have changed. */
export function refusesBuild(error: unknown): boolean {
  return error instanceof ServiceError && error.serviceCode === 'collector.version.invalid';
}
