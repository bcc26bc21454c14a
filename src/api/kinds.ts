/**
 * The kinds of resources that users write. Tables with one entry per kind use these types, so that the compiler reports
 * a missing entry.
 */
import { annotations } from './annotations.ts';
import type { CollectorVersionPolicySpec, CollectorVersionPolicyStatus } from './generated/collector-version-policy.ts';
import type { SearchExportSpec, SearchExportStatus } from './generated/search-export.ts';
import type { SearchExportScheduleSpec, SearchExportScheduleStatus } from './generated/search-export-schedule.ts';

export interface AnnotationWriter {
  /**
   * Name of the writer: in a cluster, the field manager; in a directory, the operating-system user. Undefined if
   * unknown.
   */
  readonly by: string | undefined;
  /** Time in ms at which the user wrote the annotation. Undefined if unknown. */
  readonly atMs: number | undefined;
}

export type AnnotationWriters = Readonly<Record<string, AnnotationWriter>>;

export interface ObjectMeta {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly generation: number;
  readonly resourceVersion: string;
  /** Creation time of the resource, in RFC 3339 format. */
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** Writer and time of each logfleet annotation. */
  readonly annotationWriters?: AnnotationWriters;
  /** The logfleet resource for which the operator created this resource. Absent if a user created it. */
  readonly owner?: { readonly kind: KindName; readonly name: string; readonly uid: string };
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

export type SearchExportSchedule = Resource<
  'SearchExportSchedule',
  SearchExportScheduleSpec,
  SearchExportScheduleStatus
>;

interface Kinds {
  CollectorVersionPolicy: CollectorVersionPolicy;
  SearchExport: SearchExport;
  SearchExportSchedule: SearchExportSchedule;
}

export type KindName = keyof Kinds;
export type ResourceOf<K extends KindName> = Kinds[K];
export type AnyResource = ResourceOf<KindName>;

export const apiGroup = 'logfleet.dev';
const apiVersionName = 'v1alpha1';
export const apiVersion = `${apiGroup}/${apiVersionName}`;

interface KindInfo {
  readonly plural: string;
  readonly shortName: string;
  /** Annotations that have an effect on this kind. */
  readonly annotations: readonly string[];
}

export const kinds: { readonly [K in KindName]: KindInfo } = {
  CollectorVersionPolicy: {
    plural: 'collectorversionpolicies',
    shortName: 'cvp',
    annotations: Object.values(annotations),
  },
  SearchExport: {
    plural: 'searchexports',
    shortName: 'sx',
    annotations: [annotations.paused, annotations.requestedAt],
  },
  SearchExportSchedule: {
    plural: 'searchexportschedules',
    shortName: 'sxs',
    annotations: [annotations.paused, annotations.requestedAt],
  },
};

/** Names of all kinds, in the order of command output. */
export const kindNames = Object.keys(kinds) as readonly KindName[];

/** Returns the name of a resource for commands, such as `cvp/production`. */
export function referenceOf(kind: KindName, { name }: { readonly name: string }): string {
  return `${kinds[kind].shortName}/${name}`;
}

/** Kind of the resources that store ledgers. */
export const ledgerKind = 'Ledger';
export const ledgerPlural = 'ledgers';
