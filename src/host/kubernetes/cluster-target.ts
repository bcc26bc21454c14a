/** Address and credentials for an API server. */

/** Connection options for Node's TLS. */
export interface ConnectionOptions {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

export interface ClusterCredentials {
  readonly connection: ConnectionOptions;
  /** Headers with lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface ClusterTarget {
  /** Context of the kubeconfig. */
  readonly context: string | undefined;
  /** Namespace of the context or the pod. */
  readonly namespace: string | undefined;
  /** URL as it was written. */
  readonly server: string | undefined;
  readonly proxyUrl: string | undefined;
  /** Current credentials. Files are read again, and a plugin may run. */
  credentials(): Promise<ClusterCredentials>;
}
