/**
 * The cookies of one search job (5.3): filled by every answer to its requests, sent with each of them by the rules of RFC 6265, so that
 * a host to which a request is redirected gets only what is meant for it. Credentials go beside them (5.1).
 *
 * Invariant: expiry is judged by our clock port, and never by the machine's. What is no cookie is passed over, as browsers do.
 */
import { Cookie, CookieJar } from 'tough-cookie';
import type { Clock } from '../base/clock.ts';

/** More, or longer ones, no service sends; they would be sent back with every request. */
const maxCookies = 50;
const maxCookieLength = 4096;
/** What may stand in a header (RFC 9110, 5.5). */
const sendable = /^[\t\x20-\x7e\x80-\xff]*$/;

export class JobCookies {
  readonly #clock: Clock;
  readonly #jar = new CookieJar();
  /** Names that have been stored. */
  readonly #names = new Set<string>();
  #wereSent = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether any was ever asked for to be sent. */
  get wereSent(): boolean {
    return this.#wereSent;
  }

  /** Takes in the `Set-Cookie` headers of an answer to a request to `url`. */
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

  /** The header `Cookie` of a request to `url`; undefined where no cookie is meant for it. */
  header(url: URL): string | undefined {
    const nowMs = this.#clock.now();
    const cookies = this.#jar.getCookiesSync(url.href, { expire: false, sort: true });
    const valid = cookies.filter((cookie) => (cookie.expiryTime() ?? Number.POSITIVE_INFINITY) > nowMs);
    if (valid.length === 0) return undefined;
    this.#wereSent = true;
    return valid.map((cookie) => cookie.cookieString()).join('; ');
  }
}

/** The last moment that a date can be. */
const latestMs = 8_640_000_000_000_000;

/** `Max-Age` wins over `Expires` and counts from when the cookie came; the library counts it from when it was last used. */
function endAtFixedTime(cookie: Cookie, nowMs: number): void {
  const { maxAge } = cookie;
  if (maxAge === null) return;
  cookie.maxAge = null;
  if (maxAge === 'Infinity') cookie.expires = 'Infinity';
  else
    cookie.expires = new Date(typeof maxAge === 'number' && maxAge > 0 ? Math.min(latestMs, nowMs + maxAge * 1000) : 0);
}
