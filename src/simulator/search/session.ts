/**
 * The cookies of search jobs (5.3). A creation that brings no session begins one; its jobs are found by whoever sends all cookies of
 * that session back. A cookie says by itself which session it is of, so that none is remembered.
 */
import { drawFor } from '../chance.ts';

export class Sessions {
  readonly #seed: number;
  #begun = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** Sessions count from 0. */
  begin(): number {
    return this.#begun++;
  }

  /** Values of `Set-Cookie` for each of the names. */
  cookiesOf(session: number, names: readonly string[]): string[] {
    return names.map((name) => `${name}=${this.#valueOf(session, name)}; Path=/; Secure; HttpOnly`);
  }

  /** The session that the header `Cookie` proves; undefined where a name is missing, or its value is of no or of another session. */
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

/** Of several with one name the first counts, as it is of the longest path. */
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
