/** Types for parsed command-line flags. If a flag was not given, its property is absent. */
import type { ListenAddress } from '../../base/flag-values.ts';

/** Selects a cluster, like the flags of kubectl. */
export interface ClusterOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
}

/** Flags that select a cluster or a directory of manifests. */
export interface TargetOptions extends ClusterOptions {
  readonly namespace?: string;
  readonly dir?: string;
}

export interface ApproveOptions extends TargetOptions {
  readonly stage?: string;
}

export interface ForgetOptions {
  readonly dir: string;
  readonly namespace?: string;
}

export interface PauseOptions extends TargetOptions {
  readonly all?: boolean;
  readonly operatorNamespace?: string;
}

export interface LogOptions {
  readonly logFormat?: 'json' | 'text';
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error';
}

export interface RunOptions extends ClusterOptions, ExportPlaceOptions, LogOptions {
  /**
   * Namespaces whose resources the operator reads. If absent, the operator reads all namespaces. The list is never
   * empty.
   */
  readonly namespaces?: readonly string[];
  readonly operatorNamespace?: string;
  readonly leaderElection?: boolean;
  readonly watch?: boolean;
  /** Maximum time in ms for which the service's list of collectors may still show the old version after an upgrade. */
  readonly grace?: number;
  readonly healthListen?: ListenAddress;
  /** Secret with the webhook for notifications, such as `webhook` or `logging/webhook`. */
  readonly notificationSecret?: string;
}

export interface ManifestsOptions {
  /** Namespace of the operator. Default: the first of `namespaces` or, without `namespaces`, `logfleet`. */
  readonly namespace?: string;
  /**
   * Namespaces whose resources the operator reads. If absent, the operator reads all namespaces. The list is never
   * empty.
   */
  readonly namespaces?: readonly string[];
  readonly image?: string;
  /** Secrets that the operator may read. If absent, the operator may read all Secrets. The list is never empty. */
  readonly secrets?: readonly string[];
  /** True to add the roles and the image that exports in Kubernetes Jobs need. */
  readonly exportJobs?: boolean;
  /** Secret with the webhook for notifications. If absent, no notifications are sent. */
  readonly notificationSecret?: string;
}

export interface ValidateOptions {
  readonly output: 'text' | 'json';
}

export interface PlanOptions extends TargetOptions {
  /** True if the command must fail when the user does not have permission to list the policies in all namespaces. */
  readonly allNamespaces?: boolean;
  /** Assumed duration of one upgrade, in ms. */
  readonly assumeUpgrade?: number;
  readonly exitCode?: boolean;
  readonly output: 'table' | 'wide' | 'json' | 'yaml' | 'markdown';
  /** Maximum time to wait for the log service, in ms. */
  readonly timeout?: number;
}

export interface FleetOptions extends TargetOptions {
  /** Name or file of a policy. The command uses the Secret and the selector of this policy. */
  readonly policy?: string;
  readonly output: 'table' | 'wide' | 'json' | 'csv';
  /** Maximum time to wait for the log service, in ms. */
  readonly timeout?: number;
}

export interface GetOptions extends TargetOptions {
  readonly allNamespaces?: boolean;
  readonly watch?: boolean;
  readonly output: 'table' | 'wide' | 'json' | 'yaml';
}

export interface VersionOptions extends ClusterOptions {
  /** True to print only the local version. */
  readonly client?: boolean;
  /** Namespace in which the command looks for operators. If absent, the command looks in all namespaces. */
  readonly operatorNamespace?: string;
}

export interface UiOptions extends TargetOptions {
  readonly allNamespaces?: boolean;
  /** Port on 127.0.0.1. Default: a free port. */
  readonly port?: number;
}

export interface StoreOptions {
  readonly endpoint?: string;
  readonly region?: string;
  readonly pathStyle?: boolean;
  readonly insecure?: boolean;
}

/** Flags of `logfleet export`. `field-flags.ts` defines the flags for fields of the spec. */
export interface ExportOptions extends StoreOptions, LogOptions {
  readonly query?: string;
  readonly from?: string;
  readonly to?: string;
  readonly format?: string;
  readonly compression?: string;
  readonly partitionBy?: string;
  readonly [field: string]: unknown;
  /** Name of the export. If the manifests contain several exports, the name selects one of them. */
  readonly name?: string;
  readonly namespace?: string;
  readonly secret?: readonly string[];
  readonly volume?: Volumes;
  /** Destination of an export without a manifest: a directory, an address such as `s3://…`, or `-` for stdout. */
  readonly output?: string;
}

export interface VerifyOptions extends StoreOptions {
  /** True if the argument is the folder of a schedule. */
  readonly schedule?: boolean;
  /** True if `verify` reads only the manifests of a schedule's runs, not their data files. */
  readonly manifestsOnly?: boolean;
  readonly from?: string;
  readonly to?: string;
  readonly output: 'table' | 'json';
}

/** Maps the name of each volume to its directory. */
export type Volumes = ReadonlyMap<string, string>;

export interface ExportPlaceOptions {
  readonly volume?: Volumes;
  readonly allowAmbientCredentials?: boolean;
}
