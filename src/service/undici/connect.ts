/** Creates the TLS transport for the operator and the command line, with the proxies of the environment. */
import type { Environment } from '../../base/proxy-environment.ts';
import { type Connect, type ConnectOptions, connectWith } from '../connection.ts';
import { UndiciTransport } from './undici-transport.ts';

export interface TlsConnectOptions extends Omit<ConnectOptions, 'transport'> {
  /** Environment with `HTTPS_PROXY` and `NO_PROXY`. */
  readonly environment: Environment;
}

export function connectOverTls(options: TlsConnectOptions): Connect {
  const { clock, environment } = options;
  return connectWith({
    ...options,
    transport: ({ caCertificates }) => new UndiciTransport({ clock, environment, caCertificates }),
  });
}
