/** Sends notifications to the webhook whose address is in a Secret. */
import { Agent, ProxyAgent, request } from 'undici';
import type { Clock } from '../base/clock.ts';
import { withDeadline } from '../base/deadline.ts';
import { failure, type LogfleetError } from '../base/errors.ts';
import { type Environment, proxyCredentials, proxyFor } from '../base/proxy-environment.ts';
import type { SecretText } from '../base/secret-text.ts';
import { type Format, formats, type Notification, renderBody } from './notification.ts';

export interface Webhook {
  readonly url: SecretText;
  /** Token for the header `Authorization: Bearer`. */
  readonly token: SecretText | undefined;
  readonly format: Format;
  /** CA certificates in PEM format. They replace the default CA certificates of Node.js. */
  readonly caCertificates: string | undefined;
}

/** Maximum time in ms from the start of a request until its response headers have arrived. */
const timeoutMs = 10_000;

export interface DeliveryOptions {
  /** Environment variables, which may contain the address of a proxy. */
  readonly environment: Environment;
  readonly clock: Clock;
  /** Cancels the request. */
  readonly signal: AbortSignal;
}

/** Reads the webhook from the keys of a Secret. A thrown error names the invalid key, and contains no secret value. */
export function decodeWebhook(members: ReadonlyMap<string, SecretText>): Webhook {
  const url = members.get('url');
  const type = members.get('type')?.reveal().trim() || 'json';
  const format = formats.find((each) => each === type);
  if (!url) throw invalid('the notification Secret lacks the key url: add the address of the webhook');
  if (!URL.canParse(url.reveal()) || new URL(url.reveal()).protocol !== 'https:')
    throw invalid(
      'the value of the key url in the notification Secret is invalid: use an address that begins with https://',
    );
  if (!format)
    throw invalid(`the value of the key type in the notification Secret is invalid: use one of ${formats.join(', ')}`);
  return { url, token: members.get('token'), format, caCertificates: members.get('ca.crt')?.reveal() };
}

export function invalid(problem: string): LogfleetError {
  return failed('stall', problem);
}

/**
 * Sends a notification. Rejects with an error if the delivery fails. The error's handling is `backoff` if a later
 * attempt might succeed, and `stall` if not. Error messages do not contain the webhook's address, because it is secret.
 */
export async function sendNotification(
  { url, token, format, caCertificates }: Webhook,
  notification: Notification,
  { environment, clock, signal }: DeliveryOptions,
): Promise<void> {
  const address = new URL(url.reveal());
  const dispatcher = dispatcherFor(address, environment, caCertificates);
  let status: number;
  try {
    const { statusCode, body } = await withDeadline(clock, timeoutMs, signal, (limited) =>
      request(address, {
        ...{ dispatcher, method: 'POST', body: renderBody(notification, format), signal: limited },
        headers: {
          'content-type': 'application/json',
          ...(token && { authorization: `Bearer ${token.reveal().trim()}` }),
        },
      }),
    );
    // The response body is not read, because an endless response would block the queue of notifications.
    body.on('error', () => {}).destroy();
    status = statusCode;
  } catch (error) {
    throw failed('backoff', `the notification webhook cannot be reached: ${codeOf(error)}`);
  } finally {
    // Does not wait, because a proxy that never responds can delay the end of the connection.
    void dispatcher.destroy();
  }
  if (status >= 200 && status <= 299) return;
  const isPassing = status >= 500 || status === 408 || status === 429;
  throw failed(isPassing ? 'backoff' : 'stall', `the notification webhook responded with status ${status}`);
}

function failed(kind: 'backoff' | 'stall', message: string): LogfleetError {
  return failure(kind, 'notification.failed', message);
}

function dispatcherFor(address: URL, environment: Environment, ca: string | undefined): Agent | ProxyAgent {
  const proxy = proxyFor(address, environment);
  const tls = ca === undefined ? {} : { ca };
  if (!proxy) return new Agent({ connect: tls });
  const { user, password } = proxyCredentials(proxy);
  const token = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  return new ProxyAgent({ uri: proxy.origin, requestTls: tls, ...(user !== '' && { token }) });
}

/**
 * Returns the code of a network error, such as ECONNREFUSED, or the name of another error, such as TimeoutError. The
 * error's message is not used, because it could contain the secret address.
 */
function codeOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { readonly code?: unknown; readonly name?: unknown };
  // The code of a DOMException, such as AbortError, is a number without meaning for users.
  return String((typeof code === 'string' ? code : name) ?? 'unknown error');
}
