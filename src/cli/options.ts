/**
 * What the flags of each command are called and hold once the program has parsed them. A flag that nobody gave is absent.
 */
import type { ExportPlaceOptions, Volumes } from './export-places.ts';

/** An address to listen on; port 0 takes a free one. */
export interface ListenAddress {
  /** `0.0.0.0` where the flag named a port only. */
  readonly host: string;
  readonly port: number;
}

/** Which cluster, as for kubectl. */
export interface ClusterOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
}

/** Which resources: in a cluster, or in a directory of manifests. */
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

/** Of `pause` and `resume`. */
export interface PauseOptions extends TargetOptions {
  readonly all?: boolean;
  readonly operatorNamespace?: string;
}

export interface LogOptions {
  readonly logFormat?: 'json' | 'text';
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error';
}

export interface RunOptions extends ClusterOptions, ExportPlaceOptions, LogOptions {
  /** Absent: all namespaces. Never empty. */
  readonly namespaces?: readonly string[];
  readonly operatorNamespace?: string;
  readonly leaderElection?: boolean;
  readonly watch?: boolean;
  /** In ms: what the service may need until an effect shows in every listing. */
  readonly grace?: number;
  readonly healthListen?: ListenAddress;
}

export interface ManifestsOptions {
  /** The operator's own namespace. */
  readonly namespace: string;
  /** The namespaces of resources; absent for all namespaces. Never empty. */
  readonly namespaces?: readonly string[];
  readonly image?: string;
  /** The Secrets that the operator may read; absent for all. Never empty. */
  readonly secrets?: readonly string[];
}

export interface SimulateOptions {
  readonly listen: ListenAddress;
  readonly tlsDir?: string;
  readonly accessId?: string;
  readonly accessKey?: string;
  readonly scenario?: string;
  readonly collectors?: number;
  readonly seed?: number;
  /** Never empty. */
  readonly logData?: readonly string[];
  readonly messages?: number;
  /** Moments as a scenario writes them. */
  readonly from?: string;
  readonly to?: string;
  readonly journal?: string;
  readonly timeScale: number;
}

export interface ValidateOptions {
  readonly output: 'text' | 'json';
}

export interface PlanOptions extends TargetOptions {
  /** The policies of all namespaces have to count. */
  readonly allNamespaces?: boolean;
  /** In ms: how long one upgrade takes. */
  readonly assumeUpgrade?: number;
  readonly exitCode?: boolean;
  readonly output: 'table' | 'wide' | 'json' | 'yaml';
  /** In ms: after so long the service is waited for no longer. */
  readonly timeout?: number;
}

export interface GetOptions extends TargetOptions {
  readonly allNamespaces?: boolean;
  readonly watch?: boolean;
  readonly output: 'table' | 'wide' | 'json' | 'yaml';
}

/** How an object store is reached. */
export interface StoreOptions {
  readonly endpoint?: string;
  readonly region?: string;
  readonly pathStyle?: boolean;
  readonly insecure?: boolean;
}

/** What an export without a manifest asks for, by the names that the spec has. */
export interface ExportRequestOptions {
  readonly query?: string;
  readonly from?: string;
  readonly to?: string;
  readonly timeZone?: string;
  readonly byReceiptTime?: boolean;
  readonly autoParsingMode?: string;
  readonly results?: string;
  readonly format?: string;
  readonly compression?: string;
  readonly fields?: readonly string[];
  readonly maxPartSize?: string;
  readonly parallelism?: number;
  readonly maxMessages?: number;
  readonly maxBytesScanned?: string;
  readonly activeDeadlineSeconds?: number;
  readonly incompletePolicy?: string;
  readonly proof?: string;
  readonly settleDelay?: string;
}

export interface ExportOptions extends ExportRequestOptions, StoreOptions, LogOptions {
  /** Which export of the manifest, or what the export by flags is called. */
  readonly name?: string;
  readonly namespace?: string;
  /** Files with Secrets. */
  readonly secret?: readonly string[];
  readonly volume?: Volumes;
  /** Where the rows of an export by flags go: a directory, `s3://…`, or `-`. */
  readonly output?: string;
}

export interface VerifyOptions extends StoreOptions {
  readonly output: 'table' | 'json';
}
