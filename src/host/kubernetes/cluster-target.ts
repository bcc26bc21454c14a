/** The address of an API server, and the credentials of this process for it. */

/** The options of a connection, as Node's TLS takes them. */
export interface ConnectionOptions {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

export interface ClusterCredentials {
  readonly connection: ConnectionOptions;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface ClusterTarget {
  /** Of the kubeconfig. */
  readonly context: string | undefined;
  /** Of the context, or of the pod. */
  readonly namespace: string | undefined;
  /** A URL, as it was written. */
  readonly server: string | undefined;
  readonly proxyUrl: string | undefined;
  /** As they are now: files are read again, and a plugin may run. */
  credentials(): Promise<ClusterCredentials>;
}
