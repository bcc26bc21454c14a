/** Checks the address of an object store: without `insecure` it must begin with `https://`, and it must not contain credentials. */
import { destinationError } from './destination-error.ts';

export function checkEndpoint(endpoint: string, insecure: boolean): void {
  const url = URL.parse(endpoint);
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw invalid(
      `the endpoint ${JSON.stringify(endpoint)} is not an address: write one such as https://store.example.com`,
    );
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid(
      'the endpoint contains a user or a password: write the address alone, and credentials into the Secret',
    );
  }
  if (url.search !== '' || url.hash !== '')
    throw invalid(`the endpoint ${JSON.stringify(endpoint)} has a query or a fragment: write the address alone`);
  if (url.protocol === 'http:' && !insecure) {
    throw invalid(`the endpoint ${endpoint} is not encrypted: write https://, or set insecure to allow it`);
  }
}

function invalid(message: string): Error {
  return destinationError('invalid', message);
}
