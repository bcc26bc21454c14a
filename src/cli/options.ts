/** Types of the parsed flags of each command. The attribute of a flag that was not given is absent. */
import type { ListenAddress } from '../base/flag-values.ts';

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
  /** Namespaces of the resources. Absent means all namespaces. Never empty. */
  readonly namespaces?: readonly string[];
  readonly operatorNamespace?: string;
  readonly leaderElection?: boolean;
  readonly watch?: boolean;
  /** Grace period in ms: the longest time after an upgrade until every listing of the log service shows its effect. */
  readonly grace?: number;
  readonly healthListen?: ListenAddress;
  /** Secret with the webhook of notifications: its name, or namespace and name as in `logging/webhook`. */
  readonly notificationSecret?: string;
}

export interface ManifestsOptions {
  readonly namespace: string;
  /** Namespaces of the resources. Absent means all namespaces. Never empty. */
  readonly namespaces?: readonly string[];
  readonly image?: string;
  /** Secrets that the operator may read. Absent means all Secrets. Never empty. */
  readonly secrets?: readonly string[];
  /** True to add the rights and the image for exports in Kubernetes Jobs. */
  readonly exportJobs?: boolean;
  /** Name of the Secret with the webhook of notifications, in the namespace of the operator. Absent means no notifications. */
  readonly notificationSecret?: string;
}

export interface ValidateOptions {
  readonly output: 'text' | 'json';
}

export interface PlanOptions extends TargetOptions {
  /** True if the command must fail when the user may not list the policies of all namespaces. */
  readonly allNamespaces?: boolean;
  /** Assumed duration of one upgrade, in ms. */
  readonly assumeUpgrade?: number;
  readonly exitCode?: boolean;
  readonly output: 'table' | 'wide' | 'json' | 'yaml' | 'markdown';
  /** Maximum wait for the log service, in ms. */
  readonly timeout?: number;
}

export interface FleetOptions extends TargetOptions {
  /** Name of a policy, or file with a policy, whose Secret and selector the command uses. */
  readonly policy?: string;
  readonly output: 'table' | 'wide' | 'json' | 'csv';
  /** Maximum wait for the log service, in ms. */
  readonly timeout?: number;
}

export interface GetOptions extends TargetOptions {
  readonly allNamespaces?: boolean;
  readonly watch?: boolean;
  readonly output: 'table' | 'wide' | 'json' | 'yaml';
}

export interface VersionOptions extends ClusterOptions {
  /** True if `logfleet version` must not connect to a cluster. */
  readonly client?: boolean;
  /** Namespace of the operator whose version is printed. Absent to find operators in all namespaces. */
  readonly operatorNamespace?: string;
}

export interface UiOptions extends TargetOptions {
  readonly allNamespaces?: boolean;
  /** Port on 127.0.0.1. Absent to use a free port. */
  readonly port?: number;
}

export interface StoreOptions {
  readonly endpoint?: string;
  readonly region?: string;
  readonly pathStyle?: boolean;
  readonly insecure?: boolean;
}

/** Flags of `logfleet export`. Flags that set a field of the spec are defined in `field-flags.ts`, and most of them have no type here. */
export interface ExportOptions extends StoreOptions, LogOptions {
  readonly query?: string;
  readonly from?: string;
  readonly to?: string;
  readonly format?: string;
  readonly compression?: string;
  readonly partitionBy?: string;
  readonly [field: string]: unknown;
  /** Name of the export. With several exports in the manifests, it selects one of them. */
  readonly name?: string;
  readonly namespace?: string;
  readonly secret?: readonly string[];
  readonly volume?: Volumes;
  /** Destination of an export without a manifest: a directory, an address such as `s3://…`, or `-`. */
  readonly output?: string;
}

export interface VerifyOptions extends StoreOptions {
  /** True if the argument is the folder of a schedule. */
  readonly schedule?: boolean;
  /** True if `verify` must not read the data files of a schedule's runs, only their manifests. */
  readonly manifestsOnly?: boolean;
  readonly from?: string;
  readonly to?: string;
  readonly output: 'table' | 'json';
}

/** Directories of volumes, by the name of the volume. */
export type Volumes = ReadonlyMap<string, string>;

export interface ExportPlaceOptions {
  readonly volume?: Volumes;
  readonly allowAmbientCredentials?: boolean;
}
