/**
 * Search job cookies (section 5.3 of docs/service.md). A new session begins if a request without cookies creates a
 * search job. A cookie contains its session's number, so the service need not store sessions.
 */
import { drawFor } from '../base/chance.ts';

export class Sessions {
  readonly #seed: number;
  #begun = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** Starts a cookie session and returns its number, counted from 0. */
  begin(): number {
    return this.#begun++;
  }

  /** Returns the session's `Set-Cookie` values, one for each cookie. */
  cookiesOf(session: number, names: readonly string[]): string[] {
    return names.map((name) => `${name}=${this.#valueOf(session, name)}; Path=/; Secure; HttpOnly`);
  }

  /**
   * Returns the number of the session to which the cookies belong. Returns undefined if a cookie is missing or invalid,
   * or if the cookies belong to different sessions.
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

/**
 * Returns cookie values by name. If a name occurs twice, the first value is used, because clients send the cookie with
 * the longest path first.
 */
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
