/**
 * Address and cookies of one search job (5.3). All requests of the job go to the address that answered its creation, since most
 * cookies are valid only for the host that set them.
 *
 * A redirect of a single request is followed for that request. The job moves only if a permanent redirect leads to a successful
 * answer, which shows that the job is known there.
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

  /** Undefined until the creation is answered. Then the deployment's own address applies. */
  get address(): ServiceAddress | undefined {
    return this.#address;
  }

  /** Records a successful answer from `address`. `forGood`: reached directly or by permanent redirects only. */
  answered(address: ServiceAddress, forGood: boolean): void {
    if (forGood || !this.#address) this.#address = address;
  }
}
