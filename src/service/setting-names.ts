/**
 * What a person calls the settings of a connection, and what can be done with each: messages name them, so that nobody has to guess
 * what to mend. They stand in a Secret, unless whoever asks for the connection says otherwise.
 */

export interface SettingNames {
  /** The base address. */
  readonly address: string;
  /** Both halves of the credentials. */
  readonly credentials: string;
  /** How to trust an authority, as in `put its CA certificate (PEM) into …`. */
  readonly trustAuthority: string;
  /** How to follow a redirect to another host, as in `write it into …`. */
  readonly followRedirect: string;
  /** How to leave more of the user's rate to others. */
  readonly shareRate: string;
}

export const secretNames: SettingNames = {
  address: 'baseURL in the Secret',
  credentials: 'accessId and accessKey in the Secret',
  trustAuthority: 'put its CA certificate (PEM) into ca.crt of the Secret',
  followRedirect: 'write it into baseURL of the Secret, or its host into allowedHosts',
  shareRate: 'lower requestsPerSecond or maxConcurrentRequests in the Secret, or give the operator a user of its own',
};
