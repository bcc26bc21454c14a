/**
 * Cookies of search jobs (service.md 5.3). A search job that is created without cookies begins a session, and later requests
 * for the job need all cookies of the session. A cookie contains the number of its session, so no session is stored.
 */
import { drawFor } from '../chance.ts';

export class Sessions {
  readonly #seed: number;
  #begun = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** Begins a cookie session. Sessions are numbered from 0. */
  begin(): number {
    return this.#begun++;
  }

  /** Returns the values of the header `Set-Cookie` for a session, one for each cookie name. */
  cookiesOf(session: number, names: readonly string[]): string[] {
    return names.map((name) => `${name}=${this.#valueOf(session, name)}; Path=/; Secure; HttpOnly`);
  }

  /**
   * Returns the session that the header `Cookie` names. Undefined if a cookie is missing or invalid, or if the cookies belong to
   * different sessions.
   */
  read(header: string | undefined, names: readonly string[]): number | undefined {
    const sent = cookiesIn(header ?? '');
    let session: number | undefined;
    for (const name of names) {
      const value = sent.get(name) ?? '';
      const claimed = Number(value.split('.')[0]);
      if (session !== undefined && session !== claimed) return undefined;
      if (!(claimed < this.#begun) || value !== this.#valueOf(claimed, name)) return undefined;
      session = claimed;
    }
    return session;
  }

  #valueOf(session: number, name: string): string {
    const proof = Math.floor(drawFor(this.#seed, 'session', name, session) * 2 ** 32);
    return `${session}.${proof.toString(16).padStart(8, '0')}`;
  }
}

/** If several cookies have the same name, the first one is used, because clients send the cookie with the longest path first. */
function cookiesIn(header: string): Map<string, string> {
  const cookies = new Map<string, string>();
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=');
    if (equals < 0) continue;
    const name = pair.slice(0, equals).trim();
    if (!cookies.has(name)) cookies.set(name, pair.slice(equals + 1).trim());
  }
  return cookies;
}
