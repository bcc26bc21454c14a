/**
 * Where one search job is: the address at which its creation was answered, and the cookies that lead to it (5.3). Whatever moves later,
 * all requests of the job go there, since most cookies are good for the host alone that set them.
 *
 * A redirect of one of its own requests is followed for that request. The job moves only where a permanent one led to an answer of
 * success, for somebody knows the job there.
 */
import type { JobCookies } from './job-cookies.ts';
import type { ServiceAddress } from './service-address.ts';

export class JobHome {
  readonly cookies: JobCookies;
  #address: ServiceAddress | undefined;

  /** `address` is absent before the job's creation. */
  constructor(cookies: JobCookies, address?: ServiceAddress) {
    this.cookies = cookies;
    this.#address = address;
  }

  /** Undefined before the creation was answered: the deployment's own address. */
  get address(): ServiceAddress | undefined {
    return this.#address;
  }

  /** An answer of success came from `address`; `forGood`: straight, or over permanent redirects alone. */
  answered(address: ServiceAddress, forGood: boolean): void {
    if (forGood || !this.#address) this.#address = address;
  }
}
