/** Place of the resources that exist already. Every place only reads. `open-place.ts` opens it. */
import type { CollectorVersionPolicy, SearchExport } from '../../api/kinds.ts';
import type { LedgerStore, OperatorSettings, ResourceKey, SecretReader } from '../../host/host.ts';
import type { PlanOptions, TargetOptions } from '../options.ts';

export interface PlanPlace {
  /** Namespace of manifests that name none. */
  readonly namespace: string;
  /** Current policies, with their status. */
  policies(): Promise<readonly CollectorVersionPolicy[]>;
  /** Current export with its status. Undefined if there is none. */
  findExport(key: ResourceKey): Promise<SearchExport | undefined>;
  readonly ledgers: Pick<LedgerStore, 'read'>;
  readonly secrets: Pick<SecretReader, 'get'>;
  /** True if environment variables replace Secrets that are missing. */
  readonly takesVariables: boolean;
  settings(): OperatorSettings;
  close(): Promise<void>;
}

export type PlaceOptions = TargetOptions & Pick<PlanOptions, 'allNamespaces'>;
