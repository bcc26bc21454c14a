/**
 * Stores the address, cookies (section 5.3 of docs/service.md) and times of one search job. All requests for the job go
 * to the address at which it was created. After a permanent redirect, they go to the new address if the service at that
 * address knows the job.
 */
import { Cookie, CookieJar } from 'tough-cookie';
import type { Clock } from '../../base/clock.ts';
import { latestDateMs } from '../../base/time-units.ts';
import { type MissingJob, missingJob, type NoSuchJob } from './missing-job.ts';
import type { ServiceAddress } from './service-address.ts';

export class JobSession {
  readonly cookies: CookieStore;
  /** True if a request to delete the job may have reached the service. */
  isDeleted = false;
  #address: ServiceAddress | undefined;
  #createdAtMs = 0;
  #heardAtMs: number | undefined;

  constructor(clock: Clock) {
    this.cookies = new CookieStore(clock);
  }

  /** Address to which all requests for the job are sent. Undefined until the job has been created. */
  get address(): ServiceAddress | undefined {
    return this.#address;
  }

  /** Monotonic send time in ms of the latest request whose response showed that the job still exists. */
  get heardAtMs(): number {
    return this.#heardAtMs ?? this.#createdAtMs;
  }

  /**
   * Records a successful response from `address`.
   * @param forGood true if all redirects to `address` were permanent, in which case later requests go directly to
   * `address`
   */
  answered(address: ServiceAddress, forGood: boolean, sentAtMs: number): void {
    if (this.#address) this.heard(sentAtMs);
    else this.#createdAtMs = sentAtMs;
    if (forGood || !this.#address) this.#address = address;
  }

  /**
   * Records that the service knows the job, as a response has shown. `sentAtMs` is the time at which the request was
   * sent.
   */
  heard(sentAtMs: number): void {
    this.#heardAtMs = Math.max(this.heardAtMs, sentAtMs);
  }

  /** Returns the reason why the service cannot find the job. */
  whyMissing(refusal: NoSuchJob): MissingJob {
    const { isDeleted, cookies } = this;
    return missingJob({
      ...refusal,
      createdAtMs: this.#createdAtMs,
      heardAtMs: this.#heardAtMs,
      isDeleted,
      hadCookie: cookies.wereSent,
    });
  }
}

/** Maximum number of cookies in a store. */
const maxCookies = 50;
const maxCookieLength = 4096;
/** Matches text that is valid in an HTTP header (RFC 9110, 5.5). */
const sendable = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Cookies that the service has set in responses to one call or to the calls of one search job. */
export class CookieStore {
  readonly #clock: Clock;
  readonly #jar = new CookieJar();
  /** Names of stored cookies. */
  readonly #names = new Set<string>();
  /** True once any request has been sent with cookies. */
  wereSent = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Stores the `Set-Cookie` headers of a response from `url`. */
  store(url: URL, setCookies: readonly string[]): void {
    const nowMs = this.#clock.now();
    for (const text of setCookies) {
      const cookie = text.length <= maxCookieLength ? Cookie.parse(text) : undefined;
      if (!cookie || !sendable.test(cookie.cookieString())) continue;
      if (!this.#names.has(cookie.key) && this.#names.size >= maxCookies) continue;
      this.#names.add(cookie.key);
      endAtFixedTime(cookie, nowMs);
      this.#jar.setCookieSync(cookie, url.href, { now: new Date(nowMs), ignoreError: true });
    }
  }

  /** Returns the `Cookie` header for a request to `url`, or undefined if no cookie applies. */
  header(url: URL): string | undefined {
    const nowMs = this.#clock.now();
    const cookies = this.#jar.getCookiesSync(url.href, { expire: false, sort: true });
    const valid = cookies.filter((cookie) => (cookie.expiryTime() ?? Number.POSITIVE_INFINITY) > nowMs);
    if (valid.length === 0) return undefined;
    this.wereSent = true;
    return valid.map((cookie) => cookie.cookieString()).join('; ');
  }
}

/**
 * Replaces `Max-Age` with a fixed time, because the cookie library counts `Max-Age` from the cookie's last use instead
 * of its arrival.
 */
function endAtFixedTime(cookie: Cookie, nowMs: number): void {
  const { maxAge } = cookie;
  if (maxAge === null) return;
  cookie.maxAge = null;
  if (maxAge === 'Infinity') cookie.expires = 'Infinity';
  else
    cookie.expires = new Date(
      typeof maxAge === 'number' && maxAge > 0 ? Math.min(latestDateMs, nowMs + maxAge * 1000) : 0,
    );
}
