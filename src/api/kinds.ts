/**
 * The kinds by name. A new kind that people write enters logfleet here: its generated types, and then everything that switches
 * over `KindName` no longer compiles until it knows the kind. The kind `Ledger` is not among them: the operator alone writes it.
 */
import type { AnnotationWriters } from './annotation-writers.ts';
import type { CollectorVersionPolicySpec, CollectorVersionPolicyStatus } from './generated/collector-version-policy.ts';
import type { SearchExportSpec, SearchExportStatus } from './generated/search-export.ts';

export interface ObjectMeta {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly generation: number;
  readonly resourceVersion: string;
  /** RFC 3339 */
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** Who wrote logfleet's own annotations, by their names; absent where none is known. Filled by the host. */
  readonly annotationWriters?: AnnotationWriters;
}

export interface Resource<K extends string, Spec, Status> {
  readonly apiVersion: 'logfleet.dev/v1alpha1';
  readonly kind: K;
  readonly metadata: ObjectMeta;
  readonly spec: Spec;
  readonly status?: Status;
}

export type CollectorVersionPolicy = Resource<
  'CollectorVersionPolicy',
  CollectorVersionPolicySpec,
  CollectorVersionPolicyStatus
>;

export type SearchExport = Resource<'SearchExport', SearchExportSpec, SearchExportStatus>;

interface Kinds {
  CollectorVersionPolicy: CollectorVersionPolicy;
  SearchExport: SearchExport;
}

export type KindName = keyof Kinds;
export type ResourceOf<K extends KindName> = Kinds[K];

export interface KindInfo {
  readonly plural: string;
  readonly shortNames: readonly string[];
}

export const apiGroup = 'logfleet.dev';
export const apiVersionName = 'v1alpha1';

export const kinds: { readonly [K in KindName]: KindInfo } = {
  CollectorVersionPolicy: { plural: 'collectorversionpolicies', shortNames: ['cvp'] },
  SearchExport: { plural: 'searchexports', shortNames: ['sx'] },
};

/** The kind of `host/kubernetes/ledger-store.ts`. */
export const ledgerKind = 'Ledger';
export const ledgerPlural = 'ledgers';
/** A finding about a Ledger among manifests. */
export const ledgerAmongManifests = 'a Ledger is written by the operator alone: remove it from the manifests';
