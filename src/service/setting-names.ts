/** Names of a connection's settings, and the possible changes to each, for messages. By default the settings are keys of a Secret. */

export interface SettingNames {
  /** Base address. */
  readonly address: string;
  /** Access id and access key. */
  readonly credentials: string;
  /** Instruction to trust a certificate authority, as in `put its CA certificate (PEM) into …`. */
  readonly trustAuthority: string;
  /** Instruction to follow a redirect to another host, as in `write it into …`. */
  readonly followRedirect: string;
  /** Instruction to leave more of the user's rate to other clients. */
  readonly shareRate: string;
}

export const secretNames: SettingNames = {
  address: 'baseURL in the Secret',
  credentials: 'accessId and accessKey in the Secret',
  trustAuthority: 'put its CA certificate (PEM) into ca.crt of the Secret',
  followRedirect: 'write it into baseURL of the Secret, or its host into allowedHosts',
  shareRate: 'lower requestsPerSecond or maxConcurrentRequests in the Secret, or give the operator a user of its own',
};
