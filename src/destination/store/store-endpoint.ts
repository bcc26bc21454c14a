/** Checks the settings of an object store, and determines its proxy and its maximum number of connections. */
import { type Environment, proxyFor, proxyProblem } from '../../base/proxy-environment.ts';
import { destinationError } from './destination-error.ts';

/** Maximum number of connections to a store. */
export const maxConnections = 32;

/** Checks a name in the settings. `advice` describes a valid name. */
export function checkName(kind: string, name: string, form: RegExp, advice: string): void {
  if (!form.test(name)) throw invalid(`the ${kind} ${JSON.stringify(name)} is not valid: use ${advice}`);
}

/** Throws if a store's URL contains credentials, or if it does not use HTTPS and `insecure` is false. */
export function checkEndpoint(endpoint: string | undefined, insecure = false): void {
  if (endpoint === undefined) return;
  const url = URL.parse(endpoint);
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw invalid(
      `the endpoint ${JSON.stringify(endpoint)} is not a valid URL: set a URL such as https://store.example.com`,
    );
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid(
      'the endpoint contains a user name or a password: remove them, and store the credentials in the Secret',
    );
  }
  if (url.search !== '' || url.hash !== '')
    throw invalid(`the endpoint ${JSON.stringify(endpoint)} has a query or a fragment: set only the URL of the store`);
  if (url.protocol === 'http:' && !insecure) {
    throw invalid(`the endpoint ${endpoint} is not encrypted: use https://, or set insecure to true to allow http://`);
  }
}

/** Throws if access tokens would be sent without encryption. */
export function checkTokensMayGoTo(address: string): void {
  if (!address.startsWith('http://')) return;
  const advice = 'use https://, or authenticate with a key from a Secret';
  throw invalid(`logfleet sends no access tokens to ${address}, because the connection is not encrypted: ${advice}`);
}

/**
 * Returns the proxy for requests to a store, or undefined if none is used. Throws the error `destination.invalid` if
 * the proxy settings are wrong.
 */
export function storeProxy(origin: URL, environment: Environment): URL | undefined {
  try {
    return proxyFor(origin, environment);
  } catch (cause) {
    throw destinationError('invalid', proxyProblem, cause);
  }
}

function invalid(message: string): Error {
  return destinationError('invalid', message);
}
